#include "kubelet/feature_gates.h"

namespace prefetch::kubelet {
namespace {

using image::KubeletVersion;

constexpr KubeletVersion kAlphaSince{1, 33};
constexpr KubeletVersion kBetaSince{1, 35};

std::optional<bool> Stronger(std::optional<bool> weaker, std::optional<bool> stronger) {
  return stronger ? stronger : weaker;
}

}  // namespace

FeatureGates MergeGates(const FeatureGates& weaker, const FeatureGates& stronger) {
  return {.ensure_secret_pulled_images =
              Stronger(weaker.ensure_secret_pulled_images, stronger.ensure_secret_pulled_images),
          .all_alpha = Stronger(weaker.all_alpha, stronger.all_alpha),
          .all_beta = Stronger(weaker.all_beta, stronger.all_beta)};
}

bool VerifiesImages(const FeatureGates& gates, KubeletVersion version) {
  if (version < kAlphaSince) return false;
  // A gate that is named wins over AllAlpha and AllBeta, which decide for unnamed gates of their stage (K7).
  if (gates.ensure_secret_pulled_images) return *gates.ensure_secret_pulled_images;
  return version < kBetaSince ? gates.all_alpha.value_or(false) : gates.all_beta.value_or(true);
}

}  // namespace prefetch::kubelet
