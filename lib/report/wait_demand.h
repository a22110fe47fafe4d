// WaitDemand: what `prefetchctl wait` waits for, if it is not just "the node is ready". Pure.
#pragma once

#include <optional>
#include <string>

#include "image/pull_policy.h"
#include "plan/list.h"
#include "report/status_document.h"

namespace prefetch::report {

struct WaitDemand {
  std::string hash;  // the list in force must have this hash; empty: any
  std::optional<plan::ImageList>
      list;  // each entry in force with at least its demands, and ready; none: all of the node's
  std::optional<image::PullPolicy> policy;
};

// The document as it concerns the demand: other images are gone, wanted ones that the agent does not list
// (yet) are there as missing, and readiness, counts and message are those of the demand.
StatusDocument NarrowTo(StatusDocument document, const WaitDemand& demand);

}  // namespace prefetch::report
