#include "kubelet/settings.h"

#include <gtest/gtest.h>

namespace prefetch::kubelet::settings_test {
namespace {

using Policy = VerificationPolicy;

// The possibilities, one word each: "1.34:off", "1.36:AlwaysVerify"; or "refused".
std::vector<std::string> Words(const SettingsFacts& facts) {
  auto possible = PossibleSettings(facts);
  if (!possible) return {"refused"};
  std::vector<std::string> words;
  for (const KubeletSettings& each : *possible) {
    words.push_back(each.version.ToString() + ":" +
                    (each.gate ? std::string(VerificationPolicyName(each.policy)) : "off"));
  }
  return words;
}

struct SettingsCase {
  std::string name;
  SettingsFacts facts;
  std::vector<std::string> expect;
};

constexpr image::KubeletVersion V(unsigned minor) {
  return {1, minor};
}

TEST(SettingsTest, Enumerates) {
  const SettingsCase rows[] = {
      // K7, K8 and K10.
      {"Default132", {.version = V(32), .configuration_known = true}, {"1.32:off"}},
      {"Default133", {.version = V(33), .configuration_known = true}, {"1.33:off"}},
      {"Default134", {.version = V(34), .configuration_known = true}, {"1.34:off"}},
      {"Default135", {.version = V(35), .configuration_known = true}, {"1.35:NeverVerifyPreloadedImages"}},
      {"Default136", {.version = V(36), .configuration_known = true}, {"1.36:NeverVerifyPreloadedImages"}},
      {"Default137", {.version = V(37), .configuration_known = true}, {"1.37:NeverVerifyPreloadedImages"}},
      {"GateOff137", {.version = V(37), .configuration_known = true, .gate = false}, {"1.37:off"}},
      {"PolicyAgainstGate137",
       {.version = V(37), .configuration_known = true, .gate = false, .policy = Policy::kNeverVerify},
       {"refused"}},
      // These rules do not know with which settings a newer kubelet refuses to start.
      {"Newer", {.version = V(38), .configuration_known = true}, {"1.38:NeverVerifyPreloadedImages"}},
      {"NewerWithTheGateOff",
       {.version = V(38), .configuration_known = true, .gate = false, .policy = Policy::kNeverVerify},
       {"1.38:off"}},
      {"NewerWithAnAllowlistOfAnotherPolicy",
       {.version = V(38), .policy = Policy::kAlwaysVerify, .allowlist = {"**"}},
       {"1.38:AlwaysVerify"}},
      {"NewerByOlderRules",
       {.version = V(38), .rules = V(37), .configuration_known = true},
       {"1.37:NeverVerifyPreloadedImages"}},
      {"NewerByTheRulesOf134", {.version = V(38), .rules = V(34), .configuration_known = true}, {"1.34:off"}},
      {"RulesAreForNewerKubeletsOnly",
       {.version = V(34), .rules = V(37), .configuration_known = true},
       {"1.34:off"}},
      {"RulesTellNoVersion",
       {.rules = V(37), .configuration_known = true, .policy = Policy::kAlwaysVerify},
       {"1.35:AlwaysVerify", "1.36:AlwaysVerify", "1.37:AlwaysVerify"}},
      {"GateOn134",
       {.version = V(34), .configuration_known = true, .gate = true},
       {"1.34:NeverVerifyPreloadedImages"}},
      {"GateOff136", {.version = V(36), .configuration_known = true, .gate = false}, {"1.36:off"}},
      {"PolicyNeedsGate",
       {.version = V(34), .configuration_known = true, .policy = Policy::kAlwaysVerify},
       {"refused"}},
      {"PolicyAgainstGate",
       {.version = V(36), .configuration_known = true, .gate = false, .policy = Policy::kNeverVerify},
       {"refused"}},
      {"GateThatIsNotThere", {.version = V(32), .configuration_known = true, .gate = true}, {"refused"}},
      {"DeclaredPolicyMeansGate", {.version = V(34), .policy = Policy::kAlwaysVerify}, {"1.34:AlwaysVerify"}},
      {"DeclaredPolicyOfOldKubelet", {.version = V(32), .policy = Policy::kAlwaysVerify}, {"1.32:off"}},
      {"DeclaredPolicyOfAnyKubelet",
       {.policy = Policy::kNeverVerify},
       {"1.33:NeverVerify", "1.34:NeverVerify", "1.35:NeverVerify", "1.36:NeverVerify", "1.37:NeverVerify",
        "1.38:NeverVerify"}},
      {"PolicyInFileOfAnyKubelet",
       {.configuration_known = true, .policy = Policy::kAlwaysVerify},
       {"1.35:AlwaysVerify", "1.36:AlwaysVerify", "1.37:AlwaysVerify", "1.38:AlwaysVerify"}},
      {"PolicyAgainstGateOfAnyKubelet",
       {.configuration_known = true, .gate = false, .policy = Policy::kAlwaysVerify},
       {"refused"}},
      {"OnlyVersionKnown",
       {.version = V(36)},
       {"1.36:off", "1.36:NeverVerify", "1.36:NeverVerifyPreloadedImages", "1.36:AlwaysVerify"}},
      {"AllowlistOfAnotherPolicy",
       {.version = V(36), .policy = Policy::kAlwaysVerify, .allowlist = {"reg.io/a"}},
       {"refused"}},
      {"AllowlistNarrowsVersions",
       {.policy = Policy::kNeverVerifyAllowlistedImages, .allowlist = {"ubuntu"}},
       {"1.36:NeverVerifyAllowlistedImages", "1.37:NeverVerifyAllowlistedImages",
        "1.38:NeverVerifyAllowlistedImages"}},
      {"BadAllowlist", {.policy = Policy::kNeverVerifyAllowlistedImages, .allowlist = {"*"}}, {"refused"}},
  };
  for (const SettingsCase& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(Words(row.facts), row.expect);
  }
}

TEST(Settings, NothingKnownIsEveryKubeletFrom131OnAndANewerOne) {
  std::vector<std::string> words = Words({});
  EXPECT_EQ(words.front(), "1.31:off");
  EXPECT_EQ(words.back(), "1.38:AlwaysVerify");
  EXPECT_EQ(words.size(), 2 + 4 * 6U);
  EXPECT_EQ(Words({.rules = V(37)}).back(), "1.37:AlwaysVerify") << "the operator says what a newer one does";
}

TEST(Settings, PoliciesHaveNamesThatReadBack) {
  for (Policy policy : {Policy::kNeverVerify, Policy::kNeverVerifyPreloadedImages,
                        Policy::kNeverVerifyAllowlistedImages, Policy::kAlwaysVerify}) {
    EXPECT_EQ(ParseVerificationPolicy(VerificationPolicyName(policy)), policy);
  }
  EXPECT_FALSE(ParseVerificationPolicy("alwaysverify"));
}

}  // namespace
}  // namespace prefetch::kubelet::settings_test
