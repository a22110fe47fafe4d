#include <gtest/gtest.h>

#include "base/text.h"
#include "kubelet/facts_words.h"
#include "kubelet/node_facts.h"

namespace prefetch::kubelet::told_by_kubelet_test {
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
}  // namespace prefetch::kubelet::told_by_kubelet_test
