#include "registry/toml_headers.h"

#include <algorithm>

#include "registry/toml_rim.h"
#include "registry/toml_text.h"

namespace prefetch::registry {
namespace {

// Walks over the expressions of a text.
class Walk {
 public:
  explicit Walk(std::string_view text) : rest_(text) {}

  // The next "[…]" or "[[…]]" up to the end of its line; empty: there is none.
  std::string_view NextHeader() {
    while (!rest_.empty()) {
      rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
      if (rest_.starts_with('[')) return Take(rest_.find('\n'));
      SkipExpression();
    }
    return {};
  }

 private:
  std::string_view Take(std::size_t size) {
    std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }

  // A comment, or a key and its value, which may have several lines.
  void SkipExpression() {
    int depth = 0;
    while (!rest_.empty()) {
      char c = rest_.front();
      if (c == '"' || c == '\'') {
        SkipString(c);
      } else if (c == '#') {
        Take(rest_.find('\n'));
      } else {
        if (c == '[' || c == '{') depth++;
        if (c == ']' || c == '}') depth--;
        Take(1);
        if (c == '\n' && depth <= 0) return;
      }
    }
  }

  void SkipString(char quote) {
    const std::string three(3, quote);
    if (!rest_.starts_with(three)) {
      Take(1);
      SkipTo(std::string_view(three).substr(0, 1), quote);
      return;
    }
    Take(3);
    SkipTo(three, quote);
    while (rest_.starts_with(quote)) Take(1);  // up to two quotes may stand at the end
  }

  void SkipTo(std::string_view end, char quote) {
    while (!rest_.empty() && !rest_.starts_with(end)) Take(quote == '"' && rest_.front() == '\\' ? 2 : 1);
    Take(end.size());
  }

  std::string_view rest_;
};

std::vector<std::string> Keys(std::string_view header) {
  std::vector<std::string> keys;
  auto toml = Toml::Parse(header);
  const toml::table* table = toml ? &toml->root() : nullptr;
  while (table != nullptr && table->size() == 1) {
    keys.push_back(FromAsciiToml(table->begin()->first.str()));
    table = table->begin()->second.as_table();
  }
  return keys;
}

}  // namespace

std::vector<std::vector<std::string>> TableHeaders(std::string_view text) {
  std::vector<std::vector<std::string>> headers;
  Walk walk(text);
  for (std::string_view header = walk.NextHeader(); !header.empty(); header = walk.NextHeader()) {
    if (!header.starts_with("[[")) headers.push_back(Keys(header));
  }
  return headers;
}

}  // namespace prefetch::registry
