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
KubeletSettings GateOff(unsigned minor) {
  return {.version = {1, minor}, .gate = false, .policy = {}, .allowlist = {}};
}
const KubeletSettings kStrict = By(Policy::kAlwaysVerify);

// One step of a story.
using Step = std::function<void(FakeNode&)>;
using Steps = std::vector<Step>;

Step Prefetch(const std::string& image, const std::string& id = kId) {
  return [=](FakeNode& node) { node.Prefetch(image, id); };
}
Step KubeletPulls(const PullCredential& credential, const std::string& image = kImage,
                  const std::string& id = kId) {
  return [=](FakeNode& node) { node.KubeletPulls(image, id, credential); };
}
Step Begin(const std::string& image = kImage) {
  return [=](FakeNode& node) { node.kubelet.BeginPull(image); };
}
Step Fail(const std::string& image = kImage) {
  return [=](FakeNode& node) { node.kubelet.FailPull(image); };
}
Step Become(const KubeletSettings& settings) {
  return [=](FakeNode& node) { node.Become(settings); };
}
// A record that is written by hand, for everybody.
void WriteOpenRecord(FakeNode& node) {
  node.root.Write(node.RecordPath(kId), EncodeRecord({{kId, {{"reg.io/t/a", {.node_pods_accessible = true}}}},
                                                      "2026-08-01T10:00:00Z"},
                                                     node.settings.version));
}
Step Damage(std::string (FakeNode::*path)(const std::string&) const, const std::string& name,
            const std::string& content) {
  return [=](FakeNode& node) {
    node.root.Write((node.*path)(name), content);
    node.Restart();
  };
}
void Restart(FakeNode& node) {
  node.Restart();
}
void Remove(FakeNode& node) {
  node.Remove(kImage);
}
void Collect(FakeNode& node) {
  node.Collect();
}
Step HasRecord(const std::string& part) {
  return [=](FakeNode& node) { EXPECT_NE(node.Content(node.RecordPath(kId)).find(part), std::string::npos); };
}
const Step kPrefetch = Prefetch(kImage), kByNode = KubeletPulls(kNode);
// Closed by a secret. Kubelet has a record of it.
const Steps kClosed = {kPrefetch, KubeletPulls(kBySecret)};
// The name of a pull that no start resolves: runtimes report it otherwise.
const Steps kKilledUnderAShortName = {Begin("nginx"), Prefetch("nginx"), Restart};
const auto kRecord = &FakeNode::RecordPath, kIntent = &FakeNode::IntentPath;

