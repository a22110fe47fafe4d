#include "doc/kubernetes_yaml.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/enum_name.h"
#include "base/text.h"
#include "doc/go_types.h"
#include "doc/json.h"
#include "doc/node.h"
#include "doc/parser_parts.h"
#include "doc/yaml.h"
#include "doc/yaml_stream.h"

namespace prefetch::doc {

namespace {

// Scalars of YAML 1.1 as go-yaml v2 resolves them.

// One scalar as it was written.
struct WrittenScalar {
  std::string_view tag;   // empty: none
  std::string_view text;  // without quotes
  bool plain = false;     // may be something else than a string
};

enum class ScalarType { kNull, kBool, kInt, kUnsigned, kFloat, kString };

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
  const bool is_true = base::IsOneOf(word, {"true", "True", "TRUE"});
  if (IsYamlNull(word)) {
    node.kind = Node::Kind::kNull;
    type = Type::kNull;
  } else if (is_true || base::IsOneOf(word, {"false", "False", "FALSE"}) || IsYaml11Boolean(word)) {
    node.kind = Node::Kind::kBool;
    node.boolean = is_true || base::IsOneOf(word, {"y", "Y", "yes", "Yes", "YES", "on", "On", "ON"});
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
  std::optional<std::string> bytes = DecodeGoBase64(std::string(text));
  node.kind = Node::Kind::kString;
  if (bytes) node.text = base::ToUtf8(*bytes);
  return bytes ? "" : "is no base64, which its tag !!binary says";
}

// Sets `node`'s kind and value; its text is the written one. `error` says why the tag and the text do not
// fit, and else stays empty. A tag wins over the text's own look. Quoted text without a tag is always a
// string.
ScalarType ResolveKubernetesScalar(const WrittenScalar& scalar, Node& node, std::string& error) {
  node.text = scalar.text;
  node.plain = scalar.plain && scalar.tag.empty();
  const bool own = scalar.tag.starts_with(kYamlTags);
  const std::string_view type_name = own ? scalar.tag.substr(kYamlTags.size()) : "";
  if (type_name == "binary") {
    error = SetBinary(scalar.text, node);
    return Type::kString;
  }
  const bool converts = base::IsOneOf(type_name, {"bool", "int", "float", "null", "timestamp"});
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

// Makes whole floats integers, as readers of JSON see them (1.0 becomes 1), and the text of others a number
// of JSON.
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

// Sets the key that JSON has for a scalar. Returns false if it has none: null, and numbers beyond 63 bits.
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

using Index = std::uint32_t;
constexpr Index kNoIndex = ~Index{0};

// A node as it was written. Aliases and merges are resolved after the document's end, as in go-yaml.
struct WrittenNode {
  enum class Kind { kScalar, kSequence, kMapping, kAlias };
  Kind kind = Kind::kScalar;
  bool plain = false;
  Position at;
  std::string tag;
  std::string text;
  std::vector<Index> children;  // of a mapping: key, value, key, value …
  Index alias = kNoIndex;
};

// Collects the events of one document. Memory is bounded by the limits of nodes and depth before anything is
// decoded.
class WrittenDocument : LimitedReader {
 public:
  WrittenDocument(Problems& problems, const Limits& limits, LimitUsage& usage)
      : LimitedReader(problems, limits, usage) {}

  // Returns false, with the problem added, after a mistake. `at` is the place of the event.
  bool Take(const yaml_event_t& event, Position at) {
    switch (event.type) {
      case YAML_SCALAR_EVENT: {
        const auto& scalar = event.data.scalar;
        WrittenNode node{.plain = scalar.plain_implicit != 0, .at = at, .tag = TextOf(scalar.tag)};
        node.text.assign(reinterpret_cast<const char*>(scalar.value), scalar.length);
        return CheckTagLength(node.tag, at) && Add(std::move(node), TextOf(scalar.anchor)) != kNoIndex;
      }
      case YAML_ALIAS_EVENT: {
        const auto found = anchors_.find(TextOf(event.data.alias.anchor));
        if (found == anchors_.end()) return Stop(at, "the referenced anchor is not defined");
        return Add({.kind = WrittenNode::Kind::kAlias, .at = at, .alias = found->second}, "") != kNoIndex;
      }
      case YAML_SEQUENCE_START_EVENT:
        return Begin(WrittenNode::Kind::kSequence, TextOf(event.data.sequence_start.anchor), at);
      case YAML_MAPPING_START_EVENT:
        return Begin(WrittenNode::Kind::kMapping, TextOf(event.data.mapping_start.anchor), at);
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        open_.pop_back();
        return true;
      case YAML_DOCUMENT_START_EVENT: {
        const yaml_version_directive_t* version = event.data.document_start.version_directive;
        return version == nullptr || (version->major == 1 && version->minor == 1) ||
               Stop(at, "is of a version of YAML that Kubernetes does not read; leave %YAML out");
      }
      case YAML_NO_EVENT:
      case YAML_STREAM_START_EVENT:
      case YAML_STREAM_END_EVENT:
      case YAML_DOCUMENT_END_EVENT:
        return true;
    }
    return true;
  }

  const WrittenNode& operator[](Index index) const { return nodes_[index]; }
  bool empty() const { return nodes_.empty(); }

 private:
  Index Add(WrittenNode node, const std::string& anchor) {
    if (usage_.nodes + nodes_.size() >= limits_.nodes) {
      Stop(node.at, "has more than " + std::to_string(limits_.nodes) + " values");
      return kNoIndex;
    }
    const auto index = static_cast<Index>(nodes_.size());
    MakeRoom(nodes_, limits_.nodes);
    nodes_.push_back(std::move(node));
    if (!anchor.empty()) anchors_[anchor] = index;
    if (!open_.empty()) nodes_[open_.back()].children.push_back(index);
    return index;
  }

  bool Begin(WrittenNode::Kind kind, const std::string& anchor, Position at) {
    if (open_.size() == limits_.depth) return TooDeep(at);
    const Index index = Add({.kind = kind, .at = at}, anchor);
    open_.push_back(index);
    return index != kNoIndex;
  }

  std::vector<WrittenNode> nodes_;  // the first is the root
  std::vector<Index> open_;
  std::map<std::string, Index> anchors_;
};

// Makes the tree that the written document means: resolves aliases, merges and scalars. An alias copies its
// node, so a short document can become a huge tree. CountNode() therefore limits what is copied.
class Decoder : LimitedReader {
 public:
  Decoder(const WrittenDocument& written, Problems& problems, RepeatedKeys repeated, const Limits& limits,
          LimitUsage& usage)
      : LimitedReader(problems, limits, usage), written_(written), repeated_(repeated) {}

  // Returns false, with the problem added, if the document cannot be read. An alias has its own place, and
  // what is within it has the place where it was written.
  bool Decode(Index index, Position at, std::size_t depth, Node& node) {
    const WrittenNode& from = written_[index];
    if (!CountNode(from, at)) return false;
    if (from.kind == WrittenNode::Kind::kAlias) {
      return ThroughAlias(index, at, [&] { return Decode(from.alias, at, depth, node); });
    }
    node.at = at;
    std::string error;
    switch (from.kind) {
      case WrittenNode::Kind::kScalar:
        ResolveKubernetesScalar({from.tag, from.text, from.plain}, node, error);
        FinishNumber(node);
        return error.empty() || Stop(at, error);
      case WrittenNode::Kind::kSequence:
        if (depth == limits_.depth) return TooDeep(at);
        node.kind = Node::Kind::kSequence;
        node.items.reserve(from.children.size());
        for (Index child : from.children) {
          if (!Decode(child, written_[child].at, depth + 1, node.items.emplace_back())) return false;
        }
        return true;
      case WrittenNode::Kind::kMapping: {
        if (depth == limits_.depth) return TooDeep(at);
        node.kind = Node::Kind::kMapping;
        node.members.reserve(from.children.size() / 2);
        Keys keys;
        return Members(from, depth, node, keys);
      }
      case WrittenNode::Kind::kAlias:
        break;
    }
    return false;
  }

 private:
  struct Key {
    ScalarType type;
    std::size_t member;
  };
  // The keys of one mapping, as JSON has them.
  using Keys = std::map<std::string, Key>;

  // go-yaml's own bound for documents that are mostly aliases, and ours.
  bool CountNode(const WrittenNode& from, Position at) {
    decoded_++;
    if (!active_.empty()) aliased_++;
    if (aliased_ > 100 && decoded_ > 1000 && aliased_ > decoded_ * 99 / 100) {
      return Stop(at, "has too many aliases");
    }
    return Count(at, 1, active_.empty() ? 0 : from.text.size());
  }

  template <typename Work>
  bool ThroughAlias(Index alias, Position at, Work work) {
    if (std::find(active_.begin(), active_.end(), alias) != active_.end()) {
      return Stop(at, "an alias must not name a node that contains it");
    }
    active_.push_back(alias);
    const bool good = work();
    active_.pop_back();
    return good;
  }

  bool Members(const WrittenNode& from, std::size_t depth, Node& node, Keys& keys) {
    for (std::size_t i = 0; i + 1 < from.children.size(); i += 2) {
      const Index key = from.children[i];
      const Index value = from.children[i + 1];
      const WrittenNode& written = written_[key];
      const bool merges = written.kind == WrittenNode::Kind::kScalar && written.text == "<<" &&
                          (written.plain || written.tag == "tag:yaml.org,2002:merge");
      if (merges ? !Merge(value, depth, node, keys) : !AddMember(key, value, depth, node, keys)) return false;
    }
    return true;
  }

  // Decodes one member. Keys are compared as JSON has them, so 1 and "1" are one key. Kubernetes takes either
  // of the two, so the document is rejected.
  bool AddMember(Index key, Index value, std::size_t depth, Node& node, Keys& keys) {
    Member member{.at = written_[key].at};
    ScalarType type = ScalarType::kString;
    if (!DecodeKey(key, member.at, type, member.key)) return false;
    if (!Decode(value, written_[value].at, depth + 1, member.value)) return false;
    const auto [found, is_new] = keys.emplace(member.key, Key{type, node.members.size()});
    if (is_new) {
      usage_.copied_bytes += active_.empty() ? 0 : member.key.size();
      node.members.push_back(std::move(member));
      return true;
    }
    Member& first = node.members[found->second.member];
    if (found->second.type != type) {
      return Stop(member.at, "a number or boolean and a string are the same key; Kubernetes takes either");
    }
    if (repeated_ == RepeatedKeys::kProblem) AddDuplicateKey(member, first.at, problems_);
    first = std::move(member);
    return true;
  }

  bool DecodeKey(Index index, Position at, ScalarType& type, std::string& key) {
    const WrittenNode& from = written_[index];
    if (!CountNode(from, at)) return false;
    if (from.kind == WrittenNode::Kind::kAlias) {
      return ThroughAlias(index, at, [&] { return DecodeKey(from.alias, at, type, key); });
    }
    if (from.kind != WrittenNode::Kind::kScalar) return Stop(at, "a key must be a string");
    Node scalar;
    std::string error;
    type = ResolveKubernetesScalar({from.tag, from.text, from.plain}, scalar, error);
    if (!error.empty()) return Stop(at, error);
    return KeyOfScalar(type, scalar, key) || Stop(at, "a key must be a string");
  }

  bool MergeOne(Index index, std::size_t depth, Node& node, Keys& keys) {
    const WrittenNode& from = written_[index];
    const WrittenNode& target = from.kind == WrittenNode::Kind::kAlias ? written_[from.alias] : from;
    if (target.kind != WrittenNode::Kind::kMapping) return Stop(from.at, "<< must name mappings");
    if (!CountNode(from, from.at)) return false;
    if (from.kind != WrittenNode::Kind::kAlias) return Members(target, depth, node, keys);
    return ThroughAlias(index, from.at,
                        [&] { return CountNode(target, from.at) && Members(target, depth, node, keys); });
  }

  // The first of several merged mappings counts. Later members replace earlier ones, so the first comes last.
  bool Merge(Index index, std::size_t depth, Node& node, Keys& keys) {
    const WrittenNode& from = written_[index];
    if (from.kind != WrittenNode::Kind::kSequence) return MergeOne(index, depth, node, keys);
    for (auto child = from.children.rbegin(); child != from.children.rend(); ++child) {
      if (!MergeOne(*child, depth, node, keys)) return false;
    }
    return true;
  }

  const WrittenDocument& written_;
  RepeatedKeys repeated_;
  std::vector<Index> active_;  // aliases that are being decoded
  std::size_t decoded_ = 0;
  std::size_t aliased_ = 0;
};

// Finds what libyaml reads, and go-yaml rejects or reads otherwise. libyaml does the parsing here, and
// Kubernetes uses go-yaml, so a document that passes must mean the same for both.
class GoDifferences {
 public:
  GoDifferences(std::string_view text, Position begin, Problems& problems)
      : text_(text), problems_(problems), mark_at_{begin.line, 1} {
    FindMark(0);
  }

  // Returns false, with the problem added, if `event` is such a difference. It must get every event, in
  // order.
  bool Allows(const yaml_event_t& event, Position at, std::uint32_t last_line) {
    if (event.type == YAML_SEQUENCE_START_EVENT) {
      flow_.push_back(event.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE);
    } else if (event.type == YAML_MAPPING_START_EVENT) {
      flow_.push_back(event.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE);
    } else if (event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT) {
      flow_.pop_back();
    } else if (event.type == YAML_SCALAR_EVENT) {
      const auto& scalar = event.data.scalar;
      const std::string_view value(reinterpret_cast<const char*>(scalar.value), scalar.length);
      const bool in_flow = !flow_.empty() && flow_.back();
      if (in_flow && scalar.style == YAML_PLAIN_SCALAR_STYLE && value.find('?') != std::string_view::npos) {
        return Stop(at, "a word with ? must be quoted between brackets or braces");
      }
      if (in_flow && scalar.tag != nullptr && TagHoldsComma(event)) {
        return Stop(at, "a tag between brackets or braces must end with a space");
      }
      if (scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE && EscapesSlash(event)) {
        return Stop(at, "\\/ is not an escape of Kubernetes' YAML");
      }
    }
    return CheckMarks(last_line);
  }

  // libyaml skips a byte order mark at the beginning of any line; go-yaml takes it for a letter.
  bool CheckMarks(std::uint32_t last_line) {
    while (mark_ < text_.size() && mark_at_.line <= last_line) {
      const bool begins_line = mark_ == 0 || text_[mark_ - 1] == '\n' || text_[mark_ - 1] == '\r';
      if (begins_line) return Stop(mark_at_, "there is a byte order mark within the document");
      FindMark(mark_ + 1);
    }
    return true;
  }

 private:
  bool Stop(Position at, std::string_view message) {
    problems_.Add(at, "", message);
    return false;
  }

  // Goes on from the last mark, so each byte is examined once.
  void FindMark(std::size_t from) {
    const std::size_t next = std::min(text_.find(kByteOrderMark, from), text_.size());
    const std::string_view between = text_.substr(mark_, next - mark_);
    mark_at_.line += static_cast<std::uint32_t>(std::count(between.begin(), between.end(), '\n'));
    mark_ = next;
  }

  // Returns the offset of a character. Calls must be in the order of the text, so that it is passed over
  // once.
  std::size_t OffsetOf(std::size_t character) {
    for (; offset_ < text_.size(); offset_++) {
      const bool begins = (static_cast<unsigned char>(text_[offset_]) & 0xC0) != 0x80;
      if (begins && characters_ == character) break;
      if (begins) characters_++;
    }
    return offset_;
  }

  // The comma or bracket behind a tag is a part of it for go-yaml.
  bool TagHoldsComma(const yaml_event_t& event) {
    for (std::string_view rest = text_.substr(OffsetOf(event.start_mark.index));
         rest.starts_with('!') || rest.starts_with('&');) {
      const std::string_view property = rest.substr(0, rest.find_first_of(" \t\r\n"));
      if (property.find_first_of(",[]") != std::string_view::npos) return true;
      rest.remove_prefix(property.size());
      rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r\n"), rest.size()));
    }
    return false;
  }

  bool EscapesSlash(const yaml_event_t& event) {
    if (!has_escaped_slash_) return false;
    const std::size_t begin = OffsetOf(event.start_mark.index);
    const std::string_view written = text_.substr(begin, OffsetOf(event.end_mark.index) - begin);
    for (std::size_t i = 0; i + 1 < written.size(); i++) {
      if (written[i] != '\\') continue;
      if (written[++i] == '/') return true;
    }
    return false;
  }

  std::string_view text_;
  Problems& problems_;
  std::vector<bool> flow_;  // of the open sequences and mappings
  std::size_t offset_ = 0, characters_ = 0;
  const bool has_escaped_slash_ = text_.find("\\/") != std::string_view::npos;
  std::size_t mark_ = 0;  // the next byte order mark, and its place
  Position mark_at_;
};

bool HasOnlyJsonNumbers(const Node& node, Problems& problems) {
  if (node.kind == Node::Kind::kDouble && !std::isfinite(node.number)) {
    problems.Add(node.at, "", "is a number that JSON does not have");
    return false;
  }
  return std::all_of(node.items.begin(), node.items.end(),
                     [&](const Node& item) { return HasOnlyJsonNumbers(item, problems); }) &&
         std::all_of(node.members.begin(), node.members.end(),
                     [&](const Member& member) { return HasOnlyJsonNumbers(member.value, problems); });
}

}  // namespace

std::optional<Node> ReadKubernetesDocument(std::string_view text, Position begin, Problems& problems,
                                           RepeatedKeys repeated, TrailingText trailing, const Limits& limits,
                                           LimitUsage& usage) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  WrittenDocument written(problems, limits, usage);
  GoDifferences differences(text, begin, problems);
  YamlStream stream(text, begin);
  while (const yaml_event_t* event = stream.Next()) {
    const Position at = stream.PlaceOf(event->start_mark);
    if (!differences.Allows(*event, at, stream.PlaceOf(event->end_mark).line)) return std::nullopt;
    if (event->type != YAML_DOCUMENT_END_EVENT && event->type != YAML_STREAM_END_EVENT) {
      if (!written.Take(*event, at)) return std::nullopt;
      continue;
    }
    Node root;
    root.at = begin;
    if (written.empty()) return root;
    Decoder decoder(written, problems, repeated, limits, usage);
    if (!decoder.Decode(0, written[0].at, 0, root) || !HasOnlyJsonNumbers(root, problems))
      return std::nullopt;
    event =
        trailing == TrailingText::kProblem && event->type == YAML_DOCUMENT_END_EVENT ? stream.Next() : event;
    if (event != nullptr && event->type != YAML_DOCUMENT_START_EVENT) return root;
    problems.Add(event == nullptr ? stream.error_at() : stream.PlaceOf(event->start_mark), "",
                 "kubectl does not read what is behind the end of a document; put --- before it");
    return std::nullopt;
  }
  if (differences.CheckMarks(stream.error_at().line)) problems.Add(stream.error_at(), "", stream.error());
  return std::nullopt;
}

std::optional<Node> ReadKubernetesYaml(std::string_view text, Problems& problems, RepeatedKeys repeated,
                                       const Limits& limits) {
  if (text.size() > limits.bytes) {
    problems.Add({}, "", TooLong(limits.bytes));
    return std::nullopt;
  }
  const Limits fitting = LimitsFor(text.size(), limits);
  // YAML refuses the control character that stands for half a character.
  const std::optional<std::string> wide = Utf8OfUtf16(text, "\1");
  LimitUsage usage;
  return ReadKubernetesDocument(wide ? *wide : text, {1, 1}, problems, repeated, TrailingText::kIgnored,
                                fitting, usage);
}

std::size_t GoSpaceAt(std::string_view text) {
  // The spaces of Go's unicode.IsSpace.
  static constexpr std::string_view kSpaces[] = {
      " ",      "\t",     "\n",     "\v",     "\f",     "\r",     "\u0085", "\u00A0", "\u1680",
      "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006", "\u2007", "\u2008",
      "\u2009", "\u200A", "\u2028", "\u2029", "\u202F", "\u205F", "\u3000"};
  const auto* space = std::find_if(std::begin(kSpaces), std::end(kSpaces),
                                   [&](std::string_view one) { return text.starts_with(one); });
  return space == std::end(kSpaces) ? 0 : space->size();
}

std::optional<std::int64_t> ParseGoInteger(std::string_view text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); i++) {
    // An underscore stands between two digits, or behind the prefix, and letters are digits behind 0x alone.
    const auto is_digit = [&](char c) {
      return base::IsDigit(c) || (base::IsAlphanumeric(c) && digits.find_first_of("xX") != std::string::npos);
    };
    const bool parts = text[i] == '_' && i > 0 && i + 1 < text.size() && base::IsAlphanumeric(text[i - 1]) &&
                       is_digit(text[i + 1]);
    if (!parts) digits += text[i];
  }
  const std::optional<Whole> whole = ParseWhole(digits, 0);
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (!whole || whole->size > kMost + (whole->negative ? 1 : 0)) return std::nullopt;
  return static_cast<std::int64_t>(whole->negative ? 0 - whole->size : whole->size);
}

bool LooksLikeJson(std::string_view text) {
  while (const std::size_t space = GoSpaceAt(text)) text.remove_prefix(space);
  return text.starts_with("{");
}

// Kubernetes reads a text that begins with { as JSON, and everything else as YAML. The difference matters for
// repeated keys and for numbers.
std::optional<KubernetesObject> ReadKubernetesObject(std::string_view text, Problems& problems,
                                                     RepeatedKeys repeated) {
  const bool json = LooksLikeJson(text);
  const JsonRules rules = repeated == RepeatedKeys::kProblem ? JsonRules::kGoStrict : JsonRules::kGo;
  std::optional<Node> root =
      json ? ParseJson(text, problems, rules) : ReadKubernetesYaml(text, problems, repeated);
  if (!root) return std::nullopt;
  return KubernetesObject{*std::move(root), json ? KeyOrder::kText : KeyOrder::kAlphabet};
}

}  // namespace prefetch::doc
