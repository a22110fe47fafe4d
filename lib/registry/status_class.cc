#include "registry/status_class.h"

#include "base/text.h"
#include "registry/redirect.h"

namespace prefetch::registry {
namespace {

using image::RegistryDetail;
using Kind = image::RegistryAnswerKind;

bool IsBadName(std::string_view code) {
  return code == "NAME_INVALID" || code == "DIGEST_INVALID" || code == "TAG_INVALID";
}

StatusClass Unauthorized(const Refusal& refusal) {
  if (refusal.insufficient_scope) return {Kind::kAccessDenied, RegistryDetail::kInsufficientScope};
  return {Kind::kAccessDenied,
          refusal.credential ? RegistryDetail::kBadCredentials : RegistryDetail::kUnauthenticated};
}

// A 403 whose text speaks of limits is a rate limit (R22).
StatusClass Forbidden(const Refusal& refusal) {
  for (std::string_view word :
       {"rate limit", "rate exceeded", "toomanyrequests", "too many requests", "abuse"}) {
    if (base::ContainsIgnoreCase(refusal.body, word)) return {Kind::kRateLimited, RegistryDetail::kForbidden};
  }
  return {Kind::kAccessDenied, RegistryDetail::kForbidden};
}

// Registries answer in JSON. A 404 with a web page comes from another server, such as a captive portal (R23).
StatusClass NotFound(const Refusal& refusal) {
  if (refusal.html) return {Kind::kServerError, RegistryDetail::kNotARegistry};
  return {Kind::kTagMissing,
          refusal.oci_code == "NAME_UNKNOWN" ? RegistryDetail::kRepositoryMissing : RegistryDetail::kNone};
}

StatusClass ServerFailed(const Refusal& refusal) {
  // Object stores ask for fewer requests in this way.
  bool slow_down = base::ContainsIgnoreCase(refusal.body, "slow down") ||
                   base::ContainsIgnoreCase(refusal.body, "slowdown");
  if (refusal.status == 503 && slow_down) return {Kind::kRateLimited, RegistryDetail::kSlowDown};
  return {Kind::kServerError, RegistryDetail::Status(refusal.status)};
}

StatusClass ClassOfFault(http::Fault fault) {
  switch (fault) {
    case http::Fault::kNone:
    case http::Fault::kRequest:
      return {Kind::kIndeterminate, RegistryDetail::kInternal};
    case http::Fault::kStopped:
      return {Kind::kUnreachable, RegistryDetail::kStopped};
    case http::Fault::kName:
      return {Kind::kUnreachable, RegistryDetail::kDns};
    case http::Fault::kConnect:
      return {Kind::kUnreachable, RegistryDetail::kConnect};
    case http::Fault::kAddress:
      return {Kind::kUnreachable, RegistryDetail::kAddress};
    case http::Fault::kTls:
    case http::Fault::kUntrustedCertificate:
      return {Kind::kUnreachable, RegistryDetail::kTls};
    case http::Fault::kProxy:
      return {Kind::kUnreachable, RegistryDetail::kProxy};
    case http::Fault::kProxyAuth:
      return {Kind::kUnreachable, RegistryDetail::kProxyAuth};
    case http::Fault::kTimeout:
      return {Kind::kUnreachable, RegistryDetail::kTimeout};
    case http::Fault::kReset:
      return {Kind::kUnreachable, RegistryDetail::kReset};
    case http::Fault::kGarbage:
    case http::Fault::kMalformed:
      return {Kind::kServerError, RegistryDetail::kNotARegistry};
    case http::Fault::kLongHeaders:
    case http::Fault::kTooLong:
      return {Kind::kIndeterminate, RegistryDetail::kTooLong};
    case http::Fault::kEncoding:
      return {Kind::kIndeterminate, RegistryDetail::kNotAcceptable};
  }
  return {Kind::kIndeterminate, RegistryDetail::kNone};
}

}  // namespace

// The class decides about retries: a server error is tried again soon, a denial only with other credentials
// or much later, and a missing tag is reported. A doubtful status therefore counts as the server's error.
StatusClass ClassOf(const Refusal& refusal) {
  switch (refusal.status) {
    case 400:
      if (IsBadName(refusal.oci_code)) return {Kind::kIndeterminate, RegistryDetail::kInvalidReference};
      return {Kind::kServerError, RegistryDetail::kBadRequest};
    case 401:
      return Unauthorized(refusal);
    case 402:
      return {Kind::kAccessDenied, RegistryDetail::kQuota};
    case 403:
      return Forbidden(refusal);
    case 404:
      return NotFound(refusal);
    case 406:
      return {Kind::kIndeterminate, RegistryDetail::kNotAcceptable};
    case 407:
      return {Kind::kUnreachable, RegistryDetail::kProxyAuth};
    case 408:
    case 425:
      return {Kind::kServerError, RegistryDetail::kTimeout};
    case 410:
      return {Kind::kTagMissing, RegistryDetail::kGone};
    case 429:
      return {Kind::kRateLimited, RegistryDetail::kNone};
    case 451:
      return {Kind::kAccessDenied, RegistryDetail::kLegal};
    default:
      // A redirect without a usable Location. Session has followed all others.
      if (IsRedirect(refusal.status)) return {Kind::kServerError, RegistryDetail::kBadRedirect};
      return ServerFailed(refusal);
  }
}

image::RegistryAnswer AnswerToFault(http::Fault fault, const base::Error& error) {
  StatusClass found = ClassOfFault(fault);
  // The runtimes have larger limits and know more encodings, so only a pull can tell.
  const bool ours =
      fault == http::Fault::kLongHeaders || fault == http::Fault::kTooLong || fault == http::Fault::kEncoding;
  return {.kind = found.kind, .detail = found.detail, .only_by_pull = ours, .message = error.message()};
}

}  // namespace prefetch::registry
