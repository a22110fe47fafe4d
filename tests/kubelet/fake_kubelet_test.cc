// The model of kubelet against a real kubelet 1.36.2 did (K20 to K34), and the verdict, computed from the
// model's files, against both.
#include "fakes/fake_kubelet.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "kubelet/fake_kubelet_stories.h"

namespace prefetch::tests::fake_kubelet_test {
namespace {

// A pod with `kImage` unless it is said otherwise. "Starts", or what IfNotPresent would do instead; and why.
struct Expected {
  std::string result, reason;
  std::string image = kImage;
  PodIdentity pod = {};
};

struct Row {
  std::string name;
  KubeletSettings settings;
  std::function<void(FakeNode&)> story;
  std::vector<Expected> expected;
};

class FakeKubeletTest : public testing::TestWithParam<Row> {};

void Check(const FakeNode& node, const Expected& expected) {
  kubelet::Verdicts verdicts = node.Ask(expected.image, expected.pod);
  bool starts = expected.result == "Starts";
  EXPECT_EQ(kubelet::VerdictResultName(verdicts.if_not_present.result), expected.result)
      << verdicts.if_not_present.message;
  EXPECT_EQ(kubelet::VerdictResultName(verdicts.never.result), starts ? "Starts" : "Refused");
  EXPECT_EQ(kubelet::VerdictReasonName(verdicts.never.reason), expected.reason) << verdicts.never.message;
  EXPECT_EQ(kubelet::VerdictResultName(verdicts.always.result),
            expected.result == "Refused" ? "Refused" : "Pulls");
  EXPECT_EQ(node.kubelet.Admits(expected.image, node.IdOf(expected.image), expected.pod), starts)
      << expected.image;
}

TEST_P(FakeKubeletTest, DoesAsARealOne) {
  FakeNode node(GetParam().settings);
  GetParam().story(node);
  for (const Expected& expected : GetParam().expected) Check(node, expected);
}

std::string NameOf(const testing::TestParamInfo<Row>& row) {
  return row.param.name;
}

INSTANTIATE_TEST_SUITE_P(
    Section312, FakeKubeletTest,
    testing::Values(Row{"Row1", Default(), PrefetchOnly, {{"Starts", "Preloaded"}}},
                    Row{"Row2", Default(), ClosedBySecret, {{"Pulls", "RecordedForOthers"}}},
                    Row{"Row3",
                        Default(),
                        ClosedBySecret,
                        {{"Starts", "RecordedForPod", kImage, With(Secret("u-2", "h-1", "elsewhere"))}}},
                    Row{"Row4",
                        Default(),
                        ClosedBySecret,
                        {{"Starts", "RecordedForPod", kImage, With(Secret("u-1", "h-2"))}}},
                    Row{"Row5",
                        Default(),
                        ClosedBySecret,
                        {{"Pulls", "RecordedForOthers", kImage, With(Secret("u-2", "h-2"))}}},
                    Row{"Row6",
                        Default(),
                        [](FakeNode& node) {
                          ClosedBySecret(node);
                          node.Prefetch("mirror.io/t/a:v1", kId);
                        },
                        {{"Pulls", "RecordedUnderOtherName", "mirror.io/t/a:v1", With(kSecret)}}},
                    Row{"Row7",
                        Default(),
                        [](FakeNode& node) { node.KubeletPulls(kImage, kId, kNode); },
                        {{"Starts", "OpenToNode"}}},
                    // A name that kubelet's start does not resolve. One that it does becomes a record (K32).
                    Row{"Row8", Default(), KilledUnderAShortName, {{"Pulls", "PullInterrupted", "nginx"}}},
                    Row{"Row9", Default(), KilledUnderAShortName, {{"Starts", "Preloaded", "nginx:latest"}}},
                    Row{"Row10", kStrict, PrefetchOnly, {{"Pulls", "VerificationAlways"}}}),
    NameOf);

// Seen on kubelet 1.36.2; the names number the observations. E8 and E9 are of a kubelet that runs: what it
// answers from memory is in no file (K33), and the verdict is that of its next start. Numbers that are left
// out are of names, times, downloads, pins and other interfaces, which no verdict shows. A long random walk
// of that kubelet found the same; fake_kubelet_walk_test.cc is made after it. A pull secret that cannot be
// parsed has no place in a PodIdentity.
INSTANTIATE_TEST_SUITE_P(
    Evidence1To23, FakeKubeletTest,
    testing::Values(
        Row{"E1and2", Default(), PrefetchOnly, {{"Starts", "Preloaded"}}},
        Row{"E3", Default(), ClosedBySecret, {{"Pulls", "RecordedForOthers"}}},
        Row{"E4",
            Default(),
            [](FakeNode& node) {
              ClosedBySecret(node);
              PrefetchOnly(node);
            },
            {{"Pulls", "RecordedForOthers"}}},
        Row{"E5",
            Default(),
            [](FakeNode& node) {
              ClosedBySecret(node);
              EXPECT_TRUE(node.kubelet.StartPod(kImage, kId, With(Secret("u-2", "h-1", "mine"))));
            },
            // The second secret is written down, so that its rotation is accepted, too.
            {{"Starts", "RecordedForPod", kImage, With(Secret("u-2", "h-7", "mine"))}}},
        Row{"E6",
            Default(),
            [](FakeNode& node) {
              node.KubeletPulls(kImage, kId, kNode);
              node.Prefetch("reg.io/t/b:v1", kId);
            },
            {{"Pulls", "RecordedUnderOtherName", "reg.io/t/b:v1"}}},
        Row{"E7", kStrict, PrefetchOnly, {{"Pulls", "VerificationAlways"}}},
        Row{"E8AfterARestart",
            kStrict,
            [](FakeNode& node) {
              node.Prefetch(kImage, kId);
              node.root.Write(node.RecordPath(kId), OpenRecord(node.settings.version));
              EXPECT_FALSE(node.kubelet.Admits(kImage, kId, kAnybody));
              node.Restart();
            },
            {{"Starts", "OpenToNode"}}},
        Row{"E9AfterARestart",
            Default(),
            [](FakeNode& node) {
              ClosedBySecret(node);
              std::filesystem::remove(node.root / node.RecordPath(kId));
              EXPECT_TRUE(node.kubelet.Admits(kImage, kId, With(kSecret)));
              EXPECT_FALSE(node.kubelet.Admits(kImage, kId, kAnybody));
              node.Restart();
            },
            {{"Starts", "Preloaded"}}},
        Row{"E10and11",
            kStrict,
            [](FakeNode& node) { node.KubeletPulls(kImage, kId, kNode); },
            {{"Starts", "OpenToNode"}}},
        Row{"E12to15",
            kStrict,
            [](FakeNode& node) {
              for (const char* name : {"reg.io/t/a:v1", "reg.io/t/b:v1", "reg.io/t/c:v1", "reg.io/t/d:v1"}) {
                node.Prefetch(name, std::string("sha256:") + name);
              }
              for (const char* name : {"reg.io/t/a:v1", "reg.io/t/b:v1", "reg.io/t/c:v1"}) {
                node.KubeletPulls(name, node.IdOf(name), kNode);
              }
            },
            {{"Starts", "OpenToNode", "reg.io/t/a:v1"},
             {"Starts", "OpenToNode", "reg.io/t/b:v1"},
             {"Starts", "OpenToNode", "reg.io/t/c:v1"},
             {"Pulls", "VerificationAlways", "reg.io/t/d:v1"}}},
        Row{"E16", kStrict, ClosedBySecret, {{"Pulls", "RecordedForOthers"}}},
        Row{"E17",
            Listed({"reg/allowed/*", "reg/exact/one"}),
            [](FakeNode& node) {
              for (const std::string name : {"reg/allowed/x", "reg/exact/one", "reg/exact/two"}) {
                node.Prefetch(name + ":1", kId);
                node.Prefetch(name + kDigest, kId);
              }
            },
            {{"Starts", "Allowlisted", "reg/allowed/x:1"},
             {"Starts", "Allowlisted", "reg/allowed/x" + kDigest},
             {"Starts", "Allowlisted", "reg/exact/one:1"},
             {"Starts", "Allowlisted", "reg/exact/one" + kDigest},
             {"Pulls", "NotAllowlisted", "reg/exact/two:1"},
             {"Pulls", "NotAllowlisted", "reg/exact/two" + kDigest}}},
        Row{"E18", Listed({"reg.io/t/*"}), ClosedBySecret, {{"Starts", "Allowlisted"}}},
        Row{"E19", By(Policy::kNeverVerify), ClosedBySecret, {{"Starts", "VerificationNever"}}},
        Row{"E20",
            Default(),
            [](FakeNode& node) {
              ClosedBySecret(node);
              node.Remove(kImage);
              PrefetchOnly(node);
            },
            {{"Pulls", "RecordedForOthers"}}},
        Row{"E22",
            Default(),
            [](FakeNode& node) { node.Prefetch("reg.io/t/a" + kDigest, kId); },
            {{"Pulls", "ImageAbsent"}, {"Starts", "Preloaded", "reg.io/t/a" + kDigest}}},
        Row{"E23",
            Default(),
            [](FakeNode& node) { EXPECT_FALSE(node.kubelet.BeginPull(std::string(64, 'c'))); },
            {{"Refused", "InvalidImageName", std::string(64, 'c')}}}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Evidence24To46, FakeKubeletTest,
    testing::Values(
        // A static pod, an image volume, node credentials from a file: to the record a touch is a touch.
        Row{"E26to29and46",
            kStrict,
            [](FakeNode& node) {
              node.kubelet.BeginPull(kImage);
              node.kubelet.FailPull(kImage);
              node.KubeletPulls(kImage, kId, kNode);
            },
            {{"Starts", "OpenToNode"}, {"Starts", "OpenToNode", kImage, With(Secret("u-3", "wrong"))}}},
        Row{"E31",
            Default(),
            [](FakeNode& node) {
              KilledInMidPull(node);
              node.Restart();
              EXPECT_EQ(node.Content(node.IntentPath(kImage)), "");
            },
            {{"Pulls", "PullInterrupted"}}},
        Row{"E31WhileThePullIsUnderWay",
            Default(),
            [](FakeNode& node) {
              node.kubelet.BeginPull(kImage);
              node.Prefetch(kImage, kId);
            },
            {{"Pulls", "PullInterrupted"}}},
        Row{"E32",
            Default(),
            [](FakeNode& node) {
              node.Prefetch(kImage, kId);
              node.kubelet.BeginPull(kImage);
              node.kubelet.FailPull(kImage);
            },
            {{"Starts", "Preloaded"}}},
        Row{"E33ClosedBecomesOpen",
            Default(),
            [](FakeNode& node) {
              ClosedBySecret(node);
              node.Collect();
            },
            {{"Starts", "Preloaded"}}},
        Row{"E33OpenBecomesClosed",
            kStrict,
            [](FakeNode& node) {
              node.KubeletPulls(kImage, kId, kNode);
              node.Collect();
            },
            {{"Pulls", "VerificationAlways"}}},
        Row{"E33TheOneThatWasKeptStays",
            kStrict,
            [](FakeNode& node) {
              node.KubeletPulls(kImage, kId, kNode);
              node.Collect({kId});
            },
            {{"Starts", "OpenToNode"}}},
        Row{"E34",
            kStrict,
            [](FakeNode& node) {
              node.Prefetch(kImage, kId);
              Damage(node, node.RecordPath("sha256:other"), "{");
              node.root.Write(node.RecordPath(kId), OpenRecord(node.settings.version));
            },
            {{"Starts", "OpenToNode"}}},
        Row{"E36",
            Default(),
            [](FakeNode& node) {
              ClosedBySecret(node);
              node.Remove(kImage);
              node.Restart();
              EXPECT_NE(node.Content(node.RecordPath(kId)), "");
              node.Collect();
              EXPECT_EQ(node.Content(node.RecordPath(kId)), "");
            },
            {{"Pulls", "ImageAbsent"}}},
        Row{"E39", Default(), KilledUnderAShortName, {{"Pulls", "PullInterrupted", "nginx"}}},
        Row{"E39AfterAPullThatFailed",
            Default(),
            [](FakeNode& node) {
              KilledUnderAShortName(node);
              node.kubelet.BeginPull("nginx");
              node.kubelet.FailPull("nginx");
            },
            {{"Starts", "Preloaded", "nginx"}}},
        Row{"E39Undecodable",
            Default(),
            [](FakeNode& node) {
              node.Prefetch(kImage, kId);
              Damage(node, node.IntentPath(kImage), "{");
            },
            {{"Pulls", "RecordUnreadable"}}},
        Row{"E39UndecodableAfterAPullThatFailed",
            Default(),
            [](FakeNode& node) {
              node.Prefetch(kImage, kId);
              Damage(node, node.IntentPath(kImage), "{");
              node.kubelet.BeginPull(kImage);
              node.kubelet.FailPull(kImage);
            },
            {{"Starts", "Preloaded"}}},
        Row{"E40With99",
            Default(),
            [](FakeNode& node) { RecordedFor(node, 99); },
            {{"Starts", "RecordedForPod", kImage, With(Secret("u-1", "h-2"))},
             {"Starts", "RecordedForPod", kImage, With(Secret("u-7", "h-1"))}}},
        Row{"E40With100",
            Default(),
            [](FakeNode& node) { RecordedFor(node, 100); },
            {{"Pulls", "RecordedForOthers", kImage, With(Secret("u-1", "h-2"))},
             {"Starts", "RecordedForPod", kImage, With(Secret("u-7", "h-1"))}}},
        Row{"E40With101",
            Default(),
            [](FakeNode& node) { RecordedFor(node, 101); },
            {{"Pulls", "RecordedForOthers", kImage, With(Secret("u-1", "h-2"))},
             {"Starts", "RecordedForPod", kImage, With(Secret("u-7", "h-1"))}}},
        Row{"E41",
            kStrict,
            [](FakeNode& node) {
              node.KubeletPulls(kImage, kId, kNode);
              node.Restart();
              EXPECT_EQ(node.Ask(kImage).never.result, kubelet::VerdictResult::kStarts);
              node.Collect();
            },
            {{"Pulls", "VerificationAlways"}}},
        Row{"E42NodeWide",
            Default(),
            [](FakeNode& node) { node.KubeletPulls(kImage, kId, kNode); },
            {{"Starts", "OpenToNode", kImage, With(kSecret)}}},
        Row{"E43Undecodable",
            By(Policy::kNeverVerify),
            [](FakeNode& node) {
              node.Prefetch(kImage, kId);
              Damage(node, node.RecordPath(kId), "");
            },
            {{"Pulls", "RecordUnreadable"}}},
        Row{"E43UndecodableUntilAPullOverwritesIt",
            By(Policy::kNeverVerify),
            [](FakeNode& node) {
              node.Prefetch(kImage, kId);
              Damage(node, node.RecordPath(kId), "{\"Kind\":\"ImagePulledRecord\"}");
              node.KubeletPulls(kImage, kId, kBySecret);
            },
            {{"Starts", "VerificationNever"}}},
        Row{"E43Yaml",
            kStrict,
            [](FakeNode& node) {
              node.Prefetch(kImage, kId);
              Damage(
                  node, node.RecordPath(kId),
                  "kind: ImagePulledRecord\napiVersion: kubelet.config.k8s.io/v1beta1\nimageRef: sha256:aaa\n"
                  "credentialMapping:\n  reg.io/t/a:\n    nodePodsAccessible: true\n");
            },
            {{"Starts", "OpenToNode"}}},
        Row{"E43OtherImageRef",
            Default(),
            [](FakeNode& node) {
              node.Prefetch(kImage, kId);
              Damage(node, node.RecordPath(kId),
                     EncodeRecord({{"sha256:bbb", {}}, "2026-08-01T10:00:00Z"}, node.settings.version));
            },
            {{"Starts", "Preloaded"}}},
        Row{"E44",
            kStrict,
            [](FakeNode& node) { node.KubeletPulls(kImage, kId, kByAccount); },
            {{"Starts", "RecordedForPod", kImage, With(kAccount)},
             {"Pulls", "RecordedForOthers", kImage, With(Coordinates{"u-8", "team", "other"})},
             {"Pulls", "RecordedForOthers"}}},
        Row{"E44WithoutAnAccount",
            kStrict,
            [](FakeNode& node) { node.KubeletPulls(kImage, kId, kNode); },
            {{"Starts", "OpenToNode"}, {"Starts", "OpenToNode", kImage, With(kAccount)}}}),
    NameOf);

// What changed with versions (K7, K11, K13, K15, K17, K27): one story on each, and from one to the next.
INSTANTIATE_TEST_SUITE_P(
    Section4, FakeKubeletTest,
    testing::Values(
        Row{"NoGate132",
            {.version = {1, 32}, .gate = false, .policy = {}, .allowlist = {}},
            ClosedBySecret,
            {{"Starts", "GateOff"}}},
        Row{"GateOff136",
            {.version = {1, 36}, .gate = false, .policy = {}, .allowlist = {}},
            ClosedBySecret,
            {{"Starts", "GateOff"}}},
        Row{"Secret133", Default(33), ClosedBySecret, {{"Pulls", "RecordedForOthers"}}},
        Row{"Secret134", Default(34), ClosedBySecret, {{"Pulls", "RecordedForOthers"}}},
        Row{"Secret135", Default(35), ClosedBySecret, {{"Pulls", "RecordedForOthers"}}},
        // Untagged, hence for everybody.
        Row{"Account133",
            Default(33),
            [](FakeNode& node) { node.KubeletPulls(kImage, kId, kByAccount); },
            {{"Starts", "OpenToNode"}}},
        Row{"Account134",
            Default(34),
            [](FakeNode& node) { node.KubeletPulls(kImage, kId, kByAccount); },
            {{"Starts", "RecordedForPod", kImage, With(kAccount)}, {"Pulls", "RecordedForOthers"}}},
        Row{"ShortAndLongNameAreOneBefore136",
            kStrict,
            [](FakeNode& node) {
              node.Become(By(Policy::kAlwaysVerify, 35));
              node.KubeletPulls("nginx:1", kId, kNode);
              node.Prefetch("docker.io/library/nginx:1", kId);
            },
            {{"Starts", "OpenToNode", "nginx:1"}, {"Starts", "OpenToNode", "docker.io/library/nginx:1"}}},
        Row{"ShortAndLongNameAreTwoSince136",
            kStrict,
            [](FakeNode& node) {
              node.KubeletPulls("nginx:1", kId, kNode);
              node.Prefetch("docker.io/library/nginx:1", kId);
            },
            {{"Starts", "OpenToNode", "nginx:1"},
             {"Pulls", "RecordedUnderOtherName", "docker.io/library/nginx:1"}}},
        Row{"ForeignFilesAreSeenBy133",
            kStrict,
            [](FakeNode& node) {
              node.Become(By(Policy::kAlwaysVerify, 33));
              node.Prefetch(kImage, kId);
              node.root.Write(node.RecordPath(kId), OpenRecord(node.settings.version));
            },
            {{"Starts", "OpenToNode"}}},
        Row{"Upgrade134To135Migrates",
            kStrict,
            [](FakeNode& node) {
              node.Become(By(Policy::kAlwaysVerify, 34));
              node.KubeletPulls(kImage, kId, kNode);
              EXPECT_NE(node.Content(node.RecordPath(kId)).find("v1alpha1"), std::string::npos);
              node.Become(By(Policy::kAlwaysVerify, 35));
              EXPECT_NE(node.Content(node.RecordPath(kId)).find("v1beta1"), std::string::npos);
            },
            {{"Starts", "OpenToNode"}}},
        Row{"Downgrade135To134ReadsNothing",
            Default(35),
            [](FakeNode& node) {
              node.KubeletPulls(kImage, kId, kNode);
              node.Become(Default(34));
            },
            {{"Pulls", "RecordUnreadable"}}},
        Row{"Downgrade135To134UntilTheNextPull",
            Default(35),
            [](FakeNode& node) {
              node.KubeletPulls(kImage, kId, kNode);
              node.Become(Default(34));
              node.KubeletPulls(kImage, kId, kBySecret);
            },
            {{"Pulls", "RecordedForOthers"}, {"Starts", "RecordedForPod", kImage, With(kSecret)}}},
        Row{"Upgrade135To136OrphansShortNames",
            Default(35),
            [](FakeNode& node) {
              node.KubeletPulls("nginx:1", kId, kNode);
              node.KubeletPulls(kImage, "sha256:bbb", kNode);
              node.Become(Default(36));
            },
            {{"Pulls", "RecordedUnderOtherName", "nginx:1"}, {"Starts", "OpenToNode"}}},
        Row{"TheGateIsSwitchedOffAndOn",
            Default(),
            [](FakeNode& node) {
              ClosedBySecret(node);
              node.Become({.version = {1, 36}, .gate = false, .policy = {}, .allowlist = {}});
              EXPECT_TRUE(node.kubelet.Admits(kImage, kId, kAnybody));
              node.KubeletPulls(kImage, kId, kNode);
              node.Become(Default());
            },
            {{"Pulls", "RecordedForOthers"}}}),
    NameOf);

}  // namespace
}  // namespace prefetch::tests::fake_kubelet_test
