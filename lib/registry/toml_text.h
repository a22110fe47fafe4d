// Keeps characters beyond ASCII away from toml++, and gets them back. Pure.
//
// Debian's toml++ 3.3 runs into undefined behaviour where it meets one from U+00A1 to U+0499 and looks for
// white space. TOML has them in comments and strings alone; so each of their bytes is written as a tab, "%"
// and two hexadecimal digits, which in a comment is nothing, in a string stands for itself until it is turned
// back, and anywhere else is the mistake that the character was.
#pragma once

#include <string>
#include <string_view>

namespace prefetch::registry {

std::string ToAsciiToml(std::string_view text);

// Undoes ToAsciiToml in a string that toml++ read.
std::string FromAsciiToml(std::string_view value);

}  // namespace prefetch::registry
