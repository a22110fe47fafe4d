#include "doc/image_manifest.h"

#include <set>
#include <utility>

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

}  // namespace

std::optional<std::vector<Blob>> ParseImageManifest(std::string_view json) {
  const base::OneLargeText turn(json.size());
  const LooseJson root = LooseJson::Parse(json);
  const LooseJson layers = root.Member("layers");
  std::optional<Blob> config = ParseDescriptor(root.Member("config"));
  if (!config || !layers.IsArray()) return std::nullopt;
  std::vector<Blob> blobs = {*config};
  std::set<std::pair<std::string, std::uint64_t>> listed = {{config->digest, config->size_bytes}};
  for (const LooseJson& layer : layers.Items()) {
    std::optional<Blob> blob = ParseDescriptor(layer);
    if (!blob) return std::nullopt;
    if (listed.emplace(blob->digest, blob->size_bytes).second) blobs.push_back(*std::move(blob));
  }
  return blobs;
}

}  // namespace prefetch::doc
