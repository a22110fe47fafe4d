#include "doc/kubernetes_scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>

#include "base/text.h"
#include "doc/parser_parts.h"
#include "doc/yaml.h"

namespace prefetch::doc {
namespace {

constexpr std::string_view kYamlTags = "tag:yaml.org,2002:";
constexpr std::string_view kDecimals = "0123456789";

using Type = ScalarType;

// Go's strconv.ParseFloat for decimals: too small is zero, too large is an error.
std::optional<double> ParseFloat(const std::string& text) {
  const double value = std::strtod(text.c_str(), nullptr);
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

bool IsFloat(std::string_view word) {
  return LooksLikeFloat(word.starts_with("-") || word.starts_with("+") ? word.substr(1) : word);
}

// A whole number: up to 63 bits with a sign, or 64 without.
struct Whole {
  bool negative = false;
  std::uint64_t size = 0;
};

// Go's strconv.ParseInt and then ParseUint; base 0 takes the number's own prefix.
std::optional<Whole> ParseWhole(std::string_view text, int base) {
  Whole whole{.negative = text.starts_with("-")};
  const bool has_sign = whole.negative || text.starts_with("+");
  if (has_sign) text.remove_prefix(1);
  if (base == 0) {
    base = 10;
    if (text.size() > 1 && text[0] == '0') {
      base = 8;
      const char letter = static_cast<char>(text[1] | 0x20);
      if (letter == 'x' || letter == 'b' || letter == 'o') {
        base = letter == 'x' ? 16 : letter == 'b' ? 2 : 8;
        text.remove_prefix(2);
      } else {
        text.remove_prefix(1);
      }
    }
  }
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, whole.size, base);
  if (error != std::errc() || at != end) return std::nullopt;
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
  if (has_sign && whole.size > kHalf - (whole.negative ? 0 : 1)) return std::nullopt;
  return whole;
}

void SetDouble(Node& node, double value) {
  node.number = value;
  node.kind = Node::Kind::kDouble;
}

Type SetWhole(Node& node, const Whole& whole) {
  if (!whole.negative && whole.size > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
    SetDouble(node, static_cast<double>(whole.size));
    return Type::kUnsigned;
  }
  node.kind = Node::Kind::kInt;
  node.integer = static_cast<std::int64_t>(whole.negative ? 0 - whole.size : whole.size);
  return Type::kInt;
}

// Kubernetes' reader knows the booleans of YAML 1.1, such as yes and on, beside those of YAML 1.2.
bool ResolveWord(std::string_view word, Node& node, Type& type) {
  const bool is_true = IsOneOf(word, {"true", "True", "TRUE"});
  if (IsYamlNull(word)) {
    node.kind = Node::Kind::kNull;
    type = Type::kNull;
  } else if (is_true || IsOneOf(word, {"false", "False", "FALSE"}) || IsYaml11Boolean(word)) {
    node.kind = Node::Kind::kBool;
    node.boolean = is_true || IsOneOf(word, {"y", "Y", "yes", "Yes", "YES", "on", "On", "ON"});
    type = Type::kBool;
  } else if (auto special = SpecialFloat(word)) {
    SetDouble(node, *special);
    type = Type::kFloat;
  } else {
    return false;
  }
  return true;
}

// Tries the grammars of numbers in go-yaml's order: a whole number in its own base, go-yaml's binary form,
// then a decimal. Underscores are ignored.
bool ResolveNumber(std::string_view word, Node& node, Type& type) {
  std::string digits(word);
  std::optional<double> number;
  if (word.front() == '.') {
    number = IsFloat(word) ? ParseFloat(digits) : std::nullopt;
  } else if (word.front() == '+' || word.front() == '-' ||
             kDecimals.find(word.front()) != std::string_view::npos) {
    digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
    std::optional<Whole> whole = ParseWhole(digits, 0);
    // go-yaml's own way to read 0b, which lets a sign stand behind it.
    if (!whole && digits.starts_with("0b")) whole = ParseWhole(std::string_view(digits).substr(2), 2);
    if (whole) {
      type = SetWhole(node, *whole);
      return true;
    }
    number = IsFloat(digits) ? ParseFloat(digits) : std::nullopt;
  }
  if (!number) return false;
  SetDouble(node, *number);
  type = Type::kFloat;
  return true;
}

Type ResolvePlainWord(std::string_view word, Node& node) {
  Type type = Type::kString;
  if (!ResolveWord(word, node, type) && !ResolveNumber(word, node, type)) {
    node.kind = Node::Kind::kString;
  }
  return type;
}

bool IsJsonNumber(std::string_view word) {
  if (word.starts_with("-")) word.remove_prefix(1);
  const std::size_t whole = std::min(word.find_first_not_of(kDecimals), word.size());
  const bool begins = whole == 1 || (whole > 1 && word.front() != '0');
  const std::string_view rest = word.substr(whole);
  return begins && LooksLikeFloat(word) &&
         (!rest.starts_with('.') || (rest.size() > 1 && kDecimals.find(rest[1]) != std::string_view::npos));
}

// Returns the text of Go's strconv.FormatFloat(value, 'g', -1, 32), which is the key that such a number
// becomes in JSON.
std::string KeyOfFloat(double value) {
  const auto narrow = static_cast<float>(value);
  if (std::isnan(narrow)) return ".nan";
  if (std::isinf(narrow)) return narrow < 0 ? "-.inf" : ".inf";
  std::array<char, 64> digits{};
  char* const end = digits.data() + digits.size();
  const auto scientific = std::to_chars(digits.data(), end, narrow, std::chars_format::scientific);
  std::string text(digits.data(), scientific.ptr);
  const int exponent = std::atoi(text.substr(text.find('e') + 1).c_str());
  if (exponent < -4 || exponent >= 6) return text;
  return {digits.data(), std::to_chars(digits.data(), end, narrow, std::chars_format::fixed).ptr};
}

std::string SetBinary(std::string_view text, Node& node) {
  std::string digits(text);
  digits.erase(std::remove_if(digits.begin(), digits.end(), [](char c) { return c == '\n' || c == '\r'; }),
               digits.end());
  std::optional<std::string> bytes = base::Base64Decode(digits);
  node.kind = Node::Kind::kString;
  if (bytes) node.text = base::ToUtf8(*bytes);
  return bytes ? "" : "is no base64, which its tag !!binary says";
}

}  // namespace

// A tag wins over the text's own look. Quoted text without a tag is always a string.
ScalarType ResolveKubernetesScalar(const WrittenScalar& scalar, Node& node, std::string& error) {
  node.text = scalar.text;
  node.plain = scalar.plain && scalar.tag.empty();
  const bool own = scalar.tag.starts_with(kYamlTags);
  const std::string_view type_name = own ? scalar.tag.substr(kYamlTags.size()) : "";
  if (type_name == "binary") {
    error = SetBinary(scalar.text, node);
    return Type::kString;
  }
  const bool converts = IsOneOf(type_name, {"bool", "int", "float", "null", "timestamp"});
  if (!converts && (!scalar.tag.empty() || !scalar.plain)) {
    node.kind = Node::Kind::kString;
    return Type::kString;
  }
  const Type type = ResolvePlainWord(scalar.text, node);
  if (!converts) return type;
  const bool whole = type == Type::kInt || type == Type::kUnsigned;
  const bool fits = (type_name == "bool" && type == Type::kBool) || (type_name == "int" && whole) ||
                    (type_name == "null" && type == Type::kNull) ||
                    (type_name == "float" && (type == Type::kFloat || type == Type::kInt));
  if (!fits) error = "does not fit its tag !!" + std::string(type_name);
  if (!fits || type_name != "float" || type == Type::kFloat) return type;
  SetDouble(node, static_cast<double>(node.integer));
  return Type::kFloat;
}

// Kubernetes converts YAML to JSON. There a whole number has no fraction, so 1.0 becomes 1.
void FinishNumber(Node& node) {
  if (node.kind != Node::Kind::kDouble) return;
  if (std::abs(node.number) < 0x1p63 && node.number == std::trunc(node.number)) {
    node.kind = Node::Kind::kInt;
    node.integer = static_cast<std::int64_t>(node.number);
  } else if (std::isfinite(node.number) && !IsJsonNumber(node.text)) {
    std::array<char, 32> digits{};
    const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), node.number);
    node.text.assign(digits.data(), result.ptr);
  }
}

// JSON has string keys only. Null and numbers beyond 63 bits have no text as a key, and are rejected.
bool KeyOfScalar(ScalarType type, const Node& node, std::string& key) {
  switch (type) {
    case ScalarType::kNull:
    case ScalarType::kUnsigned:
      return false;
    case ScalarType::kBool:
      key = node.boolean ? "true" : "false";
      return true;
    case ScalarType::kFloat:
      key = KeyOfFloat(node.number);
      return true;
    case ScalarType::kInt:
      key = std::to_string(node.integer);
      return true;
    case ScalarType::kString:
      key = node.text;
      return true;
  }
  return false;
}

}  // namespace prefetch::doc
