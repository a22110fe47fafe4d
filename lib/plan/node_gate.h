// NodeGate: writes on the Node object about this node's images: a label, a condition, a startup taint
// (deploy/docs/new-nodes.md). Facts and time in, writes out; pure. agent/cluster/node_gate carries them to
// the API server.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "plan/snapshot.h"

namespace prefetch::plan {

inline constexpr std::string_view kLabelPrefix = "prefetchd.dev/";
inline constexpr std::string_view kConditionType = "ImagesPrefetched";

// Returns true for base::kStartupTaintKey and for `other`, if that is not empty. The default key always
// counts: nodes may still start with it after another one is configured.
bool IsStartupTaint(std::string_view key, std::string_view other);

// At most one write to the Node in this time.
constexpr std::chrono::seconds kGateWriteInterval{10};

// Each part is opted into by itself.
struct GateOptions {
  std::string instance = "prefetchd";  // names the label: prefetchd.dev/<instance>
  bool label = false;
  // Another label, a whole key, for clients that wait for the result: see DesiredGate::result. Empty: none.
  std::string result_label;
  bool condition = false;
  bool taint = false;  // take the startup taint away; it is never put on
  // Another key of the startup taint, beside base::kStartupTaintKey. Empty: none.
  std::string taint_key;
  std::chrono::seconds timeout{900};  // after which the taint goes whatever is missing

  bool Any() const { return label || !result_label.empty() || condition || taint; }
  friend bool operator==(const GateOptions&, const GateOptions&) = default;
};

enum class ConditionStatus { kTrue, kFalse, kUnknown };

struct GateCondition {
  ConditionStatus status = ConditionStatus::kUnknown;
  std::string reason;   // "AllReady", "ImagesNotReady", "GaveUp": as Kubernetes wants it, one word
  std::string message;  // counts, obstacles, the list's hash

  friend bool operator==(const GateCondition&, const GateCondition&) = default;
};

// The wanted state of the Node.
struct DesiredGate {
  std::string label;  // "ready" or "notready"
  // "succeeded": ready; "failed": only permanently failed images are missing; nullopt: neither, and the label
  // is taken away.
  std::optional<std::string> result;
  GateCondition condition;
  bool may_remove_taint = false;
  bool gave_up = false;  // …since its time is over

  friend bool operator==(const DesiredGate&, const DesiredGate&) = default;
};

// The history of the startup taint since the agent's start.
enum class TaintHistory {
  kNotKnown,  // it may be there
  kGone,      // it was not there, or was taken away for good reasons: it has no say any more
  kGivenUp,   // it was taken away since its time was over
};

// `running_for`: since the agent's start.
DesiredGate DesiredGateFor(const Snapshot& snapshot, const GateOptions& options, base::Duration running_for,
                           TaintHistory taint);

// The Node object's present state, as far as it concerns us.
struct ObservedGate {
  std::optional<std::string> label, result;
  std::optional<GateCondition> condition;
  bool tainted = false;
};

struct GateUpdates {
  std::optional<std::string> label;
  std::optional<GateCondition> condition;
  bool result = false;  // DesiredGate::result, as it is
  bool remove_taint = false;

  bool Any() const { return label || condition || result || remove_taint; }
};

// The writes that turn `seen` into `desired`; none for parts that are not opted into.
GateUpdates WritesFor(const DesiredGate& desired, const ObservedGate& seen, const GateOptions& options);

// One image to report as an Event of the Node.
struct GateEvent {
  std::string image;   // as the list writes it
  std::string reason;  // "AccessDenied", "RecordedForOthers", "EvictedByKubelet"
  std::string message;

  friend bool operator==(const GateEvent&, const GateEvent&) = default;
};

// Required images that are closed to pods, evicted or denied, in the list's order; at most `most`.
std::vector<GateEvent> EventsFor(const Snapshot& snapshot, std::size_t most);

// Time for which a change is worth an event, even if the API server is away meanwhile.
constexpr std::chrono::minutes kChangeEventWindow{30};

// Images whose tag had changed and that this agent has replaced lately, with the digests before and after;
// reason "ImageReplaced", in the list's order. The same change is always the same GateEvent.
std::vector<GateEvent> ChangesFor(const Snapshot& snapshot, base::WallTime now);

}  // namespace prefetch::plan
