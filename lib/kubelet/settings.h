// A kubelet's settings for verifying images (K7 to K10), and the agent's knowledge of them. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "image/kubelet_version.h"
#include "kubelet/allowlist.h"

namespace prefetch::kubelet {

// imagePullCredentialsVerificationPolicy.
enum class VerificationPolicy {
  kNeverVerify,
  kNeverVerifyPreloadedImages,
  kNeverVerifyAllowlistedImages,
  kAlwaysVerify,
};

std::string_view VerificationPolicyName(VerificationPolicy policy);
std::optional<VerificationPolicy> ParseVerificationPolicy(std::string_view exact_name);

// All that a verdict depends on but files, image and pod. A kubelet without the gate reads no record.
struct KubeletSettings {
  image::KubeletVersion version;
  bool gate = true;  // KubeletEnsureSecretPulledImages
  VerificationPolicy policy = VerificationPolicy::kNeverVerifyPreloadedImages;
  Allowlist allowlist;
};

// Learnt or declared settings.
struct SettingsFacts {
  std::optional<image::KubeletVersion> version;
  // The rules that the operator takes for a kubelet that is newer than the rules known here.
  std::optional<image::KubeletVersion> rules;
  // The configuration is known: what it does not say has kubelet's default. Otherwise it is not known.
  bool configuration_known = false;
  std::optional<bool> gate;  // as featureGates says
  std::optional<VerificationPolicy> policy;
  std::vector<std::string> allowlist;
  // featureGates AllAlpha and AllBeta, which count where `gate` is not set.
  std::optional<bool> all_alpha;
  std::optional<bool> all_beta;

  friend bool operator==(const SettingsFacts&, const SettingsFacts&) = default;
};

// Returns every kubelet to which these facts may apply, oldest first; never empty. A policy without a known
// configuration is a declared one, and applies only if the gate is on. Returns InvalidArgument if no kubelet
// would start with these facts, except that a kubelet newer than the known rules is never rejected. An
// unknown version is assumed to be one whose rules are known.
base::Result<std::vector<KubeletSettings>> PossibleSettings(const SettingsFacts& facts);

// Returns the version whose rules apply: `rules` for a kubelet newer than the known rules, else `version`.
std::optional<image::KubeletVersion> RulesFor(const SettingsFacts& facts);
// Returns a sentence if kubelet is newer than all rules that may be applied to it; else empty.
std::string WhyBeyondTheRules(const SettingsFacts& facts);

}  // namespace prefetch::kubelet
