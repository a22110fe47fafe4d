// Fleet: the documents of many agents as one: the number of ready nodes, and missing images with their nodes,
// grouped by cause. Pure. One document is digested as it comes, so that a thousand nodes with a thousand
// images each need not be held in memory.
// The screens of `prefetchctl status --fleet` and `wait --fleet`.
// FleetNotice: a notice to operators about nodes that begin to fail or have recovered.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/enum_name.h"
#include "screen/node_text.h"
#include "status/documents.h"
#include "status/words.h"

namespace prefetch::screen {

// A slow node has not failed, and neither has a node that does not report.
enum class NodeState { kReady, kProgressing, kFailing };

// State of an image on a node, worst first.
enum class Tone {
  kFailing,
  kProgressing,  // required, and on its way
  kOptional,     // not required, and not ready
  kStale,        // ready, and the registry has something else or nothing
  kReady,
  kNotListed,  // not on this node's list, or not for this node
};
Tone ToneOf(const status::StatusImage& image);

// An image that is not as it should be on one node.
struct FleetMissing {
  std::string image;
  status::PhaseText phase;
  status::ReasonText reason;
  std::string message;
  Tone tone = Tone::kFailing;
  bool settled = false;
  std::uint64_t attempts = 0;
  std::uint64_t bytes_left = 0;        // of a pull under way; 0: not known, or none
  std::uint64_t bytes_per_second = 0;  // 0: not known
};

struct FleetNode {
  std::string name;
  NodeState state = NodeState::kProgressing;
  bool detail = false;       // its agent answered
  bool public_only = false;  // its agent hid the members that only known callers see
  // The reason of the node itself; with detail, as its agent reports it.
  status::ReasonText reason;
  std::string message;
  std::string leaving;               // why the node is dead or leaving, and not counted; empty: it is counted
  bool all_missing_settled = false;  // waiting changes nothing: all that is missing is settled
  bool any_missing_settled = false;  // something that is missing is settled
  std::uint64_t required = 0, required_ready = 0;
  std::string list_hash;
  std::vector<FleetMissing> missing;       // required images that are not ready
  std::vector<FleetMissing> non_blocking;  // optional or stale images; readiness does not depend on them

  // Returns the number of bytes that pulls of required images still have to fetch.
  std::uint64_t BytesLeft() const;
  bool IsUnreachable() const { return !detail && state != NodeState::kReady; }
};

// Summarises a status document that was narrowed to a WaitDemand (node_text.h). `node` is its name in the
// cluster.
FleetNode SummarizeStatus(const status::StatusDocument& document, const std::string& node);

// The cluster's facts about a node whose agent did not answer.
struct ClusterFacts {
  bool has_pod = false;  // of the agent, on that node
  bool pod_ready = false;
  std::string pod_phase;             // "Pending"
  std::string label;                 // of the node gate: "ready", "notready"; empty: none
  std::optional<bool> node_is_up;    // its condition Ready; none: not told
  bool is_dead = false;              // nothing on it can answer
  std::string leaving;               // as FleetNode has it
  std::string why;                   // why the agent did not answer; empty if there is no pod
  bool pod_readiness_counts = true;  // false if a list, hash or policy was asked for
};

// Returns a node without detail, which is never failing. It counts as ready if its pod is ready and its label
// does not contradict that. If a list, hash or policy was asked for, it does not: a pod's readiness is about
// the list that the pod knows.
FleetNode NodeWithoutDetail(const std::string& node, const ClusterFacts& facts);

// Nodes that have the same problem, or wait for the same.
struct FleetGroup {
  NodeState state = NodeState::kProgressing;  // of the cause, not of the nodes
  Tone tone = Tone::kProgressing;             // of the image
  status::Actor actor = status::Actor::kNone;
  bool detail = true;
  std::string image;               // empty: about the nodes as such
  std::string reason;              // "AccessDenied"
  std::string message;             // the most frequent one
  std::size_t other_messages = 0;  // how many others there are
  std::vector<std::string> nodes;  // by name
  std::string slowest;             // of pulls under way: the node with most left
  std::uint64_t most_bytes_left = 0;
};

// A group's message, and how many others there are.
std::string MessageText(const std::string& message, std::size_t others);

struct Fleet {
  std::vector<FleetNode> nodes;  // by name
  // Each node is in one of these counts.
  std::size_t ready = 0, progressing = 0, failing = 0;
  std::size_t unreachable = 0;  // not ready according to other facts, and its agent did not answer
  std::size_t leaving = 0;      // dead or leaving; not in the groups either
  std::size_t no_detail = 0;    // of the counted nodes
  std::size_t public_only = 0;  // of those with detail
  // Failing groups first, then those that need an operator, then by the number of nodes that they hold up.
  std::vector<FleetGroup> groups;
  std::vector<FleetGroup> non_blocking;  // optional or stale images
  // Number of nodes for each hash, without nodes whose agent did not answer.
  std::map<std::string, std::size_t> lists;
  std::string slowest;  // the node with most bytes left; empty: none is known
  std::uint64_t most_bytes_left = 0;
  std::uint64_t bytes_left = 0;                   // of all pulls under way
  std::optional<std::chrono::seconds> time_left;  // of the node that needs longest; none: not known

  // The nodes that readiness of the fleet depends on.
  std::size_t CountedNodes() const { return nodes.size() - leaving; }
};

// Counts the nodes, and groups those that are not ready by cause.
Fleet GatherFleet(std::vector<FleetNode> nodes);

// Returns the end that all names have in common, from a dot on: ".eu-central-1.compute.internal". Empty if
// there is none.
std::string CommonSuffix(const std::vector<FleetNode>& nodes);

// "12 GB left in running pulls, about 4 min"; empty: nothing is known to be left.
std::string RemainingText(const Fleet& fleet);

// Number of nodes that have to be ready: "271", "95%".
struct FleetTarget {
  std::size_t number = 100;
  bool percent = true;

  // Returns the required number of `nodes`, rounded up.
  std::size_t Needed(std::size_t nodes) const;
  friend bool operator==(const FleetTarget&, const FleetTarget&) = default;
};
std::optional<FleetTarget> ParseFleetTarget(std::string_view text);  // none: 0, over 100%, no number

// Returns how a wait for as many nodes as `target` says ends, if it does; a fleet without nodes never is
// ready. With `fail_fast`, a node counts as lost as soon as one of its images is settled and not ready, and
// the wait ends once too few nodes are left. Without it, no node does: a tag that is missing may be pushed
// meanwhile.
std::optional<WaitOutcome> EvaluateFleet(const Fleet& fleet, const FleetTarget& target, bool fail_fast);

// Lines with a newline each: the counts, then missing images with nodes and reasons, failures first, then
// nodes if requested.
std::string FleetTable(const Fleet& fleet, const TableOptions& options);

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
