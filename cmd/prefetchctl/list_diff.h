// `prefetchctl list diff`: two lists, or a list and what a node has.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "agent_client.h"

namespace prefetch::ctl {

struct ListDiffOptions {
  std::vector<std::string> files;  // two, or one for the node; files or folders
  bool json = false;
};

// Exit code: 0 the same, 1 different, 2 bad input; with the node 4: the agent could not be asked.
int DiffTwoLists(const ListDiffOptions& options, std::ostream& out, std::ostream& err);
int DiffListWithNode(const base::Call& call, const AgentClient& agent, const ListDiffOptions& options,
                     std::ostream& out, std::ostream& err);

}  // namespace prefetch::ctl
