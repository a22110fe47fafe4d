#include "ctl/fleet.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "ctl/list_all.h"

namespace prefetch::ctl {
namespace {

// A Node brings the names of 50 images and its managed fields: some 30 KB, of 4 MiB that an answer may have.
constexpr int kNodesPerPage = 100;
constexpr int kAgentsPerPage = 250;
constexpr std::uint16_t kUsualPort = 9477;

std::uint16_t PortOf(const kube::Pod& pod) {
  for (const kube::PodContainer& container : pod.containers) {
    auto port = container.ports.find("http");
    if (port != container.ports.end()) return port->second;
  }
  return kUsualPort;
}

// Of several on a node, the one that stays: during a rollout the old one goes while the new one comes.
bool IsBetter(const kube::Pod& a, const kube::Pod& b) {
  auto rank = [](const kube::Pod& pod) {
    bool ended = pod.phase == "Failed" || pod.phase == "Succeeded";
    return ended ? 0 : pod.terminating ? 1 : 2 + (pod.ready ? 1 : 0);
  };
  return rank(a) > rank(b);
}

std::optional<bool> IsUp(const kube::Node& node) {
  for (const kube::NodeCondition& condition : node.conditions) {
    if (condition.type == "Ready") return condition.status == "True";
  }
  return std::nullopt;
}

}  // namespace

kube::Answer<std::vector<FleetMember>> ListMembers(const base::Call& call, kube::Api& api,
                                                   const FleetQuery& query) {
  auto nodes =
      ListAll<kube::Node>(call, {.label_selector = query.nodes, .limit = kNodesPerPage},
                          [&](const kube::ListOptions& options) { return api.ListNodes(call, options); });
  if (!nodes) return std::move(nodes).failure();
  auto pods = ListAll<kube::Pod>(
      call, {.label_selector = query.pods, .limit = kAgentsPerPage},
      [&](const kube::ListOptions& options) { return api.ListPods(call, query.name_space, options); });
  if (!pods) return std::move(pods).failure();
  std::map<std::string, const kube::Pod*> by_node;
  for (const kube::Pod& pod : *pods) {
    const kube::Pod*& best = by_node[pod.node];
    if (best == nullptr || IsBetter(pod, *best)) best = &pod;
  }
  std::vector<FleetMember> members;
  for (const kube::Node& node : *nodes) {
    FleetMember member{.node = node.name};
    member.signs.node_is_up = IsUp(node);
    auto label = node.labels.find("prefetchd.dev/" + query.instance);
    if (label != node.labels.end()) member.signs.label = label->second;
    if (auto pod = by_node.find(node.name); pod != by_node.end()) {
      member.pod = pod->second->name;
      member.account = pod->second->service_account;
      member.port = PortOf(*pod->second);
      member.signs.has_pod = true;
      member.signs.pod_ready = pod->second->ready;
      member.signs.pod_phase = pod->second->phase;
    }
    members.push_back(std::move(member));
  }
  std::sort(members.begin(), members.end(),
            [](const FleetMember& a, const FleetMember& b) { return a.node < b.node; });
  return members;
}

}  // namespace prefetch::ctl
