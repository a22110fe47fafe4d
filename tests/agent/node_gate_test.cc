// The node gate against an API server that keeps one Node in memory.
#include "agent/node_gate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "fakes/fake_clock.h"

namespace prefetch::agent {
namespace {

using kube::Answer;
using kube::ApiError;
using kube::Done;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// One Node, its events, and failures that a test asks for. What the gate does not call is refused.
class OneNode final : public kube::Api {
 public:
  OneNode() {
    node.name = "n1";
    node.resource_version = "1";
    node.kubelet_version = "v1.36.2-gke.100";
    node.taints = {{"other", "", "NoExecute", ""},
                   {std::string(plan::kStartupTaintKey), "", "NoSchedule", ""}};
    node.labels = {{"kubernetes.io/os", "linux"}};
    version = {"1", "36", "v1.36.2"};
  }

  Answer<kube::ServerVersion> GetServerVersion(const base::Call&) override {
    if (auto failure = Next()) return *failure;
    return version;
  }
  Answer<kube::Node> GetNode(const base::Call&, const std::string&) override {
    gets++;
    if (auto failure = Next()) return *failure;
    return node;
  }
  Answer<Done> SetNodeLabel(const base::Call&, const std::string&, const std::string& key,
                            const std::optional<std::string>& value) override {
    if (auto failure = Next()) return *failure;
    writes++;
    if (after_label) std::exchange(after_label, nullptr)();
    node.labels[key] = *value;
    Touch();
    return Done{};
  }
  Answer<kube::Node> SetNodeTaints(const base::Call&, const std::string&, const std::string& resource_version,
                                   const std::vector<kube::Taint>& taints) override {
    if (auto failure = Next()) return *failure;
    if (before_taints) std::exchange(before_taints, nullptr)();
    if (resource_version != node.resource_version) return Failure(ApiError::kConflict);
    writes++;
    node.taints = taints;
    Touch();
    return node;
  }
  Answer<Done> SetNodeCondition(const base::Call&, const std::string&,
                                const kube::NodeCondition& condition) override {
    if (auto failure = Next()) return *failure;
    writes++;
    std::erase_if(node.conditions, [&](const auto& old) { return old.type == condition.type; });
    node.conditions.push_back(condition);
    Touch();
    return Done{};
  }
  Answer<kube::NodeEvent> CreateEvent(const base::Call&, const kube::NodeEvent& event) override {
    if (auto failure = Next()) return *failure;
    events.push_back(event);
    events.back().name = "e" + std::to_string(events.size());
    return events.back();
  }
  Answer<Done> UpdateEvent(const base::Call&, const kube::NodeEvent& event) override {
    auto old =
        std::find_if(events.begin(), events.end(), [&](const auto& e) { return e.name == event.name; });
    if (old == events.end()) return Failure(ApiError::kNotFound);
    *old = event;
    return Done{};
  }
  // Not the gate's.
  Answer<kube::Page<kube::Node>> ListNodes(const base::Call&, const kube::ListOptions&) override {
    return No();
  }
  Answer<Done> RemoveNodeCondition(const base::Call&, const std::string&, const std::string&) override {
    return No();
  }
  Answer<kube::ServiceAccount> GetServiceAccount(const base::Call&, const std::string&,
                                                 const std::string&) override {
    return No();
  }
  Answer<kube::ServiceAccountToken> CreateToken(const base::Call&, const std::string&, const std::string&,
                                                const std::string&, std::int64_t) override {
    return No();
  }
  Answer<kube::Page<kube::PodEvent>> ListPodEvents(const base::Call&, const std::string&, const std::string&,
                                                   const kube::ListOptions&) override {
    return No();
  }
  Answer<kube::Page<kube::Pod>> ListPods(const base::Call&, const std::string&,
                                         const kube::ListOptions&) override {
    return No();
  }
  Answer<kube::Pod> GetPod(const base::Call&, const std::string&, const std::string&) override {
    return No();
  }
  Answer<kube::Pod> CreatePod(const base::Call&, const std::string&, const doc::Node&,
                              kube::DryRun) override {
    return No();
  }
  Answer<Done> DeletePod(const base::Call&, const std::string&, const std::string&,
                         const std::string&) override {
    return No();
  }
  Answer<std::string> PodProxyGet(const base::Call&, const std::string&, const std::string&, std::uint16_t,
                                  const std::string&) override {
    return No();
  }

