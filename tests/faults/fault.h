// Fault: one thing that goes wrong with one part of the node, and ends again. The table of all of them.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "faults/world.h"
#include "plan/reason.h"

namespace prefetch::tests::faults {

struct FaultKind {
  const char* part;    // "registry"
  const char* manner;  // "refuses connections"
  // On `image`, for those that hit one.
  std::function<void(World&, const std::string& image)> begin;
  std::function<void(World&, const std::string& image)> end;
  // What an image's state may give as the cause while it lasts, and until the next try after it.
  std::set<plan::Reason> causes;
  // With nothing else wrong the node is ready again so long after the end: the longest pause of the retry
  // rule (lib/README.md), its jitter, and the time of the pulls.
  base::Duration recovers = std::chrono::minutes(3);
  // Called so often while it lasts; zero: never.
  base::Duration period{};
  std::function<void(World&, const std::string& image)> tick;
  // Only the image that it hits has it for a cause…
  bool is_of_image = false;
  // …and those that are held for the sake of the same registry.
  bool spreads = false;
  // Images that it keeps from being usable say so after this time, if nothing else is wrong; none: they need
  // not (the rule that detects it takes longer, or it shows elsewhere).
  std::optional<base::Duration> shows = std::nullopt;
};

const std::vector<FaultKind>& FaultKinds();

}  // namespace prefetch::tests::faults
