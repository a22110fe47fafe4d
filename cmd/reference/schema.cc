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

// Returns a type, or the type and null.
Node Type(const char* type, bool null) {
  return null ? Node::Strings({type, "null"}) : Node::String(type);
}

Node WordsSchema(const Field& field, bool null) {
  Node words = Node::Strings(field.words);
  // The schema of an enum has no "type", so null must be among the words.
  if (null) words.items.emplace_back();
  Node known = Node::Mapping({{"enum", std::move(words)}});
  if (!field.more_words) return known;
  const Node later =
      Node::Mapping({{"type", Node::String("string")}, {"pattern", Node::String(kFutureWordPattern)}});
  return Node::Mapping({{"anyOf", Node::Sequence({known, later})}});
}

Node TextSchema(const std::string& pattern, bool null) {
  Node schema = Node::Mapping();
  schema.Set("type", Type("string", null));
  if (!pattern.empty()) schema.Set("pattern", Node::String(pattern));
  return schema;
}

// `pattern`: of each value.
Node MapSchema(const std::string& pattern, bool null) {
  return Node::Mapping(
      {{"type", Type("object", null)}, {"additionalProperties", TextSchema(pattern, false)}});
}

Node ListSchema(const Field& field, Node item, bool null) {
  Node schema = Node::Mapping();
  schema.Set("type", Type("array", null));
  if (field.least_items != 0) schema.Set("minItems", Node::Int(static_cast<std::int64_t>(field.least_items)));
  if (field.most_items != 0) schema.Set("maxItems", Node::Int(static_cast<std::int64_t>(field.most_items)));
  schema.Set("items", std::move(item));
  return schema;
}

Node IntSchema(const Field& field, bool null) {
  Node schema = Node::Mapping();
  schema.Set("type", Type("integer", null));
  if (field.least) schema.Set("minimum", Node::Int(*field.least));
  if (field.most) schema.Set("maximum", Node::Int(*field.most));
  return schema;
}

Node EitherSchema(bool null) {
  return Node::Mapping({{"anyOf", Node::Sequence({TextSchema("", null), MapSchema("", false)})}});
}

Node WithNull(Node schema, bool null) {
  // "type" is the first member of each schema of an object.
  if (null) schema.members.front().value = Type("object", true);
  return schema;
}

// Returns the schema of a field without description and default.
Node BareSchema(const Field& field, const Fields& all, Openness openness, bool null) {
  switch (field.form) {
    case Form::kObject:
      return WithNull(ObjectSchema(all, field.path + ".", openness), null);
    case Form::kObjects:
      return ListSchema(field, ObjectSchema(all, field.path + "[].", openness), null);
    case Form::kTexts:
      return ListSchema(
          field, field.words.empty() ? TextSchema(field.pattern, false) : WordsSchema(field, false), null);
    case Form::kMap:
      return MapSchema(field.pattern, null);
    case Form::kTextOrMap:
      return EitherSchema(null);
    case Form::kText:
      return TextSchema(field.pattern, null);
    case Form::kWord:
      return WordsSchema(field, null);
    case Form::kBool:
      return Node::Mapping().Set("type", Type("boolean", null));
    case Form::kInt:
      return IntSchema(field, null);
    case Form::kDuration:
      return TextSchema(field.pattern.empty() ? doc::kDurationPattern : field.pattern, null);
    case Form::kTime:
      return TextSchema(kTime, null).Set("format", Node::String("date-time"));
  }
  std::abort();
}

Node DefaultOf(const Field& field) {
  if (field.form == Form::kBool) return Node::Bool(field.fallback == "true");
  if (field.form == Form::kInt) return Node::Int(std::stoll(field.fallback));
  return Node::String(field.fallback);
}

Node MemberSchema(const Field& field, const Fields& all, Openness openness) {
  // The agent reads null in its input as "not given".
  const bool null = field.nullable || (openness == Openness::kStrict && !field.required);
  Node schema = Node::Mapping();
  std::string help = field.help;
  // "default" may only be a value. Words about the default go into the description.
  if (!field.fallback.empty() && !IsValue(field)) help += ". Default: " + field.fallback;
  schema.Set("description", Node::String(help + (help.ends_with('.') ? "" : ".")));
  for (doc::Member& member : BareSchema(field, all, openness, null).members) {
    schema.members.push_back(std::move(member));
  }
  if (IsValue(field)) schema.Set("default", DefaultOf(field));
  return schema;
}

// Begins a schema. Its $id is only a name for references by other schemas; nothing is published at that
// address.
Node Titled(const char* name, const char* title, const char* description) {
  return Node::Mapping({{"$schema", Node::String(kDraft)},
                        {"$id", Node::String(std::string("https://prefetchd.dev/schemas/") + name + ".json")},
                        {"title", Node::String(title)},
                        {"description", Node::String(description)}});
}

Node Joined(Node head, Node schema) {
  for (doc::Member& member : schema.members) head.members.push_back(std::move(member));
  return head;
}

Node ListSchemaDocument() {
  // null, since an empty file is a list without images.
  return Joined(Titled("v1alpha1/list", "ImageList of prefetchd", "The images to keep on the nodes."),
                WithNull(ObjectSchema(ListFields(), "", Openness::kStrict), true));
}

Node AgentSchemaDocument() {
  return Joined(Titled("v1alpha1/agent", "AgentConfiguration of prefetchd",
                       "The configuration of an agent (agent.yaml)."),
                ObjectSchema(AgentFields(), "", Openness::kStrict));
}

Node StatusSchemaDocument() {
  return Joined(Titled("v1/status", "NodeStatus of prefetchd",
                       "The answer of GET /v1/status, and prefetchctl status -o json. Later versions add "
                       "members, and never rename one. Over TCP without a fleet token, the members that "
                       "`hidden` names are missing."),
                ObjectSchema(StatusFields(), "", Openness::kOpen));
}

Node Reference(const char* name) {
  return Node::Mapping().Set("$ref", Node::String(std::string("#/$defs/") + name));
}

Node CheckSchemaDocument() {
  Node request = ObjectSchema(CheckRequestFields(), "", Openness::kStrict);
  Node definitions = Node::Mapping();
  // A request may also be the list of checks alone.
  definitions.Set("checks", *request.Find("properties")->Find("checks"));
  definitions.Set("request", std::move(request));
  definitions.Set("result", ObjectSchema(CheckResultFields(), "", Openness::kOpen));
  std::vector<Node> either;
  for (const char* name : {"request", "checks", "result"}) either.push_back(Reference(name));
  Node schema = Titled("v1/check", "Preflight of prefetchd",
                       "The request and the answer of POST /v1/check. prefetchctl check -o json prints the "
                       "answer, with members about the place of each image.");
  schema.Set("anyOf", Node::Sequence(std::move(either)));
  schema.Set("$defs", std::move(definitions));
  return schema;
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
      return ListSchemaDocument();
    case Document::kAgent:
      return AgentSchemaDocument();
    case Document::kStatus:
      return StatusSchemaDocument();
    case Document::kCheck:
      return CheckSchemaDocument();
  }
  std::abort();
}

}  // namespace prefetch::reference
