#include "doc/loose_json.h"

#include <json/json.h>

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "base/redactor.h"

namespace prefetch::doc {

namespace {

constexpr int kMaxDepth = 64;

// Maximum number of values. jsoncpp needs about a hundred bytes for each.
constexpr std::size_t kMaxValues = 100'000;

// Counts values by the characters before them, without parsing. For text that is no JSON, any result is
// right.
bool HasTooManyValues(std::string_view text) {
  std::size_t values = 1;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size() && values <= kMaxValues; i++) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted && c == '\\') i++;
    if (!quoted && (c == ',' || c == '[' || c == '{')) values++;
  }
  return values > kMaxValues;
}

// Returns null for anything that jsoncpp rejects. It throws if the nesting is too deep.
Json::Value ParseLoosely(std::string_view text) {
  if (HasTooManyValues(text)) return Json::Value();
  static const Json::CharReaderBuilder kBuilder = [] {
    Json::CharReaderBuilder builder;
    builder["stackLimit"] = kMaxDepth;
    builder["failIfExtra"] = true;
    builder["allowComments"] = false;  // HasTooManyValues would take a quote in a comment for that of a text.
    return builder;
  }();
  try {
    std::unique_ptr<Json::CharReader> reader(kBuilder.newCharReader());
    Json::Value root;
    if (reader->parse(text.data(), text.data() + text.size(), &root, nullptr)) return root;
  } catch (const std::exception&) {
  }
  return Json::Value();
}

const Json::Value& MemberOf(const Json::Value& value, const char* name) {
  return value.isObject() ? value[name] : Json::Value::nullSingleton();
}

}  // namespace

LooseJson::LooseJson(std::shared_ptr<const Json::Value> document, const Json::Value& value)
    : document_(std::move(document)), value_(&value) {}

LooseJson LooseJson::Parse(std::string_view text) {
  auto document = std::make_shared<const Json::Value>(ParseLoosely(text));
  const Json::Value& root = *document;
  return {std::move(document), root};
}

bool LooseJson::IsObject() const {
  return value_->isObject();
}

bool LooseJson::IsArray() const {
  return value_->isArray();
}

bool LooseJson::HasContent() const {
  return (IsObject() || IsArray()) && !value_->empty();
}

bool LooseJson::SaysSomething() const {
  if (!IsObject()) return false;
  return std::any_of(value_->begin(), value_->end(), [](const Json::Value& member) {
    return !member.isNull() && member != Json::Value(false) && member != Json::Value("");
  });
}

LooseJson LooseJson::Member(const char* name) const {
  return {document_, MemberOf(*value_, name)};
}

std::string LooseJson::Text(const char* name) const {
  const Json::Value& member = MemberOf(*value_, name);
  return member.isString() ? member.asString() : std::string();
}

std::optional<std::uint64_t> LooseJson::Number(const char* name) const {
  const Json::Value& member = MemberOf(*value_, name);
  return member.isUInt64() ? std::optional<std::uint64_t>(member.asUInt64()) : std::nullopt;
}

std::vector<std::string> LooseJson::Names() const {
  return IsObject() ? value_->getMemberNames() : std::vector<std::string>();
}

std::vector<LooseJson> LooseJson::Items() const {
  std::vector<LooseJson> items;
  if (!IsArray()) return items;
  for (const Json::Value& item : *value_) items.push_back(LooseJson(document_, item));
  return items;
}

namespace {

// 1 PiB. No disk has room for more, so a larger size is a mistake of the manifest. It is not taken for a lack
// of room, and the runtime says what is wrong.
constexpr std::uint64_t kLargestBlob = 1ULL << 50;

std::optional<Blob> ParseDescriptor(const LooseJson& value) {
  const std::optional<std::uint64_t> size = value.Number("size");
  Blob blob{value.Text("digest"), size.value_or(0)};
  // A descriptor without either could not be compared with the store.
  if (blob.digest.empty() || !size || blob.size_bytes > kLargestBlob) return std::nullopt;
  return blob;
}

bool IsConfigType(std::string_view type) {
  return type == "application/vnd.oci.image.config.v1+json" ||
         type == "application/vnd.docker.container.image.v1+json";
}

bool IsLayerType(std::string_view type) {
  return (type.starts_with("application/vnd.oci.image.layer.") ||
          type.starts_with("application/vnd.docker.image.rootfs.")) &&
         type.find("encrypted") == std::string_view::npos;
}

}  // namespace

std::optional<ImageManifest> ParseImageManifest(std::string_view json) {
  const base::LargeTextLock turn(json.size());
  const LooseJson root = LooseJson::Parse(json);
  const LooseJson layers = root.Member("layers"), config = root.Member("config");
  std::optional<Blob> first = ParseDescriptor(config);
  if (!first || !layers.IsArray()) return std::nullopt;
  ImageManifest manifest{.blobs = {*first}, .can_be_unpacked = IsConfigType(config.Text("mediaType"))};
  std::set<Blob> listed = {*first};
  for (const LooseJson& layer : layers.Items()) {
    std::optional<Blob> blob = ParseDescriptor(layer);
    if (!blob) return std::nullopt;
    const std::string type = layer.Text("mediaType");
    manifest.can_be_unpacked &= IsLayerType(type);
    manifest.has_foreign_layers |= type.find("nondistributable") != std::string::npos ||
                                   type.find("foreign") != std::string::npos ||
                                   layer.Member("urls").HasContent();
    if (listed.insert(*blob).second) manifest.blobs.push_back(*std::move(blob));
  }
  return manifest;
}

}  // namespace prefetch::doc
