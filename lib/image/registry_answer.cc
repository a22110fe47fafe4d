#include "image/registry_answer.h"

#include <cstddef>
#include <iterator>

namespace prefetch::image {

std::string_view RegistryAnswerName(RegistryAnswerKind kind) {
  switch (kind) {
    case RegistryAnswerKind::kSame:
      return "Same";
    case RegistryAnswerKind::kMoved:
      return "Moved";
    case RegistryAnswerKind::kTagMissing:
      return "TagMissing";
    case RegistryAnswerKind::kAccessDenied:
      return "AccessDenied";
    case RegistryAnswerKind::kRateLimited:
      return "RateLimited";
    case RegistryAnswerKind::kUnreachable:
      return "Unreachable";
    case RegistryAnswerKind::kServerError:
      return "ServerError";
    case RegistryAnswerKind::kIndeterminate:
      return "Indeterminate";
  }
  return "";
}

bool IsTransient(const RegistryAnswer& answer) {
  const RegistryDetail& detail = answer.detail;
  // R25: a broken exchange. A name that does not resolve or a wrong certificate fails again.
  if (answer.kind == RegistryAnswerKind::kUnreachable) {
    return detail == RegistryDetail::kTimeout || detail == RegistryDetail::kReset;
  }
  // R25: these three come from a gateway that lacks what is behind it.
  return answer.kind == RegistryAnswerKind::kServerError && detail.status() >= 502 && detail.status() <= 504;
}

namespace {

struct Row {
  RegistryDetail::Code code;
  std::string_view name;
};

// One row for each word, in its order, so that a word is an index. IsInOrder checks it when the program is
// compiled.
constexpr Row kRows[] = {
    {RegistryDetail::kNone, ""},
    {RegistryDetail::kAddress, "Address"},
    {RegistryDetail::kBadChallenge, "BadChallenge"},
    {RegistryDetail::kBadCredentials, "BadCredentials"},
    {RegistryDetail::kBadRealm, "BadRealm"},
    {RegistryDetail::kBadRedirect, "BadRedirect"},
    {RegistryDetail::kBadRequest, "BadRequest"},
    {RegistryDetail::kBlocked, "Blocked"},
    {RegistryDetail::kCircuitOpen, "CircuitOpen"},
    {RegistryDetail::kConnect, "Connect"},
    {RegistryDetail::kCredentials, "Credentials"},
    {RegistryDetail::kCredentialsWithheld, "CredentialsWithheld"},
    {RegistryDetail::kDigestMismatch, "DigestMismatch"},
    {RegistryDetail::kDns, "Dns"},
    {RegistryDetail::kForbidden, "Forbidden"},
    {RegistryDetail::kGone, "Gone"},
    {RegistryDetail::kInsecureRedirect, "InsecureRedirect"},
    {RegistryDetail::kInsufficientScope, "InsufficientScope"},
    {RegistryDetail::kInternal, "Internal"},
    {RegistryDetail::kInvalidReference, "InvalidReference"},
    {RegistryDetail::kLegal, "Legal"},
    {RegistryDetail::kLowConfidence, "LowConfidence"},
    {RegistryDetail::kManifestTooLarge, "ManifestTooLarge"},
    {RegistryDetail::kNoChallenge, "NoChallenge"},
    {RegistryDetail::kNoCredentials, "NoCredentials"},
    {RegistryDetail::kNoHosts, "NoHosts"},
    {RegistryDetail::kNoManifest, "NoManifest"},
    {RegistryDetail::kNoToken, "NoToken"},
    {RegistryDetail::kNotARegistry, "NotARegistry"},
    {RegistryDetail::kNotAcceptable, "NotAcceptable"},
    {RegistryDetail::kNotQueried, "NotAsked"},
    {RegistryDetail::kNotSent, "NotSent"},
    {RegistryDetail::kOnHold, "OnHold"},
    {RegistryDetail::kOnPull, "OnPull"},
    {RegistryDetail::kOwnLimit, "OwnLimit"},
    {RegistryDetail::kProxy, "Proxy"},
    {RegistryDetail::kProxyAuth, "ProxyAuth"},
    {RegistryDetail::kQuota, "Quota"},
    {RegistryDetail::kRepositoryMissing, "RepositoryMissing"},
    {RegistryDetail::kReset, "Reset"},
    {RegistryDetail::kSamePlatform, "SamePlatform"},
    {RegistryDetail::kSchema1, "Schema1"},
    {RegistryDetail::kSlowDown, "SlowDown"},
    {RegistryDetail::kStopped, "Stopped"},
    {RegistryDetail::kTimeout, "Timeout"},
    {RegistryDetail::kTls, "Tls"},
    {RegistryDetail::kTokenService, "TokenService"},
    {RegistryDetail::kTooLong, "TooLong"},
    {RegistryDetail::kUnauthenticated, "Unauthenticated"},
    {RegistryDetail::kUntrustedRealm, "UntrustedRealm"},
    {RegistryDetail::kStatus, "Status"},
};

constexpr bool IsInOrder() {
  for (std::size_t i = 0; i < std::size(kRows); i++) {
    if (kRows[i].code != i) return false;
  }
  return std::size(kRows) == RegistryDetail::kStatus + 1;
}
static_assert(IsInOrder());

}  // namespace

std::string RegistryDetail::name() const {
  std::string name(kRows[code_].name);
  return code_ == kStatus ? name + std::to_string(status_) : name;
}

}  // namespace prefetch::image
