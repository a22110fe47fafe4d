// What must hold for every verdict, over the recorded nodes and all settings.
#include <gtest/gtest.h>

#include "kubelet/probe.h"
#include "kubelet/verdict.h"

namespace prefetch::kubelet::verdict_properties_test {
namespace {

std::vector<KubeletSettings> EverySetting() {
  std::vector<KubeletSettings> all = *PossibleSettings({});
  for (unsigned minor : {33U, 34U, 35U, 36U}) {
    KubeletSettings listed{.version = {1, minor},
                           .policy = VerificationPolicy::kNeverVerifyAllowlistedImages};
    listed.allowlist = *Allowlist::Parse({"localhost:5000/allowed/*"}, listed.version);
    all.push_back(listed);
  }
  return all;
}

// A world from a recorded node, with whatever is recorded there.
VerdictFacts FactsOf(const VerdictQuestion& question, image::KubeletVersion version) {
  VerdictFacts facts{.image = question.image, .image_id = question.image_id};
  bool record = question.record.state == FileContent::State::kPresent;
  bool intent = question.intent.state == FileContent::State::kPresent;
  if (record) facts.record = DecodeRecord(question.record.content, question.image_id, version);
  if (intent) facts.intent = DecodeIntent(question.intent.content, question.image, version);
  return facts;
}

template <typename Check>
void ForEveryWorld(Check check) {
  std::vector<KubeletSettings> settings = EverySetting();
  for (const tests::Probe& probe : tests::ReadProbes()) {
    for (const KubeletSettings& each : settings) {
      check(probe, each, FactsOf(probe.question, each.version));
    }
  }
}

bool Usable(const Verdicts& verdicts) {
  return verdicts.never.result == VerdictResult::kStarts;
}

// 0 is best for the pod.
int Badness(const Verdicts& verdicts) {
  return Usable(verdicts) ? 0 : 1;
}

TEST(VerdictProperties, NoStartIsGainedByAFileThatCannotBeRead) {
  ForEveryWorld([](const tests::Probe& probe, const KubeletSettings& settings, const VerdictFacts& facts) {
    bool usable = Usable(DecideVerdicts(facts, probe.question.pod, settings));
    for (Reading bad : {Reading::kUndecodable, Reading::kUnreadable}) {
      VerdictFacts damaged = facts;
      damaged.record = {bad, {}};
      EXPECT_LE(Usable(DecideVerdicts(damaged, probe.question.pod, settings)), usable) << probe.id;
      damaged = facts;
      damaged.intent = bad;
      EXPECT_LE(Usable(DecideVerdicts(damaged, probe.question.pod, settings)), usable) << probe.id;
    }
  });
}

TEST(VerdictProperties, OpeningTheNameToTheNodeNeverMakesItWorse) {
  ForEveryWorld([](const tests::Probe& probe, const KubeletSettings& settings, const VerdictFacts& facts) {
    if (facts.record.reading != Reading::kFound) return;
    VerdictFacts opened = facts;
    auto name = image::Reference::Parse(facts.image);
    if (!name) return;
    for (auto& [key, entry] : opened.record.record.mapping) entry.node_pods_accessible = true;
    EXPECT_LE(Badness(DecideVerdicts(opened, probe.question.pod, settings)),
              Badness(DecideVerdicts(facts, probe.question.pod, settings)))
        << probe.id;
    opened.record.record.mapping[name->Repository()].node_pods_accessible = true;
    EXPECT_LE(Badness(DecideVerdicts(opened, probe.question.pod, settings)),
              Badness(DecideVerdicts(facts, probe.question.pod, settings)))
        << probe.id;
  });
}

TEST(VerdictProperties, NeverAndIfNotPresentDifferOnlyInWhatFollows) {
  ForEveryWorld([](const tests::Probe& probe, const KubeletSettings& settings, const VerdictFacts& facts) {
    Verdicts verdicts = DecideVerdicts(facts, probe.question.pod, settings);
    EXPECT_EQ(verdicts.never.reason, verdicts.if_not_present.reason) << probe.id;
    EXPECT_EQ(Usable(verdicts), verdicts.if_not_present.result == VerdictResult::kStarts) << probe.id;
    EXPECT_NE(verdicts.never.result, VerdictResult::kPulls) << probe.id;
    EXPECT_NE(verdicts.always.result, VerdictResult::kStarts) << probe.id;
  });
}

TEST(VerdictProperties, NoMessageHasAHashOrANameOfACredential) {
  ForEveryWorld([](const tests::Probe& probe, const KubeletSettings& settings, const VerdictFacts& facts) {
    std::string message = DecideVerdicts(facts, probe.question.pod, settings).never.message;
    for (const auto& [key, entry] : facts.record.record.mapping) {
      for (const HashedSecret& secret : entry.secrets) {
        bool hash = !secret.hash.empty() && message.find(secret.hash.Reveal()) != std::string::npos;
        EXPECT_FALSE(hash) << probe.id;
        EXPECT_EQ(message.find(secret.secret.uid), std::string::npos) << probe.id;
      }
    }
  });
}

}  // namespace
}  // namespace prefetch::kubelet::verdict_properties_test