  static kube::Failure Failure(ApiError kind) { return {.kind = kind, .message = "told so"}; }
  bool Tainted() const {
    return std::any_of(node.taints.begin(), node.taints.end(),
                       [](const auto& taint) { return taint.key == plan::kStartupTaintKey; });
  }
  std::string Label() const {
    auto found = node.labels.find("prefetchd.dev/prefetchd");
    return found == node.labels.end() ? "" : found->second;
  }
  const kube::NodeCondition* Condition() const {
    for (const auto& condition : node.conditions) {
      if (condition.type == plan::kConditionType) return &condition;
    }
    return nullptr;
  }

  kube::Node node;
  kube::ServerVersion version;
  std::deque<kube::NodeEvent> events;
  std::optional<ApiError> failing;  // every call, until it is cleared
  std::function<void()> after_label, before_taints;
  int gets = 0, writes = 0;

 private:
  std::optional<kube::Failure> Next() const {
    if (!failing) return std::nullopt;
    return Failure(*failing);
  }
  void Touch() { node.resource_version = std::to_string(std::stoi(node.resource_version) + 1); }
  static kube::Failure No() { return Failure(ApiError::kForbidden); }
};

class NodeGateTest : public testing::Test {
 protected:
  NodeGateTest() { Publish(false, plan::Reason::kPulling, plan::Phase::kProgressing); }

