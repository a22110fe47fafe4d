// A seeded walk over everything that may happen to kubelet's records, and what must hold after every step.
// The real kubelet was walked like this, too (K26, K30, K32, K34).
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "kubelet/fake_node.h"
#include "kubelet/settings.h"

namespace prefetch::tests::fake_kubelet_walk_test {
namespace {

using image::KubeletVersion;
using kubelet::CredentialEntry;
using kubelet::FileContent;
using kubelet::HashedSecret;
using kubelet::PodIdentity;
using kubelet::VerdictQuestion;
using kubelet::VerdictResult;
using Policy = kubelet::VerificationPolicy;

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
    if (node.kubelet.StartPod(image, node.IdOf(image), pod)) return;
    if (pod.secrets.empty()) return;
    node.KubeletPulls(image, Any(kIds), {.secret = pod.secrets.front(), .service_account = {}});
  }

  // Two pulls of one name at once, one of which fails.
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
      for (const FileContent& damaged : {FileContent{FileContent::State::kUnreadable, ""},
                                         FileContent{FileContent::State::kPresent, cut}}) {
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
    opened.record = {FileContent::State::kPresent, EncodeRecord(stored, version)};
    EXPECT_TRUE(Starts(opened, node.settings)) << question.image;
  });
}

// Whichever version wrote it, the newest reads it, and it is about what its name says.
TEST(FakeKubeletWalk, RecordsOnDiskAlwaysDecode) {
  const KubeletVersion newest{1, 36};
  std::size_t seen = 0;
  for (int seed = 1; seed <= kWalks; seed++) {
    Walk walk(static_cast<unsigned>(seed));
    FakeNode node;
    for (int step = 0; step < kSteps; step++) {
      walk.Step(node);
      for (const auto& file : std::filesystem::directory_iterator(node.root / "image_manager/pulled")) {
        auto stored = StoredRecord::Decode(
            node.Content("image_manager/pulled/" + file.path().filename().string()), newest);
        ASSERT_TRUE(stored) << file << " seed " << seed << " step " << step;
        EXPECT_EQ(file.path().filename(), kubelet::FileNameFor(stored->record.image_ref));
        seen++;
      }
    }
  }
  EXPECT_GT(seen, 1000U);
}

}  // namespace
}  // namespace prefetch::tests::fake_kubelet_walk_test
