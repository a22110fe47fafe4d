// Fault: one thing that goes wrong with one part of a node of real parts, and ends again. The table of all.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "faults/real/world.h"

namespace prefetch::tests::real_faults {

using Act = std::function<void(RealWorld&, const std::string& image)>;

// The images that may fail because of a fault.
// All; those of the image's registry; those with a password; the image alone.
enum class Reach { kNode, kRegistry, kLogins, kImage };

struct FaultKind {
  const char* part;
  const char* manner;
  Act begin;
  Act end;
  // The reasons that an image may give meanwhile, and until the next try after it.
  std::set<std::string> reasons = {};
  Reach reach = Reach::kNode;
  // Maximum time from its end until the node is ready again: the retry rules' pauses after faults of a few
  // seconds, and the pulls.
  std::chrono::seconds recovers{45};
  // Tried again once somebody does something about it: the list loses the images and gets them back.
  bool is_for_good = false;
  // Interval of `tick` during the fault; zero: never.
  std::chrono::milliseconds period{0};
  Act tick = nullptr;
  // Images that it keeps from coming give one of its reasons after this time, if nothing else is wrong and
  // no pull runs. None: it need not, since its rule takes longer.
  std::optional<std::chrono::milliseconds> shows = std::nullopt;
  // Images that are here stay usable meanwhile, and the node stays ready.
  bool leaves_ready = false;
};

const std::vector<FaultKind>& FaultKinds();

}  // namespace prefetch::tests::real_faults
