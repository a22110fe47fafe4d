#include "screen/fleet.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "screen/wait_view.h"

namespace prefetch::screen {
namespace {

constexpr std::size_t kMostNodes = 1'000'000;  // of a target, so that percents cannot overflow

std::uint64_t BytesLeftOf(const StatusPull& pull) {
  std::uint64_t done = pull.bytes_done.value_or(0), total = pull.bytes_total.value_or(0);
  return pull.state == "Pulling" && total > done ? total - done : 0;
}

// A node's own trouble comes before its images': a list that is not in force says nothing of them.
bool IsAboutTheNode(const FleetNode& node) {
  return !node.detail || (node.state != NodeState::kReady && node.reason != "ImagesNotReady") ||
         (node.state != NodeState::kReady && node.missing.empty());
}

// A group's data, before it is shown.
struct Gathering {
  FleetGroup group;
  std::map<std::string, std::size_t> messages;

  void Add(const std::string& node, const std::string& message, std::uint64_t bytes_left) {
    group.nodes.push_back(node);
    messages[message]++;
    if (bytes_left <= group.most_bytes_left) return;
    group.most_bytes_left = bytes_left;
    group.slowest = node;
  }
  FleetGroup Take() && {
    auto most = std::max_element(messages.begin(), messages.end(),
                                 [](const auto& a, const auto& b) { return a.second < b.second; });
    group.message = most->first;
    group.other_messages = messages.size() - 1;
    return std::move(group);
  }
};

using GroupKey = std::tuple<NodeState, bool, std::string, std::string>;  // state, detail, reason, image

std::vector<FleetGroup> Group(const std::vector<FleetNode>& nodes) {
  std::map<GroupKey, Gathering> by_cause;
  auto at = [&](NodeState state, bool detail, const std::string& reason,
                const std::string& image) -> Gathering& {
    auto [found, is_new] = by_cause.try_emplace({state, detail, reason, image});
    if (is_new) found->second.group = {.state = state, .detail = detail, .image = image, .reason = reason};
    return found->second;
  };
  for (const FleetNode& node : nodes) {
    if (IsAboutTheNode(node)) at(node.state, node.detail, node.reason, "").Add(node.name, node.message, 0);
    for (const FleetMissing& missing : node.missing) {
      NodeState state = missing.phase == "Failing" ? NodeState::kFailing : NodeState::kProgressing;
      at(state, true, missing.reason, missing.image).Add(node.name, missing.message, missing.bytes_left);
    }
  }
  std::vector<FleetGroup> groups;
  for (auto& [key, gathering] : by_cause) groups.push_back(std::move(gathering).Take());
  std::stable_sort(groups.begin(), groups.end(), [](const FleetGroup& a, const FleetGroup& b) {
    if (a.state != b.state) return a.state > b.state;
    return a.nodes.size() > b.nodes.size();
  });
  return groups;
}

}  // namespace

std::string_view NodeStateName(NodeState state) {
  switch (state) {
    case NodeState::kReady:
      return "Ready";
    case NodeState::kProgressing:
      return "Progressing";
    case NodeState::kFailing:
      return "Failing";
  }
  std::abort();
}

std::uint64_t FleetNode::BytesLeft() const {
  std::uint64_t left = 0;
  for (const FleetMissing& image : missing) left += image.bytes_left;
  return left;
}

FleetNode DigestStatus(const StatusDocument& document, const std::string& node) {
  FleetNode digest{.name = node, .detail = true, .reason = document.reason, .message = document.message};
  digest.state = document.ready                ? NodeState::kReady
                 : document.phase == "Failing" ? NodeState::kFailing
                                               : NodeState::kProgressing;
  digest.required = document.required;
  digest.required_ready = document.required_ready;
  digest.list_hash = document.list_hash;
  digest.public_only = !document.hidden.empty();
  digest.for_good = !document.ready && FailedForGood(document);
  digest.failed_for_good = !document.ready && SomethingFailedForGood(document);
  for (const StatusImage& image : document.images) {
    if (!image.required || !image.applies || image.ready) continue;
    digest.missing.push_back({.image = image.image,
                              .phase = image.phase,
                              .reason = image.reason,
                              .message = image.message,
                              .settled = image.settled,
                              .attempts = image.pull.attempts,
                              .bytes_left = BytesLeftOf(image.pull)});
  }
  return digest;
}

FleetNode NodeWithoutDetail(const std::string& node, const NodeSigns& signs) {
  FleetNode digest{.name = node};
  if (!signs.has_pod) {
    digest.reason = "NoAgent";
    digest.message =
        signs.node_is_up == false ? "the node is not up, and no agent is on it" : "no agent is on it (yet)";
    return digest;
  }
  digest.reason = "NoDetail";
  bool ready = signs.pod_ready && (signs.label.empty() || signs.label == "ready");
  if (ready && signs.about_the_list_asked) digest.state = NodeState::kReady;
  std::string says = signs.pod_ready ? "its pod is ready" : "its pod is not ready";
  if (!signs.pod_ready && !signs.pod_phase.empty() && signs.pod_phase != "Running")
    says += " (" + signs.pod_phase + ")";
  if (!signs.label.empty()) says += ", its node is labelled " + signs.label;
  if (signs.node_is_up == false) says += ", its node is not up";
  digest.message = says + (signs.why.empty() ? "" : "; the agent was not heard: " + signs.why);
  return digest;
}

Fleet GatherFleet(std::vector<FleetNode> nodes) {
  std::sort(nodes.begin(), nodes.end(),
            [](const FleetNode& a, const FleetNode& b) { return a.name < b.name; });
  Fleet fleet;
  for (const FleetNode& node : nodes) {
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
    if (node.detail) fleet.lists[node.list_hash]++;
    if (!node.detail) fleet.no_detail++;
    if (node.public_only) fleet.public_only++;
    if (std::uint64_t left = node.BytesLeft(); left > fleet.most_bytes_left) {
      fleet.most_bytes_left = left;
      fleet.slowest = node.name;
    }
  }
  fleet.groups = Group(nodes);
  fleet.nodes = std::move(nodes);
  return fleet;
}

std::size_t FleetTarget::Needed(std::size_t nodes) const {
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

FleetEnd JudgeFleet(const Fleet& fleet, const FleetTarget& target, bool fail_fast) {
  std::size_t nodes = fleet.nodes.size();
  if (nodes == 0) return FleetEnd::kGoOn;
  std::size_t needed = target.Needed(nodes);
  if (fleet.ready >= needed) return FleetEnd::kReady;
  if (!fail_fast) return FleetEnd::kGoOn;
  auto lost = std::count_if(fleet.nodes.begin(), fleet.nodes.end(),
                            [](const FleetNode& node) { return node.failed_for_good; });
  return nodes - static_cast<std::size_t>(lost) < needed ? FleetEnd::kFailedForGood : FleetEnd::kGoOn;
}

}  // namespace prefetch::screen
