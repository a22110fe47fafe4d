// CrioSettings: what CRI-O's own configuration says of the logins that it has itself (R50): crio.conf and its
// drop-ins.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace prefetch::registry {

inline constexpr const char* kCrioFile = "/etc/crio/crio.conf";

// A value. Paths as the host has them.
struct CrioSettings {
  std::string global_auth_file;  // empty: the usual places of containers/image
  std::string said_in;           // the file that names it
  std::string namespaced_auth_dir = "/etc/crio/auth";

  friend bool operator==(const CrioSettings&, const CrioSettings&) = default;
};

// Adds the settings of the file `path`. InvalidArgument with the line, and never a value: CRI-O does not
// start with it, and nothing of it is taken. Pure.
base::Status UpdateCrioSettings(std::string_view text, const std::string& path, CrioSettings& settings);

// CRI-O's `file` is `host_root` + `file` here; its drop-ins are in `file`.d. nullopt: neither exists, so this
// is no node of CRI-O, or its files are not mounted. Blocks as a disk does.
base::Result<std::optional<CrioSettings>> ReadCrioSettings(const std::string& file,
                                                           const std::string& host_root);

}  // namespace prefetch::registry
