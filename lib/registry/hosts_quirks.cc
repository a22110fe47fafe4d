#include "registry/hosts_quirks.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "registry/toml_expressions.h"

namespace prefetch::registry {
namespace {

using Keys = std::vector<std::string>;

bool IsOneOf(std::string_view key, const std::vector<std::string_view>& all) {
  return std::any_of(all.begin(), all.end(),
                     [&](std::string_view one) { return base::EqualsIgnoreCase(key, one); });
}

bool IsHost(const Keys& keys) {
  return !keys.empty() && base::EqualsIgnoreCase(keys[0], "host");
}

// The keys within the top level, or within a host.
Keys Fields(const Keys& keys) {
  const std::size_t outside = IsHost(keys) ? std::min<std::size_t>(keys.size(), 2) : 0;
  return {keys.begin() + static_cast<std::ptrdiff_t>(outside), keys.end()};
}

// A field of a plain type.
bool IsPlain(const Keys& fields, bool of_host) {
  if (!of_host && base::EqualsIgnoreCase(fields[0], "server")) return true;
  return IsOneOf(fields[0], {"capabilities", "skip_verify", "override_path", "dial_timeout"});
}

// Finds where go-toml v2 panics, and containerd with it.
class PanicSearch {
 public:
  bool Panics(const TomlExpression& one) {
    const bool is_value = one.kind == TomlExpression::Kind::kValue;
    Keys keys = is_value ? table_ : Keys();
    keys.insert(keys.end(), one.keys.begin(), one.keys.end());
    if (!is_value) table_ = one.keys;
    if (keys.empty()) return false;
    const bool of_host = IsHost(keys);
    const bool is_again = of_host && keys.size() > 1 && !hosts_.insert(keys[1]).second;
    const Keys fields = Fields(keys);
    // A time is set without a look at the type.
    if (fields.empty()) {
      is_unclear_ |= one.has_time;
      return false;
    }
    const bool is_plain = IsPlain(fields, of_host);
    if (!is_value) return is_plain && fields.size() > 1;  // a table below a plain value
    // A pointer within a host that has no address.
    const bool is_pointer = base::EqualsIgnoreCase(fields[0], "skip_verify");
    if (is_again && is_pointer && one.keys.size() > fields.size()) return true;
    const bool is_header = base::EqualsIgnoreCase(fields[0], "header") && fields.size() == 1;
    return one.has_time && (is_plain || is_header);
  }

  // A time stands in a host that is written as one value, be it in a key that panics or in an unknown one.
  bool is_unclear() const { return is_unclear_; }

 private:
  Keys table_;
  std::set<std::string> hosts_;
  bool is_unclear_ = false;
};

}  // namespace

std::string_view OnlyGoTomlTells(const std::vector<TomlExpression>& file, TomlDialect dialect) {
  PanicSearch search;
  for (const TomlExpression& one : file) {
    if (dialect == TomlDialect::kGoToml2 && search.Panics(one)) return "containerd's own code panics at it";
    if (dialect == TomlDialect::kGoToml1 && one.has_time) return "it has dates or times";
  }
  return search.is_unclear() ? "a time stands in a host of one line" : "";
}

bool HasBracketsInATable(const std::vector<TomlExpression>& file) {
  return std::any_of(file.begin(), file.end(), [](const TomlExpression& one) {
    return one.kind != TomlExpression::Kind::kValue &&
           std::any_of(one.keys.begin(), one.keys.end(),
                       [](const std::string& key) { return key.find_first_of("[]") != std::string::npos; });
  });
}

}  // namespace prefetch::registry
