#include "doc/reader.h"

#include <algorithm>

#include "base/text.h"
#include "doc/duration.h"
#include "doc/yaml.h"

namespace prefetch::doc {

namespace {

constexpr std::size_t kLongestKeyShown = 100;

// Appends a key: "images" and "a.b" give images["a.b"]. A key that is a plain word needs no brackets.
std::string Append(const std::string& path, std::string_view key) {
  bool simple = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return base::IsAlphanumeric(c) || c == '_' || c == '-';
  });
  std::string shown = base::Truncate(key, kLongestKeyShown);
  if (!simple) return path + "[\"" + shown + "\"]";
  return path.empty() ? shown : path + "." + shown;
}

std::string Suggestion(const std::string& key, const std::vector<std::string>& known) {
  const std::string meant = base::ClosestName(key, known);
  return meant.empty() ? "" : "; did you mean \"" + meant + "\"?";
}

// Returns whether `key` is almost `name`: one or two letters are missing, too many or wrong; false for the
// name itself.
bool IsMisspelt(std::string_view key, std::string_view name) {
  // Most keys differ in length, which is a cheap check.
  static constexpr std::size_t kMostTypos = 2;
  if (key == name || key.size() > name.size() + kMostTypos || name.size() > key.size() + kMostTypos)
    return false;
  return !base::ClosestName(key, {std::string(name)}).empty();
}

}  // namespace

std::optional<std::string> Reader::String() const {
  // Kubernetes reads YAML 1.1, where an unquoted `no` is a boolean. The same file would have two meanings.
  const bool is_word = node_->plain && IsYaml11Boolean(node_->text);
  if (node_->kind == Node::Kind::kString && !is_word) return node_->text;
  if (is_word) {
    Fail("must be a string; Kubernetes takes this word for a boolean, so put it in quotes");
  } else if (node_->plain && node_->kind != Node::Kind::kNull) {
    Fail(std::string("must be a string, not ") + KindName(node_->kind) + "; put it in quotes");
  } else {
    Fail(std::string("must be a string, not ") + KindName(node_->kind));
  }
  return std::nullopt;
}

std::optional<bool> Reader::Bool() const {
  if (node_->kind == Node::Kind::kBool) return node_->boolean;
  Fail("must be true or false");
  return std::nullopt;
}

// A number with a fraction is rejected and never rounded.
std::optional<std::int64_t> Reader::Int(IntRange range) const {
  if (node_->kind != Node::Kind::kInt) {
    bool number = node_->kind == Node::Kind::kDouble;
    Fail(std::string("must be an integer, not ") + KindName(node_->kind) +
         (number ? " with a fraction or beyond 64 bits" : ""));
    return std::nullopt;
  }
  if (node_->integer >= range.least && node_->integer <= range.most) return node_->integer;
  bool no_most = range.most == std::numeric_limits<std::int64_t>::max();
  Fail(no_most ? "must be at least " + std::to_string(range.least)
               : "must be from " + std::to_string(range.least) + " to " + std::to_string(range.most));
  return std::nullopt;
}

std::optional<std::chrono::nanoseconds> Reader::Duration(DurationRange range) const {
  std::optional<std::chrono::nanoseconds> value;
  if (node_->kind == Node::Kind::kString) value = ParseDuration(node_->text);
  if (!value) {
    Fail("must be a duration such as \"90s\" or \"1h30m\"");
    return std::nullopt;
  }
  if (*value >= range.least && *value <= range.most) return value;
  bool no_most = range.most == std::chrono::nanoseconds::max();
  Fail(no_most ? "must be at least " + FormatDuration(range.least)
               : "must be from " + FormatDuration(range.least) + " to " + FormatDuration(range.most));
  return std::nullopt;
}

std::optional<std::size_t> Reader::OneOf(const std::vector<std::string_view>& names) const {
  if (node_->kind == Node::Kind::kString) {
    auto found = std::find(names.begin(), names.end(), node_->text);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  }
  Fail("must be " + base::JoinOr(names));
  return std::nullopt;
}

// Null counts as an empty sequence, as in Kubernetes. The same holds for Members().
std::vector<Reader> Reader::Items() const {
  std::vector<Reader> items;
  if (node_->kind != Node::Kind::kSequence && !IsNull()) {
    Fail(std::string("must be a sequence, not ") + KindName(node_->kind));
  }
  items.reserve(node_->items.size());
  for (std::size_t i = 0; i < node_->items.size(); i++) {
    items.emplace_back(node_->items[i], *problems_, path_ + "[" + std::to_string(i) + "]");
  }
  return items;
}

