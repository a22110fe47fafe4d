// `prefetchctl explain`: everything that is known about one image on this node.
#pragma once

#include <ostream>
#include <string>

#include "ctl/agent_client.h"

namespace prefetch::ctl {

struct ExplainOptions {
  std::string image;
  ImageQuery query;
  std::chrono::nanoseconds timeout{};
  bool json = false;       // the agent's document as it came
  std::size_t width = 80;  // of the terminal
};

// Exit code: 0, also for an image that is not here; 2 for a name that is none, 4 if the agent could not be
// asked.
int Explain(const base::Call& call, const AgentClient& agent, const ExplainOptions& options,
            std::ostream& out, std::ostream& err);

}  // namespace prefetch::ctl
