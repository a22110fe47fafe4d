// `wait --fleet`: which nodes it waits for.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "ctl/exit_code.h"
#include "ctl/fleet_api.h"
#include "ctl/ran.h"
#include "ctl/wait.h"
#include "status/sample.h"
#include "status/status_json.h"

namespace prefetch::ctl::wait_fleet_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A control plane and a worker, whose agent is ready.
class FleetWaitTest : public testing::Test {
 protected:
  FleetWaitTest() {
    api_.Add("control");
    api_.node(0).labels = {{"node-role.kubernetes.io/control-plane", ""}};
    api_.Add("worker");
    AddReady("worker");
  }
  void AddReady(const std::string& node) {
    api_.AddPod(node, "agent-" + node).ready = true;
    api_.Answers("agent-" + node, status::StatusJson(sample::Node({sample::Ready("q.io/a:v1", 1000)})));
  }
  tests::Ran Wait(std::chrono::nanoseconds timeout, std::chrono::nanoseconds list_every) {
    return tests::Run([&](auto& out, auto& err) {
      return FleetWait({}, api_, {.timeout = timeout, .pause = milliseconds(5), .list_every = list_every},
                       out, err);
    });
  }

  tests::FleetApi api_;
};

TEST_F(FleetWaitTest, ANodeThatTakesNoAgentIsNotWaitedFor) {
  tests::Ran ran = Wait(seconds(5), milliseconds(10));
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_NE(ran.err.find("1 node takes no agent"), std::string::npos) << ran;
}

// A DaemonSet that was told a moment ago to run there gets its pods within seconds.
TEST_F(FleetWaitTest, OneListingDoesNotTellThatItTakesNone) {
  EXPECT_EQ(Wait(milliseconds(300), seconds(20)).exit, kTimedOut);
}

TEST_F(FleetWaitTest, APodThatIsBeingReplacedIsWaitedFor) {
  api_.AddPod("control", "agent-control");  // not ready, and it does not answer
  api_.Answers("agent-control",
               kube::Failure{.kind = kube::ApiError::kTimeout, .message = "get \"x\": late"});
  api_.WhenPodsAreListed([this](int times) {
    if (times == 2) api_.RemovePod("agent-control");
  });
  tests::Ran ran = Wait(milliseconds(500), milliseconds(10));
  EXPECT_EQ(ran.exit, kTimedOut) << ran;
  EXPECT_GT(api_.listings(), 3);
}

}  // namespace
}  // namespace prefetch::ctl::wait_fleet_test
