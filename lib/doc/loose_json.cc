#include "doc/loose_json.h"

#include <json/json.h>

#include <exception>
#include <utility>

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

}  // namespace prefetch::doc
