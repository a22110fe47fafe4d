// What a kubelet is told about verifying images (K7 to K10), and what we know of it. Pure.
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

// What could be learnt or was declared.
struct SettingsFacts {
  std::optional<image::KubeletVersion> version;
  // The configuration is known: what it does not say has kubelet's default. Otherwise it is not known.
  bool configuration_known = false;
  std::optional<bool> gate;  // as featureGates says
  std::optional<VerificationPolicy> policy;
  std::vector<std::string> allowlist;
  // featureGates AllAlpha and AllBeta, which speak for `gate` where nobody does.
  std::optional<bool> all_alpha;
  std::optional<bool> all_beta;

  friend bool operator==(const SettingsFacts&, const SettingsFacts&) = default;
};

// Every kubelet that these facts may be about, oldest first; never empty. A policy that is known without its
// configuration was declared, and kubelet has it only if the gate is on. InvalidArgument if no kubelet would
// start so.
base::Result<std::vector<KubeletSettings>> PossibleSettings(const SettingsFacts& facts);

}  // namespace prefetch::kubelet
