// Includes toml++ with the settings that this project, and its release in Debian, need. No other file
// includes it, and only .cc files include this header (hosts_toml.cc, containerd_config.cc and
// registries_conf.cc).
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

#include "base/result.h"

namespace prefetch::registry {

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

}  // namespace prefetch::registry
