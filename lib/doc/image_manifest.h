// The blobs of an image manifest, as registries and content stores hand it out. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prefetch::doc {

struct Blob {
  std::string digest;
  std::uint64_t size_bytes = 0;

  friend bool operator==(const Blob&, const Blob&) = default;
};

// The blobs that an image manifest (OCI or Docker schema 2) lists: its configuration and its layers, each
// once and in order. nullopt: not an image manifest (an index, a configuration, not JSON), or one with a size
// that no blob has.
std::optional<std::vector<Blob>> ParseImageManifest(std::string_view json);

}  // namespace prefetch::doc
