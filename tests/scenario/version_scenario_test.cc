// kubelet is upgraded under a running agent: its version comes from the Node object.
#include <gtest/gtest.h>

#include "fakes/fake_kubelet.h"
#include "fakes/rbac.h"
#include "scenario/gated_node.h"

namespace prefetch::tests::version_scenario_test {
namespace {

using plan::Reason;
using std::chrono::minutes;
using std::chrono::seconds;

const std::string kApp = "r.io/a:v1";

GatedNodeOptions Options() {
  GatedNodeOptions options;
  options.gate = {};
  options.node.kubelet =
      kubelet::KubeletDeclarations{.policy = kubelet::VerificationPolicy::kNeverVerifyPreloadedImages};
  options.node.learns_version = true;
  options.node.sees_processes = true;
  return options;
}

class VersionScenario : public testing::Test {
 protected:
  // A node with the image, and a kubelet 1.36.2 that has run for a while.
  void Prepare(GatedNodeOptions options = Options()) {
    one_.emplace(std::move(options));
    one_->node.KubeletRuns("100");
    one_->node.clock.Advance(seconds(5));
    one_->KubeletReports("v1.36.2");
    one_->node.Kubelet([](FakeKubelet& kubelet) { kubelet.Start({.version = {1, 36}}); });
    one_->node.runtime.Push(MakeImage(kApp, 1'000'000));
    one_->node.List({kApp});
    one_->RunFor(minutes(2));
  }
  bool Ready() const { return one_->node.Ready(); }
  std::string Version() const { return one_->node.Snapshot()->kubelet->version; }
  bool HasProblem(const std::string& words) const {
    for (const std::string& problem : one_->node.Snapshot()->problems) {
      if (problem.find(words) != std::string::npos) return true;
    }
    return false;
  }
  base::Duration Since(base::Duration before) const { return one_->node.Elapsed() - before; }

