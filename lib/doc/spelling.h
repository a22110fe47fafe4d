// Keys that are spelt almost like the right ones.
#pragma once

#include <initializer_list>
#include <string_view>

#include "doc/reader.h"

namespace prefetch::doc {

// One or two letters are missing, too many or wrong; false for the name itself.
bool IsMisspelt(std::string_view key, std::string_view name);

// A mistake for each key of a mapping that is one of `names` misspelt.
void ReportMisspelt(const Reader& mapping, std::initializer_list<std::string_view> names);

}  // namespace prefetch::doc
