// The model of kubelet against a real kubelet 1.36.2 did (K20 to K34), and the verdict, computed from the
// model's files, against both.
#include "fakes/fake_kubelet.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <random>

#include "kubelet/fake_node.h"
#include "kubelet/settings.h"
#include "rows.h"

namespace prefetch::tests::fake_kubelet_test {
namespace {

using image::KubeletVersion;
using kubelet::Coordinates;
using kubelet::FileContent;
using kubelet::HashedSecret;
using kubelet::KubeletSettings;
using kubelet::PodIdentity;
using kubelet::VerdictQuestion;
using kubelet::VerdictResult;
using Policy = kubelet::VerificationPolicy;

// Images, credentials, settings and events of the stories.

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
// Written by hand, for everybody.
std::string OpenRecord(KubeletVersion version) {
  return EncodeRecord({{kId, {{"reg.io/t/a", {.node_pods_accessible = true}}}}, "2026-08-01T10:00:00Z"},
                      version);
}
void Damage(FakeNode& node, const std::string& path, const std::string& content) {
  node.root.Write(path, content);
  node.Restart();
}

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

void Check(const FakeNode& node, const Expected& expected) {
  kubelet::Verdicts verdicts = node.Ask(expected.image, expected.pod);
  bool starts = expected.result == "Starts";
  EXPECT_EQ(base::EnumName(verdicts.if_not_present.result), expected.result)
      << verdicts.if_not_present.message;
  EXPECT_EQ(base::EnumName(verdicts.never.result), starts ? "Starts" : "Refused");
  EXPECT_EQ(base::EnumName(verdicts.never.reason), expected.reason) << verdicts.never.message;
  EXPECT_EQ(base::EnumName(verdicts.always.result), "Pulls");
  EXPECT_EQ(node.kubelet.Admits(expected.image, node.IdOf(expected.image), expected.pod), starts)
      << expected.image;
}

TEST_TABLE(FakeKubeletTest, DoesAsARealOne, Row) {
  FakeNode node(row.settings);
  row.story(node);
  for (const Expected& expected : row.expected) Check(node, expected);
}

// Seen on kubelet 1.36.2; the names number the observations. A kubelet that runs answers E8 and E9 from
// memory, which is in no file (K33): the verdict is that of its next start. Numbers that are left out are of
// names, times, downloads, pins and other interfaces, which no verdict shows. A long random walk of that
// kubelet found the same; class Walk below is made after it. A pull secret that cannot be parsed has no place
// in a PodIdentity. Observations of one moment are rows of verdict_test.cc.
TEST_ROWS(Evidence1To23, FakeKubeletTest, {"E1and2", Default(), PrefetchOnly, {{"Starts", "Preloaded"}}},
          {"E3", Default(), ClosedBySecret,
           std::vector<Expected>{{"Pulls", "RecordedForOthers"},
                                 {"Pulls", "RecordedForOthers", kImage, With(Secret("u-2", "h-2"))}}},
          {"E4", Default(),
           [](FakeNode& node) {
             ClosedBySecret(node);
             PrefetchOnly(node);
           },
           std::vector<Expected>{{"Pulls", "RecordedForOthers"}}},
          {"E6", Default(),
           [](FakeNode& node) {
             node.KubeletPulls(kImage, kId, kNode);
             node.Prefetch("reg.io/t/b:v1", kId);
           },
           std::vector<Expected>{{"Pulls", "RecordedUnderOtherName", "reg.io/t/b:v1"}}},
          {"E8AfterARestart", kStrict,
           [](FakeNode& node) {
             node.Prefetch(kImage, kId);
             node.root.Write(node.RecordPath(kId), OpenRecord(node.settings.version));
           },
           std::vector<Expected>{{"Starts", "OpenToNode"}}},
          {"E9AfterARestart", Default(),
           [](FakeNode& node) {
             ClosedBySecret(node);
             std::filesystem::remove(node.root / node.RecordPath(kId));
           },
           std::vector<Expected>{{"Starts", "Preloaded"}}},
          {"E12to15", kStrict,
           [](FakeNode& node) {
             for (const char* name : {"reg.io/t/a:v1", "reg.io/t/b:v1", "reg.io/t/c:v1", "reg.io/t/d:v1"}) {
               node.Prefetch(name, std::string("sha256:") + name);
             }
             for (const char* name : {"reg.io/t/a:v1", "reg.io/t/b:v1", "reg.io/t/c:v1"}) {
               node.KubeletPulls(name, node.IdOf(name), kNode);
             }
           },
           std::vector<Expected>{{"Starts", "OpenToNode", "reg.io/t/a:v1"},
                                 {"Starts", "OpenToNode", "reg.io/t/b:v1"},
                                 {"Starts", "OpenToNode", "reg.io/t/c:v1"},
                                 {"Pulls", "VerificationAlways", "reg.io/t/d:v1"}}},
          {"E20", Default(),
           [](FakeNode& node) {
             ClosedBySecret(node);
             node.Remove(kImage);
             PrefetchOnly(node);
           },
           std::vector<Expected>{{"Pulls", "RecordedForOthers"}}},
          {"E22", Default(), [](FakeNode& node) { node.Prefetch("reg.io/t/a" + kDigest, kId); },
           std::vector<Expected>{{"Pulls", "ImageAbsent"}, {"Starts", "Preloaded", "reg.io/t/a" + kDigest}}});

TEST_ROWS(Evidence24To46, FakeKubeletTest,
          // A static pod, an image volume, node credentials from a file: to the record a touch is a touch.
          {"E26to29and46", kStrict,
           [](FakeNode& node) {
             node.kubelet.BeginPull(kImage);
             node.kubelet.FailPull(kImage);
             node.KubeletPulls(kImage, kId, kNode);
           },
           std::vector<Expected>{{"Starts", "OpenToNode"},
                                 {"Starts", "OpenToNode", kImage, With(Secret("u-3", "wrong"))}}},
          {"E31", Default(),
           [](FakeNode& node) {
             KilledInMidPull(node);
             node.Restart();
             EXPECT_EQ(node.Content(node.IntentPath(kImage)), "");
           },
           std::vector<Expected>{{"Pulls", "PullInterrupted"}}},
          {"E31WhileThePullIsUnderWay", Default(),
           [](FakeNode& node) {
             node.kubelet.BeginPull(kImage);
             node.Prefetch(kImage, kId);
           },
           std::vector<Expected>{{"Pulls", "PullInterrupted"}}},
          {"E32", Default(),
           [](FakeNode& node) {
             node.Prefetch(kImage, kId);
             node.kubelet.BeginPull(kImage);
             node.kubelet.FailPull(kImage);
           },
           std::vector<Expected>{{"Starts", "Preloaded"}}},
          {"E33ClosedBecomesOpen", Default(),
           [](FakeNode& node) {
             ClosedBySecret(node);
             node.Collect();
           },
           std::vector<Expected>{{"Starts", "Preloaded"}}},
          {"E33OpenBecomesClosed", kStrict,
           [](FakeNode& node) {
             node.KubeletPulls(kImage, kId, kNode);
             node.Collect();
           },
           std::vector<Expected>{{"Pulls", "VerificationAlways"}}},
          {"E33TheOneThatWasKeptStays", kStrict,
           [](FakeNode& node) {
             node.KubeletPulls(kImage, kId, kNode);
             node.Collect({kId});
           },
           std::vector<Expected>{{"Starts", "OpenToNode"}}},
          {"E34", kStrict,
           [](FakeNode& node) {
             node.Prefetch(kImage, kId);
             Damage(node, node.RecordPath("sha256:other"), "{");
             node.root.Write(node.RecordPath(kId), OpenRecord(node.settings.version));
           },
           std::vector<Expected>{{"Starts", "OpenToNode"}}},
          {"E36", Default(),
           [](FakeNode& node) {
             ClosedBySecret(node);
             node.Remove(kImage);
             node.Restart();
             EXPECT_NE(node.Content(node.RecordPath(kId)), "");
             node.Collect();
             EXPECT_EQ(node.Content(node.RecordPath(kId)), "");
           },
           std::vector<Expected>{{"Pulls", "ImageAbsent"}}},
          // A name that kubelet's start does not resolve. One that it does becomes a record (K32).
          {"E39", Default(), KilledUnderAShortName,
           std::vector<Expected>{{"Pulls", "PullInterrupted", "nginx"},
                                 {"Starts", "Preloaded", "nginx:latest"}}},
          {"E39AfterAPullThatFailed", Default(),
           [](FakeNode& node) {
             KilledUnderAShortName(node);
             node.kubelet.BeginPull("nginx");
             node.kubelet.FailPull("nginx");
           },
           std::vector<Expected>{{"Starts", "Preloaded", "nginx"}}},
          {"E39Undecodable", Default(),
           [](FakeNode& node) {
             node.Prefetch(kImage, kId);
             Damage(node, node.IntentPath(kImage), "{");
           },
           std::vector<Expected>{{"Pulls", "RecordUnreadable"}}},
          {"E39UndecodableAfterAPullThatFailed", Default(),
           [](FakeNode& node) {
             node.Prefetch(kImage, kId);
             Damage(node, node.IntentPath(kImage), "{");
             node.kubelet.BeginPull(kImage);
             node.kubelet.FailPull(kImage);
           },
           std::vector<Expected>{{"Starts", "Preloaded"}}},
          {"E41", kStrict,
           [](FakeNode& node) {
             node.KubeletPulls(kImage, kId, kNode);
             node.Restart();
             EXPECT_EQ(node.Ask(kImage).never.result, kubelet::VerdictResult::kStarts);
             node.Collect();
           },
           std::vector<Expected>{{"Pulls", "VerificationAlways"}}},
          {"E42NodeWide", Default(), [](FakeNode& node) { node.KubeletPulls(kImage, kId, kNode); },
           std::vector<Expected>{{"Starts", "OpenToNode", kImage, With(kSecret)}}},
          {"E43UndecodableUntilAPullOverwritesIt", By(Policy::kNeverVerify),
           [](FakeNode& node) {
             node.Prefetch(kImage, kId);
             Damage(node, node.RecordPath(kId), "{\"Kind\":\"ImagePulledRecord\"}");
             node.KubeletPulls(kImage, kId, kBySecret);
           },
           std::vector<Expected>{{"Starts", "VerificationNever"}}},
          {"E43Yaml", kStrict,
           [](FakeNode& node) {
             node.Prefetch(kImage, kId);
             Damage(
                 node, node.RecordPath(kId),
                 "kind: ImagePulledRecord\napiVersion: kubelet.config.k8s.io/v1beta1\nimageRef: sha256:aaa\n"
                 "credentialMapping:\n  reg.io/t/a:\n    nodePodsAccessible: true\n");
           },
           std::vector<Expected>{{"Starts", "OpenToNode"}}},
          {"E43OtherImageRef", Default(),
           [](FakeNode& node) {
             node.Prefetch(kImage, kId);
             Damage(node, node.RecordPath(kId),
                    EncodeRecord({{"sha256:bbb", {}}, "2026-08-01T10:00:00Z"}, node.settings.version));
           },
           std::vector<Expected>{{"Starts", "Preloaded"}}});

// Changes between versions (K7, K11, K13, K15, K17, K27): one story on each, and from one to the next.
TEST_ROWS(Section4, FakeKubeletTest,
          {"NoGate132", KubeletSettings{.version = {1, 32}, .gate = false, .policy = {}, .allowlist = {}},
           ClosedBySecret, std::vector<Expected>{{"Starts", "GateOff"}}},
          {"GateOff136", KubeletSettings{.version = {1, 36}, .gate = false, .policy = {}, .allowlist = {}},
           ClosedBySecret, std::vector<Expected>{{"Starts", "GateOff"}}},
          {"Secret133", Default(33), ClosedBySecret, {{"Pulls", "RecordedForOthers"}}},
          {"Secret134", Default(34), ClosedBySecret, {{"Pulls", "RecordedForOthers"}}},
          {"Secret135", Default(35), ClosedBySecret, {{"Pulls", "RecordedForOthers"}}},
          // Untagged, hence for everybody.
          {"Account133", Default(33), [](FakeNode& node) { node.KubeletPulls(kImage, kId, kByAccount); },
           std::vector<Expected>{{"Starts", "OpenToNode"}}},
          {"Account134", Default(34), [](FakeNode& node) { node.KubeletPulls(kImage, kId, kByAccount); },
           std::vector<Expected>{{"Starts", "RecordedForPod", kImage, With(kAccount)},
                                 {"Pulls", "RecordedForOthers"}}},
          {"ShortAndLongNameAreOneBefore136", kStrict,
           [](FakeNode& node) {
             node.Become(By(Policy::kAlwaysVerify, 35));
             node.KubeletPulls("nginx:1", kId, kNode);
             node.Prefetch("docker.io/library/nginx:1", kId);
           },
           std::vector<Expected>{{"Starts", "OpenToNode", "nginx:1"},
                                 {"Starts", "OpenToNode", "docker.io/library/nginx:1"}}},
          {"ShortAndLongNameAreTwoSince136", kStrict,
           [](FakeNode& node) {
             node.KubeletPulls("nginx:1", kId, kNode);
             node.Prefetch("docker.io/library/nginx:1", kId);
           },
           std::vector<Expected>{{"Starts", "OpenToNode", "nginx:1"},
                                 {"Pulls", "RecordedUnderOtherName", "docker.io/library/nginx:1"}}},
          {"ForeignFilesAreSeenBy133", kStrict,
           [](FakeNode& node) {
             node.Become(By(Policy::kAlwaysVerify, 33));
             node.Prefetch(kImage, kId);
             node.root.Write(node.RecordPath(kId), OpenRecord(node.settings.version));
           },
           std::vector<Expected>{{"Starts", "OpenToNode"}}},
          {"Upgrade134To135Migrates", kStrict,
           [](FakeNode& node) {
             node.Become(By(Policy::kAlwaysVerify, 34));
             node.KubeletPulls(kImage, kId, kNode);
             EXPECT_NE(node.Content(node.RecordPath(kId)).find("v1alpha1"), std::string::npos);
             node.Become(By(Policy::kAlwaysVerify, 35));
             EXPECT_NE(node.Content(node.RecordPath(kId)).find("v1beta1"), std::string::npos);
           },
           std::vector<Expected>{{"Starts", "OpenToNode"}}},
          {"Downgrade135To134ReadsNothing", Default(35),
           [](FakeNode& node) {
             node.KubeletPulls(kImage, kId, kNode);
             node.Become(Default(34));
           },
           std::vector<Expected>{{"Pulls", "RecordUnreadable"}}},
          {"Downgrade135To134UntilTheNextPull", Default(35),
           [](FakeNode& node) {
             node.KubeletPulls(kImage, kId, kNode);
             node.Become(Default(34));
             node.KubeletPulls(kImage, kId, kBySecret);
           },
           std::vector<Expected>{{"Pulls", "RecordedForOthers"},
                                 {"Starts", "RecordedForPod", kImage, With(kSecret)}}},
          {"Upgrade135To136OrphansShortNames", Default(35),
           [](FakeNode& node) {
             node.KubeletPulls("nginx:1", kId, kNode);
             node.KubeletPulls(kImage, "sha256:bbb", kNode);
             node.Become(Default(36));
           },
           std::vector<Expected>{{"Pulls", "RecordedUnderOtherName", "nginx:1"}, {"Starts", "OpenToNode"}}},
          {"TheGateIsSwitchedOffAndOn", Default(),
           [](FakeNode& node) {
             ClosedBySecret(node);
             node.Become({.version = {1, 36}, .gate = false, .policy = {}, .allowlist = {}});
             EXPECT_TRUE(node.kubelet.Admits(kImage, kId, kAnybody));
             node.KubeletPulls(kImage, kId, kNode);
             node.Become(Default());
           },
           std::vector<Expected>{{"Pulls", "RecordedForOthers"}}});

// A seeded walk over everything that may happen to kubelet's records, and what must hold after every step.
// The real kubelet was walked like this, too (K26, K30, K32, K34).

// Names that share content, repositories and spellings in every way.
const std::vector<std::string> kImages = {"reg.io/t/a:v1",
                                          "reg.io/t/a:v2",
                                          "mirror.io/t/a:v1",
                                          "reg.io/t/a@sha256:" + std::string(64, 'b'),
                                          "nginx",
                                          "nginx:latest",
                                          "docker.io/library/nginx:latest"};
const std::vector<std::string> kIds = {"sha256:aaa", "sha256:bbb", "sha256:ccc"};
const std::vector<KubeletVersion> kVersions = {{1, 33}, {1, 34}, {1, 35}, {1, 36}};
constexpr Policy kPolicies[] = {Policy::kNeverVerify, Policy::kNeverVerifyPreloadedImages,
                                Policy::kNeverVerifyAllowlistedImages, Policy::kAlwaysVerify};

class Walk {
 public:
  explicit Walk(unsigned seed) : random_(seed) {}

