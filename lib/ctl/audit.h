// prefetchctl audit: which images came to the nodes without being on the list.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "ctl/agent_client.h"
#include "ctl/fleet.h"

namespace prefetch::ctl {

struct AuditOptions {
  FleetQuery query;                 // with a cluster
  std::string pods_file;            // saved pods instead of the cluster's; empty: none
  std::vector<std::string> lists;   // the lists, without any agent; needs pods_file
  std::vector<std::string> ignore;  // patterns
  std::optional<base::WallTime> since;
  bool json = false;
};

// 0 clean, 1 findings, 2 bad input, 4 no agent could be asked.
int AuditOfNode(const base::Call& call, const AgentClient& agent, const AuditOptions& options,
                std::ostream& out, std::ostream& err);
int AuditOfFleet(const base::Call& call, kube::Api& api, const AuditOptions& options, std::ostream& out,
                 std::ostream& err);
// Saved pods against lists: no agent and no cluster is asked.
int AuditOfPods(const AuditOptions& options, std::ostream& out, std::ostream& err);

}  // namespace prefetch::ctl
