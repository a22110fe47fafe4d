// The roster: which nodes there are, and which pod of the agent is on each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kube/api.h"
#include "report/fleet.h"

namespace prefetch::ctl {

struct FleetQuery {
  std::string name_space = "prefetchd";                   // of the agents
  std::string pods = "app.kubernetes.io/name=prefetchd";  // label selector of the agents
  std::string nodes = "kubernetes.io/os=linux";           // label selector of the nodes; empty: all
  std::string instance = "prefetchd";                     // whose node label counts: prefetchd.dev/<instance>
};

struct FleetMember {
  std::string node;
  std::string pod;  // empty: none is there
  std::uint16_t port = 0;
  report::NodeSigns signs;  // but for what is known only after asking
};

// Lists both, page by page, and begins anew if the server has forgotten where it was. Sorted by node.
kube::Answer<std::vector<FleetMember>> ListMembers(const base::Call& call, kube::Api& api,
                                                   const FleetQuery& query);

}  // namespace prefetch::ctl
