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
  Fleet failing;                       // not announced yet
  std::vector<std::string> recovered;  // announced as failing, and ready now
  std::size_t nodes = 0, ready = 0;    // of the whole fleet, without nodes that are dead or leaving

  bool Empty() const { return failing.nodes.empty() && recovered.empty(); }
};

// A value with one owner.
class FleetNews {
 public:
  // Compares the nodes with those that were announced. A node that is dead or leaving is no news. A node that
  // is not in the fleet is forgotten: an autoscaler may use its name again.
  FleetNotice Compare(const Fleet& fleet);
  // Call it once the notice has reached its receiver. Until then, Compare returns the same news again.
  void Delivered(const FleetNotice& notice);

  // The nodes that were announced as failing and not as recovered.
  const std::set<std::string>& announced() const { return announced_; }

 private:
  std::set<std::string> announced_;
};

// One JSON object; its member `text` says all of it in one line, as Slack's incoming webhooks read it.
std::string NoticeJson(const FleetNotice& notice, base::WallTime now);

}  // namespace prefetch::screen
