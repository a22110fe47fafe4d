#define TOML_IMPLEMENTATION
#include "registry/toml_rim.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/secret.h"
#include "base/text.h"
#include "registry/toml_text.h"

namespace prefetch::registry {
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
  // toml++ has undefined behaviour for some characters beyond ASCII (toml_text.h).
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

}  // namespace prefetch::registry
