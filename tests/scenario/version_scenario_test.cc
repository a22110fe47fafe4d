// kubelet is upgraded under a running agent: its version comes from the Node object.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>

#include "base/fs.h"
#include "fakes/fake_kubelet.h"
#include "fakes/rbac.h"
#include "scenario/gated_node.h"
#include "scenario/touch_scenario.h"

namespace prefetch::tests::version_scenario_test {
namespace {

using kubelet::VerdictResult;
using kubelet::VerificationPolicy;
using plan::Reason;

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
  EXPECT_TRUE(Ready());
  EXPECT_EQ(Version(), "1.36.2");
  EXPECT_FALSE(HasProblem("version"));
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
  one_->KubeletReports("v1.99.0");
  ASSERT_TRUE(one_->RunUntil([&] { return Version() == "1.99.0"; }, seconds(10)));
  EXPECT_EQ(one_->node.ReasonOf(kApp), Reason::kKubeletNewer);
  EXPECT_TRUE(HasProblem("kubelet 1.99.0 is newer than the rules"));
}

// Readiness where there is a kubelet: what its records and settings make of images that are here.

const std::string kVerdictApp = "reg.example.test/team/app:v1";
const std::string kConfig = "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n";
const std::string kMirror = "mirror.example.test/team/app:v1";

NodeOptions WithKubelet(
    image::KubeletVersion version = {1, 36},
    std::optional<VerificationPolicy> policy = VerificationPolicy::kNeverVerifyPreloadedImages) {
  NodeOptions options;
  options.kubelet = kubelet::KubeletDeclarations{.version = version, .policy = policy};
  return options;
}

class VerdictScenario : public TouchScenario {
 protected:
  // A node with the image of kApp, pulled by the agent, and a kubelet of these settings.
  void Prepare(NodeOptions options, const kubelet::KubeletSettings& settings = {.version = {1, 36}}) {
    node_.emplace(std::move(options));
    node_->Kubelet([&](FakeKubelet& kubelet) { kubelet.Start(settings); });
    node_->PushAndList(kVerdictApp, 10'000'000);
    node_->RunFor(seconds(30));
    ASSERT_FALSE(node_->IdOf(kVerdictApp).empty());
  }
  VerdictResult Never(const std::string& image = kVerdictApp) {
    const plan::ImageState& state = node_->Image(image);
    return state.verdicts ? state.verdicts->never.result : VerdictResult::kUnknown;
  }
};

TEST_F(VerdictScenario, APreloadedImageIsReadyAndSaysThatItIsNoMore) {
  Prepare(WithKubelet());
  EXPECT_TRUE(node_->Ready());
  EXPECT_EQ(node_->ReasonOf(kVerdictApp), Reason::kPreloaded);
  EXPECT_EQ(node_->Snapshot()->kubelet->version, "1.36");
}

// kubelet's folder with records, as the agent's container has it mounted: an inode.
class MountedRecords {
 public:
  explicit MountedRecords(const std::string& kubelet_root)
      : name_(kubelet_root + "/image_manager"), host_(kubelet_root + "/on-the-host") {
    mount_ = base::Fd(::open(name_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    std::filesystem::rename(name_, host_);
    std::filesystem::create_directory_symlink("/proc/self/fd/" + std::to_string(mount_.get()), name_);
  }
  void RemoveOnHost() { std::filesystem::remove_all(host_); }
  // Another container mounts the folder that is there by then.
  void MountAgain() {
    std::filesystem::remove(name_);
    std::filesystem::create_directories(name_ + "/pulled");
    std::filesystem::create_directories(name_ + "/pulling");
  }

 private:
  const std::string name_, host_;
  base::Fd mount_;
};

// Somebody deletes image_manager and restarts kubelet: this process still has the old folder mounted.
TEST_F(VerdictScenario, AReplacedRecordsFolderIsUnknownAndOnlyANewProcessCanGoOn) {
  Prepare(WithKubelet());
  ASSERT_TRUE(node_->Ready());
  MountedRecords mount(node_->KubeletRoot());
  node_->RunFor(seconds(20));
  EXPECT_TRUE(node_->Ready());
  EXPECT_FALSE(node_->MustRestart());
  mount.RemoveOnHost();
  node_->RunFor(seconds(4));
  EXPECT_FALSE(node_->Ready());
  EXPECT_EQ(node_->ReasonOf(kVerdictApp), Reason::kRecordUnreadable);
  EXPECT_TRUE(node_->MustRestart());
  EXPECT_HAS(node_->Snapshot()->kubelet->records_note, "was deleted while");
}

// The end of the process leaves the pull to its lease, and the next process goes on with its bytes.
TEST_F(VerdictScenario, AReplacedRecordsFolderCostsARunningPullNoByte) {
  const std::string large = "reg.example.test/team/large:v1";
  Prepare(WithKubelet());
  node_->runtime.SetBandwidth(kMB);
  node_->runtime.Push(MakeImage(large, 900 * kMB));
  node_->List({kVerdictApp, large});
  MountedRecords mount(node_->KubeletRoot());
  node_->RunFor(seconds(300));
  mount.RemoveOnHost();
  ASSERT_TRUE(node_->RunUntil([&] { return node_->MustRestart(); }, seconds(10)));
  const std::uint64_t before = node_->runtime.BytesStored();
  ASSERT_GT(before, 290 * kMB);
  node_->AgentEnds();
  EXPECT_EQ(node_->runtime.Parked(), 0) << "the pull goes with its process";
  EXPECT_EQ(node_->runtime.Leases(),
            std::vector<std::string>{cri::LeaseFor("a", *image::Reference::Parse(large))});
  EXPECT_GE(node_->runtime.BytesStored(), before);
  mount.MountAgain();
  node_->RestartAgent();
  EXPECT_TRUE(node_->RunUntil([&] { return node_->Ready(); }, seconds(620)));
  EXPECT_LT(node_->runtime.counters().bytes_served, 915 * kMB);
}

TEST_F(VerdictScenario, ClosedByAPodsPullAndReopenedByTheNodes) {
  Prepare(WithKubelet());
  base::Duration before = node_->Elapsed();
  PodPulls(kVerdictApp, {.secret = SecretOf("team")});
  ASSERT_TRUE(node_->RunUntil([&] { return !node_->Ready(); }, seconds(10)));
  EXPECT_LE(node_->Elapsed() - before, seconds(3));
  EXPECT_EQ(node_->ReasonOf(kVerdictApp), Reason::kRecordedForOthers);
  EXPECT_HAS(node_->Image(kVerdictApp).message, "reg.example.test/team/app");
  EXPECT_HAS(node_->Image(kVerdictApp).message, "1 secret");
  EXPECT_EQ(node_->LogLines("image closed to pods"), 1);
  EXPECT_EQ(node_->LogLines("node not ready"), 1);
  EXPECT_EQ(node_->Image(kVerdictApp).verdicts->if_not_present.result, VerdictResult::kPulls);
  node_->RestartAgent();
  node_->RunFor(seconds(5));
  EXPECT_FALSE(node_->Ready());
  EXPECT_EQ(node_->ReasonOf(kVerdictApp), Reason::kRecordedForOthers) << "a new agent knows it again";
  PodPulls(kVerdictApp, {});  // a touch: kubelet's own pull with node credentials
  ASSERT_TRUE(node_->RunUntil([&] { return node_->Ready(); }, seconds(10)));
  EXPECT_EQ(node_->ReasonOf(kVerdictApp), Reason::kOpenToNode);
  EXPECT_EQ(node_->LogLines("image open to pods"), 1);

  // Open for good: later pulls with secrets do not close it (K30).
  PodPulls(kVerdictApp, {.secret = SecretOf("other")});
  node_->RunFor(minutes(1));
  EXPECT_TRUE(node_->Ready());
}

TEST_F(VerdictScenario, AnotherNameOfTheSameImageClosesIt) {
  Prepare(WithKubelet());
  FakeImage same = MakeImage(kVerdictApp, 10'000'000);
  same.name = kMirror;
  node_->runtime.Push(same);
  node_->List({kVerdictApp, kMirror});
  ASSERT_TRUE(node_->RunUntil([&] { return node_->Ready(); }, minutes(1)));
  ASSERT_EQ(node_->IdOf(kVerdictApp), node_->IdOf(kMirror));
  EXPECT_EQ(node_->Image(kMirror).aliases.empty(), false);
  PodPulls(kVerdictApp, {});
  ASSERT_TRUE(node_->RunUntil([&] { return !node_->Ready(); }, seconds(10)));
  EXPECT_EQ(node_->ReasonOf(kVerdictApp), Reason::kOpenToNode);
  EXPECT_EQ(node_->ReasonOf(kMirror), Reason::kRecordedUnderOtherName);
  EXPECT_HAS(node_->Image(kMirror).message, "reg.example.test/team/app");
}

TEST_F(VerdictScenario, AShortPullOfKubeletsDoesNotFlapAndALongOneIsSaid) {
  Prepare(WithKubelet());
  node_->Kubelet([&](FakeKubelet& kubelet) { kubelet.BeginPull(kVerdictApp); });
  node_->RunFor(seconds(2));
  EXPECT_TRUE(node_->Ready());
  node_->Kubelet([&](FakeKubelet& kubelet) { kubelet.FailPull(kVerdictApp); });
  node_->RunFor(minutes(1));
  EXPECT_TRUE(node_->Ready());
  EXPECT_EQ(node_->LogLines("node not ready"), 0);
  node_->Kubelet([&](FakeKubelet& kubelet) { kubelet.BeginPull(kVerdictApp); });
  ASSERT_TRUE(node_->RunUntil([&] { return !node_->Ready(); }, seconds(10)));
  EXPECT_EQ(node_->ReasonOf(kVerdictApp), Reason::kPullInterrupted);
  node_->Kubelet([&](FakeKubelet& kubelet) { kubelet.FailPull(kVerdictApp); });
  EXPECT_TRUE(node_->RunUntil([&] { return node_->Ready(); }, seconds(10)));
}

TEST_F(VerdictScenario, IfNotPresentIsContentWithAManifestCheck) {
  Prepare(WithKubelet());
  node_->List({kVerdictApp},
              [](plan::DesiredImage& desired) { desired.ready_for = image::PullPolicy::kIfNotPresent; });
  PodPulls(kVerdictApp, {.secret = SecretOf("team")});
  node_->RunFor(seconds(30));
  EXPECT_TRUE(node_->Ready());
  EXPECT_EQ(node_->ReasonOf(kVerdictApp), Reason::kRecordedForOthers);
}

TEST_F(VerdictScenario, AlwaysVerifyRefusesWhatOnlyTheAgentPulled) {
  Prepare(WithKubelet({1, 36}, VerificationPolicy::kAlwaysVerify),
          {.version = {1, 36}, .policy = VerificationPolicy::kAlwaysVerify});
  EXPECT_FALSE(node_->Ready());
  EXPECT_EQ(node_->ReasonOf(kVerdictApp), Reason::kVerificationAlways);
  PodPulls(kVerdictApp, {});
  EXPECT_TRUE(node_->RunUntil([&] { return node_->Ready(); }, seconds(10)));
}

TEST_F(VerdictScenario, WhatIsNotKnownIsNotReadyUnlessAllKubeletsAgree) {
  NodeOptions options;
  options.kubelet.emplace();
  // Records of 1.34 can be read by every kubelet that reads any.
  Prepare(std::move(options), {.version = {1, 34}});
  EXPECT_FALSE(node_->Ready());
  EXPECT_EQ(node_->ReasonOf(kVerdictApp), Reason::kFactsUnknown);
  EXPECT_HAS(node_->Image(kVerdictApp).message, "--kubelet-version");
  PodPulls(kVerdictApp, {});  // recorded for the node: no kubelet says otherwise
  ASSERT_TRUE(node_->RunUntil([&] { return node_->Ready(); }, seconds(10)));
}

TEST_F(VerdictScenario, AKubeletThatIsNewerThanTheRulesIsFirmOnlyWhereAllRulesAgree) {
  Prepare(WithKubelet({1, 99, 1}), {.version = {1, 37}});
  EXPECT_FALSE(node_->Ready());
  EXPECT_EQ(node_->ReasonOf(kVerdictApp), Reason::kKubeletNewer);
  EXPECT_TRUE(node_->Snapshot()->kubelet->newer);
  ASSERT_EQ(node_->Snapshot()->problems.size(), 1U);
  EXPECT_HAS(node_->Snapshot()->problems[0], "kubelet 1.99.1 is newer than the rules");
  PodPulls(kVerdictApp, {});  // recorded for the node
  ASSERT_TRUE(node_->RunUntil([&] { return node_->Ready(); }, seconds(10)));
  EXPECT_EQ(node_->ReasonOf(kVerdictApp), Reason::kOpenToNode);
}

TEST_F(VerdictScenario, TheOperatorMayTakeKnownRulesForANewerKubelet) {
  NodeOptions options = WithKubelet({1, 99, 1});
  options.kubelet->rules = image::KubeletVersion{1, 37};
  Prepare(std::move(options), {.version = {1, 37}});
  EXPECT_TRUE(node_->Ready());
  EXPECT_EQ(node_->ReasonOf(kVerdictApp), Reason::kPreloaded);
  EXPECT_EQ(node_->Snapshot()->kubelet->version, "1.99.1");
  EXPECT_EQ(node_->Snapshot()->kubelet->rules, "1.37");
  EXPECT_TRUE(node_->Snapshot()->problems.empty());
}

TEST_F(VerdictScenario, AVanishedImageIsSaidAtOnceAndJudgedAnewWhenItIsBack) {
  Prepare(WithKubelet());
  node_->runtime.SetBandwidth(1'000'000);
  node_->runtime.Remove(kVerdictApp);
  ASSERT_TRUE(node_->RunUntil([&] { return !node_->Ready(); }, seconds(10)));
  EXPECT_EQ(Never(), VerdictResult::kRefused);
  EXPECT_TRUE(node_->RunUntil([&] { return node_->Ready(); }, minutes(1)));
  EXPECT_EQ(node_->ReasonOf(kVerdictApp), Reason::kPreloaded);
}

TEST_F(VerdictScenario, AGarbageCollectionThatPrunesRecordsOpensOrCloses) {
  Prepare(WithKubelet());
  PodPulls(kVerdictApp, {.secret = SecretOf("team")});
  ASSERT_TRUE(node_->RunUntil([&] { return !node_->Ready(); }, seconds(10)));
  node_->clock.Advance(seconds(2));
  node_->Kubelet([](FakeKubelet& kubelet) { kubelet.GarbageCollect({}); });  // K34
  EXPECT_TRUE(node_->RunUntil([&] { return node_->Ready(); }, seconds(10)));
}

TEST_F(VerdictScenario, TheRecordsFolderComesWithAnUpgrade) {
  // 1.34: no gate, no folder. The version is declared anew with each restart, as a DaemonSet's rollout does.
  Prepare(WithKubelet({1, 34}, std::nullopt), {.version = {1, 34}, .gate = false});
  node_->WriteKubeletConfig(kConfig);
  node_->RestartAgent();
  node_->RunFor(seconds(20));
  EXPECT_TRUE(node_->Ready());
  EXPECT_EQ(node_->ReasonOf(kVerdictApp), Reason::kGateOff);
  EXPECT_FALSE(std::filesystem::exists(node_->KubeletRoot() + "/image_manager"));
  for (unsigned minor : {35U, 36U}) {
    node_->Redeclare({.version = image::KubeletVersion{1, minor}});
    node_->Kubelet([&](FakeKubelet& kubelet) {
      kubelet.Stop();
      kubelet.Start({.version = {1, minor}});
    });
    ASSERT_TRUE(node_->RunUntil([&] { return node_->Ready(); }, seconds(30))) << minor;
    EXPECT_EQ(node_->ReasonOf(kVerdictApp), Reason::kPreloaded) << minor;
  }
  PodPulls(kVerdictApp, {.secret = SecretOf("team")});
  EXPECT_TRUE(node_->RunUntil([&] { return !node_->Ready(); }, seconds(10)));
}

// A kubelet whose version nobody knows may be newer than the rules, and they may have changed.
TEST_F(VerdictScenario, APreloadedImageIsUnknownWhileTheVersionIs) {
  NodeOptions options = WithKubelet();
  options.kubelet->version.reset();
  Prepare(std::move(options));
  EXPECT_FALSE(node_->Ready());
  EXPECT_EQ(node_->ReasonOf(kVerdictApp), Reason::kFactsUnknown);
  EXPECT_FALSE(node_->Snapshot()->kubelet->newer);
  node_->Redeclare(
      {.rules = image::KubeletVersion{1, 37}, .policy = VerificationPolicy::kNeverVerifyPreloadedImages});
  ASSERT_TRUE(node_->RunUntil([&] { return node_->Ready(); }, seconds(20)));
  EXPECT_EQ(node_->ReasonOf(kVerdictApp), Reason::kPreloaded);
}

TEST_F(VerdictScenario, ARecordsFolderThatComesWhileTheVersionIsNotDeclared) {
  NodeOptions options = WithKubelet({1, 34}, std::nullopt);
  options.kubelet->version.reset();
  options.kubelet->rules = image::KubeletVersion{1, 37};
  Prepare(std::move(options), {.version = {1, 34}, .gate = false});
  node_->WriteKubeletConfig(kConfig);
  node_->RestartAgent();
  ASSERT_TRUE(node_->RunUntil([&] { return node_->Ready(); }, seconds(20)));
  for (unsigned minor : {35U, 36U}) {
    node_->Kubelet([&](FakeKubelet& kubelet) {
      kubelet.Stop();
      kubelet.Start({.version = {1, minor}});
    });
    node_->RunFor(seconds(30));
    EXPECT_TRUE(node_->Ready()) << minor;
  }
  // Here a kubelet without the gate and one with it part ways.
  PodPulls(kVerdictApp, {.secret = SecretOf("team")});
  ASSERT_TRUE(node_->RunUntil([&] { return !node_->Ready(); }, seconds(10)));
  EXPECT_EQ(node_->ReasonOf(kVerdictApp), Reason::kFactsUnknown);
}

TEST_F(VerdictScenario, TheDiskRuleGoesByKubeletsThresholdFromTheFirstPullOn) {
  node_.emplace(WithKubelet({1, 36}, std::nullopt));
  node_->Kubelet([](FakeKubelet& kubelet) { kubelet.Start({.version = {1, 36}}); });
  node_->WriteKubeletConfig(kConfig + "imageGCHighThresholdPercent: 60\nimageGCLowThresholdPercent: 50\n");
  node_->RestartAgent();
  node_->disk = {.known = true, .capacity_bytes = 100ULL << 30, .available_bytes = 45ULL << 30};
  node_->PushAndList(kVerdictApp, 10'000'000);
  node_->RunFor(minutes(2));
  EXPECT_EQ(node_->runtime.counters().pull_calls, 0);
  EXPECT_EQ(node_->ReasonOf(kVerdictApp), Reason::kDiskPressure);
  EXPECT_EQ(node_->Snapshot()->kubelet->gc->low_percent, 50);
  node_->WriteKubeletConfig(kConfig);
  EXPECT_TRUE(node_->RunUntil([&] { return node_->Ready(); }, minutes(1)));
}

TEST_F(VerdictScenario, AConfigurationThatChangesIsPickedUpAndContradictionsAreSaid) {
  NodeOptions options = WithKubelet();
  Prepare(options);
  node_->WriteKubeletConfig(kConfig + "imagePullCredentialsVerificationPolicy: AlwaysVerify\n");
  node_->RestartAgent();
  node_->RunFor(seconds(20));
  EXPECT_FALSE(node_->Ready());
  EXPECT_EQ(node_->ReasonOf(kVerdictApp), Reason::kVerificationAlways);
  EXPECT_EQ(node_->Snapshot()->kubelet->contradictions.size(), 1U);
  EXPECT_FALSE(node_->Snapshot()->problems.empty());
  node_->WriteKubeletConfig(kConfig);
  EXPECT_TRUE(node_->RunUntil([&] { return node_->Ready(); }, seconds(20)));
  EXPECT_TRUE(node_->Snapshot()->kubelet->contradictions.empty());
}

// kubelet comes back from a restart within seconds, and applies what it reads then.
TEST_F(VerdictScenario, AStricterConfigurationClosesWithinThreeSeconds) {
  Prepare(WithKubelet({1, 36}, std::nullopt));
  node_->WriteKubeletConfig(kConfig);
  node_->RestartAgent();
  node_->RunFor(seconds(30));
  for (int offset = 0; offset < 8; offset++) {
    ASSERT_TRUE(node_->Ready());
    node_->RunFor(seconds(offset));
    node_->WriteKubeletConfig(kConfig + "imagePullCredentialsVerificationPolicy: AlwaysVerify\n");
    EXPECT_TRUE(node_->RunUntil([&] { return !node_->Ready(); }, seconds(3))) << offset;
    EXPECT_EQ(node_->ReasonOf(kVerdictApp), Reason::kVerificationAlways);
    node_->WriteKubeletConfig(kConfig);
    ASSERT_TRUE(node_->RunUntil([&] { return node_->Ready(); }, minutes(1)));
  }
}

TEST_F(VerdictScenario, AKubeletThatIsBackIsSeenWithinFourSeconds) {
  NodeOptions options = WithKubelet();
  options.sees_processes = true;
  Prepare(std::move(options));
  node_->KubeletRuns("77");
  node_->RunFor(minutes(1));
  for (int offset = 0; offset < 8; offset++) {
    node_->KubeletRuns("");
    node_->RunFor(seconds(5 + offset));
    const int percent = 50 + offset;
    node_->KubeletRuns(std::to_string(100 + offset), "--image-gc-low-threshold=" + std::to_string(percent));
    auto seen = [&] {
      const auto& gc = node_->Snapshot()->kubelet->gc;
      return gc && gc->low_percent == percent;
    };
    EXPECT_TRUE(node_->RunUntil(seen, seconds(4))) << offset;
  }
}

TEST_F(VerdictScenario, WhenTheRootIsGoneNothingIsKnown) {
  Prepare(WithKubelet());
  std::filesystem::rename(node_->KubeletRoot(), node_->KubeletRoot() + ".away");
  ASSERT_TRUE(node_->RunUntil([&] { return !node_->Ready(); }, seconds(30)));
  EXPECT_EQ(node_->ReasonOf(kVerdictApp), Reason::kRecordUnreadable);
  EXPECT_EQ(node_->Snapshot()->kubelet->records_readable, false);
  std::filesystem::rename(node_->KubeletRoot() + ".away", node_->KubeletRoot());
  EXPECT_TRUE(node_->RunUntil([&] { return node_->Ready(); }, seconds(30)));
  PodPulls(kVerdictApp, {.secret = SecretOf("team")});
  EXPECT_TRUE(node_->RunUntil([&] { return !node_->Ready(); }, seconds(10))) << "the folder is read again";
}

TEST_F(VerdictScenario, ARecordThatKubeletCannotDecodeIsARefusal) {
  Prepare(WithKubelet());
  PodPulls(kVerdictApp, {});
  ASSERT_TRUE(
      node_->RunUntil([&] { return node_->ReasonOf(kVerdictApp) == Reason::kOpenToNode; }, seconds(10)));
  std::string path =
      node_->KubeletRoot() + "/image_manager/pulled/" + kubelet::FileNameFor(node_->IdOf(kVerdictApp));
  node_->Kubelet([&](FakeKubelet&) { ASSERT_TRUE(base::WriteFileAtomically(path, "{", 0600)); });
  ASSERT_TRUE(node_->RunUntil([&] { return !node_->Ready(); }, seconds(10)));
  EXPECT_EQ(node_->ReasonOf(kVerdictApp), Reason::kRecordUnreadable);
  EXPECT_EQ(Never(), VerdictResult::kRefused);
}

TEST_F(VerdictScenario, ARecordThatIsRewrittenAllTheTimeHasAVerdictAllTheSame) {
  Prepare(WithKubelet());
  for (int i = 0; i < 400; i++) {  // 4 s, a hundred a second
    PodPulls(kVerdictApp, {.secret = SecretOf("team" + std::to_string(i))});
    node_->RunFor(milliseconds(10));
    EXPECT_TRUE(i >= 250 || node_->Ready()) << i;
  }
  EXPECT_FALSE(node_->Ready());
  EXPECT_EQ(node_->ReasonOf(kVerdictApp), Reason::kRecordedForOthers);
}

// How often the folder was opened since the last time. A glance opens nothing.
int OpensOf(const base::Fd& inotify) {
  alignas(inotify_event) std::array<char, 4096> buffer;
  int opens = 0;
  while (true) {
    ssize_t length = ::read(inotify.get(), buffer.data(), buffer.size());
    if (length <= 0) return opens;
    for (ssize_t at = 0; at < length; opens++) {
      inotify_event event;
      std::memcpy(&event, buffer.data() + at, sizeof event);
      at += static_cast<ssize_t>(sizeof event + event.len);
    }
  }
}

// A look that finds nothing new costs some stats: neither the folders are opened nor the entries gone through
// for it more often than the runtime is looked at, and no more than there are seconds of quiet.
TEST_F(VerdictScenario, WhileNothingChangesFilesAreOpenedAndEntriesGoneThroughOnceInEightSeconds) {
  NodeOptions options = WithKubelet({1, 36}, std::nullopt);
  options.sees_processes = true;
  Prepare(std::move(options));
  node_->KubeletRuns("77");
  node_->RunFor(minutes(3));
  base::Fd inotify(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  ASSERT_GE(
      ::inotify_add_watch(inotify.get(), (node_->KubeletRoot() + "/image_manager/pulled").c_str(), IN_OPEN),
      0);
  const std::uint64_t turns = node_->Turns();
  int opens = 0;
  for (int second = 0; second < 600; second++) {
    node_->RunFor(seconds(1));
    opens += OpensOf(inotify);  // at once: inotify makes one of several that are alike
  }
  EXPECT_LE(opens, 600 / 8 + 2);
  EXPECT_LE(node_->Turns() - turns, 600 / 8 + 2U);
  EXPECT_GE(node_->Turns() - turns, 600 / 12U) << "what no part has thought of waits for no longer";
}

TEST_F(VerdictScenario, ASteadyDayLogsNothing) {
  Prepare(WithKubelet());
  std::size_t lines = node_->log.size();
  node_->RunFor(hours(24));
  EXPECT_EQ(node_->log.size(), lines) << node_->log.back();
}

}  // namespace
}  // namespace prefetch::tests::version_scenario_test
