#include "doc/write.h"

#include <algorithm>

#include "base/log.h"
#include "base/text.h"
#include "doc/json.h"
#include "doc/yaml.h"

namespace prefetch::doc {

namespace {

void AppendQuoted(std::string& out, std::string_view text) {
  out += '"';
  base::AppendJsonEscaped(out, text);
  out += '"';
}

void AppendScalar(std::string& out, const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      out += "null";
      return;
    case Node::Kind::kBool:
      out += node.boolean ? "true" : "false";
      return;
    case Node::Kind::kInt:
      out += std::to_string(node.integer);
      return;
    case Node::Kind::kDouble:
      out += node.text;
      return;
    case Node::Kind::kString:
      AppendQuoted(out, node.text);
      return;
    case Node::Kind::kSequence:
      out += "[]";
      return;
    case Node::Kind::kMapping:
      out += "{}";
      return;
  }
}

bool HasParts(const Node& node) {
  return !node.items.empty() || !node.members.empty();
}

bool MayBePlain(char c) {
  return base::IsAlphanumeric(c) || std::string_view("._/:@-+").find(c) != std::string_view::npos;
}

// Returns whether every reader of YAML reads the unquoted text as this string. Only names, paths and image
// references pass; anything else is quoted, which is always right.
bool IsPlainEverywhere(std::string_view text) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (text.empty() || (!letter(text.front()) && text.front() != '/') || text.back() == ':') return false;
  if (!std::all_of(text.begin(), text.end(), MayBePlain)) return false;
  std::string lower = base::ToLower(text);
  return lower != "true" && lower != "false" && lower != "null" && !IsYaml11Boolean(text);
}

void AppendYamlText(std::string& out, std::string_view text) {
  if (IsPlainEverywhere(text)) {
    out += text;
  } else {
    AppendQuoted(out, text);
  }
}

// Readers of YAML 1.1, as in Kubernetes, read some plain words differently from YAML 1.2: 0400, yes, 1_000. A
// word that was plain in the input stays plain, and so keeps its meaning for them.
bool StaysPlain(const Node& node) {
  const std::string_view text = node.text;
  return node.plain && !text.empty() && std::all_of(text.begin(), text.end(), MayBePlain) &&
         text.back() != ':' && text.front() != ':' && text.front() != '@' && text != "-" &&
         !text.starts_with("---") && text != "...";
}

void AppendYamlScalar(std::string& out, const Node& node) {
  if (StaysPlain(node)) {
    out += node.text;
  } else if (node.kind == Node::Kind::kString) {
    AppendYamlText(out, node.text);
  } else {
    AppendScalar(out, node);
  }
}

// Returns true if the text can be a literal block (`|`) without a change: complete lines that do not end with
// a space, a first line that does not begin with one, and no control characters or line breaks except LF.
bool IsLiteral(std::string_view text) {
  if (text.empty() || text.back() != '\n' || text.ends_with("\n\n") || text.front() == ' ') return false;
  if (text.front() == '\n' || text.find(" \n") != std::string_view::npos) return false;
  for (std::string_view other : {"\xE2\x80\xA8", "\xE2\x80\xA9", "\xEF\xBB\xBF"}) {
    if (text.find(other) != std::string_view::npos) return false;
  }
  for (std::size_t i = 0; i < text.size(); i++) {
    auto byte = static_cast<unsigned char>(text[i]);
    bool c1 = byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (c1 || byte == 0x7F || (byte < 0x20 && byte != '\n')) return false;
  }
  return true;
}

// Empty lines get no indentation, which would be trailing spaces.
void AppendLiteral(std::string& out, std::string_view text, std::size_t indent) {
  out += "|\n";
  text.remove_suffix(1);
  for (std::string_view line : base::Split(text, '\n')) {
    if (!line.empty()) out.append(indent, ' ').append(line);
    out += '\n';
  }
}

