// RegistryAnswer: what a registry said about one reference when it was asked without pulling
// (registry rules R22 to R24). A value: lib/registry makes it, lib/plan decides by it, lib/status shows it.
// It stands here since those three do not know each other.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "image/registry_detail.h"

namespace prefetch::image {

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

std::string_view RegistryAnswerName(RegistryAnswerKind kind);  // "TagMissing"

// The pulls that a registry still allows this node, if its answers have the figure (Docker Hub's do; R28).
struct PullAllowance {
  std::uint64_t limit = 0, remaining = 0;
  std::chrono::seconds window{0};  // of the limit; 0: not told

  friend bool operator==(const PullAllowance&, const PullAllowance&) = default;
};

struct RegistryAnswer {
  RegistryAnswerKind kind = RegistryAnswerKind::kIndeterminate;
  RegistryDetail detail;              // the second word, where there is one
  std::string digest;                 // the tag's target; kSame, kMoved only
  bool local_digest_unknown = false;  // kMoved since there was nothing to compare with
  // kIndeterminate, and nothing was asked: the runtime goes by mirrors that only it can follow (legacy
  // tables, registries.conf; R36). Issuing PullImage again is the check.
  bool only_by_pull = false;
  std::string answered_by;  // host[:port] of the last request; empty: none was sent
  std::string message;      // one sentence for people, scrubbed
  // From Retry-After and its like, as a distance from the answer; none: the registry gave no time.
  std::optional<std::chrono::milliseconds> retry_after;
  std::optional<PullAllowance> allowance;  // of who answered
  int requests = 0;                        // HTTP requests that it took, tokens included
  // Asked with a credential that not every pod of the node has: of a pull secret that the agent was given, or
  // of a service account.
  bool lent = false;

  friend bool operator==(const RegistryAnswer&, const RegistryAnswer&) = default;
};

// Does it say nothing about the tag, and pass by itself: an answer that did not come in time, a connection
// that broke, a gateway without what is behind it?
bool IsTransient(const RegistryAnswer& answer);

}  // namespace prefetch::image
