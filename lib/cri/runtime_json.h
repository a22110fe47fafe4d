// The three JSON texts that a runtime hands out and we read: the verbose information of ImageStatus and of
// Status, and an OCI manifest from containerd's content store. All come from elsewhere: anything may be
// missing or of another type, and then it is not known. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "image/platform.h"
#include "image/registry_access.h"

namespace prefetch::cri {

struct VerboseInfo {
  std::optional<image::Platform> platform;  // nullopt: it claims none; single fields may be empty
  std::string chain_id;                     // containerd's key of the top snapshot; empty: not told

  friend bool operator==(const VerboseInfo&, const VerboseInfo&) = default;
};

// The value of `info["info"]` (C21).
VerboseInfo ParseVerboseInfo(std::string_view json);

// The value of Status's `info["config"]`, which containerd 1.x fills with the configuration of its CRI plugin
// (seen on 1.6.20; containerd 2 tells nothing of registries there). It holds the passwords of that
// configuration: they are skipped, and the text is the caller's to wipe.
image::RuntimeRegistries ParseRuntimeRegistries(std::string_view json);

struct Blob {
  std::string digest;
  std::uint64_t size_bytes = 0;

  friend bool operator==(const Blob&, const Blob&) = default;
};

// The blobs that an image manifest (OCI or Docker schema 2) lists: its configuration and its layers, each
// once and in order. nullopt: not an image manifest (an index, a configuration, not JSON), or one with a size
// that no blob has.
std::optional<std::vector<Blob>> ParseImageManifest(std::string_view json);

// Returns true if the media types of this manifest are those of an image: a configuration and layers that
// runtimes unpack. False for an artifact (a Helm chart), and for encrypted layers.
bool CanBeUnpacked(std::string_view json);

}  // namespace prefetch::cri
