// A containerd whose content store does what a script says: each request of a Write call takes the next line.
// After the last line it is honest.
//   ok                          the honest answer
//   say ACTION OFFSET           another one
//   twice                       the honest answer, two times
//   end CODE WORDS              the call ends so; CODE 0 is a good end
//   wait                        no answer until the client has gone, which is told to stop
#pragma once

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/text.h"
#include "containerd_content_v1.grpc.pb.h"
#include "cri/endpoint.h"

namespace prefetch::tests {

namespace content = ::containerd::services::content::v1;

// Requests of one run, and the content that they wrote.
struct Written {
  std::string bytes;
  bool committed = false;       // a COMMIT with all that it needs was answered well
  bool said_committed = false;  // or a script answered it as if it had been
  int requests = 0, aborts = 0;
  bool strange = false;  // the script has answered what no containerd would
};

class ScriptedStore final : public content::Content::Service {
 public:
  ScriptedStore() {
    endpoint_.socket_path = "/tmp/prefetch-fuzz-" + std::to_string(::getpid()) + ".sock";
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + endpoint_.socket_path, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    if (!server_) std::abort();
  }

  const cri::Endpoint& endpoint() const { return endpoint_; }

  // Calls for other refs get no answer from then on. The store holds `there` bytes of the blob.
  void Play(std::string_view script, const std::string& ref, std::string_view there, std::stop_source stop) {
    base::Lock lock(mutex_);
    script_ = script;
    left_ = script_;
    ref_ = ref;
    written_ = {};
    written_.bytes = there;
    stop_ = std::move(stop);
  }
  Written Seen() const {
    base::Lock lock(mutex_);
    return written_;
  }

  grpc::Status Write(grpc::ServerContext* context,
                     grpc::ServerReaderWriter<content::WriteContentResponse, content::WriteContentRequest>*
                         stream) override {
    content::WriteContentRequest request;
    std::string ref;
    while (stream->Read(&request)) {
      if (ref.empty()) ref = request.ref();
      const Step step = Next(ref, request);
      if (step.wait) WaitForClient(context);
      if (step.over) return step.status;
      for (int i = 0; i < step.times; i++) {
        if (!stream->Write(step.answer)) return grpc::Status::CANCELLED;
      }
    }
    return grpc::Status::OK;
  }
  grpc::Status Abort(grpc::ServerContext*, const content::AbortRequest* request, content::Empty*) override {
    base::Lock lock(mutex_);
    if (request->ref() == ref_) written_.aborts++;
    return grpc::Status::OK;
  }

 private:
  struct Step {
    content::WriteContentResponse answer;
    int times = 1;
    bool over = false, wait = false;
    grpc::Status status;
  };

  static std::string_view CutLine(std::string_view& text, char end) {
    const std::size_t at = text.find(end);
    const std::string_view before = text.substr(0, at);
    text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
    return before;
  }

  Step Honest(const content::WriteContentRequest& request) PREFETCH_REQUIRES(mutex_) {
    Step step;
    const auto have = static_cast<std::int64_t>(written_.bytes.size());
    if (request.action() == content::WRITE) {
      if (request.offset() != have) {
        step.over = true;
        step.status = {grpc::StatusCode::OUT_OF_RANGE, "write at another offset"};
        return step;
      }
      written_.bytes += request.data();
    }
    if (request.action() == content::COMMIT) {
      if (request.total() != have || request.expected().empty()) {
        step.over = true;
        step.status = {grpc::StatusCode::FAILED_PRECONDITION, "unexpected commit size"};
        return step;
      }
      written_.committed = true;
    }
    step.answer.set_action(request.action());
    step.answer.set_offset(static_cast<std::int64_t>(written_.bytes.size()));
    return step;
  }

  Step Next(const std::string& ref, const content::WriteContentRequest& request) {
    base::Lock lock(mutex_);
    Step step;
    if (ref != ref_) {  // of an earlier run
      step.over = true;
      return step;
    }
    written_.requests++;
    std::string_view line = CutLine(left_, '\n');
    const std::string_view word = CutLine(line, ' ');
    if (word == "wait") {
      stop_.request_stop();
      step.wait = step.over = true;
      return step;
    }
    if (word == "end") {
      const auto code = base::ParseUint(CutLine(line, ' ')).value_or(0) % 17;
      step.over = true;
      step.status = {static_cast<grpc::StatusCode>(code), std::string(line)};
      if (request.action() == content::COMMIT && code == grpc::StatusCode::ALREADY_EXISTS)
        written_.said_committed = true;
      return step;
    }
    if (word == "say") {
      written_.strange = true;
      if (request.action() == content::COMMIT) written_.said_committed = true;
      const auto action = base::ParseUint(CutLine(line, ' ')).value_or(0) % 4;
      step.answer.set_action(static_cast<content::WriteAction>(action));
      const bool negative = line.starts_with('-');
      const auto offset =
          static_cast<std::int64_t>(base::ParseUint(line.substr(negative ? 1 : 0)).value_or(0) >> 1);
      step.answer.set_offset(negative ? -offset : offset);
      return step;
    }
    step = Honest(request);
    if (word == "twice") {
      written_.strange = true;
      step.times = 2;
    }
    return step;
  }

  static void WaitForClient(grpc::ServerContext* context) {
    while (!context->IsCancelled()) ::usleep(200);
  }

  cri::Endpoint endpoint_;
  std::unique_ptr<grpc::Server> server_;
  mutable base::Mutex mutex_;
  // A copy: a client that is answered early leaves a request behind, to be read when the input is gone.
  std::string script_ PREFETCH_GUARDED_BY(mutex_);
  std::string_view left_ PREFETCH_GUARDED_BY(mutex_);  // of it
  std::string ref_ PREFETCH_GUARDED_BY(mutex_);
  Written written_ PREFETCH_GUARDED_BY(mutex_);
  std::stop_source stop_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace prefetch::tests