Steps After(Steps first, const Steps& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

// A pod with `kImage` unless it is said otherwise. "Starts", or what IfNotPresent would do instead; and why.
struct Expected {
  std::string result, reason;
  std::string image = kImage;
  PodIdentity pod = {};
};

using Sees = std::vector<Expected>;

struct Row {
  std::string name;
  KubeletSettings settings;
  Steps story;
  Sees expected;
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
  for (const Step& step : row.story) step(node);
  for (const Expected& expected : row.expected) Check(node, expected);
}

// Seen on kubelet 1.36.2; the names number the observations. A kubelet that runs answers E8 and E9 from
// memory, which is in no file (K33): the verdict is that of its next start. Numbers that are left out are of
// names, times, downloads, pins and other interfaces, which no verdict shows. A long random walk of that
// kubelet found the same; class Walk below is made after it. A pull secret that cannot be parsed has no place
// in a PodIdentity. Observations of one moment are rows of verdict_test.cc.
TEST_ROWS(Evidence1To23, FakeKubeletTest, {"E1and2", Default(), {kPrefetch}, Sees{{"Starts", "Preloaded"}}},
          {"E3", Default(), kClosed,
           Sees{{"Pulls", "RecordedForOthers"},
                {"Pulls", "RecordedForOthers", kImage, With(Secret("u-2", "h-2"))}}},
          {"E4", Default(), After(kClosed, {kPrefetch}), Sees{{"Pulls", "RecordedForOthers"}}},
          {"E6", Default(), Steps{kByNode, Prefetch("reg.io/t/b:v1")},
           Sees{{"Pulls", "RecordedUnderOtherName", "reg.io/t/b:v1"}}},
          {"E8AfterARestart", kStrict, Steps{kPrefetch, WriteOpenRecord}, Sees{{"Starts", "OpenToNode"}}},
          {"E9AfterARestart", Default(), After(kClosed, {[](FakeNode& node) {
                                                 std::filesystem::remove(node.root / node.RecordPath(kId));
                                               }}),
           Sees{{"Starts", "Preloaded"}}},
          {"E12to15", kStrict,
           [] {
             Steps steps;
             for (const char* name : {"reg.io/t/a:v1", "reg.io/t/b:v1", "reg.io/t/c:v1", "reg.io/t/d:v1"})
               steps.push_back(Prefetch(name, std::string("sha256:") + name));
             for (const char* name : {"reg.io/t/a:v1", "reg.io/t/b:v1", "reg.io/t/c:v1"})
               steps.push_back(KubeletPulls(kNode, name, std::string("sha256:") + name));
             return steps;
           }(),
           Sees{{"Starts", "OpenToNode", "reg.io/t/a:v1"},
                {"Starts", "OpenToNode", "reg.io/t/b:v1"},
                {"Starts", "OpenToNode", "reg.io/t/c:v1"},
                {"Pulls", "VerificationAlways", "reg.io/t/d:v1"}}},
          {"E20", Default(), After(kClosed, {Remove, kPrefetch}), Sees{{"Pulls", "RecordedForOthers"}}},
          {"E22", Default(), Steps{Prefetch("reg.io/t/a" + kDigest)},
           Sees{{"Pulls", "ImageAbsent"}, {"Starts", "Preloaded", "reg.io/t/a" + kDigest}}});

TEST_ROWS(
    Evidence24To46, FakeKubeletTest,
    // A static pod, an image volume, node credentials from a file: to the record a touch is a touch.
    {"E26to29and46", kStrict, Steps{Begin(), Fail(), kByNode},
     Sees{{"Starts", "OpenToNode"}, {"Starts", "OpenToNode", kImage, With(Secret("u-3", "wrong"))}}},
    {"E31", Default(),
     Steps{Begin(), [](FakeNode& node) { node.kubelet.Stop(); }, kPrefetch, Restart,
           [](FakeNode& node) { EXPECT_EQ(node.Content(node.IntentPath(kImage)), ""); }},
     Sees{{"Pulls", "PullInterrupted"}}},
    {"E31WhileThePullIsUnderWay", Default(), Steps{Begin(), kPrefetch}, Sees{{"Pulls", "PullInterrupted"}}},
    {"E32", Default(), Steps{kPrefetch, Begin(), Fail()}, Sees{{"Starts", "Preloaded"}}},
    {"E33ClosedBecomesOpen", Default(), After(kClosed, {Collect}), Sees{{"Starts", "Preloaded"}}},
    {"E33OpenBecomesClosed", kStrict, Steps{kByNode, Collect}, Sees{{"Pulls", "VerificationAlways"}}},
    {"E33TheOneThatWasKeptStays", kStrict, Steps{kByNode, [](FakeNode& node) { node.Collect({kId}); }},
     Sees{{"Starts", "OpenToNode"}}},
    {"E34", kStrict, Steps{kPrefetch, Damage(kRecord, "sha256:other", "{"), WriteOpenRecord},
     Sees{{"Starts", "OpenToNode"}}},
    {"E36", Default(),
     After(kClosed, {Remove, Restart, HasRecord(kId), Collect,
                     [](FakeNode& node) { EXPECT_EQ(node.Content(node.RecordPath(kId)), ""); }}),
     Sees{{"Pulls", "ImageAbsent"}}},
    // A name that kubelet's start does not resolve. One that it does becomes a record (K32).
    {"E39", Default(), kKilledUnderAShortName,
     Sees{{"Pulls", "PullInterrupted", "nginx"}, {"Starts", "Preloaded", "nginx:latest"}}},
    {"E39AfterAPullThatFailed", Default(), After(kKilledUnderAShortName, {Begin("nginx"), Fail("nginx")}),
     Sees{{"Starts", "Preloaded", "nginx"}}},
    {"E39Undecodable", Default(), Steps{kPrefetch, Damage(kIntent, kImage, "{")},
     Sees{{"Pulls", "RecordUnreadable"}}},
    {"E39UndecodableAfterAPullThatFailed", Default(),
     Steps{kPrefetch, Damage(kIntent, kImage, "{"), Begin(), Fail()}, Sees{{"Starts", "Preloaded"}}},
    {"E41", kStrict,
     Steps{kByNode, Restart,
           [](FakeNode& node) { EXPECT_EQ(node.Ask(kImage).never.result, VerdictResult::kStarts); }, Collect},
     Sees{{"Pulls", "VerificationAlways"}}},
    {"E42NodeWide", Default(), Steps{kByNode}, Sees{{"Starts", "OpenToNode", kImage, With(kSecret)}}},
    {"E43UndecodableUntilAPullOverwritesIt", By(Policy::kNeverVerify),
     Steps{kPrefetch, Damage(kRecord, kId, "{\"Kind\":\"ImagePulledRecord\"}"), KubeletPulls(kBySecret)},
     Sees{{"Starts", "VerificationNever"}}},
    {"E43Yaml", kStrict,
     Steps{kPrefetch,
           Damage(kRecord, kId,
                  "kind: ImagePulledRecord\napiVersion: kubelet.config.k8s.io/v1beta1\nimageRef: "
                  "sha256:aaa\ncredentialMapping:\n  reg.io/t/a:\n    nodePodsAccessible: true\n")},
     Sees{{"Starts", "OpenToNode"}}},
    {"E43OtherImageRef", Default(),
     Steps{kPrefetch,
           Damage(kRecord, kId, EncodeRecord({{"sha256:bbb", {}}, "2026-08-01T10:00:00Z"}, {1, 36}))},
     Sees{{"Starts", "Preloaded"}}});

// Changes between versions (K7, K11, K13, K15, K17, K27): one story on each, and from one to the next.
TEST_ROWS(Section4, FakeKubeletTest, {"NoGate132", GateOff(32), kClosed, Sees{{"Starts", "GateOff"}}},
          {"GateOff136", GateOff(36), kClosed, Sees{{"Starts", "GateOff"}}},
          {"Secret133", Default(33), kClosed, Sees{{"Pulls", "RecordedForOthers"}}},
          {"Secret134", Default(34), kClosed, Sees{{"Pulls", "RecordedForOthers"}}},
          {"Secret135", Default(35), kClosed, Sees{{"Pulls", "RecordedForOthers"}}},
          // Untagged, hence for everybody.
          {"Account133", Default(33), Steps{KubeletPulls(kByAccount)}, Sees{{"Starts", "OpenToNode"}}},
          {"Account134", Default(34), Steps{KubeletPulls(kByAccount)},
           Sees{{"Starts", "RecordedForPod", kImage, With(kAccount)}, {"Pulls", "RecordedForOthers"}}},
          {"ShortAndLongNameAreOneBefore136", kStrict,
           Steps{Become(By(Policy::kAlwaysVerify, 35)), KubeletPulls(kNode, "nginx:1"),
                 Prefetch("docker.io/library/nginx:1")},
           Sees{{"Starts", "OpenToNode", "nginx:1"}, {"Starts", "OpenToNode", "docker.io/library/nginx:1"}}},
          {"ShortAndLongNameAreTwoSince136", kStrict,
           Steps{KubeletPulls(kNode, "nginx:1"), Prefetch("docker.io/library/nginx:1")},
           Sees{{"Starts", "OpenToNode", "nginx:1"},
                {"Pulls", "RecordedUnderOtherName", "docker.io/library/nginx:1"}}},
          {"ForeignFilesAreSeenBy133", kStrict,
           Steps{Become(By(Policy::kAlwaysVerify, 33)), kPrefetch, WriteOpenRecord},
           Sees{{"Starts", "OpenToNode"}}},
          {"Upgrade134To135Migrates", kStrict,
           Steps{Become(By(Policy::kAlwaysVerify, 34)), kByNode, HasRecord("v1alpha1"),
                 Become(By(Policy::kAlwaysVerify, 35)), HasRecord("v1beta1")},
           Sees{{"Starts", "OpenToNode"}}},
          {"Downgrade135To134ReadsNothing", Default(35), Steps{kByNode, Become(Default(34))},
           Sees{{"Pulls", "RecordUnreadable"}}},
          {"Downgrade135To134UntilTheNextPull", Default(35),
           Steps{kByNode, Become(Default(34)), KubeletPulls(kBySecret)},
           Sees{{"Pulls", "RecordedForOthers"}, {"Starts", "RecordedForPod", kImage, With(kSecret)}}},
          {"Upgrade135To136OrphansShortNames", Default(35),
           Steps{KubeletPulls(kNode, "nginx:1"), KubeletPulls(kNode, kImage, "sha256:bbb"),
                 Become(Default(36))},
           Sees{{"Pulls", "RecordedUnderOtherName", "nginx:1"}, {"Starts", "OpenToNode"}}},
          {"TheGateIsSwitchedOffAndOn", Default(),
           After(kClosed, {Become(GateOff(36)),
                           [](FakeNode& node) { EXPECT_TRUE(node.kubelet.Admits(kImage, kId, kAnybody)); },
                           kByNode, Become(Default())}),
           Sees{{"Pulls", "RecordedForOthers"}}});

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
