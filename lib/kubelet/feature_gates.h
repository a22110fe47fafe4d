// The feature gates that decide whether a kubelet verifies images (K7). Pure.
#pragma once

#include <optional>

#include "image/kubelet_version.h"

namespace prefetch::kubelet {

// The gates of one place (a file's featureGates, the flag --feature-gates); nullopt: not set.
struct FeatureGates {
  std::optional<bool> ensure_secret_pulled_images;  // KubeletEnsureSecretPulledImages
  // AllAlpha and AllBeta: for each gate of that stage that is not named itself.
  std::optional<bool> all_alpha;
  std::optional<bool> all_beta;

  friend bool operator==(const FeatureGates&, const FeatureGates&) = default;
};

// Each gate by `stronger`, else by `weaker`.
FeatureGates MergeGates(const FeatureGates& weaker, const FeatureGates& stronger);

// Whether KubeletEnsureSecretPulledImages is on in a kubelet that was told this and nothing else. Never
// before 1.33, which does not have it.
bool VerifiesImages(const FeatureGates& gates, image::KubeletVersion version);

}  // namespace prefetch::kubelet
