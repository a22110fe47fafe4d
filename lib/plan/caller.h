// Callers: pods that ask this agent in their own name, and operators with a fleet token. Both show a token of
// a ServiceAccount. Decides which tokens the API server reviews, which callers a review admits, and which
// answers they get. Pure.
//
// A pod's token counts on one node only: the API server binds it to a pod, and tells on which node that pod
// runs (KEP-4193, on by default since Kubernetes 1.30). A fleet token is a TokenRequest for one
// ServiceAccount in the agents' own namespace, and counts on all their nodes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/account_token.h"
#include "base/clock.h"
#include "base/result.h"
#include "plan/check.h"

namespace prefetch::plan {

// The audience of every token for this agent. One for another audience is refused, so that no other program's
// token is ever sent on to the API server.
inline constexpr std::string_view kCallerAudience = "prefetchd";

// The answer to a question that the agent cannot answer from its own knowledge.
enum class AnswerSource { kKnown, kAsk };
// Which images that are not here a caller may have pulled.
enum class PullFor { kNever, kListed, kAny };

// The configuration's `preflight`.
struct CallerRules {
  std::vector<std::string> namespaces;           // patterns with `*`; none: no pod is admitted
  std::vector<std::string> service_accounts;     // patterns of NAMESPACE/NAME; none: all of these namespaces
  AnswerSource always = AnswerSource::kKnown;    // the registry, for pods with Always
  AnswerSource unlisted = AnswerSource::kKnown;  // about images that are on no list
  PullFor pull = PullFor::kNever;

  bool AdmitsAnybody() const { return !namespaces.empty(); }
  friend bool operator==(const CallerRules&, const CallerRules&) = default;
};

// The header of fleet tokens: the API server removes Authorization from proxied requests (pods/proxy).
inline constexpr std::string_view kFleetHeader = "Prefetchd-Authorization";

// The purpose of a token: a token for one opens nothing of the other.
enum class CallerPurpose {
  kPreflight,  // POST /v1/check, in a pod's own name
  kFleet,      // GET /v1/status in full, for prefetchctl --fleet
};

// Where the agent runs.
struct AgentLocation {
  std::string node, name_space;
};

// Component fleet's ServiceAccount: "prefetchd-fleet", with the prefix or suffix that kustomize or
// `generate --instance` gave it ("team-a-prefetchd-fleet").
bool IsFleetAccount(std::string_view name);

// The accounts of component fleet that may stand beside the agents' own, as one kustomization names both:
// "prefetchd-ci" → "prefetchd-fleet-ci". More than one where a prefix or suffix holds the name once more
// ("prefetchd-prefetchd"). None: the agents' account has another name.
std::vector<std::string> FleetAccountsBeside(std::string_view agent_account);

// The pod behind a token, as the API server names it.
struct Caller {
  std::string name_space, service_account, account_uid;
  std::string pod, pod_uid;

  friend bool operator==(const Caller&, const Caller&) = default;
};

// Why a caller is turned away. A closed set: it is a label of a metric.
enum class RejectionReason {
  kNotAToken,      // it is no token of a ServiceAccount
  kOtherAudience,  // it is for another service
  kExpired,
  kNotBound,     // to no pod, or the cluster does not tell the pod's node
  kOtherNode,    // to a pod of another node
  kRejected,     // the API server does not know it
  kNotAdmitted,  // the configuration admits no such namespace or account
};
// One sentence for the caller. Names nothing of the agent but its audience.
std::string_view RejectionReasonText(RejectionReason refusal, CallerPurpose purpose);
// Would another credential change the answer? Else the caller itself is not admitted.
bool IsAboutTheToken(RejectionReason refusal);

// Rejects tokens for other audiences, expired ones, and of pods those of other nodes. nullopt: the API server
// is to be asked.
std::optional<RejectionReason> CheckClaims(const base::TokenClaims& claims, CallerPurpose purpose,
                                           std::string_view node, base::WallTime now);
// `rules` are for pods; a fleet token needs none.
base::Result<Caller, RejectionReason> EvaluateReview(const base::TokenReview& review, CallerPurpose purpose,
                                                     const AgentLocation& location, const CallerRules& rules);

// This caller's rights. `listed`: the image that it asks about is on the list.
CheckRights RightsOf(const CallerRules& rules, bool listed);

}  // namespace prefetch::plan
