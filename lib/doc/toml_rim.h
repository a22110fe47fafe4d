// Includes toml++ with the settings that this project, and its release in Debian, need. No other file
// includes it, and only .cc files include this header (toml.cc, and in registry/ hosts_toml.cc,
// containerd_config.cc and registries_conf.cc).
// ToAsciiToml and FromAsciiToml: keep characters beyond ASCII away from toml++, and get them back.
// TomlExpressions: a text as it is written, which toml++ does not keep.
// Pure.
#pragma once

// toml++ 3.3 asserts, or with NDEBUG even assumes, what "[,x]" breaks before it looks (3.4 does not): without
// these asserts it comes to its own error a few lines later. The fuzz targets are what vouches for that.
#undef NDEBUG
#define TOML_ASSERT(expr) static_assert(true)
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES 32
#include <toml++/toml.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace prefetch::doc {

// A file that was parsed. Its content may be secret: its strings are wiped when it goes. Moved, not copied.
class Toml {
 public:
  // Parses a text. InvalidArgument has the line and never a value. Pure.
  static base::Result<Toml> Parse(std::string_view text);

  Toml(Toml&&) = default;
  Toml& operator=(Toml&&) = delete;
  ~Toml();

  const toml::table& root() const { return root_; }

 private:
  explicit Toml(toml::table root) : root_(std::move(root)) {}
  toml::table root_;
};

// "line 3: ca is no string", of what stands there.
base::Error TomlError(const toml::node& node, std::string_view what);

// Returns the member whose key is `key` in any case, as programs in Go take keys; nullptr if there is none.
// Two of them are an error: InvalidArgument, with the line and never a value.
base::Result<const toml::node*> GoMember(const toml::table& table, std::string_view key);

// The text of a TOML string.
std::string TextOf(const toml::value<std::string>& value);

// Escapes all bytes beyond ASCII.
//
// Debian's toml++ 3.3 runs into undefined behaviour where it meets a character from U+00A1 to U+0499 and
// looks for white space. TOML has them in comments and strings alone; so each of their bytes is written as a
// tab, "%" and two hexadecimal digits, which in a comment is nothing, in a string stands for itself until it
// is turned back, and anywhere else is the mistake that the character was.
std::string ToAsciiToml(std::string_view text);

// Undoes ToAsciiToml in a string that toml++ read.
std::string FromAsciiToml(std::string_view value);

// An expression of a TOML file as it is written.
struct TomlExpression {
  enum class Kind { kTable, kArrayTable, kValue };
  Kind kind = Kind::kTable;
  std::vector<std::string> keys;  // of "[a.b]", of "[[a.b]]" or of "a.b = 1"
  bool has_time = false;          // a date or a time stands in the value

  friend bool operator==(const TomlExpression&, const TomlExpression&) = default;
};

// In the order of the text. Where that is no TOML, those before the mistake are right.
std::vector<TomlExpression> TomlExpressions(std::string_view text);

}  // namespace prefetch::doc
