// RpcChannel and RunRpc: one unary or streaming call over a runtime's socket.
// Generation: detects that another daemon may answer there.
// Internal to cri: included by .cc files only, and the only header of ours that knows gRPC.
//
// Its use of gRPC (C10 to C13): it connects to the socket itself first, so that a missing or refusing one
// fails at once; every call waits for a connection that is being made, up to its deadline; a stop cancels the
// call; statuses become CallErrors, scrubbed.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/call.h"
#include "cri/call_deadlines.h"
#include "cri/endpoint.h"
#include "cri/image_service.h"

namespace prefetch::cri {

// Counts the signs that another daemon may be at the other end of a runtime's socket. After one, all facts
// about the previous daemon (version, settings, capabilities) must be read again. Any thread, no lock. One
// sign may count twice; none is lost.
class Generation {
 public:
  explicit Generation(std::string socket_path) : socket_path_(std::move(socket_path)) {}

  // A call broke off, or a connection had to be made anew.
  void Raise() { count_++; }
  // Returns the same number as before if nothing indicates another daemon. Checks the identity of the socket
  // file: a starting daemon creates it anew, unless systemd holds it (socket activation).
  std::uint64_t Now();

 private:
  const std::string socket_path_;
  std::atomic<std::uint64_t> socket_{0};  // tells socket files apart; 0: none was seen
  std::atomic<std::uint64_t> count_{0};
};

// Header that says in whose name a containerd-native call is made; without it each is refused.
inline constexpr const char* kNamespaceHeader = "containerd-namespace";
inline constexpr const char* kKubernetesNamespace = "k8s.io";
// Header that puts all that a call fetches or makes into an existing lease. Found honoured for CRI's
// PullImage by containerd 1.6.20, 1.7.24 and 2.1.9; other runtimes do not look at it.
inline constexpr const char* kLeaseHeader = "containerd-lease";

inline constexpr int kMaxMessageBytes = 16 * 1024 * 1024;  // as kubelet and containerd have it

// One connection to one runtime, for one kind of calls. Any thread may use it, many at once.
class RpcChannel {
 public:
  // Connections are never shared between channels of different `purpose`: what saturates or resets the one
  // that pulls must not fail the short calls.
  RpcChannel(Endpoint endpoint, std::string_view purpose, int max_message_bytes = kMaxMessageBytes);

  const std::shared_ptr<grpc::Channel>& grpc() const { return channel_; }
  const Endpoint& endpoint() const { return endpoint_; }
  // Returns true if there is a connection, as far as gRPC has noticed.
  bool Connected() const { return channel_->GetState(false) == GRPC_CHANNEL_READY; }
  // Returns the reason why no call can succeed now; nullopt if one may. Starts connecting, and resets gRPC's
  // back-off after earlier failures, since a server listens again.
  std::optional<CallError> DowntimeReason();
  // Returns another number than before if another daemon may be at the other end.
  std::uint64_t Generation();
  // Takes note of the status with which a call over this channel ended.
  void OnCallEnded(const grpc::Status& status);

 private:
  Endpoint endpoint_;
  std::shared_ptr<grpc::Channel> channel_;
  cri::Generation generation_;
  std::atomic<bool> answered_{false};  // over the present connection
};

// A call's name and subject, for its errors.
struct RpcSubject {
  std::string_view method;
  std::vector<std::string> image_names = {};      // taken out of messages before they are classified
  const image::AuthConfig* credential = nullptr;  // blanked in messages; outlives the call
  // The call may be repeated once if its connection turns out to have been dead.
  bool idempotent = false;
};

// The status of a call that has ended, as an error; nullopt if it went well.
std::optional<CallError> ToCallError(const grpc::Status& status, const base::Call& call, bool connected,
                                     const RpcSubject& subject);

// Gives a call that is to be made its deadline, and lets it wait for a connection that is being made. Keep
// the result until the call has ended.
TimedCall Prepare(grpc::ClientContext& context, const base::Call& call);

// A function of a generated stub that sends one message and gets one.
template <typename Stub, typename Request, typename Response>
using UnaryMethod = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&, Response*);

// Runs `invoke(context)`, which makes one blocking call on `channel` and returns its grpc::Status. nullopt:
// it went well.
template <typename Invoke>
std::optional<CallError> RunRpc(RpcChannel& channel, const base::Call& call, const RpcSubject& subject,
                                Invoke invoke) {
  if (call.Stopped()) return CallError{image::ErrorClass::kCancelled, "stopped"};
  if (std::optional<CallError> down = channel.DowntimeReason()) return down;
  channel.Generation();  // a connection that has gone is noticed before this call makes another one
  grpc::Status status;
  for (int tries = subject.idempotent ? 2 : 1; tries > 0; tries--) {
    grpc::ClientContext context;
    const TimedCall timed_call = Prepare(context, call);
    std::stop_callback cancel(call.stop, [&context] { context.TryCancel(); });
    status = invoke(context);
    channel.OnCallEnded(status);
    // A server listens, so an earlier connection broke unnoticed: try again.
    if (status.error_code() != grpc::StatusCode::UNAVAILABLE || call.Stopped() || channel.DowntimeReason())
      break;
  }
  return ToCallError(status, call, channel.Connected(), subject);
}

}  // namespace prefetch::cri
