// `wait` against an agent in this process: each way to its end.
#include "ctl/commands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "ctl/fake_agent.h"
#include "ctl/fleet_api.h"
#include "ctl/ran.h"
#include "rows.h"
#include "status/sample.h"
#include "status/status_json.h"
#include "temp_dir.h"

namespace prefetch::ctl::wait_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string Status(std::vector<plan::ImageState> images) {
  return status::StatusJson(sample::Node(std::move(images)));
}
plan::ImageState GoneForGood() {
  plan::ImageState image = sample::Failing("q.io/gone:v1", plan::Reason::kNotFound, "404 Not Found", 3);
  image.settled = true;
  return image;
}

// An agent that goes from pulling to ready, or away and back.
class ChangingAgent : public http::Client {
 public:
  explicit ChangingAgent(std::vector<base::Result<std::string>> says) : says_(std::move(says)) {}
  http::ExchangeResult Exchange(const base::Call&, const http::Request&) override {
    const auto& now = says_[std::min(next_, says_.size() - 1)];
    next_++;
    if (!now) return {now.error(), http::Fault::kConnect};
    return {http::Response{.status = 200, .headers = {}, .body = *now}};
  }
  AgentClient Client() { return *AgentClient::Make(*this, "unix:///run/a.sock"); }
  std::size_t asked() const { return next_; }

 private:
  const std::vector<base::Result<std::string>> says_;
  std::size_t next_ = 0;
};

TEST(WaitCommand, GoesOnWhileAnAgentIsReplaced) {
  ChangingAgent agent({Status({sample::Queued("q.io/a:v1")}), base::Unavailable("connection refused"),
                       Status({sample::Ready("q.io/a:v1", 1000)})});
  Ran ran = tests::Run(
      [&](auto& out, auto& err) { return Wait({}, agent.Client(), {.timeout = seconds(30)}, out, err); });
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_EQ(agent.asked(), 3U);  // the third after 500 ms
  EXPECT_HAS(ran.err, "connection refused");
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran;
}

// A workstation has no agent, and never gets one.
TEST(WaitCommand, WithoutTheAgentsFolderItEndsAtOnce) {
  tests::TempDir dir;
  tests::FakeAgent agent;
  agent.Answers("/v1/status", 200, Status({sample::Ready("q.io/a:v1", 1000)}));
  const auto wait = [&](const std::string& folder) {
    return tests::Run([&](auto& out, auto& err) {
      return Wait({}, agent.Client(), {.timeout = seconds(30), .folder = folder}, out, err);
    });
  };
  const Ran ran = wait(dir / "none");
  EXPECT_EQ(ran.exit, kUnreachable) << ran;
  EXPECT_EQ(ran.err, "prefetchctl: no agent is on this machine, since " + (dir / "none") +
                         " is missing: wait for all nodes with --fleet, or name an agent with --agent, which "
                         "need not run yet\n");
  EXPECT_TRUE(agent.asked().empty());
  EXPECT_EQ(wait(dir.path()).exit, kOk);
}

// A user who edits a list and waits at once gets an answer about the new list.
TEST(WaitCommand, AnAnswerBeforeTheListIsReadAgainIsNotTheLastWord) {
  ChangingAgent agent({Status({GoneForGood()}), Status({sample::Ready("q.io/a:v1", 1000)})});
  Ran ran = tests::Run([&](auto& out, auto& err) {
    return Wait({}, agent.Client(), {.fail_fast = true, .timeout = seconds(30)}, out, err);
  });
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_EQ(agent.asked(), 2U);
  EXPECT_LACKS(ran.out, "q.io/gone");

  ChangingAgent ready({Status({sample::Ready("q.io/a:v1", 1000)}), Status({sample::Queued("q.io/b:v1")})});
  ran = tests::Run([&](auto& out, auto& err) {
    return Wait({}, ready.Client(), {.timeout = milliseconds(600)}, out, err);
  });
  EXPECT_EQ(ran.exit, kTimedOut) << ran;
}

TEST(WaitCommand, NobodyThereIsTheLastWordAndNoTimeout) {
  ChangingAgent agent({base::Unavailable("connection refused")});
  Ran ran = tests::Run([&](auto& out, auto& err) {
    return Wait({}, agent.Client(), {.timeout = milliseconds(400)}, out, err);
  });
  EXPECT_EQ(ran.exit, kUnreachable) << ran;
  const std::size_t told = ran.err.find("connection refused");
  EXPECT_NE(told, std::string::npos) << ran;
  EXPECT_EQ((ran.out + ran.err).find("connection refused", told + 1), std::string::npos) << "twice: " << ran;
}

