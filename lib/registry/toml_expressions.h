// The expressions of a TOML file as they are written, which toml++ does not keep. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace prefetch::registry {

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
