// The types of containerd's configuration (Config of cmd/containerd/server/config, ImageConfig of
// internal/cri/config): with another one, containerd or its CRI plugin does not start. As toml_rim.h, for
// .cc files alone. Pure.
#pragma once

#include "base/result.h"
#include "registry/toml_rim.h"

namespace prefetch::registry {

// InvalidArgument, with the line and never a value: a key has another type than containerd's, or is there
// twice, in different letters. Keys that containerd does not know are nothing.

// The top level; not the plugins.
base::Status CheckServer(const toml::table& root);
// The table of the plugin of version 3.
base::Status CheckImages(const toml::table& images);
// The members of version 2's plugin that are carried over. They count as they are written alone.
base::Status CheckOldPlugin(const toml::table& cri);

// A key of the plugin's table has other letters than containerd's. Beside the same key of another file it is
// another one until all files are put together.
bool HasOtherLetters(const toml::table& plugin);

}  // namespace prefetch::registry
