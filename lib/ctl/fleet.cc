#include "ctl/fleet.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "base/scrub.h"
#include "base/secret.h"
#include "base/text.h"
#include "base/workers.h"
#include "ctl/agent_client.h"
#include "ctl/cluster.h"
#include "plan/caller.h"

namespace prefetch::ctl {

namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

// The shortest life that an API server gives; a wait that takes longer requests another token.
constexpr std::int64_t kTokenSeconds = 600;
constexpr seconds kRenewAfter{kTokenSeconds * 8 / 10};
constexpr seconds kRefusalTtl{60};
constexpr seconds kTokenTimeout{5};

constexpr seconds kMemberTimeout{10};
constexpr seconds kMaxRetryAfter{5};  // with a server that says 429

// Returns true if the agent may have rejected the token; it may still answer without one. A 403 may be the
// API server's as well, which then repeats it.
bool MayBeTokenError(kube::ApiError error) {
  return error == kube::ApiError::kUnauthorized || error == kube::ApiError::kForbidden ||
         error == kube::ApiError::kTooManyRequests || error == kube::ApiError::kServerError;
}

}  // namespace

std::optional<http::SecretHeader> FleetAgents::TokenFor(const base::Call& call,
                                                        const std::string& agents_account) {
  base::Lock lock(mutex_);
  for (const std::string& account : plan::FleetAccountsBeside(agents_account)) {
    auto cached = tokens_.find(account);
    if (cached == tokens_.end() || steady_clock::now() >= cached->second.until) {
      auto created = api_.CreateToken(call.Within(kTokenTimeout), name_space_, account,
                                      std::string(plan::kCallerAudience), kTokenSeconds);
      // A refusal is remembered for a while, too: a watch must not ask for the missing right every two
      // seconds.
      CachedToken fresh{std::nullopt, steady_clock::now() + kRefusalTtl};
      if (created) {
        base::Secret bearer("Bearer " + std::string(created->token.Reveal()));
        fresh = {http::SecretHeader{std::string(plan::kFleetHeader), std::move(bearer)},
                 steady_clock::now() + kRenewAfter};
      }
      cached = tokens_.insert_or_assign(account, std::move(fresh)).first;
    }
    if (cached->second.header) return cached->second.header;
  }
  return std::nullopt;
}

kube::Answer<std::string> FleetAgents::FetchStatus(const base::Call& call, const FleetMember& member) {
  const auto get = [&](const std::optional<http::SecretHeader>& token) {
    return api_.PodProxy(call.Within(kMemberTimeout),
                         {name_space_, member.pod, member.port, "/v1/status", token});
  };
  const auto get_patiently = [&](const std::optional<http::SecretHeader>& token) {
    auto body = get(token);
    // Tries once more, after the time that the busy API server names.
    if (body || body.failure().kind != kube::ApiError::kTooManyRequests) return body;
    base::Pause(call, std::min(body.failure().retry_after.value_or(seconds(1)), kMaxRetryAfter));
    return get(token);
  };
  if (auto token = TokenFor(call, member.account)) {
    auto body = get_patiently(token);
    if (body || !MayBeTokenError(body.failure().kind)) return body;
  }
  return get_patiently(std::nullopt);
}

kube::Answer<std::string> FleetAgents::PostRetry(const base::Call& call, const FleetMember& member,
                                                 const std::string& body) {
  return api_.PodProxy(call.Within(kAnswerTimeout), {name_space_, member.pod, member.port, "/v1/retry",
                                                     TokenFor(call, member.account), body});
}

namespace {

// The answers of all agents. Several threads ask.
class FleetPoll {
 public:
  FleetPoll(FleetAgents& agents, const std::vector<FleetMember>& members, const FleetPollOptions& poll)
      : agents_(agents), members_(members), poll_(poll) {
    answers_.nodes.resize(members.size());
  }

  void Poll(const base::Call& call, std::size_t i) {
    answers_.nodes[i] = PollMember(call, i);
    base::Lock lock(mutex_);
    done_++;
    if (poll_.progress == nullptr) return;
    const std::string count = std::to_string(done_);
    poll_.progress->Show("asked " + count + " of " + std::to_string(members_.size()) + " nodes", count);
  }

  // After all threads have ended.
  FleetAnswers Take() {
    base::Lock lock(mutex_);
    // A single 403 may be one agent's. Only if nobody let the user in is the right missing.
    if (authorized_ == 0) answers_.forbidden = std::move(forbidden_);
    return std::move(answers_);
  }

