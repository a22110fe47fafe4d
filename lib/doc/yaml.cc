#include "doc/yaml.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <map>
#include <string>

#include "base/enum_name.h"
#include "doc/parser_parts.h"
#include "doc/yaml_stream.h"

namespace prefetch::doc {

namespace {

constexpr std::string_view kStringTag = "tag:yaml.org,2002:str";

// The cost of copying a node. Aliases of aliases grow exponentially (the "billion laughs"), so each copy is
// weighed before it is made.
struct Weight {
  std::size_t nodes = 1;
  std::size_t bytes = 0;
  std::size_t depth = 0;
};

Weight WeightOf(const Node& node) {
  Weight sum;
  auto add = [&sum](const Node& child) {
    Weight weight = WeightOf(child);
    sum.nodes += weight.nodes;
    sum.bytes += weight.bytes;
    sum.depth = std::max(sum.depth, weight.depth);
  };
  for (const Node& item : node.items) add(item);
  for (const Member& member : node.members) {
    add(member.value);
    sum.bytes += member.key.size();
  }
  sum.bytes += node.text.size();
  sum.depth += node.kind == Node::Kind::kSequence || node.kind == Node::Kind::kMapping ? 1 : 0;
  return sum;
}

// Builds the trees of consecutive documents from the stream's events.
class TreeBuilder : LimitedReader {
 public:
  TreeBuilder(Problems& problems, const Limits& limits, LimitUsage& usage)
      : LimitedReader(problems, limits, usage) {}

  // Returns false, and adds the problem, if a limit is reached or an alias has no anchor. The event stands at
  // `at`.
  bool Take(const yaml_event_t& event, Position at) {
    switch (event.type) {
      case YAML_DOCUMENT_START_EVENT:
        root_ = {};
        anchors_.clear();
        return true;
      case YAML_SCALAR_EVENT:
        return Scalar(event, at);
      case YAML_ALIAS_EVENT:
        return Alias(TextOf(event.data.alias.anchor), at);
      case YAML_SEQUENCE_START_EVENT:
        return Begin(Node::Kind::kSequence, TextOf(event.data.sequence_start.tag),
                     TextOf(event.data.sequence_start.anchor), at);
      case YAML_MAPPING_START_EVENT:
        return Begin(Node::Kind::kMapping, TextOf(event.data.mapping_start.tag),
                     TextOf(event.data.mapping_start.anchor), at);
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        return End();
      case YAML_NO_EVENT:
      case YAML_STREAM_START_EVENT:
      case YAML_STREAM_END_EVENT:
      case YAML_DOCUMENT_END_EVENT:
        return true;
    }
    return true;
  }

  Node TakeRoot() { return std::move(root_); }

 private:
  // A sequence or mapping that has begun and not ended.
  struct Open {
    Node node;
    std::string anchor;
    bool has_key = false;  // a key was read, its value comes next
  };

  bool CheckTag(const std::string& tag, Position at) {
    if (!CheckTagLength(tag, at)) return false;
    if (!tag.empty() && tag != "!") problems_.Add(at, "", "tags such as !x are not supported");
    return true;
  }

  bool Scalar(const yaml_event_t& event, Position at) {
    const auto& scalar = event.data.scalar;
    Node node;
    node.at = at;
    node.kind = Node::Kind::kString;
    node.text.assign(reinterpret_cast<const char*>(scalar.value), scalar.length);
    const std::string tag = TextOf(scalar.tag);
    if (tag.empty() && scalar.style == YAML_PLAIN_SCALAR_STYLE) {
      ResolvePlain(node);
    } else if (tag != kStringTag && !CheckTag(tag, at)) {
      return false;
    }
    return Finish(TextOf(scalar.anchor), std::move(node));
  }

  bool Alias(const std::string& anchor, Position at) {
    auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      const bool inside =
          std::any_of(open_.begin(), open_.end(), [&](const Open& open) { return open.anchor == anchor; });
      return Stop(at, inside ? "an alias must not name a node that contains it"
                             : "the referenced anchor is not defined");
    }
    Weight weight = WeightOf(found->second);
    if (open_.size() + weight.depth > limits_.depth) return TooDeep(at);
    if (!Count(at, weight.nodes - 1, weight.bytes)) return false;  // Finish counts the copy itself
    Node copy = found->second;
    copy.at = at;
    return Finish("", std::move(copy));
  }

  bool Begin(Node::Kind kind, const std::string& tag, std::string anchor, Position at) {
    if (open_.size() == limits_.depth) return TooDeep(at);
    if (!CheckTag(tag, at)) return false;
    Open open;
    open.node.kind = kind;
    open.node.at = at;
    open.anchor = std::move(anchor);
    // An alias inside a node cannot refer to that node. Without this, it would refer to an earlier node with
    // the same anchor.
    anchors_.erase(open.anchor);
    open_.push_back(std::move(open));
    return true;
  }

  bool End() {
    Open open = std::move(open_.back());
    open_.pop_back();
    if (open.node.kind == Node::Kind::kMapping) {
      ResolveDuplicates(open.node, Duplicates::kProblem, problems_);
    }
    return Finish(open.anchor, std::move(open.node));
  }

