// ParseImageManifest: the blobs of an image, from its manifest.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prefetch::doc {

// A blob that an image manifest lists.
struct Blob {
  std::string digest;
  std::uint64_t size_bytes = 0;

  friend auto operator<=>(const Blob&, const Blob&) = default;
};

struct ImageManifest {
  // Its configuration and its layers, each once and in order.
  std::vector<Blob> blobs;
  // The media types are those of a configuration and of layers that runtimes unpack. False for an artifact (a
  // Helm chart), and for encrypted layers.
  bool can_be_unpacked = false;
  // It has layers that only their own servers may distribute
  // (application/vnd.oci.image.layer.nondistributable…). The registry does not have them.
  bool has_foreign_layers = false;
};

// Reads a manifest of OCI or of Docker's schema 2. nullopt: not an image manifest (an index, a configuration,
// not JSON), or one with a size that no blob has.
std::optional<ImageManifest> ParseImageManifest(std::string_view json);

}  // namespace prefetch::doc
