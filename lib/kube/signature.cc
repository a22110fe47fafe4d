#include "kube/signature.h"

#include <gmp.h>
#include <nettle/bignum.h>
#include <nettle/dsa.h>
#include <nettle/ecc-curve.h>
#include <nettle/ecc.h>
#include <nettle/ecdsa.h>
#include <nettle/rsa.h>
#include <nettle/sha2.h>

#include <array>
#include <cstdint>

namespace prefetch::kube {
namespace {

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

// Writes the hash that belongs to the curve, and returns its size (RFC 7518 section 3.4).
std::size_t Digest(PublicKey::Kind kind, std::string_view message, std::array<std::uint8_t, 64>& digest) {
  if (kind == PublicKey::Kind::kP256) {
    sha256_ctx hash;
    sha256_init(&hash);
    sha256_update(&hash, message.size(), Bytes(message));
    sha256_digest(&hash, SHA256_DIGEST_SIZE, digest.data());
    return SHA256_DIGEST_SIZE;
  }
  sha512_ctx hash;
  const bool p384 = kind == PublicKey::Kind::kP384;
  // SHA-384 is SHA-512 with another beginning and a shorter end, so both share the context.
  p384 ? sha384_init(&hash) : sha512_init(&hash);
  sha512_update(&hash, message.size(), Bytes(message));
  if (p384) {
    sha384_digest(&hash, SHA384_DIGEST_SIZE, digest.data());
    return SHA384_DIGEST_SIZE;
  }
  sha512_digest(&hash, SHA512_DIGEST_SIZE, digest.data());
  return SHA512_DIGEST_SIZE;
}

bool VerifiesEcdsa(const ecc_curve* curve, const PublicKey& key, std::string_view message,
                   std::string_view signature) {
  // r and s, each as long as the curve's order.
  const std::size_t half = (ecc_bit_size(curve) + 7) / 8;
  if (signature.size() != half * 2) return false;
  std::array<std::uint8_t, 64> digest{};
  const std::size_t size = Digest(key.kind, message, digest);
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
    verified = ecdsa_verify(&point, size, digest.data(), &pair) == 1;
    dsa_signature_clear(&pair);
  }
  ecc_point_clear(&point);
  return verified;
}

}  // namespace

bool Verifies(const PublicKey& key, std::string_view message, std::string_view signature) {
  switch (key.kind) {
    case PublicKey::Kind::kRsa:
      return VerifiesRsa(key, message, signature);
    case PublicKey::Kind::kP256:
      return VerifiesEcdsa(nettle_get_secp_256r1(), key, message, signature);
    case PublicKey::Kind::kP384:
      return VerifiesEcdsa(nettle_get_secp_384r1(), key, message, signature);
    case PublicKey::Kind::kP521:
      return VerifiesEcdsa(nettle_get_secp_521r1(), key, message, signature);
    case PublicKey::Kind::kOther:
      return false;
  }
  return false;
}

}  // namespace prefetch::kube
