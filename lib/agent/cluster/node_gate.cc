#include "agent/cluster/node_gate.h"

#include <algorithm>
#include <utility>

#include "base/enum_name.h"
#include "base/log.h"
#include "base/text.h"

namespace prefetch::agent {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr seconds kSnapshotCheckInterval{1};
// The agent writes nothing in its first seconds while the node is not ready: a node that was ready before a
// rollout is ready again within a second.
constexpr seconds kFirstWriteDelay{5};
constexpr minutes kReadAgain{5};  // maximum delay until changes by others are noticed
constexpr seconds kCallLimit{15};
// Bounds on the Events of one agent, since every node of a fleet has one.
constexpr std::size_t kMostEvents = 10;   // different ones in an hour
constexpr std::size_t kMostChanges = 20;  // beside them
constexpr minutes kSameEventAgain{10};
constexpr minutes kEventMemory{60};
constexpr unsigned kFirstMinorWithPolicies = 30;

}  // namespace

NodeGate::NodeGate(NodeGateOptions options, kube::Api& api, const Board& board, const base::Clock& clock)
    : options_(std::move(options)),
      api_(api),
      board_(board),
      clock_(clock),
      random_(options_.seed),
      started_at_(clock.Now()),
      now_(started_at_),
      not_before_(started_at_),
      next_read_(started_at_) {}

bool NodeGate::Failed(Part part, const kube::Failure& failure) {
  using kube::ApiError;
  if (failure.kind == ApiError::kCancelled) return false;
  const bool refused = failure.kind == ApiError::kForbidden || failure.kind == ApiError::kInvalid;
  // Only a refusal is about one write. Everything else concerns the server, so all writes wait.
  if (!refused) part = kNode;
  WriteBackoff& backoff = backoffs_[part];
  backoff.failures++;
  double spread = std::uniform_real_distribution<double>(0, 1)(random_);
  kube::Retry retry = kube::NextTry(failure, backoff.failures, spread);
  bool never = retry.step == kube::Step::kGiveUp && retry.after.count() == 0;
  base::Duration wait = never ? base::Duration(kReadAgain) : base::Duration(retry.after);
  if (part == kNode) {
    not_before_ = now_ + wait;
  } else {
    backoff.not_before = now_ + wait;
    // Otherwise the write would be repeated only when something changes, or with the next regular read.
    next_read_ = std::min(next_read_, backoff.not_before);
  }
  // The text of an outage varies, and a refusal names the missing right.
  std::string what = refused ? failure.message : std::string(kube::ApiErrorName(failure.kind));
  if (std::exchange(backoff.reported, what) != what) {
    base::Warn("node object not reached",
               {{"kind", kube::ApiErrorName(failure.kind)}, {"error", failure.message}, {"retryIn", wait}});
    if (refused) ReportProblem(part, failure.message);
  }
  return part != kNode;
}

void NodeGate::RecordSuccess(Part part) {
  if (std::exchange(backoffs_[part], {}).reported.empty()) return;
  base::Info("node object reached again");
  ReportProblem(part, "");
}

void NodeGate::ReportProblem(Part part, const std::string& why) const {
  static constexpr std::array<const char*, kParts> kWords = {
      "the Node cannot be read",          "the Node's condition is not written",
      "the Node's label is not written",  "the Node's label of the newest result is not written",
      "the startup taint is not removed", "Events of the Node are not written"};
  const std::string what = kWords.at(part);
  if (options_.report_problem)
    options_.report_problem(what, why.empty() ? "" : what + ": the API server says " + why);
}

