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
  JsonParser(std::string_view text, Problems& problems, JsonRules rules, const Limits& limits, Position begin)
      : text_(text),
        columns_(text),
        problems_(problems),
        rules_(rules),
        limits_(LimitsFor(text.size(), limits)),
        begin_(begin) {}

  // Reads the only value of the text.
  std::optional<Node> Document() {
    Node root;
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
  // Columns count characters, while the parser counts bytes. The text may begin within another document
  // (`begin_`).
  Position Here() {
    Position here = columns_.InCharacters(
        {static_cast<std::uint32_t>(line_), static_cast<std::uint32_t>(at_ - line_start_ + 1)});
    if (here.line == 1) here.column += begin_.column - 1;
    here.line += begin_.line - 1;
    return here;
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

  bool Array(Node& node, std::size_t depth) {
    node.kind = Node::Kind::kSequence;
    at_++;
    SkipSpace();
    if (Take(']')) return true;
    while (true) {
      if (!Value(node.items.emplace_back(), depth)) return false;
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
  Position begin_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t line_start_ = 0;
  std::size_t nodes_ = 0;
  bool out_of_range_ = false;
  bool beyond_limits_ = false;
};

JsonValues::JsonValues(std::string_view text, Problems& problems, const Limits& limits)
    : parser_(std::make_unique<JsonParser>(text, problems, JsonRules::kLenient, limits, Position{1, 1})) {}

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
                              const Limits& limits, Position begin, bool* beyond_limits) {
  auto read = [&](std::string_view good) {
    JsonParser parser(good, problems, rules, limits, begin);
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

Node ParseOrNull(std::string_view text, const Limits& limits) {
  Problems ignored("document");
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

namespace {

// Returns how many leading bytes are plain in a string: they neither end it nor escape anything.
std::size_t PlainIn(std::string_view bytes) {
  std::size_t count = 0;
  while (count < bytes.size() && IsOrdinary(bytes[count])) count++;
  return count;
}

bool IsBlank(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

}  // namespace

void JsonItems::Feed(std::string_view bytes) {
  while (!bytes.empty()) {
    // Most bytes are plain ones in strings, so these are copied in one step.
    const std::size_t plain = in_string_ && !escaped_ && in_item_ ? PlainIn(bytes) : 0;
    if (plain == 0) {
      Byte(bytes.front());
      bytes.remove_prefix(1);
      continue;
    }
    const std::size_t room = most_bytes_ - std::min(item_.size(), most_bytes_);
    // Bytes beyond the limit are dropped and noted; the structure is followed to the end.
    truncated_ = truncated_ || plain > room;
    item_.append(bytes.substr(0, std::min(plain, room)));
    here_.column += static_cast<std::uint32_t>(CharactersIn(bytes.substr(0, plain)));
    bytes.remove_prefix(plain);
  }
}

void JsonItems::Keep(std::string& text, char c) {
  if (text.size() == most_bytes_) {
    truncated_ = true;
  } else {
    text += c;
  }
}

void JsonItems::Byte(char c) {
  if (in_string_) {
    Keep(in_item_ ? item_ : rest_, c);
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
      after_items_ = in_key_ && key_ == "items";
      in_key_ = false;
      if (in_item_ && depth_ == items_depth_) End();
    }
    if (in_key_ && key_.size() < 8) key_ += c;
  } else {
    Structure(c);
  }
  if (c == '\n') {
    if (in_item_) Keep(rest_, c);  // Keeps the line numbers of the rest equal to those of the document.
    here_ = {here_.line + 1, 1};
  } else if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) {
    here_.column++;
  }
}

void JsonItems::Begin(char c) {
  in_item_ = true;
  item_at_ = here_;
  // A placeholder keeps the rest valid JSON.
  Keep(rest_, '0');
  Keep(item_, c);
}

void JsonItems::End() {
  in_item_ = false;
  take_(item_, item_at_);
  item_.clear();
}

void JsonItems::Structure(char c) {
  const bool opens = c == '{' || c == '[', closes = c == '}' || c == ']';
  // Only the next byte ends a number or a word.
  if (in_item_ && depth_ == items_depth_ && (closes || c == ',' || IsBlank(c))) End();
  if (closes) {
    if (depth_ > 0) depth_--;
    Keep(in_item_ ? item_ : rest_, c);
    if (in_item_ && depth_ == items_depth_) End();
    if (!in_item_ && items_depth_ > 0 && depth_ < items_depth_) items_depth_ = 0;
    return;
  }
  if (items_depth_ > 0 && depth_ == items_depth_ && !in_item_ && !IsBlank(c) && c != ',') {
    Begin(c);
  } else {
    Keep(in_item_ ? item_ : rest_, c);
  }
  if (opens) {
    // The list is the value of the top-level `items`, or the document itself.
    const bool list = c == '[' && items_depth_ == 0 && ((depth_ == 1 && after_items_) || depth_ == 0);
    depth_++;
    if (list) items_depth_ = depth_;
    seen_items_ = seen_items_ || list;
  }
  if (c == '"') {
    in_string_ = true;
    in_key_ = depth_ == 1 && items_depth_ == 0;
    key_.clear();
  }
  if (c != ':' && !IsBlank(c)) after_items_ = false;
}

}  // namespace prefetch::doc
