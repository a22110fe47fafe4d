#include "cri/call_timers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cri/grpc_image_service.h"
#include "scripted_runtime.h"
#include "temp_dir.h"

namespace prefetch::cri::call_timers_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

std::vector<std::string> ThreadNames() {
  std::vector<std::string> names;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(thread.path() / "comm");
    std::string name;
    if (std::getline(file, name)) names.push_back(name);
  }
  return names;
}

class CallTimersTest : public testing::Test {
 protected:
  CallTimersTest() : service_(Endpoint{dir_ / "cri.sock"}) {
    server_ = std::make_unique<tests::ScriptedRuntime>(dir_ / "cri.sock",
                                                       std::vector<grpc::Service*>{&images_, &version_});
  }
  auto List(milliseconds limit) { return service_.ListImages(base::Call{}.Within(limit)); }

  tests::TempDir dir_;
  tests::ScriptedImages images_;
  tests::ScriptedVersion version_;
  GrpcImageService service_;
  std::unique_ptr<tests::ScriptedRuntime> server_;
};

TEST_F(CallTimersTest, NoThreadOfGrpcsWakesForTimers) {
  ASSERT_TRUE(List(seconds(20)));
  for (const std::string& name : ThreadNames()) {
    EXPECT_FALSE(name.starts_with("grpc_global_tim") || name.starts_with("timer_manager")) << name;
  }
}

TEST_F(CallTimersTest, ADeadlineIsKept) {
  images_.hang = true;
  for (milliseconds limit : {milliseconds(150), milliseconds(400)}) {
    const auto start = steady_clock::now();
    EXPECT_FALSE(List(limit));
    EXPECT_GE(steady_clock::now() - start, limit);
    EXPECT_LT(steady_clock::now() - start, limit + seconds(5));  // a machine may be busy
  }
}

// Also when the timers had been left alone for a while, and while another call goes on.
TEST_F(CallTimersTest, ADeadlineIsKeptBesideACallWithoutOne) {
  images_.hang = true;
  std::stop_source stop;
  std::thread endless([&] {
    auto failed = service_.PullImage({.stop = stop.get_token()}, {.image = "example.test/app:v1"});
    EXPECT_FALSE(failed);
  });
  const auto start = steady_clock::now();
  EXPECT_FALSE(List(milliseconds(200)));
  EXPECT_GE(steady_clock::now() - start, milliseconds(200));
  stop.request_stop();
  endless.join();
}

}  // namespace
}  // namespace prefetch::cri::call_timers_test
