// The model of kubelet against what a real one did (spec/evidence.md, spec/kubelet.md section 3.12), and the
// verdict, computed from the model's files, against both.
#include "fakes/fake_kubelet.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "kubelet/fake_node.h"

namespace prefetch::tests {
namespace {

using image::KubeletVersion;
using kubelet::Coordinates;
using kubelet::HashedSecret;
using kubelet::KubeletSettings;
using kubelet::PodIdentity;
using Policy = kubelet::VerificationPolicy;

const char kImage[] = "reg.io/t/a:v1";
const char kId[] = "sha256:aaa";
const std::string kDigest = "@sha256:" + std::string(64, 'b');

HashedSecret Secret(const std::string& uid, const std::string& hash, const std::string& name = "pull") {
  return {{uid, "team", name}, base::Secret(hash)};
}

const HashedSecret kSecret = Secret("u-1", "h-1");
const Coordinates kAccount{"u-9", "team", "runner"};
const PullCredential kNode;
const PullCredential kBySecret{.secret = kSecret, .service_account = {}};
const PullCredential kByAccount{.secret = {}, .service_account = kAccount};
const PodIdentity kAnybody;

PodIdentity With(const HashedSecret& secret) {
  return {.secrets = {secret}, .service_account = {}};
}
PodIdentity With(const Coordinates& account) {
  return {.secrets = {}, .service_account = account};
}

KubeletSettings By(Policy policy, unsigned minor = 36) {
  return {.version = {1, minor}, .gate = true, .policy = policy, .allowlist = {}};
}
KubeletSettings Default(unsigned minor = 36) {
  return By(Policy::kNeverVerifyPreloadedImages, minor);
}
const KubeletSettings kStrict = By(Policy::kAlwaysVerify);
KubeletSettings Listed(const std::vector<std::string>& patterns) {
  KubeletSettings settings = By(Policy::kNeverVerifyAllowlistedImages);
  settings.allowlist = *kubelet::Allowlist::Parse(patterns, settings.version);
  return settings;
}

// A pod with `kImage` unless it is said otherwise. "Starts", or what IfNotPresent would do instead; and why.
struct Expected {
  std::string result, reason;
  std::string image = kImage;
  PodIdentity pod = {};
};

struct Row {
  std::string name;  // of the row in the specification
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

void PrefetchOnly(FakeNode& node) {
  node.Prefetch(kImage, kId);
}
void ClosedBySecret(FakeNode& node) {
  node.Prefetch(kImage, kId);
  node.KubeletPulls(kImage, kId, kBySecret);
}
void KilledInMidPull(FakeNode& node) {
  node.kubelet.BeginPull(kImage);
  node.kubelet.Stop();
  node.Prefetch(kImage, kId);
}
// The name of a pull that no start resolves: runtimes report it otherwise.
void KilledUnderAShortName(FakeNode& node) {
  node.kubelet.BeginPull("nginx");
  node.Prefetch("nginx", kId);
  node.Restart();
}
// `count` secrets of others, then kSecret.
void RecordedFor(FakeNode& node, int count) {
  node.Prefetch(kImage, kId);
  for (int i = 1; i < count; i++) {
    std::string n = std::to_string(i);
    node.KubeletPulls(kImage, kId, {.secret = Secret("other-" + n, "x" + n), .service_account = {}});
  }
  node.KubeletPulls(kImage, kId, kBySecret);
}
// Written by hand, for everybody.
std::string OpenRecord(KubeletVersion version) {
  return EncodeRecord({{kId, {{"reg.io/t/a", {.node_pods_accessible = true}}}}, "2026-08-01T10:00:00Z"},
                      version);
}
void Damage(FakeNode& node, const std::string& path, const std::string& content) {
  node.root.Write(path, content);
  node.Restart();
}

INSTANTIATE_TEST_SUITE_P(
    Section312, FakeKubeletTest,
    testing::Values(
        Row{"Row1", Default(), PrefetchOnly, {{"Starts", "Preloaded"}}},
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
        // A name that kubelet's start does not resolve. One that it does becomes a record: evidence row 31.
        Row{"Row8", Default(), KilledUnderAShortName, {{"Pulls", "PullInterrupted", "nginx"}}},
        Row{"Row9", Default(), KilledUnderAShortName, {{"Starts", "Preloaded", "nginx:latest"}}},
        Row{"Row10", kStrict, PrefetchOnly, {{"Pulls", "VerificationAlways"}}}),
    NameOf);

// Rows 8 and 9 are said of a kubelet that runs: what it answers from memory is in no file, and the verdict is
// that of its next start. No verdict is in rows 21, 24, 25, 30, 35, 37 and 38, which are of names, times,
// downloads, pins and other interfaces (21: see FileNames below), 45 is what the walk of
// fake_kubelet_walk_test.cc is made after, and a pull secret that cannot be parsed (the second half of 42)
// has no place in a PodIdentity.
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

// Section 4, as far as it concerns verdicts: one story on each version, and from one version to the next.
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

// Section 3.6: what a second pull makes of an entry. The whole credentialMapping, as it is written.
struct MergeCase {
  std::string name;
  std::vector<PullCredential> pulls;
  std::string mapping;
};

class FakeKubeletMergeTest : public testing::TestWithParam<MergeCase> {};

std::string MappingOf(const std::string& content) {
  const std::string key = "\"credentialMapping\":";
  std::size_t begin = content.find(key);
  return begin == std::string::npos
             ? ""
             : content.substr(begin + key.size(), content.size() - begin - key.size() - 2);
}

TEST_P(FakeKubeletMergeTest, WritesAsKubeletDoes) {
  FakeNode node;
  for (const PullCredential& pull : GetParam().pulls) node.KubeletPulls(kImage, kId, pull);
  EXPECT_EQ(MappingOf(node.Content(node.RecordPath(kId))), GetParam().mapping);
}

PullCredential ByS(const std::string& uid, const std::string& hash, const std::string& name) {
  return {.secret = Secret(uid, hash, name), .service_account = {}};
}
PullCredential ByA(const std::string& name) {
  return {.secret = {}, .service_account = Coordinates{"u-" + name, "team", name}};
}
std::string SecretItem(const std::string& uid, const std::string& hash, const std::string& name) {
  return R"({"uid":")" + uid + R"(","namespace":"team","name":")" + name + R"(","credentialHash":")" + hash +
         "\"}";
}
std::string AccountItem(const std::string& name) {
  return R"({"uid":"u-)" + name + R"(","namespace":"team","name":")" + name + "\"}";
}
std::string EntryOf(const std::string& members) {
  return "{\"reg.io/t/a\":{" + members + "}}";
}
std::string SecretsOf(const std::string& items) {
  return "\"kubernetesSecrets\":[" + items + "]";
}
std::string AccountsOf(const std::string& items) {
  return "\"kubernetesServiceAccounts\":[" + items + "]";
}

INSTANTIATE_TEST_SUITE_P(
    Section36, FakeKubeletMergeTest,
    testing::Values(
        MergeCase{"Rule2New", {ByS("2", "h", "b")}, EntryOf(SecretsOf(SecretItem("2", "h", "b")))},
        MergeCase{"Rule3NodeAbsorbs", {kNode, kBySecret, kByAccount}, EntryOf("\"nodePodsAccessible\":true")},
        MergeCase{
            "Rule4NodeReplaces", {kBySecret, kByAccount, kNode}, EntryOf("\"nodePodsAccessible\":true")},
        MergeCase{"Rule5UnionIsSorted",
                  {ByS("2", "h", "b"), ByS("1", "h", "a")},
                  EntryOf(SecretsOf(SecretItem("1", "h", "a") + "," + SecretItem("2", "h", "b")))},
        MergeCase{"Rule5NewerHashWins",
                  {ByS("1", "old", "a"), ByS("1", "new", "a")},
                  EntryOf(SecretsOf(SecretItem("1", "new", "a")))},
        MergeCase{"Rule5ANewUidIsAnotherSecret",
                  {ByS("2", "h", "a"), ByS("1", "h", "a")},
                  EntryOf(SecretsOf(SecretItem("1", "h", "a") + "," + SecretItem("2", "h", "a")))},
        MergeCase{"Rule6UnionIsSorted",
                  {ByA("b"), ByA("a"), ByA("b")},
                  EntryOf(AccountsOf(AccountItem("a") + "," + AccountItem("b")))},
        MergeCase{"Rules5And6LeaveEachOther",
                  {ByA("b"), ByS("1", "h", "a")},
                  EntryOf(SecretsOf(SecretItem("1", "h", "a")) + "," + AccountsOf(AccountItem("b")))}),
    [](const auto& row) { return row.param.name; });

TEST(FakeKubelet, WritesToTheByte) {
  FakeNode node;
  node.KubeletPulls(kImage, kId, kBySecret);
  node.KubeletPulls("nginx", kId, kNode);
  EXPECT_EQ(node.Content(node.RecordPath(kId)),
            R"({"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1beta1",)"
            R"("lastUpdatedTime":"2026-08-01T10:00:02Z","imageRef":"sha256:aaa","credentialMapping":)"
            R"({"nginx":{"nodePodsAccessible":true},"reg.io/t/a":{"kubernetesSecrets":[{"uid":"u-1",)"
            R"("namespace":"team","name":"pull","credentialHash":"h-1"}]}}})"
            "\n");
  node.kubelet.BeginPull("nginx:1.27");
  EXPECT_EQ(node.Content(node.IntentPath("nginx:1.27")),
            "{\"kind\":\"ImagePullIntent\",\"apiVersion\":\"kubelet.config.k8s.io/v1beta1\","
            "\"image\":\"nginx:1.27\"}\n");
}

// Rules 1, 3, 5: what changes nothing is not written.
TEST(FakeKubelet, APullThatSaysNothingNewLeavesTheTime) {
  FakeNode node;
  node.KubeletPulls(kImage, kId, kBySecret);
  std::string before = node.Content(node.RecordPath(kId));
  node.KubeletPulls(kImage, kId, kBySecret);
  EXPECT_EQ(node.Content(node.RecordPath(kId)), before);
  EXPECT_TRUE(node.kubelet.StartPod(kImage, kId, With(kSecret)));
  EXPECT_EQ(node.Content(node.RecordPath(kId)), before);
}

// Evidence rows 5 and 40: below 100 a start adds the pod's secret, from there on it does not.
TEST(FakeKubelet, AStartAddsASecretToAnEntryThatHasRoom) {
  for (int count : {99, 100}) {
    FakeNode node;
    RecordedFor(node, count);
    std::string before = node.Content(node.RecordPath(kId));
    EXPECT_TRUE(node.kubelet.StartPod(kImage, kId, With(Secret("u-7", "h-1"))));
    EXPECT_EQ(node.Content(node.RecordPath(kId)) != before, count == 99) << count;
  }
}

// Section 3.7: the file of an intent stays until the last of its attempts has ended.
TEST(FakeKubelet, AnIntentStaysWhileAnyAttemptIsUnderWay) {
  FakeNode node;
  node.kubelet.BeginPull(kImage);
  node.kubelet.BeginPull(kImage);
  node.kubelet.FailPull(kImage);
  EXPECT_NE(node.Content(node.IntentPath(kImage)), "");
  node.kubelet.EndPull(kImage, kId, kNode);
  EXPECT_EQ(node.Content(node.IntentPath(kImage)), "");
}

// Section 3.8 and evidence row 34: with as many records as fit, or more, memory is not authoritative.
TEST(FakeKubelet, AFullMemoryAsksTheDisk) {
  constexpr std::size_t kMaxPods = 2;
  for (int records : {9, 10}) {
    FakeNode node(kStrict, kMaxPods);
    for (int i = 0; i < records; i++) node.KubeletPulls("reg.io/x:v1", "sha256:" + std::to_string(i), kNode);
    node.Restart();
    node.root.Write(node.RecordPath(kId), OpenRecord({1, 36}));
    EXPECT_EQ(node.kubelet.Admits(kImage, kId, kAnybody), records == 10) << records;
  }
}

// Evidence row 8: a later pull by kubelet overwrites what was written by hand.
TEST(FakeKubelet, OverwritesWhatItHasNotSeen) {
  FakeNode node(kStrict);
  node.root.Write(node.RecordPath(kId), OpenRecord({1, 36}));
  node.KubeletPulls(kImage, kId, kBySecret);
  EXPECT_EQ(node.Content(node.RecordPath(kId)).find("nodePodsAccessible"), std::string::npos);
}

// Section 3.4 and evidence row 21.
TEST(FakeKubelet, FileNamesAndModes) {
  namespace fs = std::filesystem;
  FakeNode node;
  node.KubeletPulls("x.io/a", "testimageref", kNode);
  node.kubelet.BeginPull("nginx:1.27");
  fs::path folder = node.root / "image_manager";
  fs::path record = folder / "pulled/sha256-b3c0cc4278800b03a308ceb2611161430df571ca733122f0a40ac8b9792a9064";
  fs::path intent =
      folder / "pulling/sha256-cd4495bb73de9b01bf009710b80ecf4be2d298db47492f4e9e7d0b04981c4614";
  for (const fs::path& file : {record, intent}) {
    EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write) << file;
    EXPECT_EQ(fs::status(file.parent_path()).permissions(), fs::perms::owner_all) << file;
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "pulled"), {}), 1);
}

}  // namespace
}  // namespace prefetch::tests