std::vector<std::pair<std::string, Reader>> Reader::Members() const {
  std::vector<std::pair<std::string, Reader>> members;
  if (node_->kind != Node::Kind::kMapping && !IsNull()) {
    Fail(std::string("must be a mapping, not ") + KindName(node_->kind));
  }
  members.reserve(node_->members.size());
  for (const Member& member : node_->members) {
    members.emplace_back(member.key, Reader(member.value, *problems_, Append(path_, member.key)));
  }
  return members;
}

std::vector<std::string> Reader::Strings() const {
  std::vector<std::string> strings;
  for (const Reader& item : Items()) {
    if (std::optional<std::string> text = item.String()) strings.push_back(std::move(*text));
  }
  return strings;
}

std::vector<std::pair<std::string, std::string>> Reader::StringMap() const {
  std::vector<std::pair<std::string, std::string>> map;
  for (const auto& member : Members()) {
    if (std::optional<std::string> text = member.second.String()) map.emplace_back(member.first, *text);
  }
  return map;
}

ObjectReader::ObjectReader(Reader reader) : reader_(std::move(reader)) {
  Node::Kind kind = reader_.node().kind;
  // Reported once here, so that the lookups below need no check.
  if (kind != Node::Kind::kMapping) reader_.Fail(std::string("must be a mapping, not ") + KindName(kind));
}

std::string ObjectReader::PathOf(std::string_view key) const {
  return Append(reader_.path(), key);
}

std::optional<Reader> ObjectReader::Find(std::string_view key, Need need) {
  // Every key that is asked for is a known one, so the code that reads a document is also its list of fields.
  known_.emplace_back(key);
  const Member* member = reader_.node().FindMember(key);
  if (member != nullptr && member->value.kind != Node::Kind::kNull) {
    return Reader(member->value, reader_.problems(), PathOf(key));
  }
  // The reader has already reported a node that is no mapping.
  if (need == Need::kRequired && reader_.node().kind == Node::Kind::kMapping) Fail(key, "is required");
  return std::nullopt;
}

std::optional<Position> ObjectReader::KeyAt(std::string_view key) const {
  const Member* member = reader_.node().FindMember(key);
  if (member == nullptr || member->value.kind == Node::Kind::kNull) return std::nullopt;
  return member->at;
}

std::optional<ObjectReader> ObjectReader::Object(std::string_view key, Need need) {
  std::optional<Reader> value = Find(key, need);
  if (!value) return std::nullopt;
  return ObjectReader(*value);
}

void ObjectReader::Expect(std::string_view key, std::string_view value) {
  std::optional<Reader> found = Find(key, Need::kRequired);
  if (!found) return;
  std::optional<std::string> text = found->String();
  if (text && *text != value) found->Fail("must be " + std::string(value));
}

void ObjectReader::Fail(std::string_view key, std::string_view message) const {
  const Member* member = reader_.node().FindMember(key);
  Position at = member != nullptr ? member->value.at : reader_.node().at;
  reader_.problems().Add(at, PathOf(key), message);
}

bool ObjectReader::IsKnown(const std::string& key) const {
  return std::find(known_.begin(), known_.end(), key) != known_.end();
}

// Call it after all known keys were looked up: every other key is then unknown.
void ObjectReader::Finish(UnknownKeys rule) const {
  if (rule == UnknownKeys::kIgnored) return;
  for (const Member& member : reader_.node().members) {
    if (IsKnown(member.key)) continue;
    // A comparison with all known names is expensive, and useless if the problem is not kept.
    std::string hint = reader_.problems().Full() ? "" : Suggestion(member.key, known_);
    reader_.problems().Add(member.at, PathOf(member.key), "unknown field" + hint);
  }
}

void ReportMisspelt(const Reader& mapping, std::initializer_list<std::string_view> names) {
  if (mapping.node().kind != Node::Kind::kMapping) return;
  for (const std::string_view name : names) {
    const std::vector<Member>& members = mapping.node().members;
    auto misspelt = [&](const Member& member) { return IsMisspelt(member.key, name); };
    if (std::none_of(members.begin(), members.end(), misspelt)) continue;
    for (const auto& [key, value] : mapping.Members()) {
      if (IsMisspelt(key, name)) value.Fail("unknown field; did you mean \"" + std::string(name) + "\"?");
    }
  }
}

}  // namespace prefetch::doc
