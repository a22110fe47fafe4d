#include "doc/parser_parts.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>

#include "doc/yaml.h"

namespace prefetch::doc {
namespace {

constexpr std::string_view kDigits = "0123456789";

// Parses all of `digits` in `base`, with a minus if `negative`: the most negative value has no positive
// counterpart.
bool ReadInt(std::string_view digits, int base, bool negative, std::int64_t& value) {
  std::string text = (negative ? "-" : "") + std::string(digits);
  const char* end = text.data() + text.size();
  auto result = std::from_chars(text.data(), end, value, base);
  return !digits.empty() && result.ec == std::errc() && result.ptr == end;
}

bool ResolveInt(std::string_view word, Node& node) {
  bool negative = word.starts_with("-");
  std::string_view digits = word.starts_with("-") || word.starts_with("+") ? word.substr(1) : word;
  bool read = false;
  if (word.starts_with("0x") || word.starts_with("0o")) {
    std::string_view rest = word.substr(2);
    read = !rest.starts_with("-") && ReadInt(rest, word[1] == 'x' ? 16 : 8, false, node.integer);
  } else if (digits.find_first_not_of(kDigits) == std::string_view::npos) {
    // 010 is ten in YAML 1.2 and eight in YAML 1.1, so it is no integer here.
    if (digits.size() > 1 && digits.front() == '0') return false;
    read = ReadInt(digits, 10, negative, node.integer);
  }
  if (read) node.kind = Node::Kind::kInt;
  return read;
}

bool ResolveFloat(std::string_view word, Node& node) {
  bool negative = word.starts_with("-");
  std::string_view rest = negative || word.starts_with("+") ? word.substr(1) : word;
  if (auto special = SpecialFloat(word)) {
    node.number = *special;
  } else {
    bool leading_zeros = rest.size() > 1 && rest[0] == '0' && kDigits.find(rest[1]) != std::string_view::npos;
    if (leading_zeros || !LooksLikeFloat(rest)) return false;
    if (std::from_chars(rest.data(), rest.data() + rest.size(), node.number).ec != std::errc()) return false;
    if (negative) node.number = -node.number;
  }
  node.kind = Node::Kind::kDouble;
  return true;
}

}  // namespace

bool IsOneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool IsYamlNull(std::string_view word) {
  return IsOneOf(word, {"", "~", "null", "Null", "NULL"});
}

bool LooksLikeFloat(std::string_view word) {
  auto digits = [&] {
    std::size_t n = std::min(word.find_first_not_of(kDigits), word.size());
    word.remove_prefix(n);
    return n;
  };
  std::size_t before = digits();
  std::size_t after = 0;
  if (word.starts_with(".")) {
    word.remove_prefix(1);
    after = digits();
  }
  if (before + after == 0) return false;
  if (word.starts_with("e") || word.starts_with("E")) {
    word.remove_prefix(1);
    if (word.starts_with("-") || word.starts_with("+")) word.remove_prefix(1);
    if (digits() == 0) return false;
  }
  return word.empty();
}

std::optional<double> SpecialFloat(std::string_view word) {
  if (IsOneOf(word, {".nan", ".NaN", ".NAN"})) return std::numeric_limits<double>::quiet_NaN();
  const bool has_sign = word.starts_with("-") || word.starts_with("+");
  if (!IsOneOf(has_sign ? word.substr(1) : word, {".inf", ".Inf", ".INF"})) return std::nullopt;
  const double infinity = std::numeric_limits<double>::infinity();
  return word.starts_with("-") ? -infinity : infinity;
}

void ResolvePlain(Node& node) {
  std::string_view word = node.text;
  node.plain = true;
  if (IsYamlNull(word)) {
    node.kind = Node::Kind::kNull;
  } else if (IsOneOf(word, {"true", "True", "TRUE", "false", "False", "FALSE"})) {
    node.kind = Node::Kind::kBool;
    node.boolean = word.front() == 't' || word.front() == 'T';
  } else if (!ResolveInt(word, node) && !ResolveFloat(word, node)) {
    node.kind = Node::Kind::kString;
  }
}

bool IsYaml11Boolean(std::string_view word) {
  return IsOneOf(word, {"yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF", "y",
                        "Y", "n", "N"});
}

}  // namespace prefetch::doc