  // Adds a complete node to its parent.
  bool Finish(const std::string& anchor, Node node) {
    // A key is a part of its member.
    const bool is_key =
        !open_.empty() && open_.back().node.kind == Node::Kind::kMapping && !open_.back().has_key;
    if (!Count(node.at, 1, 0)) return false;  // Counted before any memory is allocated for a member.
    if (is_key) usage_.nodes--;
    if (!anchor.empty()) {
      // The anchor keeps a copy, which counts like an alias.
      const Weight weight = WeightOf(node);
      if (!Count(node.at, weight.nodes, weight.bytes)) return false;
      anchors_[anchor] = node;
    }
    if (open_.empty()) {
      root_ = std::move(node);
    } else if (open_.back().node.kind == Node::Kind::kSequence) {
      open_.back().node.items.push_back(std::move(node));
    } else if (is_key) {
      AddKey(std::move(node));
    } else {
      open_.back().node.members.back().value = std::move(node);
      open_.back().has_key = false;
    }
    return true;
  }

  void AddKey(Node key) {
    bool scalar = key.kind != Node::Kind::kSequence && key.kind != Node::Kind::kMapping;
    if (!scalar || key.kind == Node::Kind::kNull) problems_.Add(key.at, "", "a key must be a string");
    Open& open = open_.back();
    if (key.plain && key.text == "<<") problems_.Add(key.at, "", "merge keys (<<) are not supported");
    open.node.members.push_back({std::move(key.text), key.at, {}});
    open.has_key = true;
  }

  Node root_;
  std::vector<Open> open_;
  std::map<std::string, Node> anchors_;
};

enum class Expect { kOne, kMany };

std::optional<std::vector<Node>> ParseDocuments(std::string_view text, Problems& problems,
                                                const Limits& limits, Expect expect) {
  std::optional<std::string_view> checked = CheckText(text, limits.bytes, problems);
  if (!checked) return std::nullopt;
  std::vector<Node> documents;
  std::size_t count = 0;
  LimitUsage usage;
  TreeBuilder builder(problems, LimitsFor(text.size(), limits), usage);
  YamlStream stream(*checked);
  while (const yaml_event_t* event = stream.Next()) {
    if (event->type == YAML_STREAM_END_EVENT) return documents;
    if (event->type == YAML_DOCUMENT_START_EVENT && count++ > 0 && expect == Expect::kOne) {
      problems.Add(stream.PlaceOf(event->start_mark), "",
                   "a second document begins here; only one is allowed");
      return std::nullopt;
    }
    if (!builder.Take(*event, stream.PlaceOf(event->start_mark))) return std::nullopt;
    if (event->type != YAML_DOCUMENT_END_EVENT) continue;
    Node root = builder.TakeRoot();
    // "---" at the end of a text begins an empty document, which is none.
    if (expect == Expect::kMany && root.kind == Node::Kind::kNull) continue;
    documents.push_back(std::move(root));
  }
  problems.Add(stream.error_at(), "", stream.error());
  return std::nullopt;
}

}  // namespace

std::optional<Node> ParseYaml(std::string_view text, Problems& problems, const Limits& limits) {
  auto documents = ParseDocuments(text, problems, limits, Expect::kOne);
  if (!documents) return std::nullopt;
  if (!documents->empty()) return std::move(documents->front());
  Node nothing;
  nothing.at = {1, 1};
  return nothing;
}

std::optional<std::vector<Node>> ParseYamlDocuments(std::string_view text, Problems& problems,
                                                    const Limits& limits) {
  return ParseDocuments(text, problems, limits, Expect::kMany);
}

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

bool IsYamlNull(std::string_view word) {
  return base::IsOneOf(word, {"", "~", "null", "Null", "NULL"});
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
  if (base::IsOneOf(word, {".nan", ".NaN", ".NAN"})) return std::numeric_limits<double>::quiet_NaN();
  const bool has_sign = word.starts_with("-") || word.starts_with("+");
  if (!base::IsOneOf(has_sign ? word.substr(1) : word, {".inf", ".Inf", ".INF"})) return std::nullopt;
  const double infinity = std::numeric_limits<double>::infinity();
  return word.starts_with("-") ? -infinity : infinity;
}

void ResolvePlain(Node& node) {
  std::string_view word = node.text;
  node.plain = true;
  if (IsYamlNull(word)) {
    node.kind = Node::Kind::kNull;
  } else if (base::IsOneOf(word, {"true", "True", "TRUE", "false", "False", "FALSE"})) {
    node.kind = Node::Kind::kBool;
    node.boolean = word.front() == 't' || word.front() == 'T';
  } else if (!ResolveInt(word, node) && !ResolveFloat(word, node)) {
    node.kind = Node::Kind::kString;
  }
}

bool IsYaml11Boolean(std::string_view word) {
  return base::IsOneOf(word, {"yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF",
                              "y", "Y", "n", "N"});
}

}  // namespace prefetch::doc