  void Publish(bool ready, plan::Reason reason, plan::Phase phase, bool settled = false) {
    plan::Snapshot snapshot;
    snapshot.list.hash = "sha256:3f9c21aabbcc";
    plan::ImageState image;
    image.want = plan::DesiredImage{.reference = *image::Reference::Parse("r.io/a:1")};
    image.ready = ready;
    image.phase = phase;
    image.reason = reason;
    image.message = "why";
    image.settled = settled;
    snapshot.images = {image};
    snapshot.readiness = {.ready = ready,
                          .reason = ready ? plan::Reason::kAllReady : plan::Reason::kImagesNotReady,
                          .message = ready ? "all good" : "1 required image is not ready",
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
      image.want =
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
  std::shared_ptr<KubeletVersionSlot> version_ = std::make_shared<KubeletVersionSlot>();
  std::optional<NodeGate> gate_;
};

TEST_F(NodeGateTest, SaysNotReadyThenReadyAndTakesTheTaintAway) {
  NodeGate& gate = Gate();
  RunFor(gate, seconds(30));
  EXPECT_EQ(api_.Label(), "notready");
  ASSERT_NE(api_.Condition(), nullptr);
  EXPECT_EQ(api_.Condition()->status, "False");
  EXPECT_TRUE(api_.Tainted());
  Ready();
  RunFor(gate, seconds(12));
  EXPECT_EQ(api_.Label(), "ready");
  EXPECT_EQ(api_.Condition()->status, "True");
  EXPECT_FALSE(api_.Tainted());
  ASSERT_EQ(api_.node.taints.size(), 1U);
  EXPECT_EQ(api_.node.taints[0].key, "other");
  EXPECT_EQ(api_.node.labels.at("kubernetes.io/os"), "linux");
}

TEST_F(NodeGateTest, WritesOnlyOnChangeAndOneRoundInTenSeconds) {
  NodeGate& gate = Gate();
  RunFor(gate, hours(1));
  EXPECT_EQ(api_.writes, 4) << "condition and label; after 15 min the taint, with the condition GaveUp";
}

TEST_F(NodeGateTest, AFlappingNodeIsWrittenAtMostEveryTenSeconds) {
  NodeGate& gate = Gate();
  for (int i = 0; i < 100; i++) {
    i % 2 == 0 ? Ready() : Publish(false, plan::Reason::kImageAbsent, plan::Phase::kProgressing);
    RunFor(gate, seconds(1));
  }
  EXPECT_LE(api_.writes, 2 * 11 + 1) << "label and condition of each round, and the taint";
}

TEST_F(NodeGateTest, GivesUpAfterItsTimeAndSaysSo) {
  NodeGate& gate = Gate();
  RunFor(gate, minutes(14));
  EXPECT_TRUE(api_.Tainted());
  RunFor(gate, minutes(2));
  EXPECT_FALSE(api_.Tainted());
  ASSERT_EQ(api_.events.size(), 1U);
  EXPECT_EQ(api_.events[0].reason, "GaveUp");
  EXPECT_EQ(api_.Label(), "notready");
}

TEST_F(NodeGateTest, AnImageThatFailedForGoodDoesNotHoldTheNodeBack) {
  Publish(false, plan::Reason::kNotFound, plan::Phase::kFailing, true);
  NodeGate& gate = Gate();
  RunFor(gate, seconds(12));
  EXPECT_FALSE(api_.Tainted());
  EXPECT_EQ(api_.Label(), "notready");
}

TEST_F(NodeGateTest, AnApiServerThatIsAwayForAnHourIsWrittenToWhenItIsBack) {
  NodeGate& gate = Gate();
  RunFor(gate, seconds(5));
  api_.failing = ApiError::kUnreachable;
  Ready();
  RunFor(gate, hours(1));
  EXPECT_EQ(api_.Label(), "notready");
  api_.failing.reset();
  RunFor(gate, seconds(90));
  EXPECT_EQ(api_.Label(), "ready");
}

TEST_F(NodeGateTest, AnotherOwnersTaintAtTheSameMomentIsKept) {
  NodeGate& gate = Gate();
  RunFor(gate, seconds(12));
  api_.before_taints = [&] {
    api_.node.taints.push_back({"karpenter.sh/disrupted", "", "NoSchedule", ""});
    api_.node.resource_version = "99";
  };
  Ready();
  RunFor(gate, seconds(60));
  EXPECT_FALSE(api_.Tainted());
  ASSERT_EQ(api_.node.taints.size(), 2U);
  EXPECT_EQ(api_.node.taints[1].key, "karpenter.sh/disrupted");
}

TEST_F(NodeGateTest, ATaintThatComesBetweenTwoWritesIsKept) {
  NodeGate& gate = Gate();
  RunFor(gate, seconds(12));
  api_.after_label = [&] { api_.node.taints.push_back({"karpenter.sh/disrupted", "", "NoSchedule", ""}); };
  Ready();
  RunFor(gate, seconds(12));
  EXPECT_FALSE(api_.Tainted());
  ASSERT_EQ(api_.node.taints.size(), 2U);
  EXPECT_EQ(api_.node.taints[1].key, "karpenter.sh/disrupted");
}

TEST_F(NodeGateTest, ALabelThatSomebodyRemovedComesBack) {
  Ready();
  NodeGate& gate = Gate();
  RunFor(gate, seconds(12));
  api_.node.labels.erase("prefetchd.dev/prefetchd");
  RunFor(gate, minutes(6));
  EXPECT_EQ(api_.Label(), "ready");
}

TEST_F(NodeGateTest, AnOldClusterIsNotWrittenToUnlessThatIsAccepted) {
  api_.version = {"1", "29+", "v1.29.4"};
  NodeGate& gate = Gate();
  RunFor(gate, minutes(1));
  EXPECT_EQ(api_.writes, 0);
  NodeGate& accepted = Gate(true);
  RunFor(accepted, minutes(1));
  EXPECT_EQ(api_.Label(), "notready");
}

TEST_F(NodeGateTest, EventsAreCountedNotRepeated) {
  Publish(false, plan::Reason::kAccessDenied, plan::Phase::kFailing, true);
  NodeGate& gate = Gate();
  RunFor(gate, minutes(31));
  ASSERT_EQ(api_.events.size(), 1U);
  EXPECT_EQ(api_.events[0].reason, "AccessDenied");
  EXPECT_GE(api_.events[0].count, 2);
  EXPECT_LE(api_.events[0].count, 4);
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

TEST_F(NodeGateTest, LearnsTheKubeletsVersion) {
  NodeGate& gate = Gate();
  EXPECT_EQ(version_->Get(), std::nullopt);
  RunFor(gate, seconds(1));
  EXPECT_EQ(version_->Get()->ToString(), "1.36.2");
}

TEST_F(NodeGateTest, WithoutAnOptionItOnlyReads) {
  NodeGate gate({.gate = {}, .node = "n1", .kubelet_version = version_, .seed = 1}, api_, board_, clock_);
  RunFor(gate, minutes(30));
  EXPECT_EQ(api_.writes, 0);
  EXPECT_LE(api_.gets, 7);
  EXPECT_TRUE(version_->Get());
}

TEST_F(NodeGateTest, TheThreadEndsAtOnce) {
  NodeGate& gate = Gate();
  gate.Start();
  auto started = std::chrono::steady_clock::now();
  gate_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - started, seconds(5));
}

}  // namespace
}  // namespace prefetch::agent
