// LocalImage: an image that the container runtime has, in CRI's words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "image/reference.h"

namespace prefetch::image {

// One image as the runtime lists it. `id` is an opaque string.
struct LocalImage {
  std::string id;
  std::vector<std::string> repo_tags;
  std::vector<std::string> repo_digests;
  std::uint64_t size_bytes = 0;  // containerd: compressed; CRI-O: in storage. Never compared across runtimes.
  bool pinned = false;

  friend bool operator==(const LocalImage&, const LocalImage&) = default;
};

bool HasTagIn(const LocalImage& image, std::string_view repository);

// One ListImages answer, indexed once, for a list of thousands of entries. A value: immutable once built; any
// thread may read.
class LocalImageIndex {
 public:
  LocalImageIndex() = default;
  explicit LocalImageIndex(std::vector<LocalImage> images);

  const std::vector<LocalImage>& images() const { return images_; }
  // Returns the image if a pull of `reference` ended well, **under that name**, else nullptr; valid as long
  // as this index. By tag: listed in repo_tags, with a repo_digests entry for the repository; by digest:
  // listed in repo_digests.
  const LocalImage* Find(const Reference& reference) const;
  // The image that has this tag and no repo digest for it, or nullptr; valid as long as this index. `ctr
  // images import`, `kind load` and archives for nodes without a network leave such names, and their images
  // start. A pull that failed on containerd 1.6.20 (layers that are no image layers) leaves one, too, and its
  // image does not start. cri::ContentService::IsRunnable tells them apart.
  const LocalImage* FindTagged(const Reference& reference) const;
  // Every tag and digest name of the image with that id, sorted, each once; empty if there is none. Names
  // that share an id share their content.
  const std::vector<std::string>& NamesOf(const std::string& id) const;

 private:
  std::vector<LocalImage> images_;
  std::unordered_map<std::string, std::size_t> by_name_;  // normalised name to position in images_
  std::unordered_map<std::string, std::size_t> tagged_;   // tags without a repo digest
  std::unordered_map<std::string, std::vector<std::string>> names_by_id_;
};

}  // namespace prefetch::image
