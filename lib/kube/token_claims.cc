#include "kube/token_claims.h"

#include <algorithm>

#include "base/text.h"
#include "doc/json.h"
#include "doc/path.h"

namespace prefetch::kube {
namespace {

constexpr std::size_t kLongestToken = 16 * 1024;
constexpr doc::Limits kClaimLimits{.bytes = kLongestToken, .depth = 8, .nodes = 1000};
// A second in the year 2255. Later ones do not fit into a WallTime, and mean the same here.
constexpr std::int64_t kLastSecond = 9'000'000'000;

// Returns the audiences of the claim, which is one string or a list of strings (RFC 7519 section 4.1.3).
std::vector<std::string> Audiences(const doc::Node* claim) {
  std::vector<std::string> audiences;
  if (claim == nullptr) return audiences;
  if (claim->kind == doc::Node::Kind::kString) audiences.push_back(claim->text);
  for (const doc::Node& item : claim->items) {
    if (item.kind == doc::Node::Kind::kString) audiences.push_back(item.text);
  }
  return audiences;
}

}  // namespace

std::optional<TokenClaims> ReadTokenClaims(std::string_view token) {
  // The bound comes before any copy of the text.
  if (token.size() > kLongestToken) return std::nullopt;
  const std::vector<std::string_view> parts = base::Split(token, '.');
  // An empty signature means an unsigned token ("alg": "none"), which is never a ServiceAccount's.
  if (parts.size() != 3 || parts[2].empty()) return std::nullopt;
  const std::optional<std::string> json = base::Base64UrlDecode(parts[1]);
  if (!json) return std::nullopt;
  doc::Problems problems("token");
  // The text is untrusted and unverified, so bytes, depth and number of nodes are bounded.
  const auto body = doc::ParseJson(*json, problems, doc::JsonRules::kLenient, kClaimLimits);
  if (!body || body->kind != doc::Node::Kind::kMapping) return std::nullopt;
  TokenClaims claims{.audiences = Audiences(body->Find("aud")),
                     .expires = std::nullopt,
                     .node = doc::TextAt(*body, {"kubernetes.io", "node", "name"}),
                     .pod_uid = doc::TextAt(*body, {"kubernetes.io", "pod", "uid"})};
  const doc::Node* expires = body->Find("exp");
  // A claim of another type leaves the expiry unknown, and CheckClaims (plan/caller.h) then rejects the
  // token.
  if (expires != nullptr && expires->kind == doc::Node::Kind::kInt && expires->integer >= 0) {
    const std::int64_t second = std::min<std::int64_t>(expires->integer, kLastSecond);
    claims.expires = base::WallTime(std::chrono::seconds(second));
  }
  return claims;
}

}  // namespace prefetch::kube
