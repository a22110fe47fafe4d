// hosts.toml, as containerd reads it (R31). Pure.
//
// The TOML itself is read by toml++, whose tables are sorted by name: the order in which the hosts are
// written, which is the order in which they are asked, is got back from their places in the text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "registry/host.h"

namespace prefetch::registry {

// A longer file is beyond our limits.
inline constexpr std::size_t kMaxHostsBytes = 256 * 1024;

// The hosts to ask for images of `registry`, in order; the last one is `server`, or the registry's own.
// Relative file names are taken to be in `folder`. Host::problem is set where the runtime keeps a host that
// cannot be asked. InvalidArgument, with the line where there is one and never a value: containerd then
// ignores the file. ResourceExhausted: only the runtime can follow it, since it is beyond our own limits or
// grammar.
base::Result<std::vector<Host>> ParseHostsToml(std::string_view text, std::string_view folder,
                                               std::string_view registry, const RuntimeRules& rules);

}  // namespace prefetch::registry
