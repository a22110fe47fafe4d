// Pulls: starts, watches, ends and records the agent's pulls. lib/plan has the decisions; this part of the
// loop keeps their state: runs, leases, disk space, and the health of registries.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/entries.h"
#include "agent/kubelet_view.h"
#include "agent/loop.h"
#include "agent/metrics.h"
#include "agent/pinning.h"
#include "agent/registry_checks.h"
#include "agent/runtime_view.h"
#include "base/workers.h"
#include "plan/decide.h"
#include "plan/disk_budget.h"
#include "plan/limits.h"
#include "plan/schedule.h"
#include "pulling/credential_lookups.h"
#include "pulling/lease_manager.h"
#include "pulling/perform.h"

namespace prefetch::agent {

struct PullOptions {
  plan::Limits limits;
  std::string instance;  // tells this agent's leases from those of another one on the same node
  bool once = false;
};

// The other parts of the loop that pulls use. Everything outlives Pulls.
struct PullCollaborators {
  Loop& loop;
  Entries& entries;
  pulling::CredentialLookups& lookups;
  Metrics& metrics;
  RuntimeView& runtime;
  RegistryChecks& checks;
  Pinning& pinning;
  KubeletView* kubelet;  // null: no kubelet runs here
};

// No lock: the loop's thread alone uses it, which Loop::Check checks.
class Pulls {
 public:
  // Everything in `parts` and `disk` outlives it.
  Pulls(PullOptions options, const pulling::PullDependencies& parts, DiskProbe disk,
        const PullCollaborators& collaborators);

  const plan::Limits& limits() const { return limits_; }
  const plan::DiskSpace& disk() const { return disk_; }
  const std::string& disk_path() const { return disk_path_; }

  // Returns the estimated number of bytes of free room that this absent image will still take; 0 if unknown.
  std::uint64_t RemainingDiskNeed(const Entry& entry) const;

  // Sets the percentage of disk usage down to which kubelet's garbage collection frees room
  // (imageGCLowThresholdPercent); 0 if unknown.
  void UseThreshold(int kubelet_percent);
  // `another`: the list differs from the one that was in force before.
  void ListChanged(bool another);
  // Forgets registries that no entry uses any more, unless they are still held.
  void Forget(const std::set<std::string>& in_use);
  // Returns true if the entry waits for its back-off, its pull window, the hold of its registry or the pause
  // of all pulls after a full disk, or if the agent's own pull has brought an image for another platform.
  bool HasWaitToEnd(const Entry& entry) const;
  // Ends these waits if HasWaitToEnd; else returns false. A request shortens no rate limit: neither a
  // Retry-After, nor the pause after a 429 without one. The disk rule applies, too.
  bool RetryRequested(Entry& entry);
  // The runtime may be another process, or another version, than before.
  void RuntimeReconnected();
  // Applies the room on the image filesystem from the poll with this sequence number.
  void ApplyPoll(std::uint64_t sequence, const RuntimePoll& poll);
  // A check has met the registry's limit: as RegistryCheckOptions::hold_pulls.
  void Hold(const std::string& registry, base::Duration wait);

  // Both are called once a turn, in this order. EvaluateRuns replaces or ends running pulls by their
  // progress. CheckDiskBudget ends those for which there is no disk space.
  void EvaluateRuns();
  void CheckDiskBudget();
  // `settled`: every entry has been settled once (History::settled). `may_start`: how full the disk may
  // become is known.
  void StartDue(bool settled, bool may_start);
  void StartWatchIfDue(base::Workers& workers);
  void StartUpdatingLeases(base::Workers& workers);
  // Returns the time of the next turn that is needed without an event.
  base::TimePoint NextTurn() const;

  // Cancels all running pulls when the agent ends; the process may wait for them.
  void StopAll();
  // Deletes the leases of pulls that are over. Leases of interrupted pulls stay: the next start goes on with
  // their bytes. Blocks for a moment if the agent was `stopped`, else for 5 s at most.
  void ReleaseLeasesAtExit(bool stopped);

 private:
  // A run as its events name it: the entry may have another run by now, or be gone. An event about a run that
  // has ended changes no entry.
  struct RunId {
    std::string entry;  // its normalised name
    std::uint64_t run = 0;
  };
  struct PullDone {
    pulling::PullOutcome outcome;
    plan::DiskSpace disk = {};  // measured after one that ended well
  };
  struct ProgressPolled {
    struct One {
      RunId run;
      std::string lease;
      std::optional<image::PullProgress> progress;  // as the runtime shows it, if it does
    };
    std::vector<One> pulls;
    bool unsupported = false;  // this runtime does not show progress
    plan::DiskSpace disk;
  };

