// NodeGate: carries what plan/node_gate decides to the Node object.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "agent/board.h"
#include "agent/cluster/kubelet_readers.h"
#include "base/call.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "kube/answer.h"
#include "kube/api.h"
#include "plan/node_gate.h"

namespace prefetch::agent {

struct NodeGateOptions {
  plan::GateOptions gate;
  std::string node;  // the Node's name
  // Below Kubernetes 1.30 no admission policy can hold an agent to its own Node: then nothing is written
  // unless this is set (acceptFleetWideNodeWrites).
  bool accept_fleet_wide_writes = false;
  // Each read of the Node leaves its kubelet's version here; may be null.
  std::shared_ptr<LatestNodeReport> kubelet_version;
  // Called on the gate's thread when the API server refuses a write to this agent: `of` names the write. An
  // empty sentence means that the refusal is over. The function may be null.
  std::function<void(std::string component, std::string problem)> report_problem;
  std::uint64_t seed = std::random_device{}();  // of the jitter
};

// Independent of the loop: whatever the API server does, local readiness goes on. It writes when something
// has changed, one round in 10 s at most and not before it knows (5 s after its start at the latest), looks
// every few minutes for what others have changed, and is silent about failures that last, but for their
// first. A refused write (a missing right, a policy) holds up nothing else: a taint goes though the
// condition may not be written.
//
// Owned by main. One thread alone calls Turn: its PeriodicThread, or a test's.
class NodeGate {
 public:
  // All arguments outlive it.
  NodeGate(NodeGateOptions options, kube::Api& api, const Board& board, const base::Clock& clock);
  NodeGate(const NodeGate&) = delete;
  NodeGate& operator=(const NodeGate&) = delete;

  // Compares the newest Snapshot with the Node, and writes to the Node if that is due. Returns the time of
  // the next call.
  base::TimePoint Turn(const base::Call& call);

 private:
  // An Event that was created. The next warning of its kind raises its count.
  struct ReportedEvent {
    kube::NodeEvent event;
    base::TimePoint at;
  };
  // Parts that the server may refuse one by one; kNode: the server, the Node object, and all other failures.
  enum Part { kNode, kCondition, kLabel, kResult, kTaint, kEvents, kParts };
  struct WriteBackoff {
    unsigned failures = 0;
    std::string reported;        // of the last one, as far as it is worth another line
    base::TimePoint not_before;  // of this part alone
  };

  // Logs it if it is new, and puts off that write. True: the other writes may go on.
  bool Failed(Part part, const kube::Failure& failure);
  void RecordSuccess(Part part);
  void ReportProblem(Part part, const std::string& why) const;
  bool MayTry(Part part) const { return now_ >= backoffs_[part].not_before; }
  // Returns nullopt if the server's version is not known yet.
  std::optional<bool> MayWrite(const base::Call& call);
  std::optional<kube::Node> Read(const base::Call& call);
  // Returns the version last read from the Node object; empty if none was read.
  std::string KubeletVersion() const;
  plan::ObservedGate Observe(const kube::Node& node) const;
  // The functions below return false if the round ends early.
  bool Write(const base::Call& call, const kube::Node& node, const plan::DesiredGate& desired,
             const plan::GateUpdates& writes);
  bool WriteLabel(const base::Call& call, Part part, const std::string& key,
                  const std::optional<std::string>& value);
  bool WriteCondition(const base::Call& call, const kube::Node& node, const plan::GateCondition& desired);
  bool RemoveTaint(const base::Call& call, bool gave_up);
  bool RecordWrite(Part part, const kube::Failure* failure);
  bool ReportEvents(const base::Call& call, const kube::Node& node, const plan::Snapshot& snapshot,
                    const plan::DesiredGate& desired, const std::vector<plan::GateEvent>& changes);
  bool ReportEvent(const base::Call& call, const kube::Node& node, const plan::GateEvent& news,
                   const std::string& key, bool warning);
  std::vector<plan::GateEvent> UnreportedChanges(const plan::Snapshot& snapshot);
  std::string LabelKey() const { return std::string(plan::kLabelPrefix) + options_.gate.instance; }

  const NodeGateOptions options_;
  kube::Api& api_;
  const Board& board_;
  const base::Clock& clock_;
  base::ThreadChecker one_thread_;  // calls Turn
  std::mt19937_64 random_;
  const base::TimePoint started_at_;
  base::TimePoint now_;
  base::TimePoint not_before_;  // nothing is asked or written before
  base::TimePoint next_read_;
  bool wrote_ = false;                        // in this round
  std::optional<plan::DesiredGate> written_;  // the Node's present state, as far as we know
  plan::TaintHistory taint_ = plan::TaintHistory::kNotKnown;
  bool server_checked_ = false;
  bool refused_ = false;  // the cluster cannot hold us to our own Node
  std::array<WriteBackoff, kParts> backoffs_;
  std::map<std::string, ReportedEvent> reported_events_;   // by reason and image
  std::map<std::string, ReportedEvent> reported_changes_;  // by image and message
};

}  // namespace prefetch::agent
