#include "manifest/strongest.h"

#include <unordered_map>

namespace prefetch::manifest {
namespace {

// The blank separates invalid names from valid ones, since no normalised name begins with one.
std::string KeyOf(const ImageUse& use) {
  return use.reference ? use.reference->Normalized() : " " + use.image;
}

}  // namespace

std::vector<WantedImage> Strongest(const std::vector<ImageUse>& uses) {
  std::vector<WantedImage> wanted;
  std::unordered_map<std::string, std::size_t> index;  // of an image in `wanted`
  for (const ImageUse& use : uses) {
    auto [known, is_new] = index.emplace(KeyOf(use), wanted.size());
    if (is_new) wanted.push_back({use.image, use.policy, {}});
    WantedImage& image = wanted[known->second];
    if (use.policy > image.policy) {
      image.image = use.image;
      image.policy = use.policy;
    }
    image.wanted_by.push_back(use);
  }
  return wanted;
}

}  // namespace prefetch::manifest
