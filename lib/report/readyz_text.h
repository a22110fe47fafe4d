// The body of GET /readyz: a few lines for whoever reads them; the status code is GateAnswer::ready.
#pragma once

#include <string>

#include "plan/gate.h"
#include "plan/snapshot.h"

namespace prefetch::report {

// Answer and hashes of list and sources, so that a reader knows what was ready; when `verbose`, a line for
// each entry that the question was about: "[+]" ready, "[-]" not, with its reason. Ends with a newline. Pure.
std::string ReadyzText(const plan::Snapshot& snapshot, const plan::GateAnswer& answer, bool verbose);

}  // namespace prefetch::report
