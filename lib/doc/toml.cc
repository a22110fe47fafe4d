#include "doc/toml.h"

#include <utility>

#include "doc/problems.h"
#include "doc/toml_rim.h"

namespace prefetch::doc {
namespace {

Position PlaceOf(const toml::source_region& source) {
  return {source.begin.line, source.begin.column};
}

Node NodeOf(const toml::node& from) {
  Node node;
  if (const auto* text = from.as_string()) node = Node::String(doc::TextOf(*text));
  if (const auto* boolean = from.as_boolean()) node = Node::Bool(boolean->get());
  if (const auto* integer = from.as_integer()) node = Node::Int(integer->get());
  if (const auto* array = from.as_array()) {
    node.kind = Node::Kind::kSequence;
    for (const toml::node& item : *array) node.items.push_back(NodeOf(item));
  }
  if (const auto* table = from.as_table()) {
    node.kind = Node::Kind::kMapping;
    for (const auto& [key, value] : *table) {
      node.members.push_back({FromAsciiToml(key.str()), PlaceOf(key.source()), NodeOf(value)});
    }
  }
  node.at = PlaceOf(from.source());
  return node;
}

}  // namespace

base::Result<Node> ReadToml(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  auto toml = Toml::Parse(text);
  if (!toml) return std::move(toml).error();
  return NodeOf(toml->root());
}

}  // namespace prefetch::doc
