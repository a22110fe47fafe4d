// The screens of `prefetchctl status --fleet` and `wait --fleet`.
// FleetNotice: a notice to operators about nodes that begin to fail or have recovered.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "screen/fleet.h"

namespace prefetch::screen {

struct FleetTableOptions {
  std::size_t width = 80;  // columns of the terminal; less than 60 counts as 60
  bool wide = false;       // every cause and every node, whole names; lines may be longer than `width`
  bool not_ready = false;  // the nodes that are not ready, one a line, below the causes
  bool color = false;      // repeats the words' meaning
};

// Lines with a newline each: the counts, then missing images with nodes and reasons, failures first, then
// nodes if requested.
std::string FleetTable(const Fleet& fleet, const FleetTableOptions& options);

// Returns one line without newline, at most `width` columns: counts, the number of missing images, a bar
// where there is room, the slowest node.
std::string FleetLine(const Fleet& fleet, std::size_t width);

// Returns the lines below it on a terminal: the causes, one a line of at most `width` columns, `most` in all.
std::vector<std::string> FleetDetails(const Fleet& fleet, std::size_t width, std::size_t most);

// The last words of a wait: how it ended and, if not well, each cause, and the first nodes.
std::string FleetResult(const Fleet& fleet, const FleetTarget& target, WaitOutcome end,
                        std::chrono::seconds waited, std::size_t width);

// FleetStatus: the fleet as a JSON document, for -o json and yaml.
// One line with a newline. Members are only added, never renamed. `not_ready`: only such nodes are listed;
// the counts are of all.
std::string FleetJson(const Fleet& fleet, base::WallTime time, bool not_ready);

// The nodes of a fleet that have begun to fail or have recovered since the notice before.
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
  void MarkDelivered(const FleetNotice& notice);

  // The nodes that were announced as failing and not as recovered.
  const std::set<std::string>& announced() const { return announced_; }

 private:
  std::set<std::string> announced_;
};

// Returns one JSON object; its member `text` says all of it in one line, as Slack's incoming webhooks read
// it.
std::string NoticeJson(const FleetNotice& notice, base::WallTime now);

}  // namespace prefetch::screen
