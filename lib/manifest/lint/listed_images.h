// ListedImages: the entries of all lists, as far as manifests are judged by them.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "image/platform.h"
#include "image/pod_coordinates.h"
#include "image/reference.h"
#include "manifest/lint/finding.h"

namespace prefetch::manifest::lint {

struct ListedImage {
  image::Reference reference;
  Place place;
  bool refreshed = false;                  // the list follows a tag that moves
  std::vector<image::Platform> platforms;  // empty: every node
  image::PodCoordinates ready_as{};        // the pod that the entry is for; empty: any
};

// Immutable once made. Any thread.
class ListedImages {
 public:
  explicit ListedImages(std::vector<ListedImage> images);

  const std::vector<ListedImage>& all() const { return images_; }
  // Those of the same normalised name: one for each source that has it. Empty: it is not listed.
  std::vector<const ListedImage*> Find(const image::Reference& reference) const;
  bool Has(const image::Reference& reference) const { return by_name_.contains(reference.Normalized()); }
  // Another entry of the same repository; nullptr if there is none.
  const ListedImage* SameRepository(const image::Reference& reference) const;

 private:
  using Index = std::unordered_map<std::string, std::vector<std::size_t>>;

  std::vector<ListedImage> images_;
  Index by_name_, by_repository_;  // indices in images_
};

}  // namespace prefetch::manifest::lint