  std::optional<GatedNode> one_;
};

TEST_F(VersionScenario, ItIsReadAtTheStart) {
  Prepare();
  EXPECT_TRUE(Ready());
  EXPECT_EQ(Version(), "1.36.2");
  EXPECT_FALSE(HasProblem("version"));
}

// The host's processes are not mounted, and no runtime is kubelet's own.
TEST_F(VersionScenario, AnUpgradeThatShowsNoSignCountsWithinAMinute) {
  GatedNodeOptions options = Options();
  options.node.sees_processes = false;
  Prepare(std::move(options));
  one_->KubeletReports("v1.37.1");
  EXPECT_TRUE(one_->RunUntil([&] { return Version() == "1.37.1"; }, seconds(70)));
}

// K3s: kubelet has no process of its own, and its containerd starts with it.
class EmbeddedKubelet : public VersionScenario {
 protected:
  void SetUp() override {
    GatedNodeOptions options = Options();
    options.node.sees_processes = false;
    options.node.kubelet_is_embedded = true;
    Prepare(std::move(options));
    one_->node.EmbeddedKubeletStarts();
    one_->RunFor(seconds(5));
    one_->KubeletReports("v1.36.2");
    one_->RunFor(minutes(2));
  }
};

TEST_F(EmbeddedKubelet, AnUpgradeIsSeenByItsRuntime) {
  one_->node.EmbeddedKubeletStarts();
  one_->RunFor(seconds(2));
  const base::Duration before = one_->node.Elapsed();
  one_->KubeletReports("v1.37.1");
  ASSERT_TRUE(one_->RunUntil([&] { return Version() == "1.37.1"; }, seconds(70)));
  EXPECT_LE(Since(before), seconds(3));
}

TEST_F(EmbeddedKubelet, ARestartIsAwaitedUntilItIsConfirmed) {
  const base::Duration before = one_->node.Elapsed();
  one_->node.EmbeddedKubeletStarts();
  ASSERT_TRUE(one_->RunUntil([&] { return !Ready(); }, seconds(20)));
  EXPECT_GE(Since(before), seconds(3));
  EXPECT_LE(Since(before), seconds(6));
  one_->KubeletReports("v1.36.2");
  EXPECT_TRUE(one_->RunUntil([&] { return Ready(); }, seconds(5)));
}

TEST_F(EmbeddedKubelet, AReportBeforeTheSignWasSeenConfirmsIt) {
  one_->node.EmbeddedKubeletStarts();
  one_->RunFor(seconds(1));
  one_->KubeletReports("v1.36.2");
  EXPECT_FALSE(one_->RunUntil([&] { return !Ready(); }, minutes(2)));
}

TEST_F(VersionScenario, ARestartThatIsConfirmedAtOnceChangesNothing) {
  Prepare();
  one_->node.KubeletRuns("200");
  one_->RunFor(seconds(1));
  one_->KubeletReports("v1.36.2");
  EXPECT_FALSE(one_->RunUntil([&] { return !Ready(); }, minutes(2)));
}

TEST_F(VersionScenario, ARestartIsHeldForThreeSecondsAndThenUnknownUntilItIsConfirmed) {
  Prepare();
  base::Duration before = one_->node.Elapsed();
  one_->node.KubeletRuns("200");
  ASSERT_TRUE(one_->RunUntil([&] { return !Ready(); }, seconds(20)));
  EXPECT_GE(Since(before), seconds(3));
  EXPECT_LE(Since(before), seconds(6)) << "2 s until it is seen";
  EXPECT_EQ(one_->node.ReasonOf(kApp), Reason::kFactsUnknown);
  EXPECT_EQ(one_->node.Image(kApp).phase, plan::Phase::kProgressing);
  EXPECT_EQ(Version(), "");
  one_->RunFor(seconds(15));
  EXPECT_FALSE(Ready());
  one_->KubeletReports("v1.37.0");
  before = one_->node.Elapsed();
  ASSERT_TRUE(one_->RunUntil([&] { return Ready(); }, seconds(20)));
  EXPECT_LE(Since(before), seconds(5));
  EXPECT_EQ(Version(), "1.37.0");
}

TEST_F(VersionScenario, ARestartThatNobodyConfirmsIsUnknownForAMinute) {
  Prepare();
  one_->node.KubeletRuns("200");
  ASSERT_TRUE(one_->RunUntil([&] { return !Ready(); }, seconds(20)));
  const base::Duration before = one_->node.Elapsed();
  ASSERT_TRUE(one_->RunUntil([&] { return Ready(); }, minutes(2)));
  EXPECT_GE(Since(before), seconds(55));
  EXPECT_LE(Since(before), seconds(60));
  EXPECT_EQ(Version(), "1.36.2");
  EXPECT_TRUE(HasProblem("has not reported to its Node within a minute"));
  one_->KubeletReports("v1.36.2");
  EXPECT_TRUE(one_->RunUntil([&] { return !HasProblem("version"); }, minutes(2)));
}

// kubelet is upgraded while no agent runs, and the Node still has the version before.
class UpgradedBesideTheAgent : public VersionScenario {
 protected:
  void SetUp() override {
    Prepare();
    one_->node.KubeletRuns("200");
    one_->Replace();
  }
};

TEST_F(UpgradedBesideTheAgent, TheNodesOldVersionIsNotTrusted) {
  EXPECT_FALSE(one_->RunUntil([&] { return Ready() || Version() != ""; }, seconds(20)));
  EXPECT_EQ(one_->node.ReasonOf(kApp), Reason::kFactsUnknown);
  EXPECT_EQ(one_->node.Image(kApp).phase, plan::Phase::kProgressing);
  one_->KubeletReports("v1.37.0");
  ASSERT_TRUE(one_->RunUntil([&] { return Ready(); }, seconds(5)));
  EXPECT_EQ(Version(), "1.37.0");
}

TEST_F(UpgradedBesideTheAgent, ItCountsAfterAMinuteIfNobodyConfirmsIt) {
  EXPECT_FALSE(one_->RunUntil([&] { return Ready(); }, seconds(58)));
  ASSERT_TRUE(one_->RunUntil([&] { return Ready(); }, seconds(4)));
  EXPECT_EQ(Version(), "1.36.2");
  EXPECT_TRUE(HasProblem("has not reported to its Node within a minute"));
}

TEST_F(VersionScenario, AKubeletThatCrashesAgainAndAgainDoesNotFlap) {
  Prepare();
  one_->node.KubeletRuns("200");
  ASSERT_TRUE(one_->RunUntil([&] { return !Ready(); }, seconds(20)));
  one_->RunFor(seconds(10));
  one_->node.KubeletRuns("300");
  EXPECT_FALSE(one_->RunUntil([&] { return Ready(); }, seconds(30)));
}

TEST_F(VersionScenario, WithoutAnApiServerTheLastKnownVersionCounts) {
  Prepare();
  one_->server.GoAway();
  one_->RunFor(seconds(70));
  one_->node.KubeletRuns("200");
  ASSERT_TRUE(one_->RunUntil([&] { return HasProblem("kubelet was started again, and the API server"); },
                             seconds(10)));
  EXPECT_FALSE(one_->RunUntil([&] { return !Ready() || Version() != "1.36.2"; }, minutes(10)));
  one_->server.ComeBack();
  one_->KubeletReports("v1.37.0");
  ASSERT_TRUE(one_->RunUntil([&] { return Version() == "1.37.0"; }, seconds(70)));
  EXPECT_FALSE(HasProblem("version"));
  EXPECT_TRUE(Ready());
}

// It hangs, and refuses nothing.
TEST_F(VersionScenario, AnApiServerThatLosesPacketsHoldsTheLastKnownVersionNoLonger) {
  Prepare();
  one_->LosesPackets();
  one_->node.KubeletRuns("200");
  EXPECT_FALSE(one_->RunUntil([&] { return !Ready() || Version() != "1.36.2"; }, minutes(2)));
  EXPECT_TRUE(HasProblem("kubelet was started again, and the API server does not show this Node (Timeout)"));
  one_->LosesPackets(false);
  one_->KubeletReports("v1.37.0");
  ASSERT_TRUE(one_->RunUntil([&] { return Version() == "1.37.0"; }, seconds(70)));
  EXPECT_FALSE(HasProblem("version"));
}

// Between two questions, the version before must not count again.
TEST_F(VersionScenario, ASlowApiServerLeavesTheVersionUnknownUntilItIsConfirmed) {
  Prepare();
  one_->AnswersAfter(seconds(5));
  one_->RunFor(minutes(3));
  one_->node.KubeletRuns("200");
  ASSERT_TRUE(one_->RunUntil([&] { return !Ready(); }, seconds(20)));
  EXPECT_FALSE(one_->RunUntil([&] { return Ready() || Version() != ""; }, seconds(45)));
  one_->KubeletReports("v1.37.0");
  ASSERT_TRUE(one_->RunUntil([&] { return Ready(); }, seconds(14)));
  EXPECT_EQ(Version(), "1.37.0");
}

TEST_F(VersionScenario, AnApiServerThatStaysAwayIsAProblemAndNoMore) {
  Prepare();
  one_->server.GoAway();
  one_->RunFor(minutes(1));
  EXPECT_FALSE(HasProblem("API server"));
  one_->RunFor(minutes(3));
  EXPECT_TRUE(HasProblem(
      "the API server does not show this Node (Unreachable): the last known version of kubelet, 1.36.2"));
  EXPECT_TRUE(Ready());
  one_->server.ComeBack();
  EXPECT_TRUE(one_->RunUntil([&] { return !HasProblem("version"); }, seconds(70)));
}

TEST_F(VersionScenario, ARightThatIsMissingIsNamed) {
  GatedNodeOptions options = Options();
  options.manifests = WithoutRight(ShippedManifests(), "get", "nodes");
  Prepare(std::move(options));
  EXPECT_EQ(Version(), "");
  EXPECT_FALSE(one_->node.Snapshot()->kubelet->learning);
  EXPECT_TRUE(HasProblem("grant get on nodes, or set --kubelet-version"));
}

TEST_F(VersionScenario, ADeclaredVersionCountsAndTheNodesIsAContradiction) {
  GatedNodeOptions options = Options();
  options.node.kubelet->version = image::KubeletVersion{1, 35};
  Prepare(std::move(options));
  EXPECT_EQ(Version(), "1.35");
  EXPECT_TRUE(HasProblem("declared version 1.35, but the Node says 1.36.2"));
  one_->node.KubeletRuns("200");
  EXPECT_FALSE(one_->RunUntil([&] { return !Ready(); }, minutes(2))) << "nothing is awaited";
}

TEST_F(VersionScenario, AnUpgradeBeyondTheRulesIsToldAtOnce) {
  Prepare();
  one_->node.KubeletRuns("200");
  one_->RunFor(seconds(2));
  one_->KubeletReports("v1.38.0");
  ASSERT_TRUE(one_->RunUntil([&] { return Version() == "1.38.0"; }, seconds(10)));
  EXPECT_EQ(one_->node.ReasonOf(kApp), Reason::kKubeletNewer);
  EXPECT_TRUE(HasProblem("kubelet 1.38.0 is newer than the rules"));
}

}  // namespace
}  // namespace prefetch::tests::version_scenario_test
