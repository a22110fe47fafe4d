// Texts of a hosts.toml that only containerd itself can read: its go-toml panics, or has a grammar of its
// own. Pure.
#pragma once

#include <string_view>

#include "registry/runtime_rules.h"

namespace prefetch::registry {

// The reason; empty: there is none.
std::string_view OnlyGoTomlTells(std::string_view text, TomlDialect dialect);

}  // namespace prefetch::registry