TEST(WaitCommand, AStopEndsIt) {
  ChangingAgent agent({Status({sample::Queued("q.io/a:v1")})});
  std::stop_source stop;
  stop.request_stop();
  Ran ran = tests::Run([&](auto& out, auto& err) {
    return Wait({.stop = stop.get_token()}, agent.Client(), {.timeout = seconds(30)}, out, err);
  });
  EXPECT_EQ(ran.exit, kInterrupted) << ran;
}

// `wait --fleet`: which nodes it waits for.

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
  Ran Wait(std::chrono::nanoseconds timeout, std::chrono::nanoseconds list_every,
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
  EXPECT_TRUE(Complains(Wait(seconds(5), milliseconds(10)), kOk, "1 node takes no agent"));
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
  Ran ran = Wait(milliseconds(500), milliseconds(10));
  EXPECT_EQ(ran.exit, kTimedOut) << ran;
  EXPECT_GT(api_.listings(), 3);
}

// A node without its images, and the sign by which it is not waited for.
struct GoingCase {
  std::string name;
  std::function<void(kube::Node&)> sign;
  std::string why;  // empty: it is waited for
};

TEST_TABLE_F(GoingNode, IsCountedApart, FleetWaitTest, GoingCase) {
  api_.Add("going");
  row.sign(api_.node(2));
  api_.AddPod("going", "agent-going");
  api_.Answers("agent-going", status::StatusJson(sample::Node({sample::Queued("q.io/a:v1")})));
  const bool waits = row.why.empty();
  api_.AddPod("control", "agent-control").ready = true;
  api_.Answers("agent-control", status::StatusJson(sample::Node({sample::Ready("q.io/a:v1", 1000)})));
  // It ends as soon as it is true.
  const Ran ran = Wait(milliseconds(waits ? 300 : 20'000), milliseconds(10));
  EXPECT_EQ(ran.exit, waits ? kTimedOut : kOk) << ran;
  if (waits) return;
  EXPECT_HAS(ran.out, "ready: 2 of 2 nodes ready");
  EXPECT_HAS(ran.out, "1 node dead or leaving is not counted: going (" + row.why + ")");
  EXPECT_EQ(Wait(milliseconds(300), milliseconds(10), {.include_unready = true}).exit, kTimedOut);
}

std::function<void(kube::Node&)> Tainted(const std::string& key, const std::string& effect = "NoSchedule") {
  return [=](kube::Node& node) { node.taints = {{.key = key, .effect = effect}}; };
}
std::function<void(kube::Node&)> IsReady(const std::string& status) {
  return [=](kube::Node& node) { node.conditions = {{.type = "Ready", .status = status}}; };
}

TEST_ROWS(Rows, GoingNode, {"Cordoned", [](kube::Node& node) { node.unschedulable = true; }, "cordoned"},
          {"Deleted", [](kube::Node& node) { node.deleting = true; }, "being deleted"},
          {"Karpenter", Tainted("karpenter.sh/disrupted"), "Karpenter removes it"},
          {"EarlierKarpenter", Tainted("karpenter.sh/disruption"), "Karpenter removes it"},
          {"Autoscaler", Tainted("ToBeDeletedByClusterAutoscaler"), "Cluster Autoscaler removes it"},
          {"Unknown", IsReady("Unknown"), "kubelet does not report"},
          {"OutOfService", Tainted("node.kubernetes.io/out-of-service", "NoExecute"), "out of service"},
          {"NotReadyMayCome", IsReady("False"), ""}, {"Up", IsReady("True"), ""},
          {"ACandidateMayStay", Tainted("DeletionCandidateOfClusterAutoscaler", "PreferNoSchedule"), ""},
          {"OtherTaint", Tainted("dedicated"), ""});

TEST_F(FleetWaitTest, AFleetOfGoingNodesAloneIsNotReady) {
  api_.node(1).unschedulable = true;
  Ran ran = Wait(milliseconds(200), milliseconds(10));
  EXPECT_EQ(ran.exit, kTimedOut) << ran;
}

}  // namespace
}  // namespace prefetch::ctl::wait_test
