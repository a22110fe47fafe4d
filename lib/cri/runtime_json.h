// The JSON texts that a runtime hands out and we read: the verbose information of ImageStatus and of Status.
// Anything may be missing or of another type, and then it is not known. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

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

}  // namespace prefetch::cri
