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

using plan::Reason;

// The images that may fail because of a fault.
enum class Reach {
  kNode,      // all
  kRegistry,  // those of the image's registry: what one is told may hold all of them
  kImage,     // the image alone
};

struct FaultKind {
  const char* part;    // "registry"
  const char* manner;  // "refuses connections"
  // On `image`, for those that hit one.
  std::function<void(World&, const std::string& image)> begin;
  std::function<void(World&, const std::string& image)> end;
  // Reasons that an image may give during the fault, and until the next try after it.
  std::set<plan::Reason> causes = {};
  Reach reach = Reach::kNode;
  // Maximum time from its end until the node is ready again, if nothing else is wrong: the longest pause of
  // the retry rule (lib/README.md), its jitter, and the time of the pulls.
  base::Duration recovers = std::chrono::minutes(3);
  // Interval of `tick` during the fault; zero: never.
  base::Duration period{};
  std::function<void(World&, const std::string& image)> tick = nullptr;
  // Images that it hits, and keeps from being usable, give one of its causes after this time, if nothing else
  // is wrong; none: they need not (the rule that detects it takes longer, or it shows elsewhere).
  std::optional<base::Duration> shows = std::nullopt;
  // It keeps this image alone from coming, whichever the schedule names; null: that one, or all by `reach`.
  const char* only = nullptr;
  // It hits only an image that is here.
  bool is_of_what_is_here = false;
  // Each try of the image fails while it lasts.
  bool fails_each_try = false;
  // There is an API server, and each entry wants to be touched.
  bool of_cluster = false;
};

const std::vector<FaultKind>& FaultKinds();

}  // namespace prefetch::tests::faults