 private:
  screen::FleetNode WithoutDetail(const FleetMember& member, std::string why) const {
    screen::ClusterFacts facts = member.facts;
    facts.why = std::move(why);
    facts.pod_readiness_counts = poll_.demand == nullptr;
    return screen::NodeWithoutDetail(member.node, facts);
  }

  screen::FleetNode PollMember(const base::Call& call, std::size_t i) {
    const FleetMember& member = members_[i];
    if (member.pod.empty()) return WithoutDetail(member, "");
    // A dead node would cost the whole time limit of one question.
    if (member.facts.is_dead) return WithoutDetail(member, "its node is dead: " + member.facts.leaving);
    if (call.Stopped()) return WithoutDetail(member, "it was not asked");
    auto body = agents_.FetchStatus(call, member);
    {
      base::Lock lock(mutex_);
      if (!body && body.failure().kind == kube::ApiError::kForbidden) {
        forbidden_ = body.failure();
      } else {
        authorized_++;
      }
    }
    if (!body) return WithoutDetail(member, ConnectionFailureReason(body.failure()));
    auto document = status::ParseStatusDocument(*body);
    if (!document) return WithoutDetail(member, document.error().message());
    // Without the lock: drawing or digesting a document is the expensive part.
    if (poll_.each) poll_.each(i, *document);
    screen::FleetNode node =
        poll_.demand == nullptr
            ? screen::SummarizeStatus(*document, member.node)
            : screen::SummarizeStatus(screen::NarrowTo(*std::move(document), *poll_.demand), member.node);
    // Known from the Node object, not from the agent.
    node.leaving = member.facts.leaving;
    return node;
  }

