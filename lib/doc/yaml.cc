#include "doc/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "doc/columns.h"
#include "doc/parser_parts.h"

namespace prefetch::doc {
namespace {

constexpr std::string_view kStringTag = "tag:yaml.org,2002:str";

Position PlaceOf(const YAML::Mark& mark, Columns& columns) {
  if (mark.is_null()) return {};
  return columns.InCharacters(
      {static_cast<std::uint32_t>(mark.line + 1), static_cast<std::uint32_t>(mark.column + 1)});
}

// The cost of a node's copy.
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

// Builds the tree from the parser's events. A limit ends the parse by the parser's own exception type, which
// ParseYaml catches beside the parser's own.
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(Problems& problems, Columns& columns, const Limits& limits, YamlRules rules)
      : problems_(problems), columns_(columns), limits_(limits), rules_(rules) {}

  Node TakeRoot() { return std::move(root_); }
  Position document_at() const { return document_at_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    document_at_ = At(mark);
    root_ = {};
    open_.clear();
    anchors_.clear();
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node;
    node.at = At(mark);
    node.plain = true;
    Finish(mark, anchor, std::move(node));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node node;
    node.at = At(mark);
    node.kind = Node::Kind::kString;
    node.text = value;
    if (tag == "?" || tag.empty()) {
      ResolvePlain(node);
    } else if (tag != "!" && tag != kStringTag) {
      RefuseTag(mark);
    }
    Finish(mark, anchor, std::move(node));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    auto found = anchors_.find(anchor);
    if (found == anchors_.end()) Stop(mark, "an alias must not name a node that contains it");
    Weight weight = WeightOf(found->second);
    if (open_.size() + weight.depth > limits_.depth) TooDeep(mark);
    CountCopy(mark, weight);
    nodes_--;  // Finish counts it
    Node copy = found->second;
    copy.at = At(mark);
    Finish(mark, 0, std::move(copy));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Begin(mark, tag, anchor, Node::Kind::kSequence);
  }
  void OnSequenceEnd() override { End(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Begin(mark, tag, anchor, Node::Kind::kMapping);
  }
  void OnMapEnd() override { End(); }

 private:
  // A sequence or mapping whose end has not come yet.
  struct Open {
    Node node;
    YAML::Mark mark;
    YAML::anchor_t anchor = 0;
    bool has_key = false;  // a key was read, its value comes next
    bool merges = false;   // one of the keys is `<<`
  };

  Position At(const YAML::Mark& mark) { return PlaceOf(mark, columns_); }

  [[noreturn]] static void Stop(const YAML::Mark& mark, const std::string& message) {
    throw YAML::ParserException(mark, message);
  }
  [[noreturn]] void TooDeep(const YAML::Mark& mark) const {
    Stop(mark, "is nested deeper than " + std::to_string(limits_.depth) + " levels");
  }
  void CheckSize(const YAML::Mark& mark) const {
    if (nodes_ > limits_.nodes) {
      Stop(mark, "has more than " + std::to_string(limits_.nodes) +
                     " values, those with anchors and aliases counted again");
    }
    if (copied_bytes_ > limits_.bytes) {
      Stop(mark, "has more than " + std::to_string(limits_.bytes) + " bytes of anchors and aliases");
    }
  }
  void RefuseTag(const YAML::Mark& mark) {
    if (rules_ == YamlRules::kStrict) problems_.Add(At(mark), "", "tags such as !x are not supported");
  }

  void Begin(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Node::Kind kind) {
    if (open_.size() == limits_.depth) TooDeep(mark);
    if (tag != "?" && tag != "!" && !tag.empty()) RefuseTag(mark);
    Open open;
    open.node.kind = kind;
    open.node.at = At(mark);
    open.mark = mark;
    open.anchor = anchor;
    open_.push_back(std::move(open));
  }

  void End() {
    Open open = std::move(open_.back());
    open_.pop_back();
    if (open.node.kind == Node::Kind::kMapping) {
      ResolveDuplicates(open.node, Duplicates::kProblem, problems_);
      if (open.merges) Merge(open.node);
    }
    Finish(open.mark, open.anchor, std::move(open.node));
  }

  // Puts a node that is complete where it belongs.
  void Finish(const YAML::Mark& mark, YAML::anchor_t anchor, Node node) {
    nodes_++;
    CheckSize(mark);
    if (anchor != 0) Keep(mark, anchor, node);
    if (open_.empty()) {
      root_ = std::move(node);
    } else if (open_.back().node.kind == Node::Kind::kSequence) {
      open_.back().node.items.push_back(std::move(node));
    } else if (open_.back().has_key) {
      open_.back().node.members.back().value = std::move(node);
      open_.back().has_key = false;
    } else {
      AddKey(std::move(node));
    }
  }

  // A copy costs as much as an alias.
  void Keep(const YAML::Mark& mark, YAML::anchor_t anchor, const Node& node) {
    CountCopy(mark, WeightOf(node));
    anchors_[anchor] = node;
  }

  void CountCopy(const YAML::Mark& mark, const Weight& weight) {
    nodes_ += weight.nodes;
    copied_bytes_ += weight.bytes;
    CheckSize(mark);
  }

  void AddKey(Node key) {
    bool scalar = key.kind != Node::Kind::kSequence && key.kind != Node::Kind::kMapping;
    if (!scalar || key.kind == Node::Kind::kNull) problems_.Add(key.at, "", "a key must be a string");
    Open& open = open_.back();
    if (key.plain && key.text == "<<") {
      if (rules_ == YamlRules::kStrict) problems_.Add(key.at, "", "merge keys (<<) are not supported");
      open.merges = rules_ == YamlRules::kAsKubernetes;
    }
    open.node.members.push_back({std::move(key.text), key.at, {}});
    open.has_key = true;
  }

  // Replaces `<<` with the mapping that it names, or several, of which the first with a key counts. A key of
  // the mapping itself counts before them (https://yaml.org/type/merge.html).
  void Merge(Node& mapping) {
    auto merge = std::find_if(mapping.members.begin(), mapping.members.end(),
                              [](const Member& member) { return member.key == "<<"; });
    Member named = std::move(*merge);
    mapping.members.erase(merge);
    std::vector<Node> sources;
    if (named.value.kind == Node::Kind::kSequence) {
      sources = std::move(named.value.items);
    } else {
      sources.push_back(std::move(named.value));
    }
    std::set<std::string> known;
    for (const Member& member : mapping.members) known.insert(member.key);
    for (Node& source : sources) {
      if (source.kind != Node::Kind::kMapping) problems_.Add(named.at, "", "<< must name mappings");
      for (Member& member : source.members) {
        if (known.insert(member.key).second) mapping.members.push_back(std::move(member));
      }
    }
  }

  Problems& problems_;
  Columns& columns_;
  Limits limits_;
  YamlRules rules_;
  Position document_at_;
  Node root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Node> anchors_;
  std::size_t nodes_ = 0;
  std::size_t copied_bytes_ = 0;
};

// Goes through the lines of a text once, however many of them are asked for, as long as they come in order.
class LineFinder {
 public:
  explicit LineFinder(std::string_view text) : rest_(text) {}

