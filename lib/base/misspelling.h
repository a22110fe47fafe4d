// Misspellings: finds the known name that a word may stand for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace prefetch::base {

// The first of the names that are nearest to `word`, without regard to upper and lower case. Empty: none is
// near enough for a misspelling.
std::string Meant(std::string_view word, const std::vector<std::string>& names);

}  // namespace prefetch::base
