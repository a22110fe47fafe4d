// The types of containerd's configuration (Config of cmd/containerd/server/config, ImageConfig of
// internal/cri/config): with another one, containerd or its CRI plugin does not start. As toml_rim.h, for
// .cc files alone. Pure.
#pragma once

#include "base/result.h"
#include "registry/toml_rim.h"

namespace prefetch::registry {

// Each returns InvalidArgument, with the line and never a value: a key has another type than containerd's, or
// is there twice, in different letters. Keys that containerd does not know are nothing.

// Checks the top level, without the plugins.
base::Status CheckServer(const toml::table& root);

// Checks the table of the plugin of version 3. Returns whether a key has other letters than containerd's:
// until all files are merged, it is another key than that of another file.
base::Result<bool> CheckImages(const toml::table& images);

// The same for the members of version 2's plugin that are carried over. These count as they are written
// alone, those within them in any letters.
base::Result<bool> CheckOldPlugin(const toml::table& cri);

}  // namespace prefetch::registry