// Asks the API server for its version, once: servers are not downgraded. Before 1.30, no admission policy can
// limit the agent to its own Node, so it writes only if the operator accepts that.
std::optional<bool> NodeGate::MayWrite(const base::Call& call) {
  if (!options_.gate.Any() || server_checked_) return !refused_;
  auto version = api_.GetServerVersion(call.Within(kCallLimit));
  if (!version) {
    Failed(kNode, version.failure());
    return std::nullopt;
  }
  server_checked_ = true;
  std::string digits = version->minor.substr(0, version->minor.find_first_not_of("0123456789"));
  auto minor = base::ParseUint(digits);
  bool has_policies = version->major != "1" || !minor || *minor >= kFirstMinorWithPolicies;
  refused_ = !has_policies && !options_.accept_fleet_wide_writes;
  if (refused_) {
    base::Err("node gate refused", {{"server", version->git_version},
                                    {"reason",
                                     "before Kubernetes 1.30 no admission policy can limit this agent to its "
                                     "own Node; to accept that, set "
                                     "acceptFleetWideNodeWrites"}});
  }
  return !refused_;
}

std::optional<kube::Node> NodeGate::Read(const base::Call& call) {
  auto node = api_.GetNode(call.Within(kCallLimit), options_.node);
  if (!node) {
    Failed(kNode, node.failure());
    return std::nullopt;
  }
  if (options_.kubelet_version) options_.kubelet_version->Set(NodeReportOf(*node));
  next_read_ = now_ + kReadAgain;
  return *std::move(node);
}

std::string NodeGate::KubeletVersion() const {
  return options_.kubelet_version ? options_.kubelet_version->Get().version_text : "";
}

plan::ObservedGate NodeGate::Observe(const kube::Node& node) const {
  plan::ObservedGate seen;
  if (auto label = node.labels.find(LabelKey()); label != node.labels.end()) seen.label = label->second;
  auto result = node.labels.find(options_.gate.result_label);
  if (result != node.labels.end()) seen.result = result->second;
  for (const kube::NodeCondition& condition : node.conditions) {
    if (condition.type != plan::kConditionType) continue;
    const auto status = base::EnumNamed<plan::ConditionStatus>(condition.status);
    seen.condition = plan::GateCondition{status.value_or(plan::ConditionStatus::kUnknown), condition.reason,
                                         condition.message};
  }
  seen.tainted = std::ranges::any_of(node.taints, [this](const kube::Taint& taint) {
    return plan::IsStartupTaint(taint.key, options_.gate.taint_key);
  });
  return seen;
}

// Returns true if the round goes on: after a success, and after a refusal that concerns this write alone.
bool NodeGate::RecordWrite(Part part, const kube::Failure* failure) {
  if (failure != nullptr) return Failed(part, *failure);
  wrote_ = true;
  RecordSuccess(part);
  return true;
}

bool NodeGate::WriteCondition(const base::Call& call, const kube::Node& node,
                              const plan::GateCondition& desired) {
  kube::NodeCondition condition{.type = std::string(plan::kConditionType),
                                .status = std::string(base::EnumName(desired.status)),
                                .reason = desired.reason,
                                .message = desired.message,
                                .last_heartbeat = clock_.Wall(),
                                .last_transition = clock_.Wall()};
  for (const kube::NodeCondition& old : node.conditions) {
    // lastTransitionTime is the time at which the status changed, as Kubernetes defines it. A new message
    // alone does not change it.
    bool same = old.type == condition.type && old.status == condition.status;
    if (same && old.last_transition) condition.last_transition = old.last_transition;
  }
  auto done = api_.SetNodeCondition(call.Within(kCallLimit), options_.node, condition);
  return RecordWrite(kCondition, done ? nullptr : &done.failure());
}

bool NodeGate::WriteLabel(const base::Call& call, Part part, const std::string& key,
                          const std::optional<std::string>& value) {
  auto done = api_.SetNodeLabel(call.Within(kCallLimit), options_.node, key, value);
  return RecordWrite(part, done ? nullptr : &done.failure());
}

