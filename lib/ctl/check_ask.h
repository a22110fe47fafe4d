// Asks an agent all questions of a preflight, side by side and with patience.
#pragma once

#include <ostream>
#include <vector>

#include "ctl/agent_client.h"
#include "screen/check_items.h"

namespace prefetch::ctl {

// Fills `result` with an answer for each item, by its number; one that did not come has an empty result. An
// agent that is not there yet, or busy, is asked again until the call's deadline, and `err` told so now and
// then. What needs a registry does not hold up what does not. The error is that of the first question that
// stayed without an answer: a permanent one (InvalidArgument, Internal …) ends all. With `pull` the agent is
// to pull what is not here, and is asked again until that has ended; what has not at the call's deadline
// stays `pending`.
base::Status AskAll(const base::Call& call, const AgentClient& agent,
                    const std::vector<screen::CheckItem>& items, bool pull, status::CheckResult& result,
                    std::ostream& err);

// May the same question be answered in a moment?
bool ComesBack(base::Code code);

}  // namespace prefetch::ctl
