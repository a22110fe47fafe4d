// The claims of a ServiceAccount token, and the API server's review of it. Values: lib/kube reads them,
// lib/plan judges them. They are here since these folders do not know each other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace prefetch::base {

// A token's own claims, before verification. They reject tokens without an API call; they never accept one.
struct TokenClaims {
  std::vector<std::string> audiences;
  std::optional<WallTime> expires;
  std::string node, pod_uid;  // of the pod that it is bound to; empty: it is bound to none
};

// The API server's answer about a token.
struct TokenReview {
  bool authenticated = false;
  std::vector<std::string> audiences;  // of those that were asked for, the ones that the token is for
  std::string user, user_uid;          // "system:serviceaccount:NAMESPACE:NAME"
  std::string node, pod, pod_uid;      // of the pod that the token is bound to; empty: not told

  friend bool operator==(const TokenReview&, const TokenReview&) = default;
};

}  // namespace prefetch::base
