#include "registry/status_class.h"

#include "base/text.h"

namespace prefetch::registry {
namespace {

using Kind = image::RegistryAnswerKind;

bool IsBadName(std::string_view code) {
  return code == "NAME_INVALID" || code == "DIGEST_INVALID" || code == "TAG_INVALID";
}

StatusClass Unauthorized(const Refusal& refusal) {
  if (refusal.insufficient_scope) return {Kind::kAccessDenied, "InsufficientScope"};
  return {Kind::kAccessDenied, refusal.credential ? "BadCredentials" : "Unauthenticated"};
}

StatusClass Forbidden(const Refusal& refusal) {
  for (std::string_view word :
       {"rate limit", "rate exceeded", "toomanyrequests", "too many requests", "abuse"}) {
    if (base::ContainsIgnoreCase(refusal.body, word)) return {Kind::kRateLimited, "Forbidden"};
  }
  return {Kind::kAccessDenied, "Forbidden"};
}

StatusClass NotFound(const Refusal& refusal) {
  if (refusal.html) return {Kind::kServerError, "NotARegistry"};
  return {Kind::kTagMissing, refusal.oci_code == "NAME_UNKNOWN" ? "RepositoryMissing" : ""};
}

StatusClass ServerFailed(const Refusal& refusal) {
  bool slow_down = base::ContainsIgnoreCase(refusal.body, "slow down") ||
                   base::ContainsIgnoreCase(refusal.body, "slowdown");
  if (refusal.status == 503 && slow_down) return {Kind::kRateLimited, "SlowDown"};
  return {Kind::kServerError, "Status" + std::to_string(refusal.status)};
}

}  // namespace

StatusClass ClassOf(const Refusal& refusal) {
  switch (refusal.status) {
    case 400:
      if (IsBadName(refusal.oci_code)) return {Kind::kIndeterminate, "InvalidReference"};
      return {Kind::kServerError, "BadRequest"};
    case 401:
      return Unauthorized(refusal);
    case 402:
      return {Kind::kAccessDenied, "Quota"};
    case 403:
      return Forbidden(refusal);
    case 404:
      return NotFound(refusal);
    case 406:
      return {Kind::kIndeterminate, "NotAcceptable"};
    case 407:
      return {Kind::kUnreachable, "ProxyAuth"};
    case 408:
    case 425:
      return {Kind::kServerError, "Timeout"};
    case 410:
      return {Kind::kTagMissing, "Gone"};
    case 429:
      return {Kind::kRateLimited, ""};
    case 451:
      return {Kind::kAccessDenied, "Legal"};
    default:
      return ServerFailed(refusal);
  }
}

}  // namespace prefetch::registry