  // Something happens to the node.
  void Step(FakeNode& node) {
    node.clock.Advance(std::chrono::seconds(1));
    const std::string& image = Any(kImages);
    switch (random_() % 12) {
      case 0:
      case 1:
        return node.Prefetch(image, Any(kIds));
      case 2:
      case 3:
        return node.KubeletPulls(image, Any(kIds), Credential());
      case 4:
        return PodStarts(node, image);
      case 5:
        node.kubelet.BeginPull(image);
        return node.kubelet.FailPull(image);
      case 6:
        node.kubelet.BeginPull(image);
        return node.Restart();
      case 7:
        return node.Remove(image);
      case 8:
        return node.Collect({Any(kIds)});
      case 9:
        return node.Become(Settings());
      case 10:
        return node.Restart();
      default:
        return Intrude(node, image);
    }
  }

  PodIdentity Pod() {
    PodIdentity pod;
    for (unsigned n = random_() % 3; n > 0; n--) pod.secrets.push_back(Secret());
    if (random_() % 3 == 0) pod.service_account = Account();
    return pod;
  }

 private:
  template <typename T>
  const T& Any(const std::vector<T>& of) {
    return of[random_() % of.size()];
  }

  // A few secrets, which are rotated, recreated and share passwords.
  HashedSecret Secret() {
    return {{"u-" + std::to_string(random_() % 3), "team", "pull"},
            base::Secret("h-" + std::to_string(random_() % 3))};
  }
  kubelet::Coordinates Account() { return {"u-" + std::to_string(random_() % 2), "team", "runner"}; }
  PullCredential Credential() {
    switch (random_() % 4) {
      case 0:
        return {};
      case 1:
        return {.secret = {}, .service_account = Account()};
      default:
        return {.secret = Secret(), .service_account = {}};
    }
  }

