// Dates of HTTP. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "base/clock.h"

namespace prefetch::http {

// Parses the three spellings of an HTTP date (RFC 9110 section 5.6.7), within the years 1970 to 2200. The day
// of the week is not checked against the date. nullopt for anything else.
std::optional<base::WallTime> ParseDate(std::string_view text);

}  // namespace prefetch::http
