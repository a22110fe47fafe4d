// Writes a Node as JSON or YAML: canonical forms and the CLI's output. Pure.
// JsonWriter: writes JSON member by member.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "doc/node.h"

namespace prefetch::doc {

// Returns one line without spaces, with members in their order; the same tree gives the same bytes. Numbers
// are written as Node::text.
std::string WriteJson(const Node& node);
// Returns the same, indented by two spaces, with a line break at the end.
std::string WritePrettyJson(const Node& node);
// Block style, with a line break at the end. Strings that any YAML reader could take for something else are
// in double quotes, unless they came without: 0400 stays the number that it is for Kubernetes. Texts of
// several lines stand as they are, as literal blocks, where that keeps every byte.
std::string WriteYaml(const Node& node);

// A JSON document for readers: indented JSON, or YAML. Members keep their order. InvalidArgument if `json` is
// no JSON document of at most 32 MiB.
base::Result<std::string> IndentedJson(std::string_view json);
base::Result<std::string> AsYaml(std::string_view json);

enum class JsonLayout { kOneLine, kIndented };

// Writes JSON member by member, in the order that the document's page has them.
//
// jsoncpp sorts members by name, and a tree of a document of 5,000 images costs more than its text. The
// output is valid if calls nest, for which the caller and its golden tests are responsible.
class JsonWriter {
 public:
  explicit JsonWriter(JsonLayout layout = JsonLayout::kOneLine) : layout_(layout) {}

  void BeginObject() { Open('{'); }
  void EndObject() { Close('}'); }
  void BeginArray() { Open('['); }
  void EndArray() { Close(']'); }
  // The name of the next value.
  void Key(std::string_view name);

  void String(std::string_view text);
  void Number(std::uint64_t value);
  void Integer(std::int64_t value);
  void Bool(bool value);
  void Null();
  void Strings(const std::vector<std::string>& items);
  // A value with all that is in it.
  void Tree(const Node& node);

  // A member in one call.
  void Member(std::string_view name, std::string_view text) { Key(name), String(text); }
  void Member(std::string_view name, const char* text) { Key(name), String(text); }
  void MemberNumber(std::string_view name, std::uint64_t value) { Key(name), Number(value); }
  void MemberBool(std::string_view name, bool value) { Key(name), Bool(value); }
  void MemberNull(std::string_view name) { Key(name), Null(); }
  void MemberStrings(std::string_view name, const std::vector<std::string>& items) {
    Key(name), Strings(items);
  }
  // An object or an array whose content `write` adds.
  template <typename F>
  void Object(F&& write) {
    BeginObject(), write(), EndObject();
  }
  template <typename F>
  void Object(std::string_view name, F&& write) {
    Key(name), Object(write);
  }
  template <typename F>
  void Array(std::string_view name, F&& write) {
    Key(name), BeginArray(), write(), EndArray();
  }
  // An array of objects, one for each of `items`, whose content `write` adds.
  template <typename Items, typename F>
  void Objects(std::string_view name, const Items& items, F&& write) {
    Array(name, [&] {
      for (const auto& item : items) Object([&] { write(item); });
    });
  }
  // null if empty, or if there is no time or number.
  void MemberOrNull(std::string_view name, std::string_view text);
  void MemberOrNull(std::string_view name, const std::optional<base::WallTime>& time);
  void MemberOrNull(std::string_view name, const std::optional<std::uint64_t>& number);

  // Reserves memory for a long document: a text that grows by doubling takes twice its size.
  void Reserve(std::size_t bytes) { text_.reserve(bytes); }
  std::string Take() { return std::move(text_); }

 private:
  void Open(char bracket);
  void Close(char bracket);
  void Separate();
  void Break();

  enum class Last { kBracket, kKey, kValue };

  const JsonLayout layout_;
  std::string text_;
  std::size_t level_ = 0;   // of the brackets that are open
  Last last_ = Last::kKey;  // before the first value, as behind a key, nothing stands between
};

}  // namespace prefetch::doc
