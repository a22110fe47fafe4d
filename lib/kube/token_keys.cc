#include "kube/token_keys.h"

#include <gmp.h>
#include <nettle/bignum.h>
#include <nettle/dsa.h>
#include <nettle/ecc-curve.h>
#include <nettle/ecc.h>
#include <nettle/ecdsa.h>
#include <nettle/nettle-meta.h>
#include <nettle/rsa.h>
#include <nettle/sha2.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/text.h"
#include "doc/json.h"
#include "doc/node.h"

namespace prefetch::kube {

// An algorithm that the API server uses, and the keys that it is used with (RFC 7518, 3.3 and 3.4).
struct KeyAlgorithm {
  std::string_view type, curve;  // "kty" and "crv" of the key
  std::string_view name;         // the token's own "alg" must agree: it may not choose how it is verified
  const ecc_curve* (*ecc)();     // nullptr: RSASSA-PKCS1-v1_5
  const nettle_hash* hash;
};

namespace {

constexpr doc::Limits kKeyLimits{.bytes = 256 * 1024, .depth = 8, .nodes = 5'000};
constexpr doc::Limits kHeaderLimits{.bytes = 4 * 1024, .depth = 4, .nodes = 50};
// Every key without an id is tried for each token, so their number bounds the work.
constexpr std::size_t kMostKeys = 32;

constexpr std::array kAlgorithms = std::to_array<KeyAlgorithm>({
    {"RSA", "", "RS256", nullptr, &nettle_sha256},
    {"EC", "P-256", "ES256", nettle_get_secp_256r1, &nettle_sha256},
    {"EC", "P-384", "ES384", nettle_get_secp_384r1, &nettle_sha384},
    {"EC", "P-521", "ES512", nettle_get_secp_521r1, &nettle_sha512},
});

PublicKey ReadKey(const doc::Node& item) {
  PublicKey key{.id = doc::TextAt(item, {"kid"})};
  const std::string type = doc::TextAt(item, {"kty"}), curve = doc::TextAt(item, {"crv"});
  const auto known = std::find_if(kAlgorithms.begin(), kAlgorithms.end(), [&](const KeyAlgorithm& one) {
    return one.type == type && (one.ecc == nullptr || one.curve == curve);
  });
  if (known == kAlgorithms.end()) return key;
  const bool rsa = known->ecc == nullptr;
  auto first = base::Base64UrlDecode(doc::TextAt(item, {rsa ? "n" : "x"}));
  auto second = base::Base64UrlDecode(doc::TextAt(item, {rsa ? "e" : "y"}));
  // A key that cannot be read stays in the list: a token of it must not be called forged.
  if (!first || !second || first->empty() || second->empty()) return key;
  key.algorithm = &*known;
  key.first = *std::move(first);
  key.second = *std::move(second);
  return key;
}

// Shorter keys are broken. Longer ones cost too much for a check that strangers can cause.
constexpr std::size_t kShortestModulus = 2048 / 8;
constexpr std::size_t kLongestModulus = 8192 / 8;
// Usual exponents have three bytes (65537). A long one makes each check slow.
constexpr std::size_t kLongestExponent = 4;

const std::uint8_t* Bytes(std::string_view text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

// An integer of nettle's, which is freed with this object.
class Number {
 public:
  explicit Number(std::string_view bytes) {
    mpz_init(value_);
    nettle_mpz_set_str_256_u(value_, bytes.size(), Bytes(bytes));
  }
  ~Number() { mpz_clear(value_); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  mpz_t& value() { return value_; }

 private:
  mpz_t value_;
};

bool VerifiesRsa(const PublicKey& key, std::string_view message, std::string_view signature) {
  if (key.first.size() < kShortestModulus || key.first.size() > kLongestModulus) return false;
  // RFC 8017 section 8.2.2: the signature is as long as the modulus.
  if (key.second.size() > kLongestExponent || signature.size() != key.first.size()) return false;
  rsa_public_key rsa;
  rsa_public_key_init(&rsa);
  nettle_mpz_set_str_256_u(rsa.n, key.first.size(), Bytes(key.first));
  nettle_mpz_set_str_256_u(rsa.e, key.second.size(), Bytes(key.second));
  bool verified = false;
  // nettle's arithmetic needs an odd modulus, and the key comes from outside.
  if (rsa_public_key_prepare(&rsa) == 1 && mpz_odd_p(rsa.n) != 0) {
    sha256_ctx hash;
    sha256_init(&hash);
    sha256_update(&hash, message.size(), Bytes(message));
    Number number(signature);
    verified = mpz_cmp(number.value(), rsa.n) < 0 && rsa_sha256_verify(&rsa, &hash, number.value()) == 1;
  }
  rsa_public_key_clear(&rsa);
  return verified;
}

std::vector<std::uint8_t> Digest(const nettle_hash& hash, std::string_view message) {
  std::vector<std::uint8_t> context(hash.context_size), digest(hash.digest_size);
  hash.init(context.data());
  hash.update(context.data(), message.size(), Bytes(message));
  hash.digest(context.data(), digest.size(), digest.data());
  return digest;
}

bool VerifiesEcdsa(const PublicKey& key, std::string_view message, std::string_view signature) {
  const ecc_curve* curve = key.algorithm->ecc();
  // r and s, each as long as the curve's order.
  const std::size_t half = (ecc_bit_size(curve) + 7) / 8;
  if (signature.size() != half * 2) return false;
  const std::vector<std::uint8_t> digest = Digest(*key.algorithm->hash, message);
  ecc_point point;
  ecc_point_init(&point, curve);
  Number x(key.first), y(key.second);
  bool verified = false;
  // This fails for a point that is not on the curve: a key that is none.
  if (ecc_point_set(&point, x.value(), y.value()) == 1) {
    dsa_signature pair;
    dsa_signature_init(&pair);
    nettle_mpz_set_str_256_u(pair.r, half, Bytes(signature));
    nettle_mpz_set_str_256_u(pair.s, half, Bytes(signature.substr(half)));
    verified = ecdsa_verify(&point, digest.size(), digest.data(), &pair) == 1;
    dsa_signature_clear(&pair);
  }
  ecc_point_clear(&point);
  return verified;
}

// Returns false for an invalid key, too.
bool Verifies(const PublicKey& key, std::string_view message, std::string_view signature) {
  return key.algorithm->ecc == nullptr ? VerifiesRsa(key, message, signature)
                                       : VerifiesEcdsa(key, message, signature);
}

}  // namespace

std::optional<TokenKeys> TokenKeys::Parse(std::string_view json) {
  const doc::Node set = doc::ParseOrNull(json, kKeyLimits);
  TokenKeys keys;
  for (const doc::Node& item : doc::ItemsAt(set, {"keys"})) {
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
  const doc::Node header = doc::ParseOrNull(*head, kHeaderLimits);
  if (header.kind != doc::Node::Kind::kMapping) return Signature::kForged;
  const std::string id = doc::TextAt(header, {"kid"});
  const std::string algorithm = doc::TextAt(header, {"alg"});
  // The same key may be listed for several algorithms, and keys without an id fit every token.
  bool named = false, verifiable = true;
  // The signature covers the two parts as they are encoded (RFC 7515 section 5.2).
  const std::string_view message = token.substr(0, parts[0].size() + 1 + parts[1].size());
  for (const PublicKey& key : keys_) {
    if (!id.empty() && !key.id.empty() && key.id != id) continue;
    named = true;
    if (key.algorithm == nullptr) {
      verifiable = false;
    } else if (algorithm == key.algorithm->name && Verifies(key, message, *signature)) {
      return Signature::kGenuine;
    }
  }
  // The cluster may have new keys that are not known here yet, so the caller can fetch them and judge again.
  if (!named) return Signature::kUnknownKey;
  return verifiable ? Signature::kForged : Signature::kUnverifiable;
}

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

std::optional<base::TokenClaims> ReadTokenClaims(std::string_view token) {
  // The bound comes before any copy of the text.
  if (token.size() > kLongestToken) return std::nullopt;
  const std::vector<std::string_view> parts = base::Split(token, '.');
  // An empty signature means an unsigned token ("alg": "none"), which is never a ServiceAccount's.
  if (parts.size() != 3 || parts[2].empty()) return std::nullopt;
  const std::optional<std::string> json = base::Base64UrlDecode(parts[1]);
  if (!json) return std::nullopt;
  // The text is untrusted and unverified, so bytes, depth and number of nodes are bounded.
  const doc::Node body = doc::ParseOrNull(*json, kClaimLimits);
  if (body.kind != doc::Node::Kind::kMapping) return std::nullopt;
  base::TokenClaims claims{.audiences = Audiences(body.Find("aud")),
                           .node = doc::TextAt(body, {"kubernetes.io", "node", "name"}),
                           .pod_uid = doc::TextAt(body, {"kubernetes.io", "pod", "uid"})};
  const doc::Node* expires = body.Find("exp");
  // A claim of another type leaves the expiry unknown, and CheckClaims (plan/caller.h) then rejects the
  // token.
  if (expires != nullptr && expires->kind == doc::Node::Kind::kInt && expires->integer >= 0) {
    const std::int64_t second = std::min<std::int64_t>(expires->integer, kLastSecond);
    claims.expires = base::WallTime(std::chrono::seconds(second));
  }
  return claims;
}

}  // namespace prefetch::kube
