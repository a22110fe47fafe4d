// The headers of a TOML file's tables, which toml++ does not keep. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace prefetch::registry {

// The keys of each "[a.b]" in the order of the text; those of "[[a.b]]" are left out. The text is one that
// Toml::Parse takes.
std::vector<std::vector<std::string>> TableHeaders(std::string_view text);

}  // namespace prefetch::registry
