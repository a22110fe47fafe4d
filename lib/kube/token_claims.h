// The claims of a ServiceAccount token, unverified: they spare the API server questions whose answer is no.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace prefetch::kube {

struct TokenClaims {
  std::vector<std::string> audiences;
  std::optional<base::WallTime> expires;
  std::string node, pod_uid;  // of the pod that it is bound to; empty: it is bound to none
};

// nullopt: it is no JSON Web Token of at most 16 KiB (RFC 7519; the private claim `kubernetes.io` is that of
// k8s.io/kubernetes pkg/serviceaccount/claims.go). Pure.
std::optional<TokenClaims> ReadTokenClaims(std::string_view token);

}  // namespace prefetch::kube
