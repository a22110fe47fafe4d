#include "manifest/lint/listed_images.h"

#include <utility>

namespace prefetch::manifest::lint {

ListedImages::ListedImages(std::vector<ListedImage> images) : images_(std::move(images)) {
  for (std::size_t i = 0; i < images_.size(); i++) {
    by_name_[images_[i].reference.Normalized()].push_back(i);
    by_repository_[images_[i].reference.Repository()].push_back(i);
  }
}

std::vector<const ListedImage*> ListedImages::Find(const image::Reference& reference) const {
  std::vector<const ListedImage*> found;
  auto known = by_name_.find(reference.Normalized());
  if (known == by_name_.end()) return found;
  for (std::size_t i : known->second) found.push_back(&images_[i]);
  return found;
}

const ListedImage* ListedImages::SameRepository(const image::Reference& reference) const {
  auto known = by_repository_.find(reference.Repository());
  return known == by_repository_.end() ? nullptr : &images_[known->second.front()];
}

}  // namespace prefetch::manifest::lint
