// RegistryAnswer: the result of checking one reference at its registry without a pull.
// RegistryDetail: the detailed reason of that answer.
// Below: the limits of requests to one registry, which checks and pulls share.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/enum_name.h"
#include "base/token_bucket.h"

namespace prefetch::image {

// Detailed reason of an answer.
class RegistryDetail {
 public:
  enum Code : std::uint8_t {
    kNone,
    kAddress,
    kBadChallenge,
    kBadCredentials,
    kBadRealm,
    kBadRedirect,
    kBadRequest,
    kBlocked,
    kCircuitOpen,
    kConnect,
    kCredentials,
    kCredentialsWithheld,
    kDigestMismatch,
    kDns,
    kForbidden,
    kGone,
    kInsecureRedirect,
    kInsufficientScope,
    kInternal,
    kInvalidReference,
    kLegal,
    kLowConfidence,
    kManifestTooLarge,
    kNoChallenge,
    kNoCredentials,
    kNoHosts,
    kNoManifest,
    kNoToken,
    kNotARegistry,
    kNotAcceptable,
    kNotAsked,
    kNotSent,
    kOnHold,
    kOnPull,
    kOwnLimit,
    kProxy,
    kProxyAuth,
    kQuota,
    kRepositoryMissing,
    kReset,
    kSchema1,
    kSlowDown,
    kStopped,
    kTimeout,
    kTls,
    kTokenService,
    kTooLong,
    kUnauthenticated,
    kUntrustedRealm,
    kStatus,  // an HTTP status that has no word of its own
  };

  constexpr RegistryDetail(Code code = kNone) : code_(code) {}  // NOLINT(google-explicit-constructor)
  static constexpr RegistryDetail Status(int status) {
    RegistryDetail detail(kStatus);
    detail.status_ = static_cast<std::int16_t>(status);
    return detail;
  }

  constexpr Code code() const { return code_; }
  constexpr int status() const { return status_; }  // of kStatus; else 0
  std::string name() const;                         // "Tls", "Status502"; empty: kNone

  friend constexpr bool operator==(const RegistryDetail&, const RegistryDetail&) = default;

 private:
  Code code_;
  std::int16_t status_ = 0;
};

// Kinds of answers (registry rules R22 to R24). lib/registry makes an answer, lib/plan decides by it,
// lib/status shows it. It is here because those three do not know each other.
enum class RegistryAnswerKind {
  kSame,           // the tag points to the runtime's image of that name
  kMoved,          // to something else: changed, which is not the same as newer
  kTagMissing,     // no such tag, repository or manifest
  kAccessDenied,   // 401 or 403 with every credential that the node has for it
  kRateLimited,    // `retry_after`, where the registry said so
  kUnreachable,    // no answer: DNS, connection, TLS, proxy
  kServerError,    // an answer that says nothing about the tag: 5xx, a login page
  kIndeterminate,  // an answer that cannot be compared
};

// The pulls that a registry still allows this node, if its answers have the figure (Docker Hub's do; R28).
struct PullAllowance {
  std::uint64_t limit = 0, remaining = 0;
  std::chrono::seconds window{0};  // of the limit; 0: not told

  friend bool operator==(const PullAllowance&, const PullAllowance&) = default;
};

struct RegistryAnswer {
  RegistryAnswerKind kind = RegistryAnswerKind::kIndeterminate;
  RegistryDetail detail;              // kNone: there is none
  std::string digest;                 // the tag's target; kSame, kMoved only
  bool local_digest_unknown = false;  // kMoved since there was nothing to compare with
  // kIndeterminate, and only the runtime can tell: it uses mirrors that the agent cannot follow (legacy
  // tables, registries.conf; R36), or has larger limits. Issuing PullImage again is the check.
  bool only_by_pull = false;
  // The runtime's pull fails at this answer of a mirror and asks no other host.
  bool ends_pull = false;
  std::string answered_by;  // host[:port] of the last request; empty: none was sent
  std::string message;      // one sentence for status and messages, scrubbed
  // From Retry-After and its like, as a distance from the answer; none: the registry gave no time.
  std::optional<std::chrono::milliseconds> retry_after;
  std::optional<PullAllowance> allowance;  // of who answered
  int requests = 0;                        // HTTP requests that it took, tokens included
  // Asked with a credential that not every pod of the node has: of a pull secret that the agent was given, or
  // of a service account.
  bool restricted = false;

  friend bool operator==(const RegistryAnswer&, const RegistryAnswer&) = default;
};

// Returns true if the answer says nothing about the tag and passes by itself: an answer that did not come in
// time, a connection that broke, a gateway without what is behind it.
bool IsTransient(const RegistryAnswer& answer);

// A denial of a request without a credential, since a credential plugin has failed. It is no answer about the
// tag (kUnreachable, kCredentials), although it shows that the registry is up.
bool IsUncountedDenial(const RegistryAnswer& answer);
void MakeUncountedDenial(RegistryAnswer& answer);

// Limits of a node's requests to one registry, and its pauses after failures (registry rules R27 and R29).
// The agent's checks and pulls (lib/plan) and the registry client (lib/registry) use the same figures. They
// are here because those two do not know each other.

constexpr base::TokenRate kRegistryRequests{.per_second = 5, .burst = 10};
constexpr int kRequestsPerRegistry = 2;  // checks, or their requests, at once
constexpr int kChecksAtOnce = 8;         // over all registries

// Questions without an answer; then one probe at a time.
constexpr base::Circuit kRegistryCircuit{
    .failures = 5, .first = std::chrono::seconds(60), .longest = std::chrono::minutes(15)};
// Pulls that fail without an answer of the registry; then one pull at a time. One failure may be chance.
constexpr base::Circuit kPullCircuit{
    .failures = 2, .first = std::chrono::seconds(1), .longest = std::chrono::minutes(1)};
// A 429 without a time (R27).
constexpr base::Circuit kRateLimitCircuit{
    .failures = 1, .first = std::chrono::seconds(60), .longest = std::chrono::hours(1)};
// Docker Hub counts pulls by hours.
constexpr base::Circuit kDockerHubLimitCircuit{
    .failures = 1, .first = std::chrono::minutes(15), .longest = std::chrono::hours(1)};

}  // namespace prefetch::image
