// The node gate against an API server that keeps one Node in memory.
#include "agent/cluster/node_gate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "agent/cluster/periodic_thread.h"
#include "agent/one_node.h"
#include "base/log.h"
#include "fakes/fake_clock.h"
#include "rows.h"

namespace prefetch::agent::node_gate_test {
namespace {

using kube::ApiError;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

class NodeGateTest : public testing::Test {
 protected:
  NodeGateTest() { Publish(false, plan::Reason::kPulling, plan::Phase::kProgressing); }

  void Publish(bool ready, plan::Reason reason, plan::Phase phase, bool settled = false) {
    plan::Snapshot snapshot;
    snapshot.list.hash = "sha256:3f9c21aabbcc";
    plan::ImageState image;
    image.desired = plan::DesiredImage{.reference = *image::Reference::Parse("r.io/a:1")};
    image.ready = ready;
    image.phase = phase;
    image.reason = reason;
    image.message = "why";
    image.settled = settled;
    snapshot.images = {image};
    snapshot.readiness = {.ready = ready,
                          .reason = ready ? plan::Reason::kAllReady : plan::Reason::kImagesNotReady,
                          .message = ready ? "all good" : "1 required image is not ready\nmore",
                          .required = 1,
                          .required_ready = ready ? 1U : 0U};
    board_.Publish(std::make_shared<const plan::Snapshot>(std::move(snapshot)));
  }
  // All ready, and `count` of them replaced just now, one content after another.
  void PublishReplaced(int count, const std::string& before, const std::string& after) {
    plan::Snapshot snapshot = *board_.Latest();
    plan::ImageState image = snapshot.images.at(0);
    snapshot.images.clear();
    for (int i = 0; i < count; i++) {
      image.desired =
          plan::DesiredImage{.reference = *image::Reference::Parse("r.io/a" + std::to_string(i) + ":1")};
      image.digest = after;
      plan::RegistryView registry;
      registry.changed_from = before;
      registry.changed_at = clock_.Wall();
      image.registry = std::make_shared<const plan::RegistryView>(registry);
      snapshot.images.push_back(image);
    }
    board_.Publish(std::make_shared<const plan::Snapshot>(std::move(snapshot)));
  }
  void Ready() { Publish(true, plan::Reason::kPresent, plan::Phase::kReady); }
  NodeGate& Gate(bool accept = false) {
    gate_.emplace(NodeGateOptions{.gate = {.label = true, .condition = true, .taint = true},
                                  .node = "n1",
                                  .accept_fleet_wide_writes = accept,
                                  .kubelet_version = version_,
                                  .report_problem =
                                      [this](const std::string& of, const std::string& problem) {
                                        told_.emplace_back(of, problem);
                                      },
                                  .seed = 1},
                  api_, board_, clock_);
    return *gate_;
  }
  void RunFor(NodeGate& gate, base::Duration time) {
    base::TimePoint end = clock_.Now() + time;
    while (clock_.Now() < end) {
      base::TimePoint next = gate.Turn({});
      clock_.AdvanceTo(std::min(end, next));
    }
  }

