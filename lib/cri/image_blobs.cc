#include "cri/image_blobs.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "base/saturating.h"
#include "base/sha256.h"
#include "cri/pull_resources.h"
#include "doc/image_manifest.h"
#include "image/digest.h"

namespace prefetch::cri {
namespace {

using Labels = std::map<std::string, std::string>;

// The store and the registry are asked about each. overlayfs mounts 500 layers at most, so no image that
// starts has more, and the runtime's pull fails at once.
constexpr std::size_t kMostBlobs = 1000;

// A blob with this label keeps the one with the digest that is its value.
const std::string kKeeps = "containerd.io/gc.ref.content.";

ImageDocument Document(std::string_view kind, std::string_view bytes, Labels labels) {
  const std::string digest = "sha256:" + base::Sha256Hex(bytes);
  return {.blob = {.ref = std::string(kind) + digest,
                   .digest = digest,
                   .size_bytes = bytes.size(),
                   .labels = std::move(labels)},
          .bytes = std::string(bytes)};
}

bool CanBeWritten(const doc::Blob& blob) {
  return image::IsDigest(blob.digest) && blob.digest.starts_with("sha256:") && blob.size_bytes > 0;
}

}  // namespace

std::optional<ImageBlobs> BlobsOf(const image::Reference& reference, std::string_view index,
                                  std::string_view manifest) {
  const std::optional<doc::ImageManifest> read = doc::ParseImageManifest(manifest);
  if (!read || !read->can_be_unpacked || read->from_elsewhere) return std::nullopt;
  const std::vector<doc::Blob>& listed = read->blobs;
  if (listed.size() > kMostBlobs) return std::nullopt;
  // An image that cannot be written exactly as containerd would write it is left to the runtime.
  if (!std::all_of(listed.begin(), listed.end(), CanBeWritten)) return std::nullopt;
  const Labels source = {{SourceLabel(reference.domain()), reference.path()}};
  Labels of_manifest = source;
  ImageBlobs image;
  for (std::size_t i = 0; i < listed.size(); i++) {
    const doc::Blob& blob = listed[i];
    image.size_bytes = base::Plus(image.size_bytes, blob.size_bytes);
    // These labels keep the blobs once the lease is gone: containerd's collector follows them from the
    // manifest.
    of_manifest[kKeeps + (i == 0 ? "config" : "l." + std::to_string(i - 1))] = blob.digest;
    image.blobs.push_back({.ref = (i == 0 ? "config-" : "layer-") + blob.digest,
                           .digest = blob.digest,
                           .size_bytes = blob.size_bytes,
                           .labels = source});
  }
  // The manifest comes before the index that points to it.
  image.documents.push_back(Document("manifest-", manifest, std::move(of_manifest)));
  if (index.empty()) return image;
  Labels of_index = source;
  of_index[kKeeps + "m.0"] = image.documents.front().blob.digest;
  image.documents.push_back(Document("index-", index, std::move(of_index)));
  return image;
}

}  // namespace prefetch::cri
