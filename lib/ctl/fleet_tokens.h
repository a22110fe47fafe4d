// FleetTokens: the tokens that --fleet sends to agents to get full answers: tokens of the
// component fleet's ServiceAccount (plan::FleetAccountsBeside).
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/call.h"
#include "base/secret.h"
#include "http/client.h"
#include "kube/api.h"

namespace prefetch::ctl {

struct FleetMember;

// Owned by one command, on its main thread. A token is requested once for each account of the agents, and
// anew before it ends. Without the component, or without the right, there is none: the agents are asked all
// the same.
class FleetTokens {
 public:
  // Tokens by the agents' account, of those that are to be had. Blocks while the API server is asked.
  using Headers = std::map<std::string, http::SecretHeader>;
  Headers For(const base::Call& call, kube::Api& api, const std::string& name_space,
              const std::vector<FleetMember>& members);

 private:
  // Of the first of `accounts` that gives one. Null: none does.
  const base::Secret* TokenOf(const base::Call& call, kube::Api& api, const std::string& name_space,
                              const std::vector<std::string>& accounts);

  struct Held {
    std::optional<base::Secret> token;  // none: it was refused
    std::chrono::steady_clock::time_point until;
  };
  std::map<std::string, Held> held_;  // by the fleet's account
};

}  // namespace prefetch::ctl