// `out` ends where the node begins: after "key:" or "-", or at the start of the text.
void AppendYaml(std::string& out, const Node& node, std::size_t indent, bool first_inline) {
  auto begin_part = [&, first = true]() mutable {
    if (!first || !first_inline) out.append(indent, ' ');
    first = false;
  };
  for (const Node& item : node.items) {
    begin_part();
    out += "- ";
    if (HasParts(item)) {
      AppendYaml(out, item, indent + 2, true);
    } else {
      AppendYamlScalar(out, item);
      out += '\n';
    }
  }
  for (const Member& member : node.members) {
    begin_part();
    AppendYamlText(out, member.key);
    out += ':';
    const Node& value = member.value;
    if (HasParts(value)) {
      out += '\n';
      bool sequence = value.kind == Node::Kind::kSequence;
      // A sequence is not indented below its key, as kubectl and kustomize write it.
      AppendYaml(out, value, sequence ? indent : indent + 2, false);
    } else if (value.kind == Node::Kind::kString && IsLiteral(value.text)) {
      out += ' ';
      AppendLiteral(out, value.text, indent + 2);
    } else {
      out += ' ';
      AppendYamlScalar(out, value);
      out += '\n';
    }
  }
}

}  // namespace

std::string WriteJson(const Node& node) {
  JsonWriter writer;
  writer.Tree(node);
  return writer.Take();
}

std::string WritePrettyJson(const Node& node) {
  JsonWriter writer(JsonLayout::kIndented);
  writer.Tree(node);
  return writer.Take() + "\n";
}

std::string WriteYaml(const Node& node) {
  std::string out;
  if (HasParts(node)) {
    AppendYaml(out, node, 0, false);
  } else {
    AppendScalar(out, node);
    out += '\n';
  }
  return out;
}

namespace {

constexpr Limits kReprintLimits{.bytes = 32 << 20, .depth = 32, .nodes = 4'000'000};

base::Result<std::string> Reprint(std::string_view json, std::string (*write)(const Node&)) {
  Problems problems("document");
  auto root = ParseJson(json, problems, JsonRules::kLenient, kReprintLimits);
  if (!root) return base::Error(problems.ToStatus().error());
  return write(*root);
}

}  // namespace

base::Result<std::string> IndentedJson(std::string_view json) {
  return Reprint(json, &WritePrettyJson);
}

base::Result<std::string> AsYaml(std::string_view json) {
  return Reprint(json, &WriteYaml);
}

// A comma stands before every value except the first one after a bracket or a key.
void JsonWriter::Separate() {
  if (last_ == Last::kValue) text_ += ',';
  if (last_ != Last::kKey) Break();
  last_ = Last::kValue;
}

void JsonWriter::Break() {
  if (layout_ == JsonLayout::kIndented) text_.append("\n").append(2 * level_, ' ');
}

void JsonWriter::Open(char bracket) {
  Separate();
  text_ += bracket;
  level_++;
  last_ = Last::kBracket;
}

// Empty objects and lists stay on one line.
void JsonWriter::Close(char bracket) {
  level_--;
  if (last_ == Last::kValue) Break();
  text_ += bracket;
  last_ = Last::kValue;
}

void JsonWriter::Key(std::string_view name) {
  String(name);
  text_ += layout_ == JsonLayout::kIndented ? ": " : ":";
  last_ = Last::kKey;
}

void JsonWriter::Tree(const Node& node) {
  if (node.kind == Node::Kind::kSequence) {
    BeginArray();
    for (const Node& item : node.items) Tree(item);
    EndArray();
  } else if (node.kind == Node::Kind::kMapping) {
    BeginObject();
    for (const doc::Member& member : node.members) Key(member.key), Tree(member.value);
    EndObject();
  } else {
    Separate();
    AppendScalar(text_, node);
  }
}

void JsonWriter::String(std::string_view text) {
  Separate();
  AppendQuoted(text_, text);
}

void JsonWriter::Number(std::uint64_t value) {
  Separate();
  text_ += std::to_string(value);
}

void JsonWriter::Integer(std::int64_t value) {
  Separate();
  text_ += std::to_string(value);
}

void JsonWriter::Bool(bool value) {
  Separate();
  text_ += value ? "true" : "false";
}

void JsonWriter::Null() {
  Separate();
  text_ += "null";
}

void JsonWriter::Strings(const std::vector<std::string>& items) {
  BeginArray();
  for (const std::string& item : items) String(item);
  EndArray();
}

void JsonWriter::MemberOrNull(std::string_view name, std::string_view text) {
  Key(name);
  text.empty() ? Null() : String(text);
}

void JsonWriter::MemberOrNull(std::string_view name, const std::optional<base::WallTime>& time) {
  Key(name);
  time ? String(base::Rfc3339(*time)) : Null();
}

void JsonWriter::MemberOrNull(std::string_view name, const std::optional<std::uint64_t>& number) {
  Key(name);
  number ? Number(*number) : Null();
}

}  // namespace prefetch::doc
