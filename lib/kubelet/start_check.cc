#include "kubelet/start_check.h"

#include "doc/duration.h"
#include "kubelet/feature_gates.h"

namespace prefetch::kubelet {
namespace {

using image::KubeletVersion;

// Returns true if kubelet fills in a policy that is not configured (K49).
bool HasFilledInPolicy(const KubeletConfig& config, const FeatureGates& flags, KubeletVersion version) {
  // Without a main file the defaults are filled in before even the flags are read.
  bool main = !config.main_file.empty();
  FeatureGates first = main ? MergeGates(flags, config.main_gates) : FeatureGates{};
  bool filled = VerifiesImages(first, version) && !config.policy_emptied;
  if (!config.drop_ins) return filled;
  FeatureGates files = config.gates.value.value_or(FeatureGates{});
  return filled || VerifiesImages(MergeGates(flags, files), version);
}

std::string WhyNotPolicy(const KubeletConfig& config, const FeatureGates& flags, KubeletVersion version) {
  if (config.policy.value) return "";  // PossibleSettings looks at those
  FeatureGates files = config.gates.value.value_or(FeatureGates{});
  bool gate = VerifiesImages(MergeGates(files, flags), version);
  bool policy = HasFilledInPolicy(config, flags, version);
  if (gate == policy) return "";
  const std::string gate_name = "the feature gate KubeletEnsureSecretPulledImages";
  if (policy) {
    return "kubelet " + version.ToString() + " fills in its verification policy before " + gate_name +
           " is turned off by a drop-in or flag, and then does not start; turn it off in the main file, or "
           "have the drop-in set imagePullCredentialsVerificationPolicy to null";
  }
  return "kubelet " + version.ToString() + " has no verification policy when " + gate_name +
         " is turned on by a flag against its files, and then does not start; set "
         "imagePullCredentialsVerificationPolicy";
}

}  // namespace

GcRules GcRulesOf(const KubeletConfig& config, const CommandLine& flags) {
  GcRules limits;
  limits.high_percent =
      flags.gc_high_percent.value_or(config.gc_high_percent.value.value_or(limits.high_percent));
  limits.low_percent =
      flags.gc_low_percent.value_or(config.gc_low_percent.value.value_or(limits.low_percent));
  limits.minimum_age =
      flags.gc_minimum_age.value_or(config.gc_minimum_age.value.value_or(limits.minimum_age));
  limits.maximum_age = config.gc_maximum_age.value.value_or(limits.maximum_age);
  return limits;
}

std::vector<std::string> WhyNotStarted(const KubeletConfig& config, const CommandLine& flags,
                                       std::optional<KubeletVersion> version) {
  std::vector<std::string> reasons;
  GcRules limits = GcRulesOf(config, flags);
  if (limits.low_percent >= limits.high_percent) {
    reasons.push_back("imageGCLowThresholdPercent (" + std::to_string(limits.low_percent) +
                      ") must be lower than imageGCHighThresholdPercent (" +
                      std::to_string(limits.high_percent) + ")");
  }
  if (limits.maximum_age.count() > 0 && limits.maximum_age <= limits.minimum_age) {
    reasons.push_back("imageMaximumGCAge (" + doc::FormatDuration(limits.maximum_age) +
                      ") must be longer than imageMinimumGCAge (" + doc::FormatDuration(limits.minimum_age) +
                      ")");
  }
  if (version) {
    if (std::string why = WhyNotPolicy(config, flags.gates, *version); !why.empty()) reasons.push_back(why);
  }
  return reasons;
}

}  // namespace prefetch::kubelet