// Reads the Node again, because the other writes have changed its resourceVersion. The list of taints can
// only be replaced as a whole, guarded by the version with which it was read.
bool NodeGate::RemoveTaint(const base::Call& call, bool gave_up) {
  auto fresh = api_.GetNode(call.Within(kCallLimit), options_.node);
  if (!fresh) return Failed(kNode, fresh.failure());
  std::vector<kube::Taint> taints = fresh->taints;
  std::erase_if(taints, [this](const kube::Taint& taint) {
    return plan::IsStartupTaint(taint.key, options_.gate.taint_key);
  });
  auto done = api_.SetNodeTaints(call.Within(kCallLimit), options_.node, fresh->resource_version, taints);
  if (done) {
    taint_ = gave_up ? plan::TaintHistory::kGivenUp : plan::TaintHistory::kGone;
    base::Info("startup taint removed", {{"node", options_.node}, {"gaveUp", gave_up}});
  }
  return RecordWrite(kTaint, done ? nullptr : &done.failure());
}

// Each write has its own back-off, because the right for one may be missing while the others work.
bool NodeGate::Write(const base::Call& call, const kube::Node& node, const plan::DesiredGate& desired,
                     const plan::GateUpdates& writes) {
  if (writes.condition && MayTry(kCondition) && !WriteCondition(call, node, *writes.condition)) return false;
  if (writes.label && MayTry(kLabel) && !WriteLabel(call, kLabel, LabelKey(), *writes.label)) return false;
  if (writes.result && MayTry(kResult) &&
      !WriteLabel(call, kResult, options_.gate.result_label, desired.result)) {
    return false;
  }
  return !writes.remove_taint || !MayTry(kTaint) || RemoveTaint(call, desired.gave_up);
}

// `key`: Events with the same one are the same. A warning is counted up, a change is told once.
bool NodeGate::ReportEvent(const base::Call& call, const kube::Node& node, const plan::GateEvent& news,
                           const std::string& key, bool warning) {
  if (!MayTry(kEvents)) return true;
  std::map<std::string, ReportedEvent>& all = warning ? reported_events_ : reported_changes_;
  auto reported = all.find(key);
  std::string message = news.image.empty() ? news.message : news.image + ": " + news.message;
  if (reported != all.end()) {
    // The same Event is counted up at most once in this time.
    if (now_ < reported->second.at + kSameEventAgain) return true;
    kube::NodeEvent again = reported->second.event;
    again.count++;
    again.last = clock_.Wall();
    again.message = message;
    auto updated = api_.UpdateEvent(call.Within(kCallLimit), again);
    // The API server deletes Events after an hour, by default. Then a new one is created.
    bool expired = !updated && updated.failure().kind == kube::ApiError::kNotFound;
    if (!updated && !expired) return Failed(kEvents, updated.failure());
    if (updated) {
      RecordSuccess(kEvents);
      reported->second = {again, now_};
      return true;
    }
  } else if (warning && all.size() >= kMostEvents) {
    return true;
  }
  auto created = api_.CreateEvent(call.Within(kCallLimit), {.node = options_.node,
                                                            .node_uid = node.uid,
                                                            .warning = warning,
                                                            .reason = news.reason,
                                                            .message = message,
                                                            .first = clock_.Wall(),
                                                            .last = clock_.Wall()});
  if (!created) return Failed(kEvents, created.failure());
  RecordSuccess(kEvents);
  all[key] = {*std::move(created), now_};
  return true;
}

bool NodeGate::ReportEvents(const base::Call& call, const kube::Node& node, const plan::Snapshot& snapshot,
                            const plan::DesiredGate& desired, const std::vector<plan::GateEvent>& changes) {
  std::erase_if(reported_events_, [this](const auto& one) { return now_ >= one.second.at + kEventMemory; });
  std::vector<plan::GateEvent> warnings = plan::EventsFor(snapshot, kMostEvents);
  if (desired.gave_up) {
    warnings.insert(warnings.begin(),
                    plan::GateEvent{"", "GaveUp",
                                    "the startup taint is taken away though images are missing: " +
                                        desired.condition.message});
  }
  return std::ranges::all_of(warnings,
                             [&](const plan::GateEvent& event) {
                               return ReportEvent(call, node, event, event.reason + " " + event.image, true);
                             }) &&
         std::ranges::all_of(changes, [&](const plan::GateEvent& change) {
           return ReportEvent(call, node, change, change.image + " " + change.message, false);
         });
}

