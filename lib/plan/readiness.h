// Readiness: everything that is known -> what is said about each entry and about the node. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/decide.h"
#include "plan/disk.h"
#include "plan/snapshot.h"
#include "plan/stall.h"
#include "plan/verdict_hold.h"

namespace prefetch::plan {

// The pull that runs for an entry.
struct Run {
  base::TimePoint started_at;
  Movement movement;
};

// All that is known about one entry. References outlive the call.
struct EntryFacts {
  const base::Shared<DesiredImage>& want;
  bool applies = true;
  const Observation& seen;
  const History& past;
  Action action;
  std::optional<Run> run;
  // What kubelet would say; null: not known yet. Without a kubelet presence is the verdict.
  bool has_kubelet = false;
  bool learning = false;  // KubeletStatus::learning
  VerdictsPtr verdicts;
  SpellingsPtr spellings{};       // as HeldVerdict::shown_spellings
  bool no_room = false;           // the disk rule holds it back
  std::uint64_t room_needed = 0;  // at least; 0: not known
  std::uint64_t room_usable = 0;  // that the disk rule leaves
  // What its registry has said; null: it is not asked.
  const RefreshDecision* refresh = nullptr;
  const Freshness* freshness = nullptr;
  // Why nothing starts for it although it is due (its registry is held, the disk is full); none: its turn.
  std::optional<Reason> held;
  bool looking_up = false;          // its credentials are searched for; nothing else holds it back
  base::Shared<TouchStatus> touch;  // kNone where touching is off
};

ImageState Judge(const EntryFacts& facts, base::TimePoint now, base::WallTime wall);

// How long after the runtime was last heard of its images still count.
constexpr std::chrono::minutes kRuntimeGrace{5};

struct NodeFacts {
  const ImageList& list;
  bool list_loaded = false;
  bool runtime_up = false;
  bool runtime_ever_up = false;
  std::optional<base::Duration> runtime_down_for;
  std::string runtime_error;
  bool has_kubelet = false;
  // What is wrong with a credential provider configuration that kubelet would exit on; empty: nothing.
  std::string credentials_error;
};

// May pods of this policy rely on the image? Never: they start without the registry. IfNotPresent: at most a
// manifest check with the pod's own credentials remains. Always: the registry agreed lately.
bool IsReadyFor(const ImageState& image, image::PullPolicy policy, bool has_kubelet);

// Completes `error`, of a runtime that does not answer, by the number of pulls that it may be ending: CRI-O
// finishes them before it stops (runtime rule C35).
std::string WithPullsUnderWay(std::string error, std::size_t pulls);

// The node's readiness from that of its entries.
Readiness Summarize(const NodeFacts& node, const std::vector<ImageState>& images);

}  // namespace prefetch::plan
