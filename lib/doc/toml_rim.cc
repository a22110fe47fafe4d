#define TOML_IMPLEMENTATION
#include "doc/toml_rim.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

#include "base/secret.h"
#include "base/text.h"

namespace prefetch::doc {
namespace {

// Each dot in "a.a.a.…" is a nested table, which toml++ destroys by recursion. More dots than this in a line
// are no configuration, but an attempt to overflow the stack.
constexpr std::ptrdiff_t kMaxDotsInALine = 512;

// Returns 0 if there is none.
std::size_t LineThatIsTooDeep(std::string_view text) {
  std::size_t number = 0;
  for (std::string_view line : base::Split(text, '\n')) {
    number++;
    if (std::count(line.begin(), line.end(), '.') > kMaxDotsInALine) return number;
  }
  return 0;
}

void WipeStrings(toml::node& node) {
  if (auto* text = node.as_string()) base::WipeString(text->get());
  if (auto* array = node.as_array()) {
    for (toml::node& item : *array) WipeStrings(item);
  }
  if (auto* table = node.as_table()) {
    for (auto&& [key, value] : *table) WipeStrings(value);
  }
}

// toml++ needs some hundred bytes for a value. Counted by the characters before and behind them.
constexpr std::ptrdiff_t kMostValues = 50'000;

bool HasTooManyValues(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return c == ',' || c == '[' || c == '{' || c == '='; }) > kMostValues;
}

}  // namespace

base::Result<Toml> Toml::Parse(std::string_view text) {
  if (std::size_t line = LineThatIsTooDeep(text); line > 0) {
    return base::InvalidArgument("line " + std::to_string(line) + ": too many dots for one line");
  }
  if (HasTooManyValues(text))
    return base::InvalidArgument("has more than " + std::to_string(kMostValues) + " values");
  // toml++ has undefined behaviour for some characters beyond ASCII (ToAsciiToml).
  std::string ascii = ToAsciiToml(text);
  toml::parse_result parsed = toml::parse(ascii);
  base::WipeString(ascii);
  if (!parsed) {
    return base::InvalidArgument("line " + std::to_string(parsed.error().source().begin.line) +
                                 ": this is no TOML");
  }
  return Toml(std::move(parsed).table());
}

Toml::~Toml() {
  WipeStrings(root_);
}

base::Error TomlError(const toml::node& node, std::string_view what) {
  return base::InvalidArgument("line " + std::to_string(node.source().begin.line) + ": " + std::string(what));
}

base::Result<const toml::node*> GoMember(const toml::table& table, std::string_view key) {
  const toml::node* found = nullptr;
  for (const auto& [name, value] : table) {
    // Go matches keys in any case. With two spellings, it depends on the library which one counts.
    if (!base::EqualsIgnoreCase(name.str(), key)) continue;
    if (found != nullptr)
      return TomlError(value, std::string(key) + " is there twice, in different spellings");
    found = &value;
  }
  return found;
}

std::string TextOf(const toml::value<std::string>& value) {
  return FromAsciiToml(value.get());
}

namespace {

constexpr std::string_view kMark = "\t%";
constexpr std::size_t kMarkedBytes = 4;  // the mark and two digits

}  // namespace

std::string ToAsciiToml(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string ascii;
  ascii.reserve(text.size());
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      ascii += c;
      continue;
    }
    ascii += kMark;
    ascii += kHex[byte >> 4];
    ascii += kHex[byte & 15];
  }
  return ascii;
}

std::string FromAsciiToml(std::string_view value) {
  std::string text;
  while (!value.empty()) {
    bool marked = value.starts_with(kMark) && value.size() >= kMarkedBytes;
    auto byte = marked ? base::PercentDecode(value.substr(1, 3)) : std::nullopt;
    text += byte ? *byte : std::string(1, value.front());
    value.remove_prefix(byte ? kMarkedBytes : 1);
  }
  return text;
}

namespace {

// "2026-01-01…" or "10:00…".
bool IsTime(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const char next = digits < text.size() ? text[digits] : '\0';
  return (digits == 4 && next == '-') || (digits == 2 && next == ':');
}

// The keys of "a.b = 1" or of "[a.b]", a text of one line; none where it is no TOML.
std::vector<std::string> KeysOf(std::string_view line) {
  std::vector<std::string> keys;
  if (line.ends_with('\r')) line.remove_suffix(1);  // which toml++ takes before a line feed alone
  auto toml = Toml::Parse(line);
  const toml::table* table = toml ? &toml->root() : nullptr;
  while (table != nullptr && table->size() == 1) {
    const auto entry = *table->begin();  // a pair of references
    keys.push_back(FromAsciiToml(entry.first.str()));
    const toml::array* array = entry.second.as_array();  // of "[[a]]"
    table = array != nullptr && !array->empty() ? array->front().as_table() : entry.second.as_table();
  }
  return keys;
}

// Walks over the expressions of a text.
class Walk {
 public:
  explicit Walk(std::string_view text) : rest_(text) {}

  // False: there is no more.
  bool Next(TomlExpression& next) {
    while (true) {
      rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
      if (!rest_.starts_with('#')) break;
      Take(rest_.find('\n'));
    }
    if (rest_.empty()) return false;
    next = {};
    if (rest_.starts_with('[')) {
      if (rest_.starts_with("[[")) next.kind = TomlExpression::Kind::kArrayTable;
      next.keys = KeysOf(Take(rest_.find('\n')));
    } else {
      next.kind = TomlExpression::Kind::kValue;
      const std::string_view key = TakeKey();
      next.keys = KeysOf(std::string(key) + "=1");
      next.has_time = SkipValue();
    }
    return true;
  }

 private:
  std::string_view Take(std::size_t size) {
    std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }

  // The text before "=".
  std::string_view TakeKey() {
    const std::string_view all = rest_;
    while (!rest_.empty() && rest_.front() != '=' && rest_.front() != '\n') {
      if (rest_.front() == '"' || rest_.front() == '\'') {
        SkipString(rest_.front());
      } else {
        Take(1);
      }
    }
    return all.substr(0, all.size() - rest_.size());
  }

  // Up to the end of the value, which may have several lines. True: a time stands in it.
  bool SkipValue() {
    int depth = 0;
    bool has_time = false;
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
        if (c == '\n' && depth <= 0) break;
        has_time |= (c == '=' || c == '[' || c == ',' || c == ' ' || c == '\t' || c == '\n') && IsTime(rest_);
      }
    }
    return has_time;
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

}  // namespace

std::vector<TomlExpression> TomlExpressions(std::string_view text) {
  std::vector<TomlExpression> expressions;
  Walk walk(text);
  for (TomlExpression next; walk.Next(next);) expressions.push_back(next);
  return expressions;
}

}  // namespace prefetch::doc
