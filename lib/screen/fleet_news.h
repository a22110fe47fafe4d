// FleetNews: the nodes of a fleet that begin to fail or have recovered, for a notice to operators. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "screen/fleet.h"

namespace prefetch::screen {

// The changes since the notice before.
struct FleetNotice {
  std::vector<FleetNode> failing;      // by name; not announced yet
  std::vector<std::string> recovered;  // announced as failing, and ready now
  std::size_t nodes = 0, ready = 0;    // of the whole fleet, without nodes that are dead or leaving

  bool Empty() const { return failing.empty() && recovered.empty(); }
};

// A value with one owner.
class FleetNews {
 public:
  // Compares the nodes with those that were announced. A node that leaves or is gone is no news.
  FleetNotice Compare(const std::vector<FleetNode>& nodes) const;
  // Call it once the notice has reached its receiver. Until then, Compare returns the same news again.
  void Delivered(const FleetNotice& notice, const std::vector<FleetNode>& nodes);

 private:
  std::set<std::string> announced_;  // failing nodes
};

// One JSON object; its member `text` says all of it in one line, as Slack's incoming webhooks read it.
std::string NoticeJson(const FleetNotice& notice, base::WallTime now);

}  // namespace prefetch::screen
