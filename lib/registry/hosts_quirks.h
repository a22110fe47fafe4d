// Texts of a hosts.toml that only containerd itself can read: its go-toml panics, or has a grammar of its
// own. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "registry/runtime_rules.h"
#include "registry/toml_expressions.h"

namespace prefetch::registry {

// The reason; empty: there is none.
std::string_view OnlyGoTomlTells(const std::vector<TomlExpression>& file, TomlDialect dialect);

// Whether the name of a table has brackets, as [host."https://[fd00::1]"] has. go-toml v1 refuses it.
bool HasBracketsInATable(const std::vector<TomlExpression>& file);

}  // namespace prefetch::registry
