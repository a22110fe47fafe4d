// ListMembers: the nodes of a fleet, and the agent's pod on each.
// FleetAgents: asks these agents through the API server's pod proxy, with the tokens that get full answers.
// PollMembers: the status of all agents.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "base/call.h"
#include "base/mutex.h"
#include "ctl/terminal.h"
#include "http/client.h"
#include "kube/api.h"
#include "screen/fleet.h"
#include "screen/node_text.h"

namespace prefetch::ctl {

// The nodes that take agents, unless a selector is given.
inline constexpr const char* kDefaultNodeSelector = "kubernetes.io/os=linux";

// Selects the nodes of a fleet, and the agent's pod on each.
struct FleetQuery {
  std::string name_space = "prefetchd";                   // of the agents
  std::string pods = "app.kubernetes.io/name=prefetchd";  // label selector of the agents
  std::string nodes = kDefaultNodeSelector;               // label selector of the nodes; empty: all
  std::string instance = "prefetchd";                     // whose node label counts: prefetchd.dev/<instance>
  // The usual selector leaves out nodes without pods of the usual DaemonSet (deploy/base/daemonset.yaml):
  // virtual nodes, and control planes unless one of them has an agent.
  bool leave_out = true;
  // Nodes that are dead or leaving count like all others.
  bool include_unready = false;
};

struct FleetMember {
  std::string node;
  std::string pod;      // empty: none is there
  std::string account;  // of the pod
  std::uint16_t port = 0;
  screen::ClusterFacts facts;  // but for signs that are known only after asking
};

struct FleetRoster {
  std::vector<FleetMember> members;  // by node
  std::size_t left_out = 0;          // nodes that take no agent
};

// Lists both, page by page, and begins anew if a continue token has expired. A node that has an agent, or is
// one of `had_agents`, is never left out: a rollout takes its pod away for a moment.
kube::Answer<FleetRoster> ListMembers(const base::Call& call, kube::Api& api, const FleetQuery& query,
                                      const std::set<std::string>& had_agents = {});

// Returns true if the failure lasts until a user changes something, so that trying again wastes time.
bool NeedsUserAction(const kube::Failure& failure);

// A line about nodes that were left out; none if there are none.
void NoteLeftOut(std::size_t left_out, std::ostream& err);

// Asks the agents of one namespace through the API server's pod proxy, each with a token of the component
// fleet's ServiceAccount (plan::FleetAccountsBeside), so that it hides nothing. A token is requested when the
// first agent of an account is asked, and anew before it expires. Without the component, or without the right
// to its tokens, the agents are asked all the same. Owned by one command; any thread may ask.
class FleetAgents {
 public:
  FleetAgents(kube::Api& api, std::string name_space) : api_(api), name_space_(std::move(name_space)) {}

  // Returns the agent's status document. Asks once more if the API server is busy, and without a token if the
  // agent may have rejected it.
  kube::Answer<std::string> FetchStatus(const base::Call& call, const FleetMember& member);
  // Sends a request for retries, with or without a token. Returns the body of the answer.
  kube::Answer<std::string> PostRetry(const base::Call& call, const FleetMember& member,
                                      const std::string& body);

 private:
  // Returns the token for agents of this account; nullopt if there is none. While the API server is asked for
  // one, other threads wait.
  std::optional<http::SecretHeader> TokenFor(const base::Call& call, const std::string& agents_account)
      PREFETCH_EXCLUDES(mutex_);

  struct CachedToken {
    std::optional<http::SecretHeader> header;  // none: it was refused
    std::chrono::steady_clock::time_point until;
  };

  kube::Api& api_;
  const std::string name_space_;
  base::Mutex mutex_;
  std::map<std::string, CachedToken> tokens_ PREFETCH_GUARDED_BY(mutex_);  // by the fleet's account
};

// Agents that are asked at the same time: enough for two thousand nodes in seconds, and no burden for an API
// server, which counts no proxied request for its priority and fairness.
inline constexpr std::size_t kParallelRequests = 32;

struct FleetPollOptions {
  // Narrows documents to these images; nullptr: as the agents see it.
  const screen::WaitDemand* demand = nullptr;
  // Each document as it came, before it is narrowed, by the member's index. On the threads that ask, at once
  // for several members. An empty function is allowed.
  std::function<void(std::size_t member, const status::StatusDocument&)> each;
  // Shows the number of agents that have been asked, from one thread at a time; nullptr: nothing is shown.
  Progress* progress = nullptr;
};

struct FleetAnswers {
  std::vector<screen::FleetNode> nodes;  // as the members stand
  // The right to ask pods is missing: no agent could be asked.
  std::optional<kube::Failure> forbidden;
};

// Describes a failure to get a pod's status, without the pod's name, so that nodes with the same problem have
// the same text. `verb`: of the right to its proxy.
std::string ConnectionFailureReason(const kube::Failure& failure, const std::string& verb = "get");

// Ends by `call`; members that were not asked by then have no detail.
FleetAnswers PollMembers(const base::Call& call, FleetAgents& agents, const std::vector<FleetMember>& members,
                         const FleetPollOptions& poll);

}  // namespace prefetch::ctl
