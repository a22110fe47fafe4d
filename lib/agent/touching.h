// Touching: the loop's part of touches: chooses the entries and the time, has one pod at a time, and records
// the results.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/cluster/touch_pods.h"
#include "agent/entries.h"
#include "agent/loop.h"
#include "agent/metrics.h"
#include "base/clock.h"
#include "base/workers.h"
#include "image/reference.h"
#include "plan/touch.h"

namespace prefetch::agent {

// The loop's facts besides its entries.
struct TouchContext {
  bool kubelet_verifies = false;  // every kubelet that may run here keeps records and decides by them
  std::string records_note;       // why its records never match here; empty: they do
  bool more_to_come = false;      // pulls are due or under way
};

// No lock: the loop's thread alone uses it, which Loop::Check checks. Calls to the API server run on a worker
// of its own, so that one that does not answer holds up touches only.
//
// Nothing that the API server says opens an image: an entry is open when its verdict is. So the pod is done
// as soon as the verdicts of all its images are open, whatever its status says; its status only tells why one
// is not.
class Touching {
 public:
  // `metrics`, `loop` and `entries` outlive it.
  Touching(TouchPods pods, Metrics& metrics, Loop& loop, Entries& entries)
      : pods_(std::move(pods)), metrics_(metrics), loop_(loop), entries_(entries) {}

  // Brings each entry's touch up to date, and starts the next call to the API server that is due. Call it
  // once a turn, after the pulls: an image that is still to be pulled may share the touch pod.
  void StartIfDue(TouchContext context);
  // Returns the time of the next turn that is needed without an event.
  base::TimePoint NextTurn() const;

  // Credentials or kubelet's settings have changed: the touches of all images are due at once, also given-up
  // ones. The wait of touch pods goes on.
  void ConditionsChanged();
  // Waiting touches, and the next touch pod, are due at once; given-up touches stay given up.
  void KubeletRestarted();
  // Deletes the touch pod, if one may exist. Blocks for a moment.
  void DeletePodAtExit();

 private:
  // One image of the pod: an entry as one of its spellings writes it.
  struct Part {
    std::string name, image_id;
    image::Reference reference;
  };
  // One that could be touched now.
  struct DuePart {
    std::size_t entry = 0;  // its index in the entries
    image::Reference reference;
    plan::TouchCandidate candidate;
  };
  struct Pod {
    std::string name, uid;
    std::vector<Part> parts;
    base::TimePoint created_at, changed_at, next_poll;
    base::Duration poll_interval{};
    plan::PodObservation seen;
    plan::PodEvaluation evaluation;
    base::TimePoint ended_at = base::TimePoint::max();
    bool deleted = false;
  };

  void Review(base::WallTime wall);
  void StartCall();
  // Runs `job` on the worker, and gives its report to `apply` before the next one starts.
  template <typename Job, typename Apply>
  void Submit(Job job, Apply apply);
  void ApplyBegun(TouchBegun report);
  void ApplyObserved(TouchObserved report);
  void Begin();
  std::vector<DuePart> Due() const;
  void EvaluatePod();
  bool VerdictsSettled() const;
  void Conclude();
  plan::TouchResult ResultFor(const Entry& entry, std::size_t part) const;
  bool IsOpen(const Entry& entry, std::size_t part) const;
  // The part that decides the result of an entry: the first of its spellings that is not open, if any.
  std::size_t DecisivePart(const Entry& entry, std::size_t first) const;
  // Not another spelling of an entry that stands before it.
  static bool IsFirst(const std::vector<Part>& parts, std::size_t part);
  void ReportFailure(const plan::TouchResult& result);
  bool InPod(const Entry& entry) const;
  // The entry that the part was about, if it still is.
  Entry* EntryOf(const Part& part) const;

  TouchPods pods_;
  Metrics& metrics_;
  Loop& loop_;
  Entries& entries_;
  TouchContext context_;
  plan::TouchPodHealth pod_health_;
  bool swept_ = false;  // no pod is left of an agent before, or of a call that failed
  bool busy_ = false;
  int slot_ = 0;
  std::vector<Part> creating_;  // of the Begin that is under way
  std::optional<base::TimePoint> due_since_;
  base::TimePoint next_change_ = base::TimePoint::max();  // an entry's not_before
  std::optional<Pod> pod_;
  base::Workers worker_{1};  // last: its thread uses what stands above
};

}  // namespace prefetch::agent
