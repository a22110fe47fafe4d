#include "doc/go_types.h"

#include <algorithm>
#include <set>

#include "base/secret.h"
#include "base/text.h"

namespace prefetch::doc {
namespace {

void CheckText(const Reader& value) {
  if (!value.IsNull()) value.String();
}

// Adds a problem for each name that is in the list twice. An extension of a kubeconfig without content does
// not count.
void CheckNames(const std::vector<Reader>& items, bool extensions) {
  std::set<std::string> names;
  for (const Reader& item : items) {
    const Node* content = item.node().Find("extension");
    if (extensions && (content == nullptr || content->kind == Node::Kind::kNull)) continue;
    if (!names.insert(TextAt(item.node(), {"name"})).second) {
      item.Fail("has a name that stands before in this list");
    }
  }
}

// Go reads bytes from base64, and from a list of numbers.
void CheckBytes(const Reader& value) {
  if (value.node().kind == Node::Kind::kSequence) {
    for (const Reader& item : value.Items()) {
      if (!item.IsNull()) item.Int({.least = 0, .most = 255});
    }
    return;
  }
  if (auto text = value.String()) {
    auto data = DecodeGoBase64(*std::move(text));
    if (!data) value.Fail("must be base64");
    if (data) base::WipeString(*data);
  }
}

// Null is valid for nearly all types: Go's decoder leaves the field as it is.
void CheckValue(const Reader& value, const GoField& field) {
  if (value.IsNull() && field.type != GoType::kDurationValue) return;
  switch (field.type) {
    case GoType::kText:
      value.String();
      return;
    case GoType::kBool:
      value.Bool();
      return;
    case GoType::kBoolMap:
      for (const auto& [key, item] : value.Members()) {
        if (!item.IsNull()) item.Bool();
      }
      return;
    case GoType::kInt32:
      value.Int({.least = std::numeric_limits<std::int32_t>::min(),
                 .most = std::numeric_limits<std::int32_t>::max()});
      return;
    case GoType::kInt64:
      value.Int({.least = std::numeric_limits<std::int64_t>::min()});
      return;
    case GoType::kBase64:
      CheckBytes(value);
      return;
    case GoType::kDuration:
    case GoType::kDurationValue:
      value.Duration({.least = std::chrono::nanoseconds::min()});
      return;
    case GoType::kTexts:
      for (const Reader& item : value.Items()) CheckText(item);
      return;
    case GoType::kTextMap:
      for (const auto& [key, item] : value.Members()) CheckText(item);
      return;
    case GoType::kTextsMap:
      for (const auto& [key, items] : value.Members()) {
        for (const Reader& item : items.Items()) CheckText(item);
      }
      return;
    case GoType::kObject:
      CheckGoTypes(value, field.fields);
      return;
    case GoType::kObjectMap:
      for (const auto& [key, item] : value.Members()) CheckGoTypes(item, field.fields);
      return;
    case GoType::kObjects:
    case GoType::kNamedObjects:
    case GoType::kExtensions: {
      const std::vector<Reader> items = value.Items();
      for (const Reader& item : items) CheckGoTypes(item, field.fields);
      if (field.type != GoType::kObjects) CheckNames(items, field.type == GoType::kExtensions);
      return;
    }
  }
}

}  // namespace

// Members that are not in `fields` are ignored, as by Go's decoder. A scalar that is there twice takes the
// last value; the decoder would mix the parts of two objects or lists, so those are rejected.
void CheckGoTypes(const Reader& value, std::span<const GoField> fields) {
  if (value.IsNull()) return;
  std::set<std::string_view> seen;
  for (const auto& entry : value.Members()) {
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&](const GoField& one) { return one.key == entry.first; });
    if (field == fields.end()) continue;
    const Reader& member = entry.second;
    CheckValue(member, *field);
    const Node::Kind kind = member.node().kind;
    const bool scalar =
        kind != Node::Kind::kNull && kind != Node::Kind::kMapping && kind != Node::Kind::kSequence;
    const bool first = seen.insert(field->key).second;
    if (!first && !scalar && field->type != GoType::kObjectMap) {
      member.Fail("stands twice, and its parts would mix");
    }
  }
}

// Keys count in any case of their letters. `order` decides which of several counts: YAML is converted to JSON
// with sorted keys before Kubernetes reads it.
std::string TypeMeta(const Reader& root, std::string_view name, KeyOrder order) {
  const Member* last = nullptr;
  for (const Member& member : root.node().members) {
    if (!base::EqualsIgnoreCase(member.key, name) || member.value.kind == Node::Kind::kNull) continue;
    if (!Reader(member.value, root.problems(), member.key).String()) return "";
    if (last == nullptr || order == KeyOrder::kText || member.key > last->key) last = &member;
  }
  return last == nullptr ? "" : last->value.text;
}

// Go's decoder ignores line breaks within base64. The texts may be passwords, so copies are wiped.
std::optional<std::string> DecodeGoBase64(std::string text, bool padded) {
  std::string digits;
  digits.reserve(text.size() + 3);
  std::copy_if(text.begin(), text.end(), std::back_inserter(digits),
               [](char c) { return c != '\n' && c != '\r'; });
  base::WipeString(text);
  if (!padded && digits.ends_with('=')) return std::nullopt;
  if (!padded) digits.append((4 - digits.size() % 4) % 4, '=');
  auto data = base::Base64Decode(digits);
  base::WipeString(digits);
  return data;
}

std::string GoText(const Reader& object, std::string_view key) {
  std::string text;
  ForEachGoMember(object, key, [&](const Reader& value) {
    if (!value.IsNull()) text = value.String().value_or("");
  });
  return text;
}

std::string GoString(std::string_view text) {
  static constexpr std::string_view kHexDigits = "0123456789abcdef";
  const std::string clean = base::ToUtf8(text);
  std::string out = "\"";
  for (std::size_t i = 0; i < clean.size(); i++) {
    auto c = static_cast<unsigned char>(clean[i]);
    std::string_view rest = std::string_view(clean).substr(i);
    if (rest.starts_with("\xE2\x80\xA8") || rest.starts_with("\xE2\x80\xA9")) {
      out += rest[2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else if (c == '"' || c == '\\') {
      (out += '\\') += clean[i];
    } else if (c == '\n' || c == '\r' || c == '\t') {
      (out += '\\') += c == '\n' ? 'n' : c == '\r' ? 'r' : 't';
    } else if (c < 0x20 || c == '<' || c == '>' || c == '&') {
      ((out += "\\u00") += kHexDigits[c >> 4]) += kHexDigits[c & 15];
    } else {
      out += clean[i];
    }
  }
  return out + "\"";
}

std::vector<std::string> GoTexts(const Reader& sequence) {
  std::vector<std::string> texts;
  for (const Reader& item : sequence.Items()) {
    texts.push_back(item.IsNull() ? "" : item.String().value_or(""));
  }
  return texts;
}

}  // namespace prefetch::doc
