// ChangePins: one round of calls about pins to containerd. agent/pinning decides which.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/call.h"
#include "cri/content_service.h"

namespace prefetch::pulling {

// The calls of one job.
struct PinChanges {
  bool list = false;
  std::vector<std::string> pin, unpin;
};

// The runtime has pinned or unpinned images, or said which are pinned: what was asked of it.
struct PinsChanged {
  std::optional<std::set<std::string>> found;  // the names that this agent has pinned, if it was asked
  std::vector<std::string> pinned, unpinned;
  std::vector<std::string> had_none;          // names that were to be unpinned, and had no pin of this agent
  std::map<std::string, std::string> errors;  // by name
  // The runtime itself has failed: what is not named above was not tried. Empty: it has not.
  std::string runtime_error;
  bool unsupported = false;
};

// Lists, sets and removes pins, in this order. A failure of one name is in `errors`. After a failure of the
// runtime itself, it makes no further call. Blocks.
PinsChanged ChangePins(const base::Call& call, cri::ContentService& content, const std::string& owner,
                       const PinChanges& work);
// Takes the pins of all agents off. Labels do not tell an agent that has gone from one that runs beside this
// one, and a running agent sets its pins again within a minute.
PinsChanged UnpinAll(const base::Call& call, cri::ContentService& content);

}  // namespace prefetch::pulling
