#include "kube/token_keys.h"

#include <algorithm>

#include "base/text.h"
#include "doc/json.h"
#include "doc/path.h"
#include "kube/signature.h"

namespace prefetch::kube {
namespace {

constexpr doc::Limits kKeyLimits{.bytes = 256 * 1024, .depth = 8, .nodes = 5'000};
constexpr doc::Limits kHeaderLimits{.bytes = 4 * 1024, .depth = 4, .nodes = 50};
// Every key without an id is tried for each token, so their number bounds the work.
constexpr std::size_t kMostKeys = 32;

PublicKey::Kind KindOf(const std::string& type, const std::string& curve) {
  if (type == "RSA") return PublicKey::Kind::kRsa;
  if (type != "EC") return PublicKey::Kind::kOther;
  if (curve == "P-256") return PublicKey::Kind::kP256;
  if (curve == "P-384") return PublicKey::Kind::kP384;
  return curve == "P-521" ? PublicKey::Kind::kP521 : PublicKey::Kind::kOther;
}

PublicKey ReadKey(const doc::Node& item) {
  PublicKey key{.id = doc::TextAt(item, {"kid"}),
                .kind = KindOf(doc::TextAt(item, {"kty"}), doc::TextAt(item, {"crv"})),
                .first = {},
                .second = {}};
  const bool rsa = key.kind == PublicKey::Kind::kRsa;
  auto first = base::Base64UrlDecode(doc::TextAt(item, {rsa ? "n" : "x"}));
  auto second = base::Base64UrlDecode(doc::TextAt(item, {rsa ? "e" : "y"}));
  // A key that cannot be read stays in the list: a token of it must not be called forged.
  if (!first || !second || first->empty() || second->empty()) key.kind = PublicKey::Kind::kOther;
  if (key.kind == PublicKey::Kind::kOther) return key;
  key.first = *std::move(first);
  key.second = *std::move(second);
  return key;
}

// Returns the algorithm that the API server uses with such a key. The token's own "alg" must agree: it may
// not choose the way in which it is verified.
std::string_view AlgorithmOf(PublicKey::Kind kind) {
  switch (kind) {
    case PublicKey::Kind::kRsa:
      return "RS256";
    case PublicKey::Kind::kP256:
      return "ES256";
    case PublicKey::Kind::kP384:
      return "ES384";
    case PublicKey::Kind::kP521:
      return "ES512";
    case PublicKey::Kind::kOther:
      return "";
  }
  return "";
}

}  // namespace

std::optional<TokenKeys> TokenKeys::Parse(std::string_view json) {
  doc::Problems problems("keys");
  const auto set = doc::ParseJson(json, problems, doc::JsonRules::kLenient, kKeyLimits);
  if (!set || set->kind != doc::Node::Kind::kMapping) return std::nullopt;
  TokenKeys keys;
  for (const doc::Node& item : doc::ItemsAt(*set, {"keys"})) {
    // A part of the keys would make the others' tokens look forged.
    if (keys.keys_.size() >= kMostKeys) return std::nullopt;
    if (item.kind == doc::Node::Kind::kMapping) keys.keys_.push_back(ReadKey(item));
  }
  if (keys.keys_.empty()) return std::nullopt;
  return keys;
}

Signature TokenKeys::Verify(std::string_view token) const {
  const std::vector<std::string_view> parts = base::Split(token, '.');
  if (parts.size() != 3) return Signature::kForged;
  const auto head = base::Base64UrlDecode(parts[0]);
  const auto signature = base::Base64UrlDecode(parts[2]);
  if (!head || !signature) return Signature::kForged;
  doc::Problems problems("token");
  const auto header = doc::ParseJson(*head, problems, doc::JsonRules::kLenient, kHeaderLimits);
  if (!header || header->kind != doc::Node::Kind::kMapping) return Signature::kForged;
  const std::string id = doc::TextAt(*header, {"kid"});
  const std::string algorithm = doc::TextAt(*header, {"alg"});
  // The same key may be listed for several algorithms, and keys without an id fit every token.
  bool named = false, verifiable = true;
  // The signature covers the two parts as they are encoded (RFC 7515 section 5.2).
  const std::string_view message = token.substr(0, parts[0].size() + 1 + parts[1].size());
  for (const PublicKey& key : keys_) {
    if (!id.empty() && !key.id.empty() && key.id != id) continue;
    named = true;
    if (key.kind == PublicKey::Kind::kOther) {
      verifiable = false;
    } else if (algorithm == AlgorithmOf(key.kind) && Verifies(key, message, *signature)) {
      return Signature::kGenuine;
    }
  }
  // The cluster may have new keys that are not known here yet, so the caller can fetch them and judge again.
  if (!named) return Signature::kUnknownKey;
  return verifiable ? Signature::kForged : Signature::kUnverifiable;
}

}  // namespace prefetch::kube
