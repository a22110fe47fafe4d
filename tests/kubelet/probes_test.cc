#include <gtest/gtest.h>

#include "kubelet/probe.h"
#include "kubelet/verdict.h"

namespace prefetch::kubelet::probes_test {
namespace {

TEST(Probes, EveryAnswerOfARealKubeletIsComputed) {
  std::vector<tests::Probe> probes = tests::ReadProbes();
  ASSERT_EQ(probes.size(), 298U);
  for (const tests::Probe& probe : probes) {
    SettingsFacts facts{.policy = ParseVerificationPolicy(probe.verification), .allowlist = probe.allowlist};
    facts.version = *image::KubeletVersion::Parse(probe.version);
    auto possible = PossibleSettings(facts);
    ASSERT_TRUE(possible.ok()) << probe.id;
    Verdicts verdicts = VerdictsFor(probe.question, *possible);
    const Verdict& verdict = verdicts.For(*image::ParsePullPolicy(probe.pull_policy));
    EXPECT_EQ(VerdictResultName(verdict.result), probe.observed)
        << probe.id << " " << probe.verification << " " << probe.pull_policy << ": " << verdict.message;
  }
}

}  // namespace
}  // namespace prefetch::kubelet::probes_test
