#include "registry/token_response.h"

#include <algorithm>
#include <string>

#include "doc/json.h"
#include "doc/secret_node.h"

namespace prefetch::registry {
namespace {

constexpr doc::Limits kTokenLimits{.bytes = 1 << 20, .depth = 32, .nodes = 1000};
constexpr std::size_t kMaxTokenBytes = 64 * 1024;
constexpr std::chrono::seconds kDefaultLifetime{60};
constexpr std::chrono::seconds kLongestLifetime{24 * 3600};
constexpr std::chrono::seconds kMargin{30};

const std::string* NonEmptyText(const doc::Node& object, const std::string& key) {
  const doc::Node* value = object.Find(key);
  if (value == nullptr || value->kind != doc::Node::Kind::kString || value->text.empty()) return nullptr;
  return &value->text;
}

std::chrono::seconds LifetimeOf(const doc::Node& object) {
  const doc::Node* value = object.Find("expires_in");
  if (value == nullptr || value->kind != doc::Node::Kind::kInt || value->integer <= 0)
    return kDefaultLifetime;
  return std::min(std::chrono::seconds(value->integer), kLongestLifetime);
}

bool IsHeaderText(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

std::chrono::seconds UsableFor(std::chrono::seconds lifetime) {
  return std::max(lifetime - kMargin, lifetime / 2);
}

base::Result<Token> ParseTokenResponse(std::string_view body) {
  doc::Problems problems("the token service's answer");
  auto parsed = doc::ParseJson(body, problems, doc::JsonRules::kStrict, kTokenLimits);
  if (!parsed) return base::InvalidArgument("the token service's answer is no JSON");
  doc::SecretNode root(std::move(*parsed));
  if (!problems.empty() || root.node.kind != doc::Node::Kind::kMapping) {
    return base::InvalidArgument("the token service's answer is not one that can be read");
  }
  const std::string* text = NonEmptyText(root.node, "access_token");
  if (text == nullptr) text = NonEmptyText(root.node, "token");
  if (text == nullptr) return base::InvalidArgument("the token service's answer holds no token");
  if (text->size() > kMaxTokenBytes || !IsHeaderText(*text)) {
    return base::InvalidArgument("the token service's token cannot be sent in a header");
  }
  return Token{.text = base::Secret(*text), .lifetime = LifetimeOf(root.node)};
}

}  // namespace prefetch::registry