  tests::FakeClock clock_;
  Board board_;
  OneNode api_;
  std::shared_ptr<LatestNodeReport> version_ = std::make_shared<LatestNodeReport>();
  std::vector<std::pair<std::string, std::string>> told_;  // troubles, and what each is of
  std::optional<NodeGate> gate_;
};

// A rollout of the agent, or its crash, on a node that has everything.
TEST_F(NodeGateTest, AnAgentThatIsReplacedOnAReadyNodeChangesNothing) {
  Ready();
  RunFor(Gate(), minutes(1));
  ASSERT_EQ(api_.Label(), "ready");
  const int before = api_.writes;
  NodeGate& next = Gate();
  board_.Publish(std::make_shared<const plan::Snapshot>());
  RunFor(next, seconds(2));
  EXPECT_EQ(version_->Get().version_text, "1.36.2") << "what the Node says is read at once";
  Publish(false, plan::Reason::kFactsUnknown, plan::Phase::kProgressing);
  RunFor(next, seconds(2));
  Ready();
  RunFor(next, minutes(10));
  EXPECT_EQ(api_.writes, before);
}

TEST_F(NodeGateTest, AnAgentThatIsNotReadySaysSoFiveSecondsAfterItsStart) {
  NodeGate& gate = Gate();
  RunFor(gate, seconds(5));
  EXPECT_EQ(api_.writes, 0);
  RunFor(gate, seconds(1));
  EXPECT_EQ(api_.Label(), "notready");
  ASSERT_NE(api_.Condition(), nullptr);
  EXPECT_EQ(api_.Condition()->message,
            "0 of 1 required images ready (list sha256:3f9c21): 1 required image is not ready");
}

TEST_F(NodeGateTest, AFlappingNodeIsWrittenAtMostEveryTenSeconds) {
  NodeGate& gate = Gate();
  for (int i = 0; i < 100; i++) {
    i % 2 == 0 ? Ready() : Publish(false, plan::Reason::kImageAbsent, plan::Phase::kProgressing);
    RunFor(gate, seconds(1));
  }
  EXPECT_LE(api_.writes, 2 * 11 + 1) << "label and condition of each round, and the taint";
}

// A round that breaks off after its first write is one, too: else a server in trouble and a node that changes
// its mind make many.
TEST_F(NodeGateTest, ARoundThatBreaksOffIsFollowedByTheNextOneTenSecondsLater) {
  NodeGate& gate = Gate();
  Ready();
  api_.refusing = {{"label", ApiError::kConflict}};
  RunFor(gate, seconds(2));
  EXPECT_EQ(api_.writes, 1) << "the condition, after a round that learns kubelet's version";
  api_.refusing.clear();
  Publish(false, plan::Reason::kImageAbsent, plan::Phase::kProgressing);
  RunFor(gate, seconds(8));
  EXPECT_EQ(api_.writes, 1);
  RunFor(gate, seconds(3));
  EXPECT_EQ(api_.Label(), "notready");
  EXPECT_EQ(api_.Condition()->status, "False");
  EXPECT_EQ(api_.Condition()->last_transition, api_.Condition()->last_heartbeat);
}

// Nothing of it may be written, and it changes its mind every second: then it is looked at, and seldom.
TEST_F(NodeGateTest, AFlappingNodeThatMayNotBeWrittenToIsReadEveryTenSeconds) {
  api_.refusing = {{"label", ApiError::kForbidden},
                   {"condition", ApiError::kForbidden},
                   {"taints", ApiError::kForbidden},
                   {"events", ApiError::kForbidden}};
  NodeGate& gate = Gate();
  for (int i = 0; i < 100; i++) {
    i % 2 == 0 ? Ready() : Publish(false, plan::Reason::kImageAbsent, plan::Phase::kProgressing);
    RunFor(gate, seconds(1));
  }
  EXPECT_EQ(api_.writes, 0);
  EXPECT_LE(api_.gets, 11 + 1) << "and once for the taint";
}

TEST_F(NodeGateTest, GivesUpAfterItsTimeAndSaysSoUntilItIsReady) {
  NodeGate& gate = Gate();
  RunFor(gate, minutes(14));
  EXPECT_TRUE(api_.Tainted());
  RunFor(gate, minutes(2));
  EXPECT_FALSE(api_.Tainted());
  ASSERT_EQ(api_.events.size(), 1U);
  EXPECT_EQ(api_.events[0].reason, "GaveUp");
  EXPECT_EQ(api_.Label(), "notready");
  RunFor(gate, minutes(44));
  EXPECT_EQ(api_.writes, 4) << "condition and label; after 15 min the taint, with the condition GaveUp";
  ASSERT_EQ(api_.Condition()->reason, "GaveUp");
  Ready();
  RunFor(gate, minutes(1));
  EXPECT_EQ(api_.Condition()->reason, "AllReady");
  Publish(false, plan::Reason::kImageAbsent, plan::Phase::kProgressing);
  RunFor(gate, hours(2));
  EXPECT_EQ(api_.Condition()->reason, "ImagesNotReady");
  EXPECT_EQ(api_.events.size(), 1U);
}

// A failure that passes costs only that time. The log has one line for its start, and one for its end.
TEST_TABLE_F(NodeGateTrouble, PassesAndTheNodeIsToldThen, NodeGateTest, ApiError) {
  std::vector<std::string> log;
  base::SetLogSink([&log](std::string_view line) { log.emplace_back(line); });
  api_.failing = row;
  NodeGate& gate = Gate();
  RunFor(gate, minutes(2));
  Ready();
  RunFor(gate, minutes(10));
  EXPECT_EQ(api_.writes, 0);
  api_.failing.reset();
  RunFor(gate, minutes(5) + seconds(1));
  base::SetLogSink(nullptr);
  EXPECT_EQ(api_.Label(), "ready");
  ASSERT_NE(api_.Condition(), nullptr);
  EXPECT_EQ(api_.Condition()->status, "True");
  EXPECT_FALSE(api_.Tainted());
  auto lines = [&log](std::string_view part) {
    return std::count_if(log.begin(), log.end(),
                         [part](const std::string& line) { return line.find(part) != line.npos; });
  };
  EXPECT_EQ(lines("node object not reached"), 1);
  EXPECT_EQ(lines("node object reached again"), 1);
}
TEST_ROWS(NodeGate, NodeGateTrouble, ApiError::kUnauthorized, ApiError::kForbidden, ApiError::kNotFound,
          ApiError::kConflict, ApiError::kGone, ApiError::kTooManyRequests, ApiError::kServerError,
          ApiError::kUnreachable, ApiError::kTlsError, ApiError::kTimeout, ApiError::kMalformed,
          ApiError::kInvalid, ApiError::kNoCredential);

// A token that the server does not know yet when the agent starts.
TEST_F(NodeGateTest, AFirstQuestionThatIsRefusedDelaysNothing) {
  api_.refusing = {{"version", ApiError::kUnauthorized}};
  Ready();
  NodeGate& gate = Gate();
  RunFor(gate, seconds(1));
  api_.refusing.clear();
  RunFor(gate, seconds(3));
  EXPECT_EQ(api_.Label(), "ready");
  EXPECT_FALSE(api_.Tainted());
}

TEST_F(NodeGateTest, AWriteOfTheConditionThatFailedIsRepeatedSoon) {
  api_.refusing = {{"condition", ApiError::kServerError}};
  Ready();
  NodeGate& gate = Gate();
  RunFor(gate, seconds(3));  // the first second goes into reading the Node
  ASSERT_EQ(api_.Condition(), nullptr);
  api_.refusing.clear();
  RunFor(gate, seconds(15));
  ASSERT_NE(api_.Condition(), nullptr);
  EXPECT_EQ(api_.Condition()->status, "True");
}

// The API server refuses one part: a role lacks nodes/status, or a policy or a quota of Events forbids it.
// The other parts do not wait for it.
TEST_TABLE_F(NodeGateRefused, HoldsUpNothingElse, NodeGateTest, std::pair<const char*, ApiError>) {
  auto [what, kind] = row;
  const std::string refused = what;
  api_.refusing = {{refused, kind}};
  Publish(false, plan::Reason::kAccessDenied, plan::Phase::kFailing, true);
  NodeGate& gate = Gate();
  RunFor(gate, seconds(15));
  EXPECT_EQ(api_.Label(), refused == "label" ? "" : "notready");
  EXPECT_EQ(api_.Condition() == nullptr, refused == "condition");
  EXPECT_EQ(api_.Tainted(), refused == "taints");
  EXPECT_EQ(api_.events.size(), refused == "events" ? 0U : 1U);
  Ready();
  RunFor(gate, seconds(15));
  EXPECT_EQ(api_.Label(), refused == "label" ? "" : "ready");
  ASSERT_EQ(told_.size(), 1U) << "once, however often it is tried";
  EXPECT_NE(told_[0].second.find(": the API server says "), std::string::npos) << told_[0].second;
  api_.refusing.clear();  // a person has mended it
  Publish(false, plan::Reason::kAccessDenied, plan::Phase::kFailing, true);
  RunFor(gate, minutes(6));
  Ready();
  RunFor(gate, seconds(15));
  ASSERT_EQ(told_.size(), 2U);
  EXPECT_EQ(told_[1], std::pair(told_[0].first, std::string()));
  EXPECT_EQ(api_.Label(), "ready");
  ASSERT_NE(api_.Condition(), nullptr);
  EXPECT_EQ(api_.Condition()->status, "True");
  EXPECT_FALSE(api_.Tainted());
}
INSTANTIATE_TEST_SUITE_P(
    NodeGate, NodeGateRefused,
    testing::Values(std::pair("condition", ApiError::kForbidden), std::pair("label", ApiError::kForbidden),
                    std::pair("taints", ApiError::kForbidden), std::pair("events", ApiError::kForbidden),
                    std::pair("condition", ApiError::kInvalid), std::pair("events", ApiError::kInvalid)),
    [](const auto& row) {
      return std::string(row.param.first) + std::string(kube::ApiErrorName(row.param.second));
    });

TEST_F(NodeGateTest, AnOldClusterIsNotWrittenToUnlessThatIsAccepted) {
  api_.version = {"1", "29+", "v1.29.4"};
  NodeGate& gate = Gate();
  RunFor(gate, minutes(1));
  EXPECT_EQ(api_.writes, 0);
  NodeGate& accepted = Gate(true);
  RunFor(accepted, minutes(1));
  EXPECT_EQ(api_.Label(), "notready");
}

TEST_F(NodeGateTest, AChangedDigestIsAnEventOfItsOwnSoonAndOnce) {
  Ready();
  NodeGate& gate = Gate();
  RunFor(gate, minutes(1));
  ASSERT_TRUE(api_.events.empty());
  PublishReplaced(1, "sha256:aa", "sha256:bb");
  RunFor(gate, seconds(12));
  ASSERT_EQ(api_.events.size(), 1U);
  EXPECT_EQ(api_.events[0].reason, "ImageReplaced");
  EXPECT_EQ(api_.events[0].message, "r.io/a0:1: the tag had changed: sha256:aa was replaced by sha256:bb");
  EXPECT_FALSE(api_.events[0].warning);
  RunFor(gate, hours(3));
  ASSERT_EQ(api_.events.size(), 1U);
  EXPECT_EQ(api_.events[0].count, 1);
  PublishReplaced(1, "sha256:bb", "sha256:aa");
  RunFor(gate, seconds(12));
  EXPECT_EQ(api_.events.size(), 2U);
}

TEST_F(NodeGateTest, AChangeWhileTheApiServerIsAwayIsToldWhenItIsBack) {
  Ready();
  NodeGate& gate = Gate();
  RunFor(gate, minutes(1));
  api_.failing = ApiError::kUnreachable;
  PublishReplaced(1, "sha256:aa", "sha256:bb");
  RunFor(gate, minutes(10));
  api_.failing.reset();
  RunFor(gate, minutes(10));
  EXPECT_EQ(api_.events.size(), 1U);
}

TEST_F(NodeGateTest, ManyChangesAreNoFlood) {
  Ready();
  NodeGate& gate = Gate();
  RunFor(gate, minutes(1));
  int gets = api_.gets;
  PublishReplaced(100, "sha256:aa", "sha256:bb");
  RunFor(gate, minutes(20));
  EXPECT_EQ(api_.events.size(), 20U);
  EXPECT_LE(api_.gets - gets, 8);
  RunFor(gate, hours(3));  // by then they are no news
  EXPECT_EQ(api_.events.size(), 20U);
}

TEST_F(NodeGateTest, WithoutAnOptionItOnlyReads) {
  NodeGate gate({.gate = {}, .node = "n1", .kubelet_version = version_, .seed = 1}, api_, board_, clock_);
  RunFor(gate, minutes(30));
  EXPECT_EQ(api_.writes, 0);
  EXPECT_LE(api_.gets, 7);
  EXPECT_TRUE(version_->Get().version);
}

TEST_F(NodeGateTest, TheThreadEndsAtOnce) {
  NodeGate& gate = Gate();
  std::optional<PeriodicThread> thread(std::in_place,
                                       [&](const base::Call& call) { return gate.Turn(call); });
  auto started = std::chrono::steady_clock::now();
  thread.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - started, seconds(5));
}

}  // namespace
}  // namespace prefetch::agent::node_gate_test
