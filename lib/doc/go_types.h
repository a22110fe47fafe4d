// The types that Go's decoders demand of a document, and where they find its type.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

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

// A sequence of strings; null counts as an empty one.
std::vector<std::string> GoTexts(const Reader& sequence);

}  // namespace prefetch::doc
