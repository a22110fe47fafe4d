// `wait --fleet`: which nodes it waits for.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
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
  tests::Ran Wait(std::chrono::nanoseconds timeout, std::chrono::nanoseconds list_every,
                  const FleetQuery& query = {}) {
    return tests::Run([&](auto& out, auto& err) {
      return FleetWait(
          {}, api_, {.query = query, .timeout = timeout, .pause = milliseconds(5), .list_every = list_every},
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

// A node without its images, and the sign by which it is not waited for.
struct GoingCase {
  std::string name;
  std::function<void(kube::Node&)> sign;
  std::string why;  // empty: it is waited for
};

class GoingNode : public FleetWaitTest, public testing::WithParamInterface<GoingCase> {};

TEST_P(GoingNode, IsCountedApart) {
  api_.Add("going");
  GetParam().sign(api_.node(2));
  api_.AddPod("going", "agent-going");
  api_.Answers("agent-going", status::StatusJson(sample::Node({sample::Queued("q.io/a:v1")})));
  const bool waits = GetParam().why.empty();
  api_.AddPod("control", "agent-control").ready = true;
  api_.Answers("agent-control", status::StatusJson(sample::Node({sample::Ready("q.io/a:v1", 1000)})));
  // It ends as soon as it is true.
  const tests::Ran ran = Wait(milliseconds(waits ? 300 : 20'000), milliseconds(10));
  EXPECT_EQ(ran.exit, waits ? kTimedOut : kOk) << ran;
  if (waits) return;
  EXPECT_NE(ran.out.find("ready: 2 of 2 nodes ready"), std::string::npos) << ran;
  EXPECT_NE(ran.out.find("1 node dead or leaving is not counted: going (" + GetParam().why + ")"),
            std::string::npos)
      << ran;
  EXPECT_EQ(Wait(milliseconds(300), milliseconds(10), {.include_unready = true}).exit, kTimedOut);
}

std::function<void(kube::Node&)> Tainted(const std::string& key, const std::string& effect = "NoSchedule") {
  return [=](kube::Node& node) { node.taints = {{.key = key, .effect = effect}}; };
}
std::function<void(kube::Node&)> IsReady(const std::string& status) {
  return [=](kube::Node& node) { node.conditions = {{.type = "Ready", .status = status}}; };
}

INSTANTIATE_TEST_SUITE_P(
    Rows, GoingNode,
    testing::Values(GoingCase{"Cordoned", [](kube::Node& node) { node.unschedulable = true; }, "cordoned"},
                    GoingCase{"Deleted", [](kube::Node& node) { node.deleting = true; }, "being deleted"},
                    GoingCase{"Karpenter", Tainted("karpenter.sh/disrupted"), "Karpenter removes it"},
                    GoingCase{"EarlierKarpenter", Tainted("karpenter.sh/disruption"), "Karpenter removes it"},
                    GoingCase{"Autoscaler", Tainted("ToBeDeletedByClusterAutoscaler"),
                              "Cluster Autoscaler removes it"},
                    GoingCase{"Unknown", IsReady("Unknown"), "kubelet does not report"},
                    GoingCase{"OutOfService", Tainted("node.kubernetes.io/out-of-service", "NoExecute"),
                              "out of service"},
                    GoingCase{"NotReadyMayCome", IsReady("False"), ""}, GoingCase{"Up", IsReady("True"), ""},
                    GoingCase{"ACandidateMayStay",
                              Tainted("DeletionCandidateOfClusterAutoscaler", "PreferNoSchedule"), ""},
                    GoingCase{"OtherTaint", Tainted("dedicated"), ""}),
    [](const auto& row) { return row.param.name; });

TEST_F(FleetWaitTest, AFleetOfGoingNodesAloneIsNotReady) {
  api_.node(1).unschedulable = true;
  tests::Ran ran = Wait(milliseconds(200), milliseconds(10));
  EXPECT_EQ(ran.exit, kTimedOut) << ran;
}

}  // namespace
}  // namespace prefetch::ctl::wait_fleet_test
