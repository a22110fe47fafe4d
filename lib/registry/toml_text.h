// Keeps characters beyond ASCII away from toml++, and gets them back. Pure.
//
// Debian's toml++ 3.3 runs into undefined behaviour where it meets one from U+00A1 to U+0499 and looks for
// white space. TOML has them in comments and strings alone; so each of their bytes is written as a tab, "%"
// and two hexadecimal digits, which in a comment is nothing, in a string stands for itself until it is turned
// back, and anywhere else is the mistake that the character was.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace prefetch::registry {

// Escapes all bytes beyond ASCII.
std::string ToAsciiToml(std::string_view text);

// Undoes ToAsciiToml in a string that toml++ read.
std::string FromAsciiToml(std::string_view value);

// An expression of a TOML file as it is written, which toml++ does not keep.
struct TomlExpression {
  enum class Kind { kTable, kArrayTable, kValue };
  Kind kind = Kind::kTable;
  std::vector<std::string> keys;  // of "[a.b]", of "[[a.b]]" or of "a.b = 1"
  bool has_time = false;          // a date or a time stands in the value

  friend bool operator==(const TomlExpression&, const TomlExpression&) = default;
};

// In the order of the text. Where that is no TOML, those before the mistake are right.
std::vector<TomlExpression> TomlExpressions(std::string_view text);

}  // namespace prefetch::registry
