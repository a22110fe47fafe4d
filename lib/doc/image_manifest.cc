#include "doc/image_manifest.h"

#include <set>

#include "base/large_text.h"
#include "doc/loose_json.h"

namespace prefetch::doc {
namespace {

// 1 PiB. No disk has room for more, so a larger size is a mistake of the manifest. It is not taken for a lack
// of room, and the runtime says what is wrong.
constexpr std::uint64_t kLargestBlob = 1ULL << 50;

std::optional<Blob> ParseDescriptor(const LooseJson& value) {
  const std::optional<std::uint64_t> size = value.Number("size");
  Blob blob{value.Text("digest"), size.value_or(0)};
  // A descriptor without either could not be compared with the store.
  if (blob.digest.empty() || !size || blob.size_bytes > kLargestBlob) return std::nullopt;
  return blob;
}

bool IsConfigType(std::string_view type) {
  return type == "application/vnd.oci.image.config.v1+json" ||
         type == "application/vnd.docker.container.image.v1+json";
}

bool IsLayerType(std::string_view type) {
  return (type.starts_with("application/vnd.oci.image.layer.") ||
          type.starts_with("application/vnd.docker.image.rootfs.")) &&
         type.find("encrypted") == std::string_view::npos;
}

}  // namespace

std::optional<ImageManifest> ParseImageManifest(std::string_view json) {
  const base::OneLargeText turn(json.size());
  const LooseJson root = LooseJson::Parse(json);
  const LooseJson layers = root.Member("layers"), config = root.Member("config");
  std::optional<Blob> first = ParseDescriptor(config);
  if (!first || !layers.IsArray()) return std::nullopt;
  ImageManifest manifest{.blobs = {*first}, .can_be_unpacked = IsConfigType(config.Text("mediaType"))};
  std::set<Blob> listed = {*first};
  for (const LooseJson& layer : layers.Items()) {
    std::optional<Blob> blob = ParseDescriptor(layer);
    if (!blob) return std::nullopt;
    const std::string type = layer.Text("mediaType");
    manifest.can_be_unpacked &= IsLayerType(type);
    manifest.from_elsewhere |= type.find("nondistributable") != std::string::npos ||
                               type.find("foreign") != std::string::npos || layer.Member("urls").HasContent();
    if (listed.insert(*blob).second) manifest.blobs.push_back(*std::move(blob));
  }
  return manifest;
}

}  // namespace prefetch::doc