  void SetDisk(const plan::DiskSpace& disk);
  void ApplyDisk(const plan::DiskSpace& disk, const std::string& path);
  // How pulls end.
  void Ended(const RunId& id, PullDone done);
  void Succeeded(Entry& entry, const ActivePull& run, const plan::PullSuccess& success);
  void Failed(Entry& entry, const ActivePull& run, const plan::PullFailure& failure);
  bool MayHaveCrashedRuntime(const Entry& entry, const ActivePull& run);
  bool RegistryIsHeld(const Entry& entry) const;
  void RecordRegistrySuccess(const std::string& registry);
  void RecordPullFailure(const Entry& entry, const plan::PullFailure& failure);

  // Room on the disk.
  void EndPullsForDiskSpace();
  plan::PullCandidate CandidateOf(std::size_t index) const;
  void DiscardBytes(Entry& entry, cri::LeaseDeletion bytes, base::Duration after = {});
  void DropKeptBytes();
  void SettleWithoutDiskSpace();
  bool HandleDiskFull(Entry& entry, const std::string& error);

  // The order of images with the same priority.
  plan::PhaseCount CountPhase() const;
  void QuerySizes(const plan::ScheduleInput& input, const plan::PhaseCount& phase);

  plan::ScheduleInput ScheduleInputWithoutPulls(bool settled) const;
  void SetWaitsForDiskSpace(const std::set<std::size_t>& waiting);
  void StartPullImages(plan::ScheduleInput& input);
  void Start(Entry& entry);
  void SetCallbacks(pulling::PullJob& job, const RunId& id);
  ActivePull* FindRun(const RunId& id);  // null: it has ended
  void ApplyProgress(const ProgressPolled& seen);
  plan::StartFacts StartFactsFor(const Entry& entry, const plan::PullCandidate& pull, std::uint64_t usable);

  // Leases.
  std::string LeaseFor(const Entry& entry) const;
  pulling::IdleLeaseUse UseOf(const std::string& name, const std::string& lease);
  void ApplyLeases(const pulling::LeasesUpdated& done);
  void RememberKept(Entry& entry, const pulling::LeasesUpdated& done, const std::string& lease);
  void Unprotected(const RunId& id, const cri::CallError& error);
  bool ReportsProgress(const ActivePull& run) const;  // whether the runtime reports its progress

  const PullOptions options_;
  const pulling::PullDependencies parts_;
  const DiskProbe probe_disk_;
  Loop& loop_;
  Entries& entries_;
  pulling::CredentialLookups& lookups_;
  Metrics& metrics_;
  RuntimeView& runtime_;
  RegistryChecks& checks_;
  Pinning& pinning_;
  KubeletView* const kubelet_;

  plan::Limits limits_;  // with kubelet's own thresholds, once they are known
  std::map<std::string, plan::RegistryHealth> registries_;
  std::map<std::string, plan::Distance> distances_;  // of registries; not Fetcher's near and far
  std::set<std::string> delivered_;                  // registries that have, and not failed since
  base::TimePoint first_at_;                         // startJitter
  base::TimePoint next_start_ = base::TimePoint::max();
  std::uint64_t next_run_ = 1;
  // The last time that the runtime went away while pulls ran.
  struct RuntimeOutage {
    std::uint64_t runs_before = 0;  // ended the pulls with ids below this
    bool suspect_ran = false;
    bool others_ran = false;  // that were no suspects
  } outage_;
  plan::DiskSpace disk_;
  std::string disk_path_;
  // Decisions for which pulls wait whose size has become known in this turn.
  std::vector<std::shared_ptr<AdmissionDecision>> pending_decisions_;
  plan::PendingSpaceRelease space_release_;
  // Polls up to this number may have run while bytes were being deleted.
  std::uint64_t ignore_disk_of_polls_through_ = 0;
  plan::DiskUsage disk_usage_;
  std::uint64_t disk_factor_ = plan::kMaxFactor;  // plan::FactorFor, of this turn
  bool disk_is_short_ = false;                    // plan::ScheduleOutput::short_of_disk_space
  base::TimePoint disk_full_until_;               // nothing starts before
  pulling::LeaseManager leases_;
  bool shows_progress_ = true;  // until the runtime says that it does not
  bool watch_running_ = false;
  int size_questions_ = 0;  // under way
  base::TimePoint next_watch_ = base::TimePoint::max();
  base::Workers workers_;  // last: its threads use what stands above
};

}  // namespace prefetch::agent
