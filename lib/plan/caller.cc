#include "plan/caller.h"

#include <algorithm>
#include <cstdlib>

#include "base/label_syntax.h"
#include "base/text.h"
#include "image/reference.h"

namespace prefetch::plan {
namespace {

constexpr std::string_view kAccountPrefix = "system:serviceaccount:";
constexpr std::string_view kAgentAccount = "prefetchd";
constexpr std::string_view kFleetAccount = "prefetchd-fleet";
// Tolerated difference between this node's clock and that of the API server, which wrote the token's expiry.
// The API server itself decides about tokens that expire within this time.
constexpr std::chrono::seconds kClockSkew{60};

// Reports whether the agent's own audience is among them. Both the claims and the review are checked: claims
// are not verified yet, and an API server that knows no audiences answers without any.
bool Contains(const std::vector<std::string>& audiences) {
  return std::find(audiences.begin(), audiences.end(), kCallerAudience) != audiences.end();
}

// The namespace decides as much as the name: in any other namespace, a user who may create ServiceAccounts
// could give one this name.
bool IsOfTheFleet(const Caller& caller, const AgentLocation& location) {
  return caller.name_space == location.name_space && IsFleetAccount(caller.service_account);
}

// Returns the caller's identity as the API server states it, before its rights are judged. Users that are not
// ServiceAccounts (certificates, OIDC) are rejected.
base::Result<Caller, RejectionReason> CallerOf(const base::TokenReview& review) {
  if (!review.authenticated) return RejectionReason::kRejected;
  if (!Contains(review.audiences)) return RejectionReason::kOtherAudience;
  if (!review.user.starts_with(kAccountPrefix)) return RejectionReason::kNotAToken;
  const std::string_view account = std::string_view(review.user).substr(kAccountPrefix.size());
  // Neither namespaces nor names may contain a colon, so any other number of parts is no ServiceAccount.
  const std::vector<std::string_view> parts = base::Split(account, ':');
  if (parts.size() != 2 || parts[0].empty() || parts[1].empty()) return RejectionReason::kNotAToken;
  return Caller{.name_space = std::string(parts[0]),
                .service_account = std::string(parts[1]),
                .account_uid = review.user_uid,
                .pod = review.pod,
                .pod_uid = review.pod_uid};
}

bool Admits(const CallerRules& rules, const Caller& caller) {
  if (!image::MatchesAny(rules.namespaces, caller.name_space)) return false;
  return rules.service_accounts.empty() ||
         image::MatchesAny(rules.service_accounts, caller.name_space + "/" + caller.service_account);
}

}  // namespace

bool IsFleetAccount(std::string_view name) {
  return !base::EndsOfWord(name, kFleetAccount).empty();
}

std::vector<std::string> FleetAccountsBeside(std::string_view agent_account) {
  std::vector<std::string> accounts;
  for (std::size_t end : base::EndsOfWord(agent_account, kAgentAccount)) {
    std::string account(agent_account);
    // kustomize puts prefix and suffix around the whole name, so the fleet's name is inside the agents' one.
    account.insert(end, kFleetAccount.substr(kAgentAccount.size()));
    accounts.push_back(std::move(account));
  }
  return accounts;
}

std::string_view RejectionReasonText(RejectionReason refusal, CallerPurpose purpose) {
  const bool fleet = purpose == CallerPurpose::kFleet;
  switch (refusal) {
    case RejectionReason::kNotAToken:
      return fleet ? "Prefetchd-Authorization must be \"Bearer TOKEN\", with a token of a ServiceAccount"
                   : "Authorization must be \"Bearer TOKEN\", with a token of a ServiceAccount";
    case RejectionReason::kOtherAudience:
      return "the token is for another audience: request one for the audience prefetchd";
    case RejectionReason::kExpired:
      return fleet ? "the token has expired: request a new one"
                   : "the token has expired: read it from its projected volume for each question";
    case RejectionReason::kNotBound:
      return "the token is bound to no pod on a node: use a projected volume";
    case RejectionReason::kOtherNode:
      return "the token belongs to a pod of another node: ask the agent of that pod's own node";
    case RejectionReason::kRejected:
      return "the API server rejects the token";
    case RejectionReason::kNotAdmitted:
      return fleet ? "only ServiceAccounts of the agents' namespace with the name prefetchd-fleet, "
                     "PREFIX-prefetchd-fleet or prefetchd-fleet-SUFFIX may read the full status"
                   : "this agent's configuration (preflight) does not admit this ServiceAccount";
  }
  std::abort();
}

bool IsAboutTheToken(RejectionReason refusal) {
  return refusal != RejectionReason::kNotAdmitted && refusal != RejectionReason::kOtherNode;
}

// The claims are unverified. They may only reject: a forged claim that passes here still fails the API
// server's review, and each rejection here saves the API server a call.
std::optional<RejectionReason> CheckClaims(const base::TokenClaims& claims, CallerPurpose purpose,
                                           std::string_view node, base::WallTime now) {
  if (!Contains(claims.audiences)) return RejectionReason::kOtherAudience;
  if (!claims.expires || *claims.expires + kClockSkew < now) return RejectionReason::kExpired;
  // A fleet token comes from a TokenRequest without a pod, so it has no node to compare.
  if (purpose == CallerPurpose::kFleet) return std::nullopt;
  if (claims.node.empty() || claims.pod_uid.empty()) return RejectionReason::kNotBound;
  if (claims.node != node) return RejectionReason::kOtherNode;
  return std::nullopt;
}

base::Result<Caller, RejectionReason> EvaluateReview(const base::TokenReview& review, CallerPurpose purpose,
                                                     const AgentLocation& location,
                                                     const CallerRules& rules) {
  auto caller = CallerOf(review);
  if (!caller) return caller;
  // The review repeats the checks of CheckClaims with verified values.
  const bool of_the_fleet = IsOfTheFleet(*caller, location);
  if (purpose == CallerPurpose::kFleet) {
    if (!of_the_fleet) return RejectionReason::kNotAdmitted;
    return caller;
  }
  if (review.node.empty() || review.pod_uid.empty()) return RejectionReason::kNotBound;
  if (review.node != location.node) return RejectionReason::kOtherNode;
  // A pattern of the configuration may match the fleet's account, too. That account is for the status alone,
  // so it is rejected here whatever the patterns say.
  if (of_the_fleet || !Admits(rules, *caller)) return RejectionReason::kNotAdmitted;
  return caller;
}

CheckRights RightsOf(const CallerRules& rules, bool listed) {
  return {.unlisted = rules.unlisted == AnswerSource::kAsk,
          .registry = rules.always == AnswerSource::kAsk,
          .pull = rules.pull == PullFor::kAny || (rules.pull == PullFor::kListed && listed)};
}

}  // namespace prefetch::plan