  kubelet::KubeletSettings Settings() {
    kubelet::KubeletSettings settings{.version = Any(kVersions)};
    settings.gate = random_() % 8 != 0;
    settings.policy = kPolicies[random_() % 4];
    if (settings.policy == Policy::kNeverVerifyAllowlistedImages) {
      settings.allowlist = *kubelet::Allowlist::Parse({"reg.io/t/*"}, settings.version);
    }
    return settings;
  }

  // A pod that may start does; else its pull goes as it goes.
  void PodStarts(FakeNode& node, const std::string& image) {
    PodIdentity pod = Pod();
    if (node.kubelet.Admits(image, node.IdOf(image), pod)) return;
    if (pod.secrets.empty()) return;
    node.KubeletPulls(image, Any(kIds), {.secret = pod.secrets.front(), .service_account = {}});
  }

  // Pulls one name twice at once; one of the pulls fails.
  void Intrude(FakeNode& node, const std::string& image) {
    node.kubelet.BeginPull(image);
    node.KubeletPulls(image, Any(kIds), Credential());
    node.kubelet.FailPull(image);
  }

  std::mt19937 random_;
};

bool Starts(const VerdictQuestion& question, const kubelet::KubeletSettings& settings) {
  return kubelet::VerdictsFor(question, {settings}).never.result == VerdictResult::kStarts;
}

constexpr int kWalks = 8;
constexpr int kSteps = 100;

// `check` is asked about every image after every step, for a pod that the walk makes up.
template <typename Check>
void ForEveryMoment(Check check) {
  for (int seed = 1; seed <= kWalks; seed++) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Walk walk(static_cast<unsigned>(seed));
    FakeNode node;
    for (int step = 0; step < kSteps && !testing::Test::HasFailure(); step++) {
      SCOPED_TRACE("step " + std::to_string(step));
      walk.Step(node);
      for (const std::string& image : kImages) check(node, node.Question(image, walk.Pod()));
    }
  }
}

TEST(FakeKubeletWalk, TheVerdictIsWhatKubeletDoes) {
  int started = 0;
  int refused = 0;
  ForEveryMoment([&](const FakeNode& node, const VerdictQuestion& question) {
    bool starts = Starts(question, node.settings);
    EXPECT_EQ(starts, node.kubelet.Admits(question.image, question.image_id, question.pod))
        << question.image << ": " << kubelet::VerdictsFor(question, {node.settings}).never.message;
    if (!question.image_id.empty()) (starts ? started : refused)++;
  });
  // The walk sees both sides.
  EXPECT_GT(started, 500);
  EXPECT_GT(refused, 500);
}

TEST(FakeKubeletWalk, NoStartIsGainedByAFileThatCannotBeRead) {
  ForEveryMoment([](const FakeNode& node, const VerdictQuestion& question) {
    bool starts = Starts(question, node.settings);
    for (FileContent VerdictQuestion::*file : {&VerdictQuestion::record, &VerdictQuestion::intent}) {
      const FileContent& whole = question.*file;
      const std::string cut = whole.content.substr(0, whole.content.size() / 2);
      for (const FileContent& damaged :
           {FileContent{kubelet::Reading::kUnreadable, ""}, FileContent{kubelet::Reading::kFound, cut}}) {
        VerdictQuestion changed = question;
        changed.*file = damaged;
        EXPECT_LE(Starts(changed, node.settings), starts) << question.image;
      }
    }
  });
}

// Hence it never makes it worse.
TEST(FakeKubeletWalk, OpeningTheNameToTheNodeLetsEveryPodStart) {
  ForEveryMoment([](const FakeNode& node, const VerdictQuestion& question) {
    if (question.image_id.empty()) return;
    KubeletVersion version = node.settings.version;
    StoredRecord stored{{question.image_id, {}}, "2026-08-01T10:00:00Z"};
    if (auto known = StoredRecord::Decode(question.record.content, version)) stored = *known;
    std::string key = kubelet::TrimmedImage(*image::Reference::Parse(question.image), version);
    MergeIntoRecord(stored.record, key, {.node_pods_accessible = true});
    VerdictQuestion opened = question;
    opened.record = {kubelet::Reading::kFound, EncodeRecord(stored, version)};
    EXPECT_TRUE(Starts(opened, node.settings)) << question.image;
  });
}

}  // namespace
}  // namespace prefetch::tests::fake_kubelet_test
