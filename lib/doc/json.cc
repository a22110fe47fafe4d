#include "doc/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "doc/parser_parts.h"

namespace prefetch::doc {

namespace {

constexpr std::uint32_t kReplacement = 0xFFFD;

// Returns true for a character that stands for itself in a string.
bool IsOrdinary(char c) {
  return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\';
}

}  // namespace

// A recursive descent parser. The depth limit bounds the recursion. The parse ends at the first problem,
// since what follows a grammar mistake is a guess.
class JsonParser {
 public:
  JsonParser(std::string_view text, Problems& problems, JsonRules rules, const Limits& limits)
      : text_(text),
        columns_(text),
        problems_(problems),
        rules_(rules),
        limits_(LimitsFor(text.size(), limits)) {}

  // Reads the only value of the text. `take`, if there is one, gets the items of its list (ParseJsonList).
  std::optional<Node> Document(const TakeItem* take = nullptr) {
    Node root;
    root_ = &root;
    take_ = take;
    if (!Value(root, 0)) return std::nullopt;
    SkipSpace();
    if (at_ < text_.size()) {
      Fail("there is something behind the end of the document");
      return std::nullopt;
    }
    return root;
  }

  // Reads the next of several values. nullopt without a problem at the end of the text.
  std::optional<Node> Next() {
    SkipSpace();
    Node root;
    if (at_ == text_.size() || !Value(root, 0)) return std::nullopt;
    return root;
  }

  std::size_t offset() const { return at_; }
  std::size_t nodes() const { return nodes_; }
  bool out_of_range() const { return out_of_range_; }
  bool beyond_limits() const { return beyond_limits_ || out_of_range_; }
  // Columns count characters, while the parser counts bytes.
  Position Here() {
    return columns_.InCharacters(
        {static_cast<std::uint32_t>(line_), static_cast<std::uint32_t>(at_ - line_start_ + 1)});
  }

 private:
  bool Fail(std::string_view message) {
    problems_.Add(Here(), "", message);
    return false;
  }

