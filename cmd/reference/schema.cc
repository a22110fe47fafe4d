#include "reference/schema.h"

#include <cstdlib>
#include <utility>

#include "doc/duration.h"

namespace prefetch::reference {
namespace {

using doc::Node;

constexpr const char* kDraft = "https://json-schema.org/draft/2020-12/schema";
// RFC 3339 in UTC, as base::Rfc3339 writes it.
constexpr const char* kTime = R"(^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$)";
// The form of words that later versions may add to an enum. A client that validates with an older schema must
// accept them.
constexpr const char* kFutureWordPattern = "^[A-Z][A-Za-z0-9]*$";

Node Type(const char* type) {
  return Node::Mapping({{"type", Node::String(type)}});
}

// Returns the schema of the same values and null. The first member of each schema says which these are.
Node WithNull(Node schema) {
  doc::Member& first = schema.members.front();
  if (first.key == "type") first.value = Node::Strings({first.value.text, "null"});
  // The schema of an enum has no "type", so null must be among the words.
  if (first.key == "enum") first.value.items.emplace_back();
  if (first.key == "anyOf") first.value.items.front() = WithNull(first.value.items.front());
  return schema;
}

Node WordsSchema(const Field& field) {
  Node known = Node::Mapping({{"enum", Node::Strings(field.words)}});
  if (!field.more_words) return known;
  return Node::Mapping(
      {{"anyOf", Node::Sequence({known, Type("string").Set("pattern", Node::String(kFutureWordPattern))})}});
}

Node TextSchema(const std::string& pattern) {
  Node schema = Type("string");
  if (!pattern.empty()) schema.Set("pattern", Node::String(pattern));
  return schema;
}

// `pattern`: of each value.
Node MapSchema(const std::string& pattern) {
  return Type("object").Set("additionalProperties", TextSchema(pattern));
}

Node ListSchema(const Field& field, Node item) {
  Node schema = Type("array");
  if (field.least_items != 0) schema.Set("minItems", Node::Int(static_cast<std::int64_t>(field.least_items)));
  if (field.most_items != 0) schema.Set("maxItems", Node::Int(static_cast<std::int64_t>(field.most_items)));
  schema.Set("items", std::move(item));
  return schema;
}

Node IntSchema(const Field& field) {
  Node schema = Type("integer");
  if (field.least) schema.Set("minimum", Node::Int(*field.least));
  if (field.most) schema.Set("maximum", Node::Int(*field.most));
  return schema;
}

// Returns the schema of a field without null, description and default.
Node BareSchema(const Field& field, const Fields& all, Openness openness) {
  switch (field.form) {
    case Form::kObject:
      return ObjectSchema(all, field.path + ".", openness);
    case Form::kObjects:
      return ListSchema(field, ObjectSchema(all, field.path + "[].", openness));
    case Form::kTexts:
      return ListSchema(field, field.words.empty() ? TextSchema(field.pattern) : WordsSchema(field));
    case Form::kMap:
      return MapSchema(field.pattern);
    case Form::kTextOrMap:
      return Node::Mapping({{"anyOf", Node::Sequence({TextSchema(""), MapSchema("")})}});
    case Form::kText:
      return TextSchema(field.pattern);
    case Form::kWord:
      return WordsSchema(field);
    case Form::kBool:
      return Type("boolean");
    case Form::kInt:
      return IntSchema(field);
    case Form::kDuration:
      return TextSchema(field.pattern.empty() ? doc::kDurationPattern : field.pattern);
    case Form::kTime:
      return TextSchema(kTime).Set("format", Node::String("date-time"));
  }
  std::abort();
}

Node DefaultOf(const Field& field) {
  if (field.form == Form::kBool) return Node::Bool(field.fallback == "true");
  if (field.form == Form::kInt) return Node::Int(std::stoll(field.fallback));
  return Node::String(field.fallback);
}

Node Joined(Node head, Node schema) {
  for (doc::Member& member : schema.members) head.members.push_back(std::move(member));
  return head;
}

Node MemberSchema(const Field& field, const Fields& all, Openness openness) {
  // The agent reads null in its input as "not given".
  const bool null = field.nullable || (openness == Openness::kStrict && !field.required);
  Node schema = Node::Mapping();
  std::string help = field.help;
  // "default" may only be a value. Words about the default go into the description.
  if (!field.fallback.empty() && !IsValue(field)) help += ". Default: " + field.fallback;
  schema.Set("description", Node::String(help + (help.ends_with('.') ? "" : ".")));
  const Node bare = BareSchema(field, all, openness);
  schema = Joined(std::move(schema), null ? WithNull(bare) : bare);
  if (IsValue(field)) schema.Set("default", DefaultOf(field));
  return schema;
}

// Returns a whole schema. Its $id is only a name for references by other schemas; nothing is published at
// that address.
Node Titled(const char* name, const char* title, const char* description, Node schema) {
  return Joined(
      Node::Mapping({{"$schema", Node::String(kDraft)},
                     {"$id", Node::String(std::string("https://prefetchd.dev/schemas/") + name + ".json")},
                     {"title", Node::String(title)},
                     {"description", Node::String(description)}}),
      std::move(schema));
}

Node CheckSchemaDocument() {
  Node request = ObjectSchema(CheckRequestFields(), "", Openness::kStrict);
  Node definitions = Node::Mapping();
  // A request may also be the list of checks alone.
  definitions.Set("checks", *request.Find("properties")->Find("checks"));
  definitions.Set("request", std::move(request));
  definitions.Set("result", ObjectSchema(CheckResultFields(), "", Openness::kOpen));
  std::vector<Node> either;
  for (const char* name : {"request", "checks", "result"}) {
    either.push_back(Node::Mapping({{"$ref", Node::String(std::string("#/$defs/") + name)}}));
  }
  return Titled(
      "v1/check", "Preflight of prefetchd",
      "The request and the answer of POST /v1/check. prefetchctl check -o json prints the answer, with "
      "members about the place of each image.",
      Node::Mapping({{"anyOf", Node::Sequence(std::move(either))}, {"$defs", std::move(definitions)}}));
}

}  // namespace

Node ObjectSchema(const Fields& fields, const std::string& prefix, Openness openness) {
  Node properties = Node::Mapping();
  std::vector<std::string> required;
  for (const Field& field : fields) {
    if (!field.path.starts_with(prefix)) continue;
    const std::string name = field.path.substr(prefix.size());
    // Deeper fields belong to the schemas of members.
    if (name.empty() || name.find('.') != std::string::npos) continue;
    properties.Set(name, MemberSchema(field, fields, openness));
    if (field.required) required.push_back(name);
  }
  Node schema = Node::Mapping();
  schema.Set("type", Node::String("object"));
  if (!required.empty()) schema.Set("required", Node::Strings(required));
  if (openness == Openness::kStrict) schema.Set("additionalProperties", Node::Bool(false));
  schema.Set("properties", std::move(properties));
  return schema;
}

Node SchemaOf(Document document) {
  switch (document) {
    case Document::kList:
      // null, since an empty file is a list without images.
      return Titled("v1alpha1/list", "ImageList of prefetchd", "The images to keep on the nodes.",
                    WithNull(ObjectSchema(ListFields(), "", Openness::kStrict)));
    case Document::kAgent:
      return Titled("v1alpha1/agent", "AgentConfiguration of prefetchd",
                    "The configuration of an agent (agent.yaml).",
                    ObjectSchema(AgentFields(), "", Openness::kStrict));
    case Document::kStatus:
      return Titled(
          "v1/status", "NodeStatus of prefetchd",
          "The answer of GET /v1/status, and prefetchctl status -o json. Later versions add members, and "
          "never "
          "rename one. Over TCP without a fleet token, the members that `hidden` names are missing.",
          ObjectSchema(StatusFields(), "", Openness::kOpen));
    case Document::kCheck:
      return CheckSchemaDocument();
  }
  std::abort();
}

}  // namespace prefetch::reference
