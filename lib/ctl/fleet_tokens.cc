#include "ctl/fleet_tokens.h"

#include "ctl/fleet.h"
#include "plan/caller.h"

namespace prefetch::ctl {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

// The shortest that an API server gives; a wait that takes longer requests another one.
constexpr std::int64_t kTokenLife = 600;
constexpr seconds kRenewAfter{kTokenLife * 8 / 10};
constexpr seconds kAskAgainAfter{60};
constexpr seconds kTokenWithin{5};
constexpr std::string_view kAgentAccount = "prefetchd";

}  // namespace

std::string FleetAccountFor(const std::string& agent_account) {
  const std::size_t at = agent_account.find(kAgentAccount);
  if (at == std::string::npos) return "";
  std::string account = agent_account;
  account.insert(at + kAgentAccount.size(), "-fleet");
  return plan::IsFleetAccount(account) ? account : "";
}

FleetTokens::Headers FleetTokens::For(const base::Call& call, kube::Api& api, const std::string& name_space,
                                      const std::vector<FleetMember>& members) {
  Headers headers;
  for (const FleetMember& member : members) {
    if (member.pod.empty() || headers.contains(member.account)) continue;
    const std::string account = FleetAccountFor(member.account);
    if (account.empty()) continue;
    auto held = held_.find(account);
    if (held == held_.end() || steady_clock::now() >= held->second.until) {
      auto created = api.CreateToken(call.Within(kTokenWithin), name_space, account,
                                     std::string(plan::kCallerAudience), kTokenLife);
      Held fresh{std::nullopt, steady_clock::now() + kAskAgainAfter};
      if (created) fresh = {std::move(created->token), steady_clock::now() + kRenewAfter};
      held = held_.insert_or_assign(account, std::move(fresh)).first;
    }
    if (!held->second.token) continue;
    headers.emplace(member.account,
                    http::SecretHeader{std::string(plan::kFleetHeader),
                                       base::Secret("Bearer " + std::string(held->second.token->Reveal()))});
  }
  return headers;
}

}  // namespace prefetch::ctl
