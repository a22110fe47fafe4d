#include "doc/image_manifest.h"

#include <set>
#include <utility>

#include "base/redactor.h"
#include "doc/json.h"

namespace prefetch::doc {

namespace {

// 1 PiB. No disk has room for more, so a larger size is a mistake of the manifest. It is not taken for a lack
// of room, and the runtime says what is wrong.
constexpr std::int64_t kLargestBlob = std::int64_t{1} << 50;

std::optional<Blob> ParseDescriptor(const Node& value) {
  const std::string digest = TextAt(value, {"digest"});
  const Node* size = value.Find("size");
  // A descriptor without either could not be compared with the store.
  if (digest.empty() || size == nullptr || size->kind != Node::Kind::kInt) return std::nullopt;
  if (size->integer < 0 || size->integer > kLargestBlob) return std::nullopt;
  return Blob{digest, static_cast<std::uint64_t>(size->integer)};
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
  const base::LargeTextLock turn(json.size());
  const Node root = ParseOrNull(json);
  const Node* layers = root.Find("layers");
  const Node* config = root.Find("config");
  if (layers == nullptr || layers->kind != Node::Kind::kSequence || config == nullptr) return std::nullopt;
  std::optional<Blob> first = ParseDescriptor(*config);
  if (!first) return std::nullopt;
  ImageManifest manifest{.blobs = {*first}, .can_be_unpacked = IsConfigType(TextAt(*config, {"mediaType"}))};
  std::set<Blob> listed = {*first};
  for (const Node& layer : layers->items) {
    std::optional<Blob> blob = ParseDescriptor(layer);
    if (!blob) return std::nullopt;
    const std::string type = TextAt(layer, {"mediaType"});
    manifest.can_be_unpacked &= IsLayerType(type);
    manifest.has_foreign_layers |= type.find("nondistributable") != std::string::npos ||
                                   type.find("foreign") != std::string::npos ||
                                   !ItemsAt(layer, {"urls"}).empty();
    if (listed.insert(*blob).second) manifest.blobs.push_back(*std::move(blob));
  }
  return manifest;
}

}  // namespace prefetch::doc
