#include <gtest/gtest.h>

#include "base/text.h"
#include "kubelet/facts_words.h"
#include "kubelet/node_facts.h"
#include "kubelet/probe.h"
#include "kubelet/verdict.h"

namespace prefetch::kubelet::probes_test {
namespace {

using facts_words::kNoFiles;
using facts_words::kUnseen;
using facts_words::Line;
using facts_words::Policy;
using facts_words::PolicyLine;
using facts_words::Read;
using facts_words::Show;
using facts_words::Source;
using facts_words::V;

TEST(Probes, EveryAnswerOfARealKubeletIsComputed) {
  std::vector<tests::Probe> probes = tests::ReadProbes();
  ASSERT_EQ(probes.size(), 298U);
  for (const tests::Probe& probe : probes) {
    SettingsFacts facts{.policy = base::EnumNamed<kubelet::VerificationPolicy>(probe.verification),
                        .allowlist = probe.allowlist};
    facts.version = *image::KubeletVersion::Parse(probe.version);
    auto possible = PossibleSettings(facts);
    ASSERT_TRUE(possible.ok()) << probe.id;
    Verdicts verdicts = VerdictsFor(probe.question, *possible);
    const Verdict& verdict = verdicts.For(*base::EnumNamed<image::PullPolicy>(probe.pull_policy));
    EXPECT_EQ(base::EnumName(verdict.result), probe.observed)
        << probe.id << " " << probe.verification << " " << probe.pull_policy << ": " << verdict.message;
  }
}

// Properties of every verdict, over the recorded nodes and all settings. FakeKubeletWalk has others.

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
  bool record = question.record.state == Reading::kFound;
  bool intent = question.intent.state == Reading::kFound;
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

// K45: what kubelet itself tells is stronger than any file.
KubeletReport Told(const std::string& fields, std::optional<bool> gate = std::nullopt) {
  auto config = DecodeConfigz("{" + fields + "}");
  EXPECT_TRUE(config.ok()) << config.error().message();
  return {.config = *config, .gate = gate};
}

TEST(CombineTold, BeatsFilesAndFlagsWhichCountAfterARestart) {
  KubeletReport told = Told(R"("imagePullCredentialsVerificationPolicy":"NeverVerifyPreloadedImages",
                               "imageGCLowThresholdPercent":70,"imageGCHighThresholdPercent":75)",
                            true);
  NodeFacts facts = MakeNodeFacts({.version = V(36)}, Read(PolicyLine(Policy::kAlwaysVerify)),
                                  Line({"--config=/c", "--image-gc-low-threshold=40"}), "", &told);
  EXPECT_EQ(Show(facts.settings), "known gate:on NeverVerifyPreloadedImages");
  ASSERT_TRUE(facts.gc);
  EXPECT_EQ(facts.gc->low_percent, 70);
  EXPECT_EQ(Source(facts, "verification"), "configz");
  EXPECT_EQ(Source(facts, "imageGC"), "configz");
  EXPECT_EQ(Source(facts, "gate"), "kubelet's metrics");
  EXPECT_TRUE(facts.problems.empty());
  EXPECT_EQ(base::Join(facts.contradictions, "\n"),
            "kubelet runs with verification NeverVerifyPreloadedImages, but /c says AlwaysVerify, effective "
            "after kubelet restarts");
}

TEST(CombineTold, AFileThatIsBrokenSinceKubeletStartedHidesNothing) {
  KubeletReport told = Told(R"("imagePullCredentialsVerificationPolicy":"AlwaysVerify")");
  NodeFacts facts = MakeNodeFacts({.version = V(36)}, Read("nonsense: [\n"), kUnseen, "", &told);
  EXPECT_EQ(Show(facts.settings), "known AlwaysVerify");
  EXPECT_TRUE(facts.problems.empty());
  EXPECT_EQ(facts.contradictions.size(), 1U);
  EXPECT_FALSE(MakeNodeFacts({.version = V(36)}, Read("nonsense: [\n"), kUnseen).problems.empty());
}

TEST(CombineTold, ADeclarationThatItContradictsIsSaid) {
  KubeletReport told = Told(R"("imagePullCredentialsVerificationPolicy":"NeverVerify")");
  NodeFacts facts =
      MakeNodeFacts({.version = V(36), .policy = Policy::kAlwaysVerify}, kNoFiles, kUnseen, "", &told);
  EXPECT_EQ(Show(facts.settings), "known NeverVerify");
  EXPECT_EQ(base::Join(facts.contradictions, "\n"),
            "declared verification AlwaysVerify, but configz says NeverVerify");
}

TEST(CombineTold, TheGateAloneIsWorthKnowing) {
  KubeletReport told{.config = {}, .gate = false};
  NodeFacts facts = MakeNodeFacts({.version = V(36)}, kNoFiles, kUnseen, "", &told);
  auto possible = PossibleSettings(facts.settings);
  ASSERT_TRUE(possible.ok());
  for (const KubeletSettings& settings : *possible) EXPECT_FALSE(settings.gate);
}

TEST(DecodeConfigz, TakesWhatKubeletSendsAndNothingElse) {
  EXPECT_TRUE(DecodeConfigz("{}").ok());
  EXPECT_TRUE(DecodeConfigz(R"({"imageMinimumGCAge":"2m0s","newerField":{"x":1}})").ok());
  EXPECT_FALSE(DecodeConfigz("[]").ok());
  EXPECT_FALSE(DecodeConfigz("<html>").ok());
  EXPECT_FALSE(DecodeConfigz(R"({"imagePullCredentialsVerificationPolicy":3})").ok());
}

}  // namespace
}  // namespace prefetch::kubelet::probes_test
