#include "screen/fleet.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "screen/document_words.h"

namespace prefetch::screen {
namespace {

constexpr std::size_t kMostNodes = 1'000'000;  // of a target, so that percents cannot overflow

std::uint64_t BytesLeftOf(const status::StatusPull& pull) {
  std::uint64_t done = pull.bytes_done.value_or(0), total = pull.bytes_total.value_or(0);
  return pull.state == plan::PullState::kPulling && total > done ? total - done : 0;
}

// Returns true if the node's own problem comes before those of its images: a list that is not in force says
// nothing about them.
bool HasNodeProblem(const FleetNode& node) {
  return !node.detail || (node.state != NodeState::kReady && node.reason != plan::Reason::kImagesNotReady) ||
         (node.state != NodeState::kReady && node.missing.empty());
}

// Groups nodes by cause. Nothing else decides which problems are the same.
class Groups {
 public:
  void Add(FleetGroup like, const FleetNode& node, const std::string& message, std::uint64_t bytes_left) {
    // The message is no part of the key; otherwise every node would be a group of its own.
    auto [found, is_new] =
        by_cause_.try_emplace({like.tone, like.state, like.detail, like.reason, like.image});
    auto& [group, messages] = found->second;
    if (is_new) {
      group = std::move(like);
      group.actor = status::ActorOf(group.reason);
    }
    group.nodes.push_back(node.name);
    messages[message]++;
    if (bytes_left <= group.most_bytes_left) return;
    group.most_bytes_left = bytes_left;
    group.slowest = node.name;
  }
  void Add(const FleetNode& node, const FleetMissing& image) {
    NodeState state = image.tone == Tone::kFailing ? NodeState::kFailing
                      : image.tone == Tone::kStale ? NodeState::kReady
                                                   : NodeState::kProgressing;
    Add({.state = state, .tone = image.tone, .image = image.image, .reason = image.reason.text()}, node,
        image.message, image.bytes_left);
  }
  std::vector<FleetGroup> Take() && {
    std::vector<FleetGroup> groups;
    for (auto& [key, gathered] : by_cause_) {
      auto& [group, messages] = gathered;
      auto most = std::ranges::max_element(messages, {}, [](const auto& one) { return one.second; });
      // Messages of one cause differ in details (a time, an address). The most frequent one stands for all.
      group.message = most->first;
      group.other_messages = messages.size() - 1;
      groups.push_back(std::move(group));
    }
    std::ranges::stable_sort(groups, [](const FleetGroup& a, const FleetGroup& b) {
      // Failures come before slow work, and work for an operator comes before problems that pass by
      // themselves.
      if (a.state != b.state) return a.state > b.state;
      if (a.tone != b.tone) return a.tone < b.tone;
      if (a.actor != b.actor) return a.actor < b.actor;
      return a.nodes.size() > b.nodes.size();
    });
    return groups;
  }

