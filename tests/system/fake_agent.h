// An agent that says what the test wants, for commands that ask one again and again.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "rig/process.h"
#include "serve.h"
#include "status/sample.h"
#include "status/status_json.h"

namespace prefetch::system {

// One thread owns it. Until it is told what to say it answers 503.
class FakeAgent {
 public:
  // Nobody listens there any more.
  void GoesAway() { server_.reset(); }

  std::string Url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }

  void Says(std::vector<plan::ImageState> images) {
    Says(status::StatusJson(sample::Node(std::move(images))));
  }
  void Says(std::string status) {
    base::Lock lock(mutex_);
    status_ = std::move(status);
  }
  void HasNoContent() { Says(std::string()); }
  // Waits until it has been asked this many times since it started.
  bool IsAsked(int times) {
    return rig::Eventually(std::chrono::seconds(20), [&] { return Asked() >= times; });
  }
  // Waits until it has been asked this many more times.
  bool IsAskedAgain(int times) { return IsAsked(Asked() + times); }

 private:
  int Asked() {
    base::Lock lock(mutex_);
    return asked_;
  }

  base::Mutex mutex_;
  std::string status_ PREFETCH_GUARDED_BY(mutex_);
  int asked_ PREFETCH_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<http::Server> server_ = tests::Serve([this](const http::ServerRequest&) {
    base::Lock lock(mutex_);
    asked_++;
    return http::JsonResponse(status_.empty() ? 503 : 200, status_);
  });
};

}  // namespace prefetch::system
