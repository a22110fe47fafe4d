// The question and the answer of POST /v1/check, which tells whether pods would start on this node with these
// images.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "doc/field.h"
#include "doc/node.h"
#include "image/pod_coordinates.h"
#include "image/reference.h"
#include "plan/caller.h"
#include "plan/check.h"
#include "status/documents.h"

namespace prefetch::status {

// "team/pull/9a41…". nullopt unless all three parts are there.
std::optional<image::Coordinates> ParseCoordinates(std::string_view text);
// "team/pull", or with its UID.
std::optional<image::Coordinates> ParseSecret(std::string_view text);
// Parses a pod's own secret: "pull", "pull/UID", or as above. The result has no namespace unless the text has
// one.
std::optional<image::Coordinates> ParseOwnSecret(std::string_view text);
// Returns the text for a request; without UID if none is known.
std::string CoordinatesText(const image::Coordinates& of);

// Whose pod it is; never a hash from outside. The UID of a pull secret may be empty: one that a manifest
// names. The default: any pod that has no pull secret, and no service account that a credential provider
// would use.
using CheckIdentity = image::PodCredentialRefs;

struct CheckQuestion {
  std::string image;  // as the pod writes it
  image::PullPolicy policy = image::PullPolicy::kNever;
  CheckIdentity identity;

  friend bool operator==(const CheckQuestion&, const CheckQuestion&) = default;
};

constexpr std::size_t kMostQuestions = 256;
constexpr std::size_t kMostSecretsOfCheck = 32;  // of one question

// Maximum time for which an answer is held for requested pulls; a repeated request waits on.
constexpr std::chrono::seconds kMostPullWait{10};
// Maximum time for which an agent asks registries for one request. Less than a server's deferred answer has.
constexpr std::chrono::seconds kMostRegistryTime{50};

struct CheckRequest {
  std::vector<CheckQuestion> questions;
  // The agent pulls absent images first, if it may (prefetchctl check --pull).
  bool pull = false;
  std::chrono::nanoseconds wait = kMostPullWait;  // for these pulls
  // Time limit for all registries together. An answer that has not come by then is unknown, so that the
  // answers that need no registry arrive in time.
  std::chrono::nanoseconds within = kMostRegistryTime;

  friend bool operator==(const CheckRequest&, const CheckRequest&) = default;
};

// {"checks": [{"image": "quay.io/acme/app:v1", "policy": "Never",
//              "identity": {"secrets": ["team/pull/UID"], "serviceAccount": "team/runner/UID"}}],
//  "pull": true, "wait": "5s", "within": "20s"}
// or the list of checks alone. Without a policy it is the one that Kubernetes would fill in. `of_pod`: the
// client is a pod, which may name its secrets without their namespace. InvalidArgument with all mistakes.
// Pure.
base::Result<CheckRequest> ParseCheckRequest(std::string_view json, bool of_pod = false);
// Makes the questions those of the caller's own pod: its account, and secrets of its own namespace.
// PermissionDenied where the request names another account or namespace. Pure.
base::Status BindToCaller(const plan::Caller& caller, CheckRequest& request);
doc::Node ToNode(const CheckRequest& request);

struct CheckAnswer {
  std::string image;  // as it was asked for
  doc::EnumText<image::PullPolicy> policy;
  bool ok = false;  // the pod starts with the local images; the registry need not answer
  bool listed = false;
  bool pending = false;      // it is being pulled, and nothing is decided: ask again
  VerdictResultText result;  // empty: prefetchctl had no answer in time
  std::string reason;        // of a plan::CheckReason
  std::string rule;          // "7: open to the node"; empty where no rule of kubelet's decided
  std::string message;
};
// This agent's verdict, in the names of the document.
CheckAnswer AnswerOf(const CheckQuestion& question, const plan::CheckDecision& decision);

struct CheckResult {
  std::string node;
  std::optional<base::WallTime> time;
  bool ok = false;  // all of them
  std::vector<CheckAnswer> answers;
};

// The answer for callers that the agent does not know: messages can quote registries, kubelet's records and
// paths.
CheckResult WithoutMessages(CheckResult result);

std::string CheckResultJson(const CheckResult& result);
// Parses another agent's answer. InvalidArgument if it is no CheckResult. Texts cannot harm a terminal.
base::Result<CheckResult> ParseCheckResult(std::string_view json);
// Returns its members, for the JSON Schema and the reference page.
doc::Fields CheckResultFields();

}  // namespace prefetch::status
