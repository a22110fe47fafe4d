#include "kubelet/settings.h"

#include <array>
#include <utility>

#include "kubelet/feature_gates.h"

namespace prefetch::kubelet {
namespace {

using image::KubeletVersion;

constexpr KubeletVersion kHasGate{1, 33};
// Stands for every kubelet that is newer than the rules.
constexpr KubeletVersion kBeyondTheRules{1, image::kNewestKnownKubelet.minor + 1};

constexpr std::array<std::pair<VerificationPolicy, std::string_view>, 4> kPolicyNames = {{
    {VerificationPolicy::kNeverVerify, "NeverVerify"},
    {VerificationPolicy::kNeverVerifyPreloadedImages, "NeverVerifyPreloadedImages"},
    {VerificationPolicy::kNeverVerifyAllowlistedImages, "NeverVerifyAllowlistedImages"},
    {VerificationPolicy::kAlwaysVerify, "AlwaysVerify"},
}};

// A version without the gate would not start with a policy or a gate that was stated, so it is left out if
// one was.
std::vector<KubeletVersion> PossibleVersions(const SettingsFacts& facts) {
  if (auto rules = RulesFor(facts)) return {*rules};
  std::vector<KubeletVersion> versions;
  for (unsigned minor = image::kOldestKnownKubelet.minor; minor <= image::kNewestKnownKubelet.minor;
       minor++) {
    bool has_declared_settings = KubeletVersion{1, minor} >= kHasGate || (!facts.policy && !facts.gate);
    if (has_declared_settings) versions.push_back({1, minor});
  }
  return versions;
}

std::vector<bool> PossibleGates(const SettingsFacts& facts, KubeletVersion version) {
  if (version < kHasGate) return {false};
  if (facts.gate) return {*facts.gate};
  if (facts.configuration_known) {
    return {VerifiesImages({.all_alpha = facts.all_alpha, .all_beta = facts.all_beta}, version)};
  }
  // A policy without known configuration was declared. It has an effect only with the gate on, so the
  // operator means that.
  if (facts.policy) return {true};
  return {false, true};
}

// Returns the policies that kubelet may have. NeverVerifyAllowlistedImages is left out if nothing is known:
// for each image, it decides as NeverVerify or as AlwaysVerify.
std::vector<VerificationPolicy> PossiblePolicies(const SettingsFacts& facts) {
  if (facts.policy) return {*facts.policy};
  if (facts.configuration_known) return {VerificationPolicy::kNeverVerifyPreloadedImages};
  return {VerificationPolicy::kNeverVerify, VerificationPolicy::kNeverVerifyPreloadedImages,
          VerificationPolicy::kAlwaysVerify};
}

base::Status CheckGate(const SettingsFacts& facts, KubeletVersion version, bool gate) {
  if (image::IsNewerThanKnown(version)) return {};
  if (version < kHasGate) {
    if (!facts.gate) return {};
    return base::InvalidArgument("kubelet " + version.ToString() +
                                 " has no feature gate KubeletEnsureSecretPulledImages");
  }
  // K8: with the gate off, kubelet does not start with a policy or an allowlist.
  if (gate || (!facts.policy && facts.allowlist.empty())) return {};
  return base::InvalidArgument("kubelet " + version.ToString() +
                               " does not start with a verification policy or allowlist while its feature "
                               "gate KubeletEnsureSecretPulledImages is off");
}

base::Result<KubeletSettings> GateOn(const SettingsFacts& facts, KubeletVersion version,
                                     VerificationPolicy policy) {
  if (image::IsNewerThanKnown(version)) return KubeletSettings{version, true, policy, {}};
  if (policy != VerificationPolicy::kNeverVerifyAllowlistedImages && !facts.allowlist.empty()) {
    return base::InvalidArgument("an allowlist is allowed only with NeverVerifyAllowlistedImages");
  }
  auto allowlist = Allowlist::Parse(facts.allowlist, version);
  if (!allowlist) return allowlist.error();
  return KubeletSettings{version, true, policy, *std::move(allowlist)};
}

// Adds the settings that a kubelet of this version may have. `refused` becomes the reason for which it would
// not start with others; it is reported only if no settings are left at all.
void AddSettings(const SettingsFacts& facts, KubeletVersion version, std::vector<KubeletSettings>& possible,
                 base::Status& refused) {
  for (bool gate : PossibleGates(facts, version)) {
    if (base::Status checked = CheckGate(facts, version, gate); !checked) {
      refused = checked;
      continue;
    }
    if (!gate) possible.push_back({.version = version, .gate = false});
    if (!gate) continue;
    for (VerificationPolicy policy : PossiblePolicies(facts)) {
      auto settings = GateOn(facts, version, policy);
      if (!settings) refused = settings.status();
      if (settings) possible.push_back(*std::move(settings));
    }
  }
}

}  // namespace

std::string_view VerificationPolicyName(VerificationPolicy policy) {
  for (const auto& [value, name] : kPolicyNames) {
    if (value == policy) return name;
  }
  return "";
}

std::optional<VerificationPolicy> ParseVerificationPolicy(std::string_view exact_name) {
  for (const auto& [value, name] : kPolicyNames) {
    if (name == exact_name) return value;
  }
  return std::nullopt;
}

std::optional<KubeletVersion> RulesFor(const SettingsFacts& facts) {
  bool newer = facts.version && image::IsNewerThanKnown(*facts.version);
  return newer && facts.rules ? facts.rules : facts.version;
}

std::string WhyBeyondTheRules(const SettingsFacts& facts) {
  const std::optional<KubeletVersion> rules = RulesFor(facts);
  if (!rules || !image::IsNewerThanKnown(*rules)) return "";
  const std::string newest = image::kNewestKnownKubelet.ToString();
  return "kubelet " + rules->ToString() + " is newer than the rules that this agent knows (" +
         std::string(image::kKnownKubelets) +
         "): its verdicts are Unknown unless every plausible rule agrees; update prefetchd, or set "
         "--kubelet-rules " +
         newest + " to judge by the rules of " + newest;
}

base::Result<std::vector<KubeletSettings>> PossibleSettings(const SettingsFacts& facts) {
  std::vector<KubeletSettings> possible;
  base::Status refused;
  for (KubeletVersion version : PossibleVersions(facts)) AddSettings(facts, version, possible, refused);
  if (possible.empty()) return refused.error();
  // This comes last: values that every known kubelet rejects are mistakes, though a newer kubelet may accept
  // them.
  if (!facts.version && !facts.rules) AddSettings(facts, kBeyondTheRules, possible, refused);
  return possible;
}

}  // namespace prefetch::kubelet
