// The types that Go's decoders demand of a document, and where they find its type.
// GoString: a string in JSON, as Go's encoder writes it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "doc/kubernetes_yaml.h"
#include "doc/reader.h"

namespace prefetch::doc {

enum class GoType {
  kText,
  kBool,
  kBoolMap,
  kInt32,
  kInt64,
  kBase64,
  kDuration,       // or null
  kDurationValue,  // never null
  kTexts,
  kTextMap,
  kTextsMap,
  kObject,
  kObjects,
  kObjectMap,
  kNamedObjects,
  kExtensions,
};

// A member of an object. Members that may be anything need no row.
struct GoField {
  std::string_view key;
  GoType type;
  std::span<const GoField> fields = {};  // of an object
};

// Adds a problem for each value that Go's decoder refuses, those of repeated keys included. Names may stand
// once in a list of kNamedObjects, and in one of kExtensions, where extensions without content do not count.
// A repeated key is a problem if an object, a list or null stands behind it, since Go would mix both values.
void CheckGoTypes(const Reader& value, std::span<const GoField> fields);

// Returns apiVersion or kind, which Kubernetes' decoders find whatever the case of the key, and of several
// take the last. Empty: there is none. Another type than a string is a problem.
std::string TypeMeta(const Reader& root, std::string_view name, KeyOrder order);

// Decodes base64 as Go does: line breaks anywhere do not count, and trailing bits are not checked. Overwrites
// its copies of `text`.
std::optional<std::string> DecodeGoBase64(std::string text, bool padded = true);

// Calls `take` for each member that Go's decoder for JSON takes for `key`, whatever the case of its letters,
// in their order: Go reads each into the same variable.
template <typename Take>
void ForEachGoMember(const Reader& object, std::string_view key, const Take& take) {
  for (const auto& [name, value] : object.Members()) {
    if (base::EqualsIgnoreCase(name, key)) take(value);
  }
}

// Returns the last text of these members that is not null; empty if there is none. Another type than a string
// is a problem.
std::string GoText(const Reader& object, std::string_view key);

// Returns a JSON string as Go's encoder writes it: the characters of HTML, U+2028 and U+2029 are escaped.
std::string GoString(std::string_view text);

// A sequence of strings; null counts as an empty one.
std::vector<std::string> GoTexts(const Reader& sequence);

}  // namespace prefetch::doc
