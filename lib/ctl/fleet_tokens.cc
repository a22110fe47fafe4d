#include "ctl/fleet_tokens.h"

#include <set>

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

}  // namespace

const base::Secret* FleetTokens::TokenOf(const base::Call& call, kube::Api& api,
                                         const std::string& name_space,
                                         const std::vector<std::string>& accounts) {
  for (const std::string& account : accounts) {
    auto held = held_.find(account);
    if (held == held_.end() || steady_clock::now() >= held->second.until) {
      auto created = api.CreateToken(call.Within(kTokenWithin), name_space, account,
                                     std::string(plan::kCallerAudience), kTokenLife);
      Held fresh{std::nullopt, steady_clock::now() + kAskAgainAfter};
      if (created) fresh = {std::move(created->token), steady_clock::now() + kRenewAfter};
      held = held_.insert_or_assign(account, std::move(fresh)).first;
    }
    if (held->second.token) return &*held->second.token;
  }
  return nullptr;
}

FleetTokens::Headers FleetTokens::For(const base::Call& call, kube::Api& api, const std::string& name_space,
                                      const std::vector<FleetMember>& members) {
  Headers headers;
  std::set<std::string> seen;
  for (const FleetMember& member : members) {
    if (member.pod.empty() || !seen.insert(member.account).second) continue;
    const base::Secret* token = TokenOf(call, api, name_space, plan::FleetAccountsBeside(member.account));
    if (token == nullptr) continue;
    headers.emplace(member.account,
                    http::SecretHeader{std::string(plan::kFleetHeader),
                                       base::Secret("Bearer " + std::string(token->Reveal()))});
  }
  return headers;
}

}  // namespace prefetch::ctl
