#include "ctl/fleet.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/scrub.h"
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

struct Sign {
  std::string_view taint, why;
};
constexpr Sign kDead[] = {
    {"node.kubernetes.io/out-of-service", "out of service"},
    {"node.cloudprovider.kubernetes.io/shutdown", "shut down"},
    {"node.kubernetes.io/unreachable", "kubelet does not report"},
};
constexpr Sign kLeaving[] = {
    {"karpenter.sh/disrupted", "Karpenter removes it"},
    {"karpenter.sh/disruption", "Karpenter removes it"},  // before Karpenter 1.0
    {"ToBeDeletedByClusterAutoscaler", "Cluster Autoscaler removes it"},
    {"cloud.google.com/impending-node-termination", "its machine ends"},
};

std::string TaintedAs(const kube::Node& node, std::span<const Sign> signs) {
  for (const Sign& sign : signs) {
    for (const kube::Taint& taint : node.taints) {
      if (taint.key == sign.taint) return std::string(sign.why);
    }
  }
  return "";
}

// Why nothing on the node can answer; empty: something may.
std::string WhyDead(const kube::Node& node) {
  for (const kube::NodeCondition& condition : node.conditions) {
    if (condition.type == "Ready" && condition.status == "Unknown") return "kubelet does not report";
  }
  return TaintedAs(node, kDead);
}

std::string WhyLeaving(const kube::Node& node) {
  if (std::string why = TaintedAs(node, kLeaving); !why.empty()) return why;
  if (node.deleting) return "being deleted";
  return node.unschedulable ? "cordoned" : "";
}

bool IsVirtual(const kube::Node& node) {
  auto has = [&](const char* key, std::string_view value) {
    auto label = node.labels.find(key);
    return label != node.labels.end() && label->second == value;
  };
  return has("type", "virtual-kubelet") || has("eks.amazonaws.com/compute-type", "fargate") ||
         has("eks.amazonaws.com/compute-type", "auto");
}

bool IsControlPlane(const kube::Node& node) {
  auto has_role = [&](const std::string& role) {
    return node.labels.contains("node-role.kubernetes.io/" + role);
  };
  return (has_role("control-plane") || has_role("master")) && !has_role("worker");
}

// Takes nodes away that get no agent. A cluster of control planes alone has no other nodes.
void LeaveOut(const std::vector<kube::Node>& nodes, const std::set<std::string>& had_agents,
              FleetRoster& roster) {
  auto has_agent = [&](const FleetMember& member) {
    return member.signs.has_pod || had_agents.contains(member.node);
  };
  std::set<std::string> virtual_ones, control_planes;
  for (const kube::Node& node : nodes) {
    if (IsVirtual(node)) virtual_ones.insert(node.name);
    if (IsControlPlane(node)) control_planes.insert(node.name);
  }
  const bool on_control_planes =
      control_planes.size() == nodes.size() ||
      std::any_of(roster.members.begin(), roster.members.end(), [&](const FleetMember& member) {
        return has_agent(member) && control_planes.contains(member.node);
      });
  roster.left_out = std::erase_if(roster.members, [&](const FleetMember& member) {
    return !has_agent(member) && (virtual_ones.contains(member.node) ||
                                  (!on_control_planes && control_planes.contains(member.node)));
  });
}

}  // namespace

void NoteLeftOut(std::size_t left_out, std::ostream& err) {
  if (left_out == 0) return;
  err << "note: " << left_out << (left_out == 1 ? " node takes" : " nodes take")
      << " no agent (control planes, virtual nodes); --nodes '' counts every node\n";
}

kube::Answer<FleetRoster> ListMembers(const base::Call& call, kube::Api& api, const FleetQuery& query,
                                      const std::set<std::string>& had_agents) {
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
  FleetRoster roster;
  for (const kube::Node& node : *nodes) {
    FleetMember member{.node = node.name};
    member.signs.node_is_up = IsUp(node);
    if (!query.include_unready) {
      member.signs.leaving = WhyDead(node);
      member.signs.is_dead = !member.signs.leaving.empty();
      if (!member.signs.is_dead) member.signs.leaving = WhyLeaving(node);
    }
    auto label = node.labels.find("prefetchd.dev/" + query.instance);
    if (label != node.labels.end()) member.signs.label = base::InOneLine(label->second);
    if (auto pod = by_node.find(node.name); pod != by_node.end()) {
      member.pod = pod->second->name;
      member.account = pod->second->service_account;
      member.port = PortOf(*pod->second);
      member.signs.has_pod = true;
      member.signs.pod_ready = pod->second->ready;
      member.signs.pod_phase = pod->second->phase;
    }
    roster.members.push_back(std::move(member));
  }
  if (query.leave_out && query.nodes == kUsualNodes) LeaveOut(*nodes, had_agents, roster);
  std::sort(roster.members.begin(), roster.members.end(),
            [](const FleetMember& a, const FleetMember& b) { return a.node < b.node; });
  return roster;
}

}  // namespace prefetch::ctl
