#include "plan/unlisted.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "image/reference.h"

namespace prefetch::plan {
namespace {

// 64 bits stand for each name, to save memory. With a thousand images, two of them meet once in 10^13 nodes,
// and then one finding is missed.
std::uint64_t HashOf(std::string_view name) {
  return std::hash<std::string_view>{}(name);
}

bool Has(const std::vector<std::uint64_t>& sorted, std::uint64_t hash) {
  return std::binary_search(sorted.begin(), sorted.end(), hash);
}

std::vector<std::uint64_t> NamesOf(const ImageList& list) {
  std::vector<std::uint64_t> names;
  names.reserve(list.images.size());
  for (const DesiredImage& desired : list.images) names.push_back(HashOf(desired.reference.Normalized()));
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::uint64_t> NamesOf(const std::vector<image::LocalImage>& images) {
  std::vector<std::uint64_t> names;
  names.reserve(2 * images.size());
  for (const image::LocalImage& image : images) {
    for (const std::string& name : image.repo_tags) names.push_back(HashOf(name));
    for (const std::string& name : image.repo_digests) names.push_back(HashOf(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// When a tag moves away from an image, CRI-O leaves its digest under a name that ends at the port's colon:
// "127.0.0.1@sha256:…". A name of a pull has a repository behind the registry.
bool IsRemnant(std::string_view digest_name) {
  return image::RepositoryOf(digest_name).find('/') == std::string_view::npos;
}

void Add(const image::LocalImage& image, const std::string& name, base::WallTime now, Unlisted& unlisted) {
  // An image that comes again keeps its first time and its place.
  auto again = std::find_if(unlisted.images.begin(), unlisted.images.end(),
                            [&](const UnlistedImage& one) { return one.image == name; });
  if (again != unlisted.images.end()) {
    again->image_id = image.id;
    again->size_bytes = image.size_bytes;
    again->arrived_at = now;
    return;
  }
  if (unlisted.images.size() == kMostUnlisted) {
    unlisted.left_out++;
    return;
  }
  unlisted.images.push_back({.image = name,
                             .image_id = image.id,
                             .size_bytes = image.size_bytes,
                             .first_seen = now,
                             .arrived_at = now});
}

}  // namespace

Arrivals AfterPoll(Arrivals before, const std::vector<image::LocalImage>& images, const ImageList& list,
                   const std::vector<std::string>& ignore, base::WallTime now) {
  Arrivals after{.unlisted = std::move(before.unlisted), .known = NamesOf(images), .listed = NamesOf(list)};
  bool first = !after.unlisted;
  if (first) after.unlisted = Unlisted{.since = now};
  Unlisted& unlisted = *after.unlisted;
  // `before.listed` counts, too: an image that the agent pulled for the old list arrives after the list has
  // changed.
  auto came = [&](const std::string& name) {
    std::uint64_t hash = HashOf(name);
    return !Has(before.known, hash) && !Has(after.listed, hash) && !Has(before.listed, hash) &&
           !image::MatchesAny(ignore, name);
  };
  for (const image::LocalImage& image : images) {
    // Images of the first poll arrived at an unknown time.
    if (first || image.pinned) continue;
    for (const std::string& name : image.repo_tags) {
      if (came(name)) Add(image, name, now, unlisted);
    }
    for (const std::string& name : image.repo_digests) {
      // A pull by tag brings both names, and the tag is the one in the list or the pod.
      const bool tagged = image::HasTagIn(image, image::RepositoryOf(name));
      if (!tagged && !IsRemnant(name) && came(name)) Add(image, name, now, unlisted);
    }
  }
  std::erase_if(unlisted.images,
                [&](const UnlistedImage& one) { return Has(after.listed, HashOf(one.image)); });
  for (UnlistedImage& one : unlisted.images) one.present = Has(after.known, HashOf(one.image));
  return after;
}

}  // namespace prefetch::plan
