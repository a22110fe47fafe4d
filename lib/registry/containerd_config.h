// MergeContainerdConfigs: the registry settings of containerd's configuration, from one file or several (R34
// to R36, runtime rule C29). Pure.
// LoadContainerdConfig: the configuration file on this node, with its imports.
//
// The facts are containerd's own (cmd/containerd/server/config/config.go, plugins/cri/images/plugin.go), and
// were held against `containerd config dump` of 2.1.9. Its releases differ in two ways: up to 2.2 the files
// are put together first and then brought to the newest version, by the version of the last of them; later
// ones bring each file there and put them together then. Both are done here, and where they do not come to
// the same only the runtime itself can tell.
//
// The file may hold passwords. None is kept, and no note has a value of it: they name files, lines and keys.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fs.h"
#include "base/result.h"
#include "image/registry_access.h"

namespace prefetch::registry {

// A `registry` table.
struct RegistryTable {
  std::optional<std::string> config_path;
  image::TableHosts hosts;       // those that its tables configure
  bool has_mirrors = false;      // any in `mirrors`
  bool has_credentials = false;  // any in `configs` or `auths`, empty ones too
};

// The members of a plugin's table that matter here, those that it has.
struct ImagesTable {
  std::optional<RegistryTable> registry;
  std::map<std::string_view, std::int64_t> numbers;  // by key; a boolean is 0 or 1
  bool has_runtimes = false;  // of version 2: without them the keys of snapshots are not carried over
};

struct ContainerdConfig {
  std::int64_t version = 0;          // 0: not said, which means 1
  std::vector<std::string> imports;  // as written
  ImagesTable cri;                   // plugins."io.containerd.grpc.v1.cri", below version 2 also plugins.cri
  ImagesTable images;                // plugins."io.containerd.cri.v1.images"
  bool other_case = false;           // a key of these tables has others than containerd's
  // Line of a table that has no effect in a file of that version; 0: there is none.
  std::size_t ignored_table_line = 0;
};

// Parses a configuration file. Returns InvalidArgument, with the line and never a value, if containerd or its
// CRI plugin does not start with it.
base::Result<ContainerdConfig> ParseContainerdConfig(std::string_view text);

struct NamedConfig {
  std::string path;
  ContainerdConfig config;
};

// The file's settings, or that they are unknown.
struct ContainerdSettings {
  // If `known` is false: without hosts_in_tables there is no such file; with "*", only the runtime can tell.
  image::RuntimeRegistries registries;
  std::vector<std::string> notes;  // a sentence each

  friend bool operator==(const ContainerdSettings&, const ContainerdSettings&) = default;
};

// The file that containerd is started with and what it imports, in the order of loading; at least one.
ContainerdSettings MergeContainerdConfigs(const std::vector<NamedConfig>& files);

// Returns the settings for a file that exists and cannot be used.
ContainerdSettings UnknownSettings(std::string note);

// Loads containerd's configuration file on this node, with all that it imports: its `file`
// ("/etc/containerd/config.toml") is `host_root` + `file` here. Reads by `disk` alone. Problems are notes: a
// missing file means containerd's defaults, and an unusable one means that only the runtime can tell.
// containerd itself reads them at its start only, so for a while this may be ahead of it.
ContainerdSettings LoadContainerdConfig(const std::string& file, const std::string& host_root,
                                        base::StampedFiles& disk);

}  // namespace prefetch::registry
