// The kinds of faults, by the part that they are of; and what their descriptions share.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "faults/fault.h"

namespace prefetch::tests::faults {

// The longest pause of each retry rule, a quarter more by chance, and what pulls take.
constexpr base::Duration kAfterPassing = std::chrono::minutes(8);
constexpr base::Duration kAfterSlow = std::chrono::minutes(80);

// A pull fails within a second or two, and the status says it within two more. It may have to wait for others
// before it: the list takes 40 s.
constexpr base::Duration kShownAtOnce = std::chrono::seconds(44);

inline void Nothing(World& /*world*/, const std::string& /*image*/) {}

std::vector<FaultKind> OfRuntime();
std::vector<FaultKind> OfRegistry();
// Plugins and docker config.
std::vector<FaultKind> OfCredentials();
// kubelet and its records, the list, the disk, the clock, the agent's own process.
std::vector<FaultKind> OfNode();
// Images that are here stay usable without it.
std::vector<FaultKind> OfApiServer();

}  // namespace prefetch::tests::faults
