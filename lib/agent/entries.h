// Entries: the loop's memory of each image of the list, and of each that a preflight has asked for.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/shared.h"
#include "plan/decide.h"
#include "plan/desired.h"
#include "plan/image_readiness.h"
#include "plan/observation.h"
#include "plan/schedule.h"
#include "plan/touch.h"

namespace prefetch::agent {

// Why the agent ended a running pull.
enum class CancelReason {
  kNone,
  kReplaced,          // stalled; another pull of the same entry goes on
  kDeadlineExceeded,  // its deadline passed
  kStalled,           // stalled, and other pulls wait for its disk space
  kNoDiskSpace,       // there is no room for it
  kDeferred,          // there may be room for it once others are done
  kRemovedFromList,   // the entry is gone from the list
};

class AdmissionDecision;  // agent/loop.h

// One pull under way: the agent's own fetch if it helps, then PullImage, after a denial with the next
// credential. Its phases, in order: the agent's own download (PullJob::on_unpack ends it), PullImage
// (on_returned), verification of the new image.
struct ActivePull {
  std::uint64_t id = 0;
  std::stop_source stop;
  base::TimePoint started_at;
  plan::ObservedProgress progress;
  std::string lease;  // under which its bytes are; empty: the runtime knows no leases
  // The usable image when it began: a poll may see the new one before the end.
  std::optional<plan::Local> before;
  CancelReason cancel_reason = CancelReason::kNone;
  plan::FetchPhase fetch = plan::FetchPhase::kDownloads;
  std::shared_ptr<AdmissionDecision> unpack;           // for which its PullImage waits; null: for none
  std::optional<base::TimePoint> returned;             // when PullImage did
  base::TimePoint cancel_at = base::TimePoint::max();  // a replaced one is cancelled a little later

  // Asks it to end.
  void Cancel(CancelReason why) {
    cancel_reason = why;
    stop.request_stop();
  }
};

struct Entry : plan::EntryState {
  // False: it is on no list, and exists because a preflight has asked for it (plan/check.h).
  bool on_list = true;
  base::TimePoint requested_at;     // the newest poll of the node behind a preflight's request
  base::TimePoint requested_until;  // when the newest request of a preflight for its pull expires
  // Polls with a sequence up to this one began before the agent's own pull changed the node.
  std::uint64_t ignore_polls_through = 0;
  std::vector<ActivePull> runs;  // the newest last; two only while one replaces another
  base::Shared<plan::TouchHistory> touch_history;
  bool checking = false;         // its registry is being asked now
  bool desired_changed = false;  // the list describes it otherwise than before
  bool size_requested = false;   // of its registry, before its pull; once

  bool applies() const { return selection == plan::Selection::kApplies; }
  const std::string& name() const { return desired->reference.Normalized(); }
  // Returns true if kubelet's verdict is about the image that is here now.
  bool IsJudged() const {
    return verdict.shown.worst && observed.local && verdict.image_id == observed.local->id;
  }
  const ActivePull* Current() const {
    return runs.empty() || runs.back().cancel_reason != CancelReason::kNone ? nullptr : &runs.back();
  }
};

// No lock: one thread alone uses it, the loop's.
class Entries {
 public:
  explicit Entries(image::Platform node, plan::ObservedLabels labels = {})
      : node_(std::move(node)), labels_(std::move(labels)) {}

  // Selects the entries anew. Returns true if one of them applies now and did not before, or the other way
  // round.
  bool SetLabels(plan::ObservedLabels labels);
  const plan::ObservedLabels& labels() const {
    thread_.Check();
    return labels_;
  }
  // Returns the number of entries about which labels decide that are not known.
  std::size_t CountUnselected() const;

  // Takes over a new list. Entries that stay keep their facts and runs; runs of removed entries are asked to
  // stop. Entries that the new list changes, and failures that only a new list can end, are tried at once.
  // Images asked for by callers stay.
  void Replace(const std::shared_ptr<const plan::ImageList>& list);

  // The list's entries by their index in it, then those that preflights alone have asked for.
  std::vector<Entry>& all() {
    thread_.Check();
    return entries_;
  }
  const std::vector<Entry>& all() const {
    thread_.Check();
    return entries_;
  }
  // The list's entries alone.
  std::span<Entry> listed() {
    thread_.Check();
    return {entries_.data(), listed_};
  }
  std::span<const Entry> listed() const {
    thread_.Check();
    return {entries_.data(), listed_};
  }
  // The entries that preflights alone have asked for.
  std::span<const Entry> requested() const {
    thread_.Check();
    return std::span<const Entry>(entries_).subspan(listed_);
  }

  // Adds an image that is on no list and not on the node; it must not be known yet. Invalidates references to
  // entries. Returns nullptr if the maximum number of such images is reached.
  Entry* Request(const image::Reference& reference, base::TimePoint now);
  // Forgets requested images that no caller waits for any more. True if there was any.
  bool ForgetRequested(base::TimePoint now);
  Entry* Find(const std::string& name);  // normalised
  // Leases under which pulls run, or still end.
  std::set<std::string> LeasesInUse() const;
  // Registries of all entries, including those that are not on the list.
  std::set<std::string> Registries() const;
  // Removes and returns a run that has ended. Returns nullopt if no such run is known.
  std::optional<ActivePull> TakeRun(const std::string& name, std::uint64_t run);

  // Returns true if a pull of any entry runs, or still ends.
  bool HasRuns() const;
  // Entries that are being pulled, by runs that were not asked to end.
  std::size_t Pulls() const;
  // Returns true if no entry is being pulled or waits to be.
  bool IsIdle() const;
  // Returns true if every entry has been settled once (History::settled).
  bool Settled() const;

  // The loop ends, or has not begun: another thread may go on.
  void Release() const { thread_.Release(); }

 private:
  void RebuildIndex() PREFETCH_REQUIRES(thread_);
  plan::Selection SelectionOf(const plan::DesiredImage& desired) const PREFETCH_REQUIRES(thread_);

  const image::Platform node_;
  base::ThreadChecker thread_;
  plan::ObservedLabels labels_ PREFETCH_GUARDED_BY(thread_);
  std::vector<Entry> entries_ PREFETCH_GUARDED_BY(thread_);
  std::size_t listed_ PREFETCH_GUARDED_BY(thread_) = 0;            // of these, from the first on
  std::vector<std::size_t> by_name_ PREFETCH_GUARDED_BY(thread_);  // indices, in order of the names
  std::vector<ActivePull> removed_runs_ PREFETCH_GUARDED_BY(thread_);
};

}  // namespace prefetch::agent
