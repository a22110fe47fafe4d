#include "deploy/config_map.h"

#include <algorithm>
#include <string_view>

#include "base/sha256.h"
#include "base/text.h"
#include "doc/edit.h"

namespace prefetch::deploy {
namespace {

constexpr std::size_t kHash = 10;
constexpr std::string_view kHexDigits = "0123456789abcdef";
// kustomize replaces some, to prevent words and digits that look like letters.
constexpr std::string_view kHashDigits = "gh2k456789mbcdtf";

// Go escapes these characters by default, also U+2028 and U+2029. Any difference would change the hash, and
// with it the name of the ConfigMap.
void AppendGoString(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t i = 0; i < text.size(); i++) {
    auto c = static_cast<unsigned char>(text[i]);
    std::string_view rest = text.substr(i);
    if (rest.starts_with("\xE2\x80\xA8") || rest.starts_with("\xE2\x80\xA9")) {
      out += rest[2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else if (c == '"' || c == '\\') {
      (out += '\\') += text[i];
    } else if (c == '\n' || c == '\r' || c == '\t') {
      (out += '\\') += c == '\n' ? 'n' : c == '\r' ? 'r' : 't';
    } else if (c < 0x20 || c == '<' || c == '>' || c == '&') {
      ((out += "\\u00") += kHexDigits[c >> 4]) += kHexDigits[c & 15];
    } else {
      out += text[i];
    }
  }
  out += '"';
}

// Writes {"data":…,"kind":"ConfigMap","name":…} as Go's encoding/json does: with sorted keys, and with the
// special characters of HTML escaped. kustomize hashes exactly this text.
std::string GoJson(const doc::Node& config_map) {
  std::vector<std::pair<std::string_view, std::string_view>> data;
  if (const doc::Node* members = config_map.Find("data")) {
    for (const doc::Member& one : members->members) data.emplace_back(one.key, one.value.text);
  }
  std::sort(data.begin(), data.end());
  std::string out = "{\"data\":{";
  for (std::size_t i = 0; i < data.size(); i++) {
    if (i > 0) out += ',';
    AppendGoString(out, data[i].first);
    out += ':';
    AppendGoString(out, data[i].second);
  }
  return out + "},\"kind\":\"ConfigMap\",\"name\":\"\"}";
}

}  // namespace

doc::Node MakeConfigMap(const std::string& name,
                        const std::vector<std::pair<std::string, std::string>>& data) {
  doc::Node object = doc::Node::Mapping();
  object.Set("apiVersion", doc::Node::String("v1")).Set("kind", doc::Node::String("ConfigMap"));
  Put(Sub(object, "metadata"), "name", doc::Node::String(name));
  for (const auto& [key, text] : data) Put(Sub(object, "data"), key, doc::Node::String(text));
  return object;
}

std::size_t ConfigMapBytes(const doc::Node& config_map) {
  std::size_t bytes = 0;
  if (const doc::Node* data = config_map.Find("data")) {
    for (const doc::Member& one : data->members) bytes += one.key.size() + one.value.text.size();
  }
  return bytes;
}

std::string ConfigMapHash(const doc::Node& config_map) {
  std::string hash = base::Sha256Hex(GoJson(config_map)).substr(0, kHash);
  for (char& c : hash) c = kHashDigits[kHexDigits.find(c)];
  return hash;
}

std::string WithoutHash(const std::string& name) {
  if (name.size() <= kHash + 1 || name[name.size() - kHash - 1] != '-') return name;
  const bool hashed = name.find_first_not_of(kHashDigits, name.size() - kHash) == std::string::npos;
  return hashed ? name.substr(0, name.size() - kHash - 1) : name;
}

}  // namespace prefetch::deploy
