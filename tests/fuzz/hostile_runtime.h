// A container runtime, and containerd's own services, on a unix socket. Every call of any method takes its
// answer from one script, in the order in which calls arrive. Steps of a script, numbers big-endian:
//   m LEN16 BYTES          a message of these bytes
//   x LOG8 LEN16 BYTES     a message of these bytes, repeated 2^LOG times, at most 256 KiB
//   z                      messages from here on are compressed
//   f                      the last message once more, until the client has gone or has 1 MiB
//   i LEN16 BYTES          initial metadata; t: trailing metadata
//   b LEN16 BYTES          details of the status that ends this call
//   e CODE8 LEN16 WORDS    the end, with a status
//   c                      the end, by a reset of the stream
//   h                      no more words; waits until the client goes
//   any other              the end, good; with an empty message if there was none
// After the script, each call ends like that.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "cri/endpoint.h"

namespace prefetch::fuzz {

class HostileRuntime {
 public:
  // Never destroyed: its thread serves as long as the process lives.
  HostileRuntime() {
    endpoint_.socket_path = "/tmp/prefetch-fuzz-cri-" + std::to_string(::getpid()) + ".sock";
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + endpoint_.socket_path, grpc::InsecureServerCredentials());
    builder.RegisterAsyncGenericService(&service_);
    queue_ = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
    if (!server_) std::abort();
    std::thread([this] { Serve(); }).detach();
  }

  const cri::Endpoint& endpoint() const { return endpoint_; }

  // Calls from now on. Instead of a silence, and after more calls than any client of ours should make,
  // `stop` is requested. With `silent`, only the client's own deadline ends a silence.
  void Play(std::string_view script, std::stop_source stop, bool silent) {
    std::lock_guard lock(mutex_);
    script_ = script;
    stop_ = std::move(stop);
    silent_ = silent;
    calls_ = 0;
  }

 private:
  static constexpr std::size_t kLargest = std::size_t{1} << 18;
  static constexpr std::size_t kFlood = std::size_t{1} << 20;
  static constexpr int kMostCalls = 100;
  static constexpr int kMostSteps = 200;

  // One call, served by blocking steps.
  struct Exchange {
    grpc::GenericServerContext context;
    grpc::GenericServerAsyncReaderWriter stream{&context};
    std::string last;
    bool wrote = false, compressed = false, gone = false;
    std::string details;
  };

  [[noreturn]] void Serve() {
    for (;;) {
      Exchange call;
      call.context.AsyncNotifyWhenDone(&done_);
      service_.RequestCall(&call.context, &call.stream, queue_.get(), queue_.get(), &step_);
      if (!Wait(call, &step_, true)) std::abort();
      Answer(call);
      if (!call.gone) Wait(call, &done_, true);
    }
  }

  // Until the step has ended. A client that reads nothing more is told to stop.
  bool Wait(Exchange& call, void* wanted, bool patient) {
    for (;;) {
      void* tag = nullptr;
      bool ok = false;
      const auto limit =
          std::chrono::system_clock::now() + std::chrono::milliseconds(patient ? 3'600'000 : 30);
      const auto state = queue_->AsyncNext(&tag, &ok, limit);
      if (state == grpc::CompletionQueue::SHUTDOWN) std::abort();
      if (state == grpc::CompletionQueue::TIMEOUT) {
        Stop();
        patient = true;
        continue;
      }
      if (tag == &done_) call.gone = true;
      if (tag == wanted) return ok;
    }
  }

  void Stop() {
    std::lock_guard lock(mutex_);
    if (!silent_) stop_.request_stop();
  }

  void Answer(Exchange& call) {
    {
      std::lock_guard lock(mutex_);
      if (++calls_ > kMostCalls) stop_.request_stop();
    }
    int steps = 0;
    while (Step(call)) {
      if (++steps > kMostSteps) return (void)Finish(call, grpc::Status::OK);
    }
  }

  // False: the call has ended.
  bool Step(Exchange& call) {
    const std::uint8_t word = Byte();
    switch (word) {
      case 'm':
        call.last = Bytes();
        return Write(call);
      case 'x': {
        const unsigned log = Byte() % 20;
        const std::string bytes = Bytes();
        call.last.clear();
        for (std::size_t i = 0; i < std::size_t{1} << log && call.last.size() + bytes.size() <= kLargest; i++)
          call.last += bytes;
        return Write(call);
      }
      case 'z':
        call.compressed = true;
        return true;
      case 'f': {
        const std::size_t size = std::max<std::size_t>(call.last.size(), 4096);
        bool goes_on = true;
        for (std::size_t sent = 0; goes_on && sent < kFlood; sent += size) goes_on = Write(call);
        return goes_on;
      }
      case 'i':
      case 't':
        Note(call, word == 'i');
        return true;
      case 'b':
        call.details = Bytes();
        return true;
      case 'e': {
        const auto code = static_cast<grpc::StatusCode>(Byte() % 20);
        return Finish(call, grpc::Status(code, Bytes(), call.details));
      }
      case 'c':
        call.context.TryCancel();
        return false;
      case 'h':
        Stop();
        return false;
      default:
        call.last.clear();
        if (!call.wrote && !Write(call)) return false;
        return Finish(call, grpc::Status::OK);
    }
  }

  // gRPC aborts on metadata that HTTP/2 does not allow, so that only bytes of a value are the script's.
  void Note(Exchange& call, bool initial) {
    const std::string value = Bytes();
    if (!initial) return call.context.AddTrailingMetadata("x-note-bin", value);
    if (!call.wrote) call.context.AddInitialMetadata("x-note-bin", value);
  }

  bool Write(Exchange& call) {
    const grpc::Slice slice(call.last);
    grpc::WriteOptions options;
    if (call.compressed && !call.wrote) call.context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
    if (!call.compressed) options.set_no_compression();
    call.wrote = true;
    call.stream.Write(grpc::ByteBuffer(&slice, 1), options, &step_);
    if (Wait(call, &step_, false)) return true;
    return Finish(call, grpc::Status::CANCELLED);
  }

  bool Finish(Exchange& call, const grpc::Status& status) {
    call.stream.Finish(status, &step_);
    Wait(call, &step_, false);
    return false;
  }

  // The next byte; 0 after the last one, which ends a call.
  std::uint8_t Byte() {
    std::lock_guard lock(mutex_);
    if (script_.empty()) return 0;
    const auto byte = static_cast<std::uint8_t>(script_.front());
    script_.remove_prefix(1);
    return byte;
  }
  std::string Bytes() {
    const std::size_t high = Byte();
    const std::size_t size = high * 256 + Byte();
    std::lock_guard lock(mutex_);
    std::string bytes(script_.substr(0, size));
    script_.remove_prefix(bytes.size());
    return bytes;
  }

  cri::Endpoint endpoint_;
  grpc::AsyncGenericService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  char step_ = 0, done_ = 0;  // their addresses are tags
  std::mutex mutex_;
  std::string_view script_;
  std::stop_source stop_;
  bool silent_ = false;
  int calls_ = 0;
};

}  // namespace prefetch::fuzz