  std::string_view Line(std::uint32_t line) {
    for (; line_ < line; line_++) rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size() - 1) + 1);
    return rest_.substr(0, rest_.find('\n'));
  }

 private:
  std::string_view rest_;
  std::uint32_t line_ = 1;
};

// If blanks come last, yaml-cpp ends a quoted string at the end of the text: half of a file would pass for a
// whole one. A comment in the last line is one for a complete text, and for an open string the end that
// yaml-cpp refuses.
std::string WithEndMark(std::string_view text) {
  std::string marked(text);
  if (text.empty() || std::string_view(" \t\n").find(text.back()) == std::string_view::npos) return marked;
  if (text.back() != '\n') marked += '\n';
  return marked += '#';
}

enum class Expect { kOne, kMany };

std::optional<std::vector<Node>> ParseDocuments(std::string_view text, Problems& problems,
                                                const Limits& limits, Expect expect, YamlRules rules) {
  std::optional<std::string_view> checked = CheckText(text, limits.bytes, problems);
  if (!checked) return std::nullopt;
  std::vector<Node> documents;
  Columns columns(*checked);
  TreeBuilder builder(problems, columns, limits, rules);
  try {
    std::istringstream in(WithEndMark(*checked));
    YAML::Parser parser(in);
    LineFinder lines(*checked);
    for (std::size_t count = 0; parser.HandleNextDocument(builder); count++) {
      // yaml-cpp takes content that belongs to nothing above it ("- a" and then "b: c") for a further
      // document, without the `---` that has to divide them.
      if (count > 0 && !lines.Line(builder.document_at().line).starts_with("---")) {
        problems.Add(builder.document_at(), "", "does not fit the lines above it: check the indentation");
        return std::nullopt;
      }
      if (count > 0 && expect == Expect::kOne) {
        problems.Add(builder.document_at(), "", "a second document begins here; only one is allowed");
        return std::nullopt;
      }
      documents.push_back(builder.TakeRoot());
    }
  } catch (const YAML::Exception& error) {
    problems.Add(PlaceOf(error.mark, columns), "", error.msg);
    return std::nullopt;
  } catch (const std::exception& error) {
    problems.Add({}, "", std::string("cannot be read: ") + error.what());
    return std::nullopt;
  }
  return documents;
}

}  // namespace

std::optional<Node> ParseYaml(std::string_view text, Problems& problems, const Limits& limits) {
  auto documents = ParseDocuments(text, problems, limits, Expect::kOne, YamlRules::kStrict);
  if (!documents) return std::nullopt;
  if (!documents->empty()) return std::move(documents->front());
  Node nothing;
  nothing.at = {1, 1};
  return nothing;
}

std::optional<std::vector<Node>> ParseYamlDocuments(std::string_view text, Problems& problems,
                                                    const Limits& limits, YamlRules rules) {
  auto documents = ParseDocuments(text, problems, limits, Expect::kMany, rules);
  if (documents) std::erase_if(*documents, [](const Node& node) { return node.kind == Node::Kind::kNull; });
  return documents;
}

}  // namespace prefetch::doc