// Returns the changes of this hour for which the Node has no Event yet.
std::vector<plan::GateEvent> NodeGate::UnreportedChanges(const plan::Snapshot& snapshot) {
  std::erase_if(reported_changes_, [this](const auto& one) { return now_ >= one.second.at + kEventMemory; });
  std::vector<plan::GateEvent> changes = plan::ChangesFor(snapshot, clock_.Wall());
  std::erase_if(changes, [this](const plan::GateEvent& change) {
    return reported_changes_.contains(change.image + " " + change.message);
  });
  changes.resize(std::min(changes.size(), kMostChanges - reported_changes_.size()));
  return changes;
}

// Reads the Node only if something has to be written, or a regular read is due. Compares before it writes, so
// a restarted agent does not repeat what the Node already has.
base::TimePoint NodeGate::Turn(const base::Call& call) {
  one_thread_.Check();
  now_ = clock_.Now();
  if (now_ < not_before_) return not_before_;
  base::TimePoint next = now_ + kSnapshotCheckInterval;
  plan::SnapshotPtr snapshot = board_.Latest();
  // The gate gave up on images that were missing then. Once the node is ready, later ones are judged anew.
  if (snapshot->readiness.ready && taint_ == plan::TaintHistory::kGivenUp) taint_ = plan::TaintHistory::kGone;
  plan::DesiredGate desired = plan::DesiredGateFor(*snapshot, options_.gate, now_ - started_at_, taint_);
  const bool learning = snapshot->kubelet && snapshot->kubelet->learning;
  bool too_early =
      !written_ && !snapshot->readiness.ready && (now_ < started_at_ + kFirstWriteDelay || learning);
  bool may_report = options_.gate.Any() && !too_early;
  std::vector<plan::GateEvent> changes;
  if (may_report && MayTry(kEvents)) changes = UnreportedChanges(*snapshot);
  bool changed = may_report && (written_ != desired || !changes.empty());
  if (!changed && now_ < next_read_) return next;
  std::optional<bool> may_write = MayWrite(call);
  if (!may_write) return std::max(next, not_before_);
  const std::string kubelet_before = KubeletVersion();
  std::optional<kube::Node> node = Read(call);
  if (!node) return std::max(next, not_before_);
  // The published Snapshot is still about another kubelet, or an unknown one.
  const std::string kubelet_now = KubeletVersion();
  const bool snapshot_is_stale = snapshot->kubelet && snapshot->kubelet->version.empty() &&
                                 !snapshot->kubelet->learning && !kubelet_now.empty();
  if (kubelet_now != kubelet_before || snapshot_is_stale) return next;
  plan::ObservedGate seen = Observe(*node);
  if (!seen.tainted && taint_ == plan::TaintHistory::kNotKnown) taint_ = plan::TaintHistory::kGone;
  // The taint may have been removed by others before the gate's time is over; then nothing was given up.
  desired = plan::DesiredGateFor(*snapshot, options_.gate, now_ - started_at_, taint_);
  if (options_.gate.Any() && too_early) return next;
  wrote_ = false;
  plan::GateUpdates writes;
  if (*may_write) writes = plan::WritesFor(desired, seen, options_.gate);
  // The startup taint goes last, since its removal lets pods in.
  bool done = Write(call, *node, desired, writes);
  if (done && *may_write && options_.gate.Any()) {
    done = ReportEvents(call, *node, *snapshot, desired, changes);
  }
  // A round that ended early counts for the interval, too.
  if (wrote_ || (done && writes.Any())) not_before_ = std::max(not_before_, now_ + plan::kGateWriteInterval);
  if (!done) return std::max(next, not_before_);
  RecordSuccess(kNode);
  // Computed again, since removing the taint has changed `taint_`.
  written_ = plan::DesiredGateFor(*snapshot, options_.gate, now_ - started_at_, taint_);
  return std::max(next, not_before_);
}

}  // namespace prefetch::agent