 private:
  using Key = std::tuple<Tone, NodeState, bool, std::string, std::string>;  // the reason, then the image
  // Each group while it is gathered, and how often it has each message.
  std::map<Key, std::pair<FleetGroup, std::map<std::string, std::size_t>>> by_cause_;
};

Tone ToneOfNode(NodeState state) {
  return state == NodeState::kFailing ? Tone::kFailing
         : state == NodeState::kReady ? Tone::kReady
                                      : Tone::kProgressing;
}

// A node belongs to one group for its own problem and to one for each missing image, so a cause shows all
// nodes that it concerns.
void Group(Fleet& fleet) {
  Groups groups, non_blocking;
  for (const FleetNode& node : fleet.nodes) {
    // Nobody waits for a node that is dead or leaving, so its images are no cause.
    if (!node.leaving.empty()) continue;
    if (HasNodeProblem(node)) {
      groups.Add({.state = node.state,
                  .tone = ToneOfNode(node.state),
                  .detail = node.detail,
                  .reason = node.reason.text()},
                 node, node.message, 0);
    }
    for (const FleetMissing& missing : node.missing) groups.Add(node, missing);
    for (const FleetMissing& image : node.non_blocking) non_blocking.Add(node, image);
  }
  fleet.groups = std::move(groups).Take();
  fleet.non_blocking = std::move(non_blocking).Take();
}

// Returns the time until the pulls of a node end at their present speed; none if it is unknown.
std::optional<std::chrono::seconds> TimeLeft(const FleetNode& node) {
  std::uint64_t left = 0, speed = 0;
  for (const FleetMissing& image : node.missing) {
    left += image.bytes_left;
    speed += image.bytes_per_second;
  }
  if (left == 0 || speed == 0) return std::nullopt;
  // Rounded up: "0 s" would look finished.
  return std::chrono::seconds(static_cast<std::int64_t>(left / speed) + 1);
}

// Returns the time until the slowest node has its pulls; none if the speed of a node is unknown, since that
// node may be the slowest.
std::optional<std::chrono::seconds> TimeLeft(const std::vector<FleetNode>& nodes) {
  std::optional<std::chrono::seconds> longest;
  for (const FleetNode& node : nodes) {
    if (!node.leaving.empty() || node.BytesLeft() == 0) continue;
    const auto time = TimeLeft(node);
    if (!time) return std::nullopt;
    longest = std::max(*time, longest.value_or(*time));
  }
  return longest;
}

void Count(const FleetNode& node, Fleet& fleet) {
  if (!node.leaving.empty()) {
    // Counted once and nowhere else, so that the counts add up to all nodes.
    fleet.leaving++;
    return;
  }
  if (node.IsUnreachable()) {
    fleet.unreachable++;
  } else {
    switch (node.state) {
      case NodeState::kReady:
        fleet.ready++;
        break;
      case NodeState::kProgressing:
        fleet.progressing++;
        break;
      case NodeState::kFailing:
        fleet.failing++;
        break;
    }
  }
  // Several hashes show a rollout of a list that is not complete.
  if (node.detail) fleet.lists[node.list_hash]++;
  if (!node.detail) fleet.no_detail++;
  if (node.public_only) fleet.public_only++;
  const std::uint64_t left = node.BytesLeft();
  fleet.bytes_left += left;
  if (left > fleet.most_bytes_left) {
    fleet.most_bytes_left = left;
    fleet.slowest = node.name;
  }
}

}  // namespace

Tone ToneOf(const status::StatusImage& image) {
  if (!image.applies) return Tone::kNotListed;
  if (image.ready) return IsStale(image) ? Tone::kStale : Tone::kReady;
  if (!image.required) return Tone::kOptional;
  return image.phase == plan::Phase::kFailing ? Tone::kFailing : Tone::kProgressing;
}

std::uint64_t FleetNode::BytesLeft() const {
  std::uint64_t left = 0;
  for (const FleetMissing& image : missing) left += image.bytes_left;
  return left;
}

// Reduces a document to what the fleet's views show.
FleetNode SummarizeStatus(const status::StatusDocument& document, const std::string& node) {
  FleetNode summary{.name = node, .detail = true, .reason = document.reason, .message = document.message};
  summary.state = document.ready                            ? NodeState::kReady
                  : document.phase == plan::Phase::kFailing ? NodeState::kFailing
                                                            : NodeState::kProgressing;
  summary.required = document.required;
  summary.required_ready = document.required_ready;
  summary.list_hash = document.list.hash;
  summary.public_only = !document.hidden.empty();
  summary.all_missing_settled = !document.ready && AllMissingSettled(document);
  summary.any_missing_settled = !document.ready && AnyMissingSettled(document);
  for (const status::StatusImage& image : document.images) {
    const Tone tone = ToneOf(image);
    // Only what is not as it should be is kept: a thousand documents with a thousand images each need not be
    // in memory.
    if (tone >= Tone::kReady) continue;
    const bool stale = tone == Tone::kStale;
    const bool pulls = BytesLeftOf(image.pull) > 0;
    (tone < Tone::kOptional ? summary.missing : summary.non_blocking)
        .push_back({.image = image.image,
                    .phase = image.phase,
                    .reason = stale ? image.registry->reason : image.reason,
                    .message = stale ? image.registry->message : image.message,
                    .tone = tone,
                    .settled = image.settled,
                    .attempts = image.pull.attempts,
                    .bytes_left = BytesLeftOf(image.pull),
                    .bytes_per_second = pulls ? image.pull.bytes_per_second.value_or(0) : 0});
  }
  return summary;
}

// Judges a node by its pod and label alone. It counts as ready only if the pod's readiness is about the list
// that was asked for.
FleetNode NodeWithoutDetail(const std::string& node, const ClusterFacts& facts) {
  FleetNode summary{.name = node, .leaving = facts.leaving};
  if (!facts.has_pod) {
    summary.reason = "NoAgent";
    summary.message =
        facts.node_is_up == false ? "the node is not up, and no agent is on it" : "no agent is on it (yet)";
    return summary;
  }
  summary.reason = "NoDetail";
  // The node gate's label is more precise than the pod's readiness, if it is there.
  bool ready = facts.pod_ready && (facts.label.empty() || facts.label == "ready");
  if (ready && facts.pod_readiness_counts) summary.state = NodeState::kReady;
  std::string says = facts.pod_ready ? "its pod is ready" : "its pod is not ready";
  if (!facts.pod_ready && !facts.pod_phase.empty() && facts.pod_phase != "Running")
    says += " (" + facts.pod_phase + ")";
  if (!facts.label.empty()) says += ", its node is labelled " + facts.label;
  if (facts.node_is_up == false) says += ", its node is not up";
  summary.message = says + (facts.why.empty() ? "" : "; the agent was not heard: " + facts.why);
  return summary;
}

Fleet GatherFleet(std::vector<FleetNode> nodes) {
  std::ranges::sort(nodes, {}, &FleetNode::name);
  Fleet fleet;
  for (const FleetNode& node : nodes) Count(node, fleet);
  fleet.time_left = TimeLeft(nodes);
  fleet.nodes = std::move(nodes);
  Group(fleet);
  return fleet;
}

std::string MessageText(const std::string& message, std::size_t others) {
  return message + (others == 0 ? "" : " (and " + base::Plural(others, "other", "others") + ")");
}

std::string CommonSuffix(const std::vector<FleetNode>& nodes) {
  if (nodes.size() < 2) return "";
  std::string_view end = nodes.front().name;
  for (const FleetNode& node : nodes) {
    // Compares from the end, name by name, and keeps what is common.
    const auto different =
        std::mismatch(end.rbegin(), end.rend(), node.name.rbegin(), node.name.rend()).first;
    end.remove_prefix(static_cast<std::size_t>(end.rend() - different));
    if (end.size() == node.name.size())
      end.remove_prefix(std::min<std::size_t>(1, end.size()));  // no name is empty
  }
  // The common end begins at a dot, so that no part of a host's own name is cut.
  const std::size_t dot = end.find('.');
  return dot == std::string_view::npos ? "" : std::string(end.substr(dot));
}

std::string RemainingText(const Fleet& fleet) {
  if (fleet.bytes_left == 0) return "";
  std::string words = base::HumanBytes(fleet.bytes_left) + " left in running pulls";
  if (fleet.time_left) words += ", about " + base::HumanTime(*fleet.time_left);
  return words;
}

std::size_t FleetTarget::Needed(std::size_t nodes) const {
  // Rounded up: 95 % of 10 nodes are 10, as 9 would be less than was asked for.
  return percent ? (nodes * number + 99) / 100 : number;
}

std::optional<FleetTarget> ParseFleetTarget(std::string_view text) {
  FleetTarget target{.percent = text.ends_with('%')};
  if (target.percent) text.remove_suffix(1);
  auto number = base::ParseUint(text);
  if (!number || *number == 0 || *number > (target.percent ? 100 : kMostNodes)) return std::nullopt;
  target.number = *number;
  return target;
}

std::optional<WaitOutcome> EvaluateFleet(const Fleet& fleet, const FleetTarget& target, bool fail_fast) {
  const std::size_t nodes = fleet.CountedNodes();
  // An empty fleet is more probably a wrong selector, or nodes that are still to come.
  if (nodes == 0) return std::nullopt;
  std::size_t needed = target.Needed(nodes);
  if (fleet.ready >= needed) return WaitOutcome::kReady;
  if (!fail_fast) return std::nullopt;
  auto lost = std::ranges::count_if(
      fleet.nodes, [](const FleetNode& node) { return node.any_missing_settled && node.leaving.empty(); });
  // Nodes that are still to come may be the rest.
  if (lost == 0 || nodes - static_cast<std::size_t>(lost) >= needed) return std::nullopt;
  return WaitOutcome::kFailedFast;
}

}  // namespace prefetch::screen