  FleetAgents& agents_;
  const std::vector<FleetMember>& members_;
  const FleetPollOptions& poll_;
  FleetAnswers answers_;  // a thread writes only the nodes that it has taken
  base::Mutex mutex_;
  std::size_t done_ PREFETCH_GUARDED_BY(mutex_) = 0;
  std::size_t authorized_ PREFETCH_GUARDED_BY(mutex_) = 0;
  std::optional<kube::Failure> forbidden_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace

std::string ConnectionFailureReason(const kube::Failure& failure, const std::string& verb) {
  if (failure.kind == kube::ApiError::kTimeout) return "it did not answer in time";
  if (failure.kind == kube::ApiError::kForbidden) return "you may not " + verb + " pods/proxy of its pod";
  std::size_t end = failure.message.find(": ");
  return end == std::string::npos ? failure.message : failure.message.substr(end + 2);
}

FleetAnswers PollMembers(const base::Call& call, FleetAgents& agents, const std::vector<FleetMember>& members,
                         const FleetPollOptions& poll) {
  FleetPoll poller(agents, members, poll);
  base::ParallelFor(kParallelRequests, members.size(), [&](std::size_t i) { poller.Poll(call, i); });
  return poller.Take();
}

namespace {

constexpr std::uint16_t kDefaultPort = 9477;

std::uint16_t PortOf(const kube::Pod& pod) {
  for (const kube::PodContainer& container : pod.containers) {
    auto port = container.ports.find("http");
    if (port != container.ports.end()) return port->second;
  }
  return kDefaultPort;
}

// Returns true if `a` is the better one of two agents on a node. During a rollout, the old one goes while the
// new one comes.
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

struct TaintReason {
  std::string_view taint, why;
};
constexpr TaintReason kDeadTaints[] = {
    {"node.kubernetes.io/out-of-service", "out of service"},
    {"node.cloudprovider.kubernetes.io/shutdown", "shut down"},
    {"node.kubernetes.io/unreachable", "kubelet does not report"},
};
constexpr TaintReason kLeavingTaints[] = {
    {"karpenter.sh/disrupted", "Karpenter removes it"},
    {"karpenter.sh/disruption", "Karpenter removes it"},  // before Karpenter 1.0
    {"ToBeDeletedByClusterAutoscaler", "Cluster Autoscaler removes it"},
    {"cloud.google.com/impending-node-termination", "its machine ends"},
};

std::string ReasonByTaint(const kube::Node& node, std::span<const TaintReason> reasons) {
  for (const TaintReason& reason : reasons) {
    for (const kube::Taint& taint : node.taints) {
      if (taint.key == reason.taint) return std::string(reason.why);
    }
  }
  return "";
}

// Returns why nothing on the node can answer; empty if something may.
std::string DeadReason(const kube::Node& node) {
  for (const kube::NodeCondition& condition : node.conditions) {
    if (condition.type == "Ready" && condition.status == "Unknown") return "kubelet does not report";
  }
  return ReasonByTaint(node, kDeadTaints);
}

std::string LeavingReason(const kube::Node& node) {
  if (std::string why = ReasonByTaint(node, kLeavingTaints); !why.empty()) return why;
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

// Removes nodes that get no agent. In a cluster of control planes alone, these have agents.
void LeaveOut(const std::vector<kube::Node>& nodes, const std::set<std::string>& had_agents,
              FleetRoster& roster) {
  auto has_agent = [&](const FleetMember& member) {
    return member.facts.has_pod || had_agents.contains(member.node);
  };
  std::set<std::string> virtual_ones, control_planes;
  for (const kube::Node& node : nodes) {
    if (IsVirtual(node)) virtual_ones.insert(node.name);
    if (IsControlPlane(node)) control_planes.insert(node.name);
  }
  // If one control plane has an agent, the DaemonSet tolerates them, so the others should have one, too.
  const bool on_control_planes = control_planes.size() == nodes.size() ||
                                 std::ranges::any_of(roster.members, [&](const FleetMember& member) {
                                   return has_agent(member) && control_planes.contains(member.node);
                                 });
  roster.left_out = std::erase_if(roster.members, [&](const FleetMember& member) {
    return !has_agent(member) && (virtual_ones.contains(member.node) ||
                                  (!on_control_planes && control_planes.contains(member.node)));
  });
}

}  // namespace

bool NeedsUserAction(const kube::Failure& failure) {
  switch (failure.kind) {
    case kube::ApiError::kForbidden:
    case kube::ApiError::kUnauthorized:
    case kube::ApiError::kInvalid:
    case kube::ApiError::kNoCredential:
    case kube::ApiError::kTlsError:
      return true;
    default:  // a question of two sides: the rest may pass
      return false;
  }
}

void NoteLeftOut(std::size_t left_out, std::ostream& err) {
  if (left_out == 0) return;
  err << "note: " << base::Plural(left_out, "node takes", "nodes take")
      << " no agent (control planes, virtual nodes); --nodes '' counts every node\n";
}

kube::Answer<FleetRoster> ListMembers(const base::Call& call, kube::Api& api, const FleetQuery& query,
                                      const std::set<std::string>& had_agents) {
  auto nodes =
      ListAll<kube::Node>(call, {.label_selector = query.nodes},
                          [&](const kube::ListOptions& options) { return api.ListNodes(call, options); });
  if (!nodes) return std::move(nodes).failure();
  auto pods = ListAll<kube::Pod>(call, {.label_selector = query.pods}, [&](const kube::ListOptions& options) {
    return api.ListPods(call, query.name_space, options);
  });
  if (!pods) return std::move(pods).failure();
  std::map<std::string, const kube::Pod*> by_node;
  for (const kube::Pod& pod : *pods) {
    const kube::Pod*& best = by_node[pod.node];
    if (best == nullptr || IsBetter(pod, *best)) best = &pod;
  }
  FleetRoster roster;
  for (const kube::Node& node : *nodes) {
    FleetMember member{.node = node.name};
    member.facts.node_is_up = IsUp(node);
    // A node that is dead or leaving is reported as such, and nobody waits for it.
    if (!query.include_unready) {
      member.facts.leaving = DeadReason(node);
      member.facts.is_dead = !member.facts.leaving.empty();
      if (!member.facts.is_dead) member.facts.leaving = LeavingReason(node);
    }
    auto label = node.labels.find("prefetchd.dev/" + query.instance);
    if (label != node.labels.end()) member.facts.label = base::InOneLine(label->second);
    if (auto pod = by_node.find(node.name); pod != by_node.end()) {
      member.pod = pod->second->name;
      member.account = pod->second->service_account;
      member.port = PortOf(*pod->second);
      member.facts.has_pod = true;
      member.facts.pod_ready = pod->second->ready;
      member.facts.pod_phase = pod->second->phase;
    }
    roster.members.push_back(std::move(member));
  }
  if (query.leave_out && query.nodes == kDefaultNodeSelector) LeaveOut(*nodes, had_agents, roster);
  std::ranges::sort(roster.members, {}, &FleetMember::node);
  return roster;
}

}  // namespace prefetch::ctl
