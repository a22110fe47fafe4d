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

// Returns each gate as `stronger` sets it, else as `weaker` does.
FeatureGates MergeGates(const FeatureGates& weaker, const FeatureGates& stronger);

// Returns whether KubeletEnsureSecretPulledImages is on in a kubelet with these gates and no other settings.
// Kubelets before 1.33 do not have the gate: false.
bool VerifiesImages(const FeatureGates& gates, image::KubeletVersion version);

}  // namespace prefetch::kubelet