  bool At(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool Take(char c) {
    if (!At(c)) return false;
    at_++;
    return true;
  }

  // The text may be valid for another parser, which has other limits than this one.
  bool FailBeyond(std::string_view message) {
    beyond_limits_ = true;
    return Fail(message);
  }

  void SkipSpace() {
    for (; at_ < text_.size(); at_++) {
      char c = text_[at_];
      if (c == '\n') {
        line_++;
        line_start_ = at_ + 1;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return;
      }
    }
  }

  bool Value(Node& node, std::size_t depth) {
    if (!ReadValue(node, depth)) return false;
    if (take_ == nullptr || at_ - part_begin_ <= limits_.bytes) return true;
    problems_.Add({}, "", "a part of it " + TooLong(limits_.bytes));
    return false;
  }

  bool ReadValue(Node& node, std::size_t depth) {
    SkipSpace();
    node.at = Here();
    if (++nodes_ > limits_.nodes) {
      return FailBeyond("has more than " + std::to_string(limits_.nodes) + " values");
    }
    if (at_ == text_.size()) return Fail(text_.empty() ? "is empty" : "ends too early");
    char c = text_[at_];
    if (c == '{' || c == '[') {
      if (depth == limits_.depth) {
        return FailBeyond("is nested deeper than " + std::to_string(limits_.depth) + " levels");
      }
      return c == '{' ? Object(node, depth + 1) : Array(node, depth + 1);
    }
    if (c == '"') {
      node.kind = Node::Kind::kString;
      return String(node.text);
    }
    if (c == '-' || base::IsDigit(c)) return Number(node);
    return Word(node);
  }

  bool Word(Node& node) {
    node.plain = true;
    for (std::string_view word : {"true", "false", "null"}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      node.kind = word == "null" ? Node::Kind::kNull : Node::Kind::kBool;
      node.boolean = word == "true";
      node.text = word;
      at_ += word.size();
      return true;
    }
    return Fail("is not a JSON value");
  }

  // Passes over digits; false if there is none.
  bool Digits() {
    std::size_t start = at_;
    while (at_ < text_.size() && base::IsDigit(text_[at_])) at_++;
    return at_ > start;
  }

  bool Number(Node& node) {
    std::size_t start = at_;
    bool whole = true;
    Take('-');
    if (!Take('0') && !Digits()) return Fail("is not a JSON number");
    if (Take('.')) {
      whole = false;
      if (!Digits()) return Fail("a JSON number needs digits behind its point");
    }
    if (Take('e') || Take('E')) {
      whole = false;
      if (!Take('+')) Take('-');
      if (!Digits()) return Fail("a JSON number needs digits in its exponent");
    }
    if (at_ < text_.size() && base::IsDigit(text_[at_])) return Fail("a JSON number has no leading zeros");
    node.plain = true;
    node.text = text_.substr(start, at_ - start);
    return Convert(node, whole);
  }

  // A whole number that does not fit 64 bits becomes a double.
  bool Convert(Node& node, bool whole) {
    const char* begin = node.text.data();
    const char* end = begin + node.text.size();
    if (whole && std::from_chars(begin, end, node.integer).ec == std::errc()) {
      node.kind = Node::Kind::kInt;
      return true;
    }
    node.kind = Node::Kind::kDouble;
    out_of_range_ = std::from_chars(begin, end, node.number).ec != std::errc();
    return !out_of_range_ || Fail("the number is out of range");
  }

  bool String(std::string& out) {
    if (!Take('"')) return Fail("a string in double quotes is expected here");
    while (true) {
      // Up to the next character that is not plain, at once.
      const std::size_t start = at_;
      while (at_ < text_.size() && IsOrdinary(text_[at_])) at_++;
      out.append(text_, start, at_ - start);
      if (at_ == text_.size()) break;
      const char c = text_[at_];
      if (c != '"' && c != '\\') return Fail("a control character in a string must be escaped");
      at_++;
      if (c == '"') return true;
      if (!Escape(out)) return false;
    }
    return Fail("the string has no end");
  }

  bool Escape(std::string& out) {
    static constexpr std::string_view kFrom = "\"\\/bfnrt";
    static constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
    if (Take('u')) return UnicodeEscape(out);
    std::size_t which = at_ < text_.size() ? kFrom.find(text_[at_]) : std::string_view::npos;
    if (which == std::string_view::npos) return Fail("is not an escape that JSON knows");
    at_++;
    out += kTo[which];
    return true;
  }

  std::optional<std::uint32_t> FourHex(std::size_t at) const {
    std::uint32_t value = 0;
    if (at + 4 > text_.size()) return std::nullopt;
    const char* begin = text_.data() + at;
    auto [end, error] = std::from_chars(begin, begin + 4, value, 16);
    if (error != std::errc() || end != begin + 4) return std::nullopt;
    return value;
  }

  // Two escapes in a row may be the halves of one character. A half alone is no character: Go's decoder puts
  // U+FFFD in its place, and the strict grammar rejects it.
  bool UnicodeEscape(std::string& out) {
    std::optional<std::uint32_t> first = FourHex(at_);
    if (!first) return Fail("\\u needs four hexadecimal digits");
    at_ += 4;
    if (*first < 0xD800 || *first > 0xDFFF) return base::AppendUtf8(out, *first), true;
    std::optional<std::uint32_t> second;
    if (*first < 0xDC00 && text_.substr(at_).starts_with("\\u")) second = FourHex(at_ + 2);
    if (second && *second >= 0xDC00 && *second <= 0xDFFF) {
      at_ += 6;
      return base::AppendUtf8(out, 0x10000 + ((*first - 0xD800) << 10) + (*second - 0xDC00)), true;
    }
    if (rules_ == JsonRules::kStrict) return Fail("half of a surrogate pair is not a character");
    return base::AppendUtf8(out, kReplacement), true;
  }

  // Returns true for the list whose items are passed on.
  bool IsList(const Node& node) const {
    if (take_ == nullptr) return false;
    const bool is_member = !root_->members.empty() && &node == &root_->members.back().value;
    return &node == root_ || (is_member && root_->members.back().key == "items");
  }

  // Reads an item of the list, and passes it on. An item has all the limits for itself.
  bool Item() {
    SkipSpace();
    const std::size_t other_nodes = nodes_ + 1, other_bytes = at_ - part_begin_;
    nodes_ = 0;
    part_begin_ = at_;
    Node item;
    if (!Value(item, 0)) return false;
    nodes_ = other_nodes;
    part_begin_ = at_ - other_bytes;
    (*take_)(item, *root_);
    return true;
  }

  bool Array(Node& node, std::size_t depth) {
    node.kind = Node::Kind::kSequence;
    at_++;
    SkipSpace();
    if (Take(']')) return true;
    const bool is_list = IsList(node);
    while (true) {
      if (!(is_list ? Item() : Value(node.items.emplace_back(), depth))) return false;
      SkipSpace();
      if (Take(']')) return true;
      if (!Take(',')) return Fail("a comma or ] is expected here");
    }
  }

  bool Object(Node& node, std::size_t depth) {
    node.kind = Node::Kind::kMapping;
    at_++;
    SkipSpace();
    if (Take('}')) return true;
    while (true) {
      Member& member = node.members.emplace_back();
      SkipSpace();
      member.at = Here();
      if (!String(member.key)) return false;
      SkipSpace();
      if (!Take(':')) return Fail("a colon is expected here");
      if (!Value(member.value, depth)) return false;
      SkipSpace();
      if (Take('}')) break;
      if (!Take(',')) return Fail("a comma or } is expected here");
    }
    // With these rules, callers get all members: the effect of a repeated key depends on the type that Go's
    // decoder fills (CheckGoTypes).
    if (rules_ == JsonRules::kGo) return true;
    const bool refuses = rules_ == JsonRules::kStrict || rules_ == JsonRules::kGoStrict;
    ResolveDuplicates(node, refuses ? Duplicates::kProblem : Duplicates::kLastCounts, problems_);
    return true;
  }

  std::string_view text_;
  Columns columns_;
  Problems& problems_;
  JsonRules rules_;
  Limits limits_;
  const TakeItem* take_ = nullptr;
  const Node* root_ = nullptr;
  std::size_t part_begin_ = 0;  // at_ - part_begin_ is the size so far of the item, or of all that is none
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t line_start_ = 0;
  std::size_t nodes_ = 0;
  bool out_of_range_ = false;
  bool beyond_limits_ = false;
};

JsonValues::JsonValues(std::string_view text, Problems& problems, const Limits& limits)
    : parser_(std::make_unique<JsonParser>(text, problems, JsonRules::kLenient, limits)) {}

JsonValues::~JsonValues() = default;

std::optional<Node> JsonValues::Next() {
  std::optional<Node> value = parser_->Next();
  if (!value) return std::nullopt;
  offset_ = parser_->offset();
  at_ = parser_->Here();
  return value;
}

bool JsonValues::out_of_range() const {
  return parser_->out_of_range();
}

std::size_t JsonValues::nodes() const {
  return parser_->nodes();
}

std::optional<Node> ParseJson(std::string_view text, Problems& problems, JsonRules rules,
                              const Limits& limits, bool* beyond_limits) {
  auto read = [&](std::string_view good) {
    JsonParser parser(good, problems, rules, limits);
    std::optional<Node> root = parser.Document();
    if (beyond_limits != nullptr) *beyond_limits = parser.beyond_limits();
    return root;
  };
  if (rules != JsonRules::kStrict && text.size() <= limits.bytes) {
    // Problems of the text itself are the grammar's to find: a raw control character stands in a string or is
    // no value. Go has no byte order mark either.
    std::string repaired;
    if (!base::IsUtf8(text)) text = repaired = base::ToUtf8(text);
    return read(text);
  }
  if (beyond_limits != nullptr) *beyond_limits = text.size() > limits.bytes;
  std::optional<std::string_view> checked = CheckText(text, limits.bytes, problems);
  if (!checked) return std::nullopt;
  return read(*checked);
}

std::optional<Node> ParseJsonList(std::string_view text, Problems& problems, const Limits& limits,
                                  const TakeItem& take) {
  std::string repaired;
  if (!base::IsUtf8(text)) text = repaired = base::ToUtf8(text);
  return JsonParser(text, problems, JsonRules::kLenient, limits).Document(&take);
}

Node ParseOrNull(std::string_view text) {
  Problems ignored("document");
  const Limits limits{.bytes = text.size(), .depth = 64, .nodes = 100'000};
  return ParseJson(text, ignored, JsonRules::kLenient, limits).value_or(Node());
}

namespace {

constexpr std::array<std::string_view, 6> kPublicMembers = {
    "kind", "apiVersion", "cacheKeyType", "cacheDuration", "username", "expirationTimestamp"};

void Collect(const Node& node, std::vector<base::Secret>& out) {
  if (node.kind == Node::Kind::kString) out.emplace_back(node.text);
  for (const Node& item : node.items) Collect(item, out);
  for (const Member& member : node.members) {
    if (std::find(kPublicMembers.begin(), kPublicMembers.end(), member.key) == kPublicMembers.end()) {
      Collect(member.value, out);
    }
  }
}

}  // namespace

void WipeNode(doc::Node& node) {
  base::WipeString(node.text);
  for (doc::Node& item : node.items) WipeNode(item);
  for (doc::Member& member : node.members) WipeNode(member.value);
}

std::vector<base::Secret> SecretStrings(std::string_view json) {
  std::vector<base::Secret> secrets;
  Problems ignored("output");
  if (auto tree = ParseJson(json, ignored, JsonRules::kLenient)) {
    const SecretNode root(*std::move(tree));
    Collect(root.node, secrets);
  }
  return secrets;
}

}  // namespace prefetch::doc
