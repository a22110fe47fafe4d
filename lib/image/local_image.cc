#include "image/local_image.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/find_with_default.h"

namespace prefetch::image {

bool HasTagIn(const LocalImage& image, std::string_view repository) {
  return std::any_of(image.repo_tags.begin(), image.repo_tags.end(),
                     [&](const std::string& name) { return RepositoryOf(name) == repository; });
}

LocalImageIndex::LocalImageIndex(std::vector<LocalImage> images) : images_(std::move(images)) {
  for (std::size_t i = 0; i < images_.size(); i++) {
    const LocalImage& image = images_[i];
    std::set<std::string_view> repositories;
    for (const std::string& name : image.repo_digests) {
      // A digest in repo_digests shows that the image was pulled, so its name alone is enough.
      by_name_.emplace(name, i);
      repositories.insert(RepositoryOf(name));
    }
    for (const std::string& name : image.repo_tags) {
      // A tag without a digest of its repository was imported, or is left of a failed pull (C22), so it is no
      // pulled image. emplace keeps the first image of a name.
      bool pulled = repositories.count(RepositoryOf(name)) != 0;
      (pulled ? by_name_ : tagged_).emplace(name, i);
    }
    // An id may be listed several times, so its names are collected over all entries.
    std::vector<std::string>& names = names_by_id_[image.id];
    names.insert(names.end(), image.repo_tags.begin(), image.repo_tags.end());
    names.insert(names.end(), image.repo_digests.begin(), image.repo_digests.end());
  }
  for (auto& [id, names] : names_by_id_) {
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
  }
}

const LocalImage* LocalImageIndex::Find(const Reference& reference) const {
  auto found = by_name_.find(reference.Normalized());
  return found == by_name_.end() ? nullptr : &images_[found->second];
}

const LocalImage* LocalImageIndex::FindTagged(const Reference& reference) const {
  if (reference.has_digest()) return nullptr;
  auto found = tagged_.find(reference.Normalized());
  return found == tagged_.end() ? nullptr : &images_[found->second];
}

const std::vector<std::string>& LocalImageIndex::NamesOf(const std::string& id) const {
  return base::FindWithDefault(names_by_id_, id);
}

}  // namespace prefetch::image
