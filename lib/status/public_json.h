// The agent's answer to unknown callers: readiness, and the name, state and reason of each entry of the list.
// Any pod, and any user of `pods/proxy`, reaches the agent's port.
#pragma once

#include <string>
#include <vector>

#include "plan/snapshot.h"
#include "status/check_document.h"

namespace prefetch::status {

// How much an answer holds.
enum class View {
  kFull,    // everything: for root of the node, and for callers that the API server has identified
  kPublic,  // without what HiddenMembers() names
};

// Where a status document has what a public one lacks: "problems", "images.message". In JSON's names.
const std::vector<std::string>& HiddenMembers();

// The status document for strangers, with the member "hidden". Its writer names each visible member, so one
// that is added to the full document later stays hidden until it is added here, too. Pure; any thread.
std::string PublicStatusJson(const plan::Snapshot& snapshot, base::WallTime time);
inline std::string PublicStatusJson(const plan::Snapshot& snapshot) {
  return PublicStatusJson(snapshot, snapshot.time);
}

// A preflight's answer for strangers: messages can quote registries, kubelet's records and paths.
CheckResult WithoutMessages(CheckResult result);

}  // namespace prefetch::status
