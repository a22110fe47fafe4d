#include "cri/call_deadlines.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cri/image_service.h"
#include "scripted_runtime.h"
#include "temp_dir.h"

namespace prefetch::cri::call_deadlines_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

class CallsTest : public testing::Test {
 protected:
  CallsTest() : service_(MakeImageService(Endpoint{dir_ / "cri.sock"})) {
    server_ = std::make_unique<tests::ScriptedRuntime>(dir_ / "cri.sock",
                                                       std::vector<grpc::Service*>{&images_, &version_});
  }
  auto List(milliseconds limit) { return service_->ListImages(base::Call{}.Within(limit)); }

  tests::TempDir dir_;
  tests::ScriptedImages images_;
  tests::ScriptedVersion version_;
  std::unique_ptr<ImageService> service_;
  std::unique_ptr<tests::ScriptedRuntime> server_;
};

TEST_F(CallsTest, ADeadlineIsKept) {
  images_.hang = true;
  for (milliseconds limit : {milliseconds(150), milliseconds(400)}) {
    const auto start = steady_clock::now();
    const auto listed = List(limit);
    ASSERT_FALSE(listed);
    EXPECT_EQ(listed.error().error_class, image::ErrorClass::kTimeout);
    EXPECT_EQ(listed.error().message,
              "the container runtime does not answer ListImages in time: is it stopped, or overloaded?");
    EXPECT_GE(steady_clock::now() - start, limit);
    EXPECT_LT(steady_clock::now() - start, limit + seconds(5));  // a machine may be busy
  }
}

TEST_F(CallsTest, ADeadlineIsKeptBesideACallWithoutOne) {
  images_.hang = true;
  std::stop_source stop;
  std::thread endless([&] {
    auto failed = service_->PullImage({.stop = stop.get_token()}, {.image = "example.test/app:v1"});
    EXPECT_FALSE(failed);
  });
  const auto start = steady_clock::now();
  EXPECT_FALSE(List(milliseconds(200)));
  EXPECT_GE(steady_clock::now() - start, milliseconds(200));
  stop.request_stop();
  endless.join();
}

TEST(CallDeadlinesTest, AreBrokenIfOneCallIsOverdueAtTwoChecks) {
  CallDeadlines calls;
  const base::TimePoint start = steady_clock::now();
  EXPECT_FALSE(calls.AreBroken(start));
  calls.Begin(start + hours(1));
  const auto late = calls.Begin(start + seconds(30));
  EXPECT_FALSE(calls.AreBroken(start + seconds(29)));
  EXPECT_FALSE(calls.AreBroken(start + seconds(31)));
  EXPECT_TRUE(calls.AreBroken(start + seconds(41)));
  calls.End(late);
  EXPECT_FALSE(calls.AreBroken(start + seconds(51)));
}

// A process that was stopped (SIGSTOP) finds its calls overdue when it goes on, and gRPC ends them at once.
TEST(CallDeadlinesTest, AreKeptIfOverdueCallsEndBeforeTheNextCheck) {
  CallDeadlines calls;
  const base::TimePoint start = steady_clock::now();
  for (int i = 0; i < 5; i++) {
    const auto call = calls.Begin(start + seconds(10 * i));
    EXPECT_FALSE(calls.AreBroken(start + seconds(10 * i + 5)));
    calls.End(call);
  }
  EXPECT_TRUE(calls.empty());
}

}  // namespace
}  // namespace prefetch::cri::call_deadlines_test
