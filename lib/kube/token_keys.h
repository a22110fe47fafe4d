// TokenKeys: the public keys by which this cluster signs its ServiceAccounts' tokens (RFC 7517). They reject
// forged tokens without an API call. They never accept one: a genuine token may belong to a pod that is gone,
// and only the API server knows that.
// ReadTokenClaims: the claims of a token, unverified.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/account_token.h"

namespace prefetch::kube {

struct KeyAlgorithm;

struct PublicKey {
  std::string id;                           // "kid"
  const KeyAlgorithm* algorithm = nullptr;  // nullptr: one that we do not verify
  std::string first, second;                // big-endian: modulus and exponent, or x and y
};

enum class Signature {
  kGenuine,
  kForged,        // none of these keys has made it
  kUnknownKey,    // it names a key that is none of these
  kUnverifiable,  // a key or an algorithm that we do not verify
};

class TokenKeys {
 public:
  // Returns nullopt if the text is no JSON Web Key Set with a key.
  static std::optional<TokenKeys> Parse(std::string_view json);

  // Judges a JSON Web Token (RFC 7515, compact form) as k8s.io/kubernetes pkg/serviceaccount/jwt.go verifies
  // it. Pure; takes at most some hundred microseconds.
  Signature Verify(std::string_view token) const;

 private:
  std::vector<PublicKey> keys_;
};

// Reads the claims of a token without verifying it. Returns nullopt if it is no JSON Web Token of at most 16
// KiB (RFC 7519; the private claim `kubernetes.io` is that of k8s.io/kubernetes
// pkg/serviceaccount/claims.go). Pure.
std::optional<base::TokenClaims> ReadTokenClaims(std::string_view token);

}  // namespace prefetch::kube
