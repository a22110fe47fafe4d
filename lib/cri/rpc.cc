#include "cri/rpc.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/redactor.h"
#include "cri/classify.h"

namespace prefetch::cri {

namespace {

using image::ErrorClass;

constexpr int kFirstReconnectMs = 100;     // as kubelet
constexpr int kLongestReconnectMs = 3000;  // as kubelet
constexpr int kConnectTimeoutMs = 5000;    // one attempt; shorter ones failed on busy nodes
// gRPC counts in milliseconds of a clock of its own, which was seen to run 0.7 ms ahead. A call that it ended
// before our deadline would be reported as ended by the runtime (ToCallError).
constexpr std::chrono::milliseconds kGrpcClockAhead{10};

grpc::ChannelArguments Arguments(std::string_view purpose, int max_message_bytes) {
  InitializeGrpc();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(max_message_bytes);
  // Newer gRPC would send the socket's path, which strict servers refuse.
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  // C11: gRPC's default of two minutes would leave a runtime that is back unnoticed.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLongestReconnectMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectTimeoutMs);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);  // no PullImage but ours
  // No keepalive: Go servers answer pings with GOAWAY, which would end a running pull.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // gRPC shares a connection between channels of equal arguments. The purpose makes them differ.
  arguments.SetString("prefetchd.purpose", std::string(purpose));
  return arguments;
}

// The caller's deadline is over. The connection shows whether the runtime is silent or absent (C12).
CallError TimedOut(bool connected, const RpcSubject& subject) {
  std::string method(subject.method);
  if (connected && subject.idempotent) {
    return {ErrorClass::kTimeout,
            "the container runtime does not answer " + method + " in time: is it stopped, or overloaded?"};
  }
  if (connected) return {ErrorClass::kTimeout, method + " did not end within its time limit"};
  return {ErrorClass::kRuntimeDown, "the container runtime does not answer (" + method + ")"};
}

std::string Unsupported(const std::string& words) {
  return "the container runtime does not serve this call (" + words +
         "); CRI runtime.v1 is needed, as in containerd 1.6 or newer";
}

}  // namespace

RpcChannel::RpcChannel(Endpoint endpoint, std::string_view purpose, int max_message_bytes)
    : endpoint_(std::move(endpoint)),
      channel_(grpc::CreateCustomChannel("unix:" + endpoint_.socket_path, grpc::InsecureChannelCredentials(),
                                         Arguments(purpose, max_message_bytes))),
      generation_(endpoint_.socket_path) {}

std::optional<CallError> RpcChannel::DowntimeReason() {
  // The socket is tried even if the channel believes itself connected. Its socket is not read between calls
  // (C10), so the runtime may have gone long ago, and a call would then wait for the next one.
  if (std::optional<std::string> why = UnreachableReason(endpoint_)) {
    const std::string advice = *why == kPermissionDenied ? ": run as root, or as the socket's owner" : "";
    return CallError{ErrorClass::kRuntimeDown,
                     "cannot reach the container runtime at " + endpoint_.socket_path + ": " + *why + advice};
  }
  if (channel_->GetState(true) == GRPC_CHANNEL_TRANSIENT_FAILURE) {
    grpc::experimental::ChannelResetConnectionBackoff(channel_.get());
  }
  return std::nullopt;
}

std::uint64_t RpcChannel::Generation() {
  // A connection over which an answer came is gone: the next one may lead to another daemon.
  if (!Connected() && answered_.exchange(false)) generation_.Raise();
  return generation_.Now();
}

void RpcChannel::OnCallEnded(const grpc::Status& status) {
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    generation_.Raise();
  } else if (Connected()) {
    answered_ = true;
  }
}

TimedCall Prepare(grpc::ClientContext& context, const base::Call& call) {
  context.set_wait_for_ready(true);
  base::Duration left = call.deadline - std::chrono::steady_clock::now();
  // Monotonic, so that a clock that is set does not end calls. The cap keeps the sum in range.
  left = std::min<base::Duration>(left, std::chrono::hours(48)) +  // more than any pullTimeout
         kGrpcClockAhead;
  auto nanos = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
  context.set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(nanos, GPR_TIMESPAN)));
  return TimedCall(call.deadline);
}

std::optional<CallError> ToCallError(const grpc::Status& status, const base::Call& call, bool connected,
                                     const RpcSubject& subject) {
  if (status.ok()) return std::nullopt;
  if (call.Stopped()) return CallError{ErrorClass::kCancelled, "stopped"};
  RpcCode code = static_cast<RpcCode>(status.error_code());
  // The runtime may send DEADLINE_EXCEEDED for a deadline of its own. Only the caller's clock tells the two
  // apart.
  bool late = std::chrono::steady_clock::now() >= call.deadline;
  if (code == RpcCode::kDeadlineExceeded && late) return TimedOut(connected, subject);
  ErrorClass error_class = Classify(code, status.error_message(), subject.image_names);
  // C18: the class is read from the full text, and only then the text is scrubbed and cut.
  std::string words = base::SanitizedText(status.error_message(), kMaxQuotedBytes,
                                          {subject.credential ? &subject.credential->password : nullptr});
  if (words.empty()) words = std::string(subject.method) + " failed without a message";
  if (error_class == ErrorClass::kRuntimeUnsupported) words = Unsupported(words);
  return CallError{error_class, std::move(words)};
}

namespace {

// Returns a number for the file at `path`; 0 if there is none. An inode's number may be used again, and then
// has another time of change.
std::uint64_t IdentityOf(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return 0;
  std::uint64_t identity = 0;
  for (std::uint64_t part :
       {static_cast<std::uint64_t>(info.st_dev), static_cast<std::uint64_t>(info.st_ino),
        static_cast<std::uint64_t>(info.st_ctim.tv_sec), static_cast<std::uint64_t>(info.st_ctim.tv_nsec)}) {
    identity = base::Mixed(identity, part);
  }
  return identity == 0 ? 1 : identity;
}

}  // namespace

std::uint64_t Generation::Now() {
  // A socket that is absent for a moment shows no new daemon. The next file is compared with the one before.
  if (std::uint64_t now = IdentityOf(socket_path_); now != 0) {
    std::uint64_t before = socket_.exchange(now);
    if (before != 0 && before != now) Raise();
  }
  return count_;
}

}  // namespace prefetch::cri
