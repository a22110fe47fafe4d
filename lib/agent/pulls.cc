#include "agent/pulls.h"

#include <algorithm>
#include <utility>

#include "base/enum_name.h"
#include "base/find_with_default.h"
#include "base/log.h"
#include "plan/registry_health.h"

namespace prefetch::agent {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Time limit for one poll of a pull's progress.
constexpr seconds kProgressTimeout{30};
// Interval between two polls of progress: each opens every ingest (runtime rule C25). In its first seconds a
// pull is watched more closely, since its manifest, and so its size, shows up then. A pull younger than
// kFirstWatch is left alone: most pulls from near registries are over by then, and each poll is expensive.
constexpr seconds kWatchInterval{2};
constexpr milliseconds kFirstWatch = plan::kNearManifest;  // so that the first poll tells near from far
constexpr seconds kCloseWatch{3};
// A stalled pull is cancelled this long after its replacement was started (C26: 100 ms).
constexpr milliseconds kReplaceOverlap{300};

}  // namespace

Pulls::Pulls(PullOptions options, const pulling::PullDependencies& parts, DiskProbe disk,
             const PullCollaborators& collaborators)
    : options_(std::move(options)),
      parts_(parts),
      probe_disk_(std::move(disk)),
      loop_(collaborators.loop),
      entries_(collaborators.entries),
      lookups_(collaborators.lookups),
      metrics_(collaborators.metrics),
      runtime_(collaborators.runtime),
      checks_(collaborators.checks),
      pinning_(collaborators.pinning),
      kubelet_(collaborators.kubelet),
      limits_(options_.limits),
      workers_(plan::kPullsPerSlot * std::max({limits_.parallel_pulls, limits_.parallel_pulls_when_ready,
                                               limits_.parallel_pulls_far})) {}

void Pulls::UseThreshold(int kubelet_percent) {
  loop_.Check();
  limits_ = plan::WithThreshold(options_.limits, kubelet_percent);
}

void Pulls::ListChanged(bool another) {
  loop_.Check();
  leases_.ListAgain();
  // A fleet gets a new list at the same moment. Without jitter, all nodes would ask the registry together.
  if (!another || limits_.start_jitter.count() == 0) return;
  auto wait = std::chrono::duration<double>(limits_.start_jitter) * loop_.Random();
  first_at_ = loop_.now() + std::chrono::duration_cast<base::Duration>(wait);
}

void Pulls::Forget(const std::set<std::string>& in_use) {
  loop_.Check();
  std::erase_if(registries_, [&](const auto& one) {
    // A registry that is held stays known: a list that drops it and names it again must not end the hold.
    return !in_use.contains(one.first) && plan::CanDiscard(one.second, loop_.now());
  });
  std::erase_if(distances_, [&](const auto& one) { return !in_use.contains(one.first); });
  std::erase_if(delivered_, [&](const std::string& one) { return !in_use.contains(one); });
}

// An upgrade may have added what the previous process did not support, so the agent asks again.
void Pulls::RuntimeReconnected() {
  loop_.Check();
  shows_progress_ = true;
  leases_.Reconnected();
}

// A check has met the registry's limit. Pulls would meet it, too.
void Pulls::Hold(const std::string& registry, base::Duration wait) {
  plan::RegistryHealth& health = registries_[registry];
  health = plan::AfterRegistryFailure(health, plan::Reason::kRateLimited, wait, loop_.now(), loop_.Random());
}

namespace {

bool BroughtWrongPlatform(const Entry& entry) {
  return entry.action.kind == plan::ActionKind::kKeep && entry.action.reason == plan::Reason::kWrongPlatform;
}

}  // namespace

bool Pulls::RegistryIsHeld(const Entry& entry) const {
  return loop_.now() < base::FindWithDefault(registries_, entry.desired->reference.domain()).not_before;
}

bool Pulls::HasWaitToEnd(const Entry& entry) const {
  loop_.Check();
  if (!entry.runs.empty()) return false;
  // After its first failure an image waits for its registry only, and has no back-off of its own.
  const bool held = RegistryIsHeld(entry);
  // A full disk holds every pull, also those of entries that have not failed.
  const bool wants_pull = entry.action.kind == plan::ActionKind::kPull || !plan::IsUsable(entry.observed);
  return entry.history.not_before > loop_.now() || BroughtWrongPlatform(entry) || held ||
         entry.action.reason == plan::Reason::kOutsidePullWindow ||
         (wants_pull && disk_full_until_ > loop_.now());
}

bool Pulls::RetryRequested(Entry& entry) {
  if (!HasWaitToEnd(entry)) return false;
  entry.history = plan::AfterRetryRequested(std::move(entry.history), loop_.now(), loop_.Wall());
  // The tag may name another image by now.
  if (BroughtWrongPlatform(entry)) entry.history.pulled_id.clear();
  const auto health = registries_.find(entry.desired->reference.domain());
  if (health != registries_.end()) health->second = plan::AfterRetryRequested(health->second, loop_.now());
  disk_full_until_ = std::min(disk_full_until_, loop_.now());
  loop_.Changed();
  return true;
}

void Pulls::StopAll() {
  for (Entry& entry : entries_.all()) {
    for (ActivePull& run : entry.runs) run.stop.request_stop();
  }
}

base::TimePoint Pulls::NextTurn() const {
  base::TimePoint next = std::min(next_start_, leases_.NextTurn(loop_.now()));
  // The event of a running poll wakes the loop by itself.
  if (!watch_running_) next = std::min(next, next_watch_);
  for (const Entry& entry : entries_.all()) {
    for (const ActivePull& run : entry.runs) {
      next = std::min(next, run.cancel_at);
      if (run.cancel_reason != CancelReason::kNone) continue;
      base::TimePoint next_evaluation = plan::NextEvaluation(
          run.progress, ReportsProgress(run), run.started_at, entry.desired->pull_timeout, limits_);
      // A stalled pull waits for the credentials of its replacement, whose event wakes the loop.
      if (next_evaluation > loop_.now()) next = std::min(next, next_evaluation);
    }
  }
  return next;
}

// Replacements are started after the loop, because Start adds to the vector of runs over which the loop
// iterates.
void Pulls::EvaluateRuns() {
  std::vector<Entry*> to_replace;
  for (Entry& entry : entries_.all()) {
    for (ActivePull& run : entry.runs) {
      // The replaced pull is cancelled only now: for a moment both pulls share the ingests, so that the bytes
      // survive (C26).
      if (run.cancel_at <= loop_.now()) {
        run.stop.request_stop();
        run.cancel_at = base::TimePoint::max();
      }
      // A run that was asked to end is judged no more; its event may take seconds to come.
      if (run.cancel_reason != CancelReason::kNone) continue;
      switch (plan::EvaluatePull(run.progress, ReportsProgress(run), run.started_at,
                                 entry.desired->pull_timeout, limits_, loop_.now())) {
        case plan::RunDecision::kContinue:
          break;
        case plan::RunDecision::kReplace:
          // A replacement would keep the reservation. Without one, images that wait get the room, and this
          // one goes behind them.
          if (disk_is_short_) {
            run.Cancel(CancelReason::kStalled);
            break;
          }
          // While its replacement's credentials are looked up, it may move again.
          if (lookups_.StateOf(*entry.desired, loop_.now()).state != plan::LookupState::kDone) {
            loop_.ChangedIf(lookups_.StartIfNeeded(*entry.desired, loop_.now()));
            break;
          }
          run.cancel_reason = CancelReason::kReplaced;
          run.cancel_at = loop_.now() + kReplaceOverlap;
          to_replace.push_back(&entry);
          break;
        case plan::RunDecision::kEnd:
          run.Cancel(CancelReason::kDeadlineExceeded);
          break;
      }
    }
  }
  for (Entry* entry : to_replace) {
    base::Warn("pull stalled, started anew", {{"image", entry->desired->reference.written()}});
    // The stall counts as a failed try of this entry, so that status shows it.
    entry->history =
        plan::AfterFailure(std::move(entry->history),
                           {.reason = plan::Reason::kStalled, .error = "no byte came for a long time"},
                           loop_.now(), loop_.Random());
    Start(*entry);
  }
}

// The facts about a single pull that plan::EvaluateStart needs. Limits that concern all pulls together are
// plan::Schedule's.
plan::StartFacts Pulls::StartFactsFor(const Entry& entry, const plan::PullCandidate& pull,
                                      std::uint64_t usable) {
  const plan::RegistryHealth& health = base::FindWithDefault(registries_, pull.registry);
  return {.fits = plan::MayFit(pull.disk, usable),
          .disk_held_until = disk_full_until_,
          .registry_held_until = health.not_before,
          .registry_failure = health.failure,
          .preflight_waits = pull.preflight_waits,
          .update = pull.update,
          .ready = entry.refresh.ready,
          .updates_wait = checks_.UpdatesWait(pull.registry),
          // The start jitter is for the first pull of an image only.
          .tried_before = entry.history.attempts > 0 || !entry.history.vanished.empty(),
          .first_at = first_at_,
          .lease_being_deleted = leases_.IsBeingReleased(LeaseFor(entry))};
}

plan::ScheduleInput Pulls::ScheduleInputWithoutPulls(bool settled) const {
  plan::ScheduleInput input;
  input.settled = settled;
  input.agent_downloads =
      parts_.fetcher != nullptr && plan::MayFetch(runtime_.status().name, runtime_.status().version);
  input.disk_full_until = disk_full_until_;
  input.registries = registries_;
  input.delivering = delivered_;
  input.usable = plan::Usable(disk_, limits_);
  return input;
}

// One pass builds the input of plan::Schedule: what runs, what may start by itself, and which registries have
// work soon. The flags that status shows are set anew each turn, and compared with their old values to see
// whether a Snapshot is due.
void Pulls::StartDue(bool settled, bool may_start) {
  plan::ScheduleInput input = ScheduleInputWithoutPulls(settled);
  std::vector<Entry>& all = entries_.all();
  for (std::size_t i = 0; i < all.size(); i++) {
    Entry& entry = all[i];
    bool had_no_disk_space = std::exchange(entry.no_disk_space, false);
    const std::optional<plan::Hold> previous_hold = std::exchange(entry.hold, std::nullopt);
    const bool pulls = entry.action.kind == plan::ActionKind::kPull;
    if (entry.runs.empty() && !pulls) {  // most of them, most of the time
      if (had_no_disk_space || previous_hold) loop_.Changed();
      // Slots are kept for registries whose pulls are due soon, so that a slow one does not take all.
      if (plan::IsDueSoon(entry.action, plan::IsUsable(entry.observed), loop_.now()))
        input.soon.insert(entry.desired->reference.domain());
      continue;
    }
    plan::PullCandidate pull = CandidateOf(i);
    // A run counts as running until its event has come: before that, its bytes and its slot are not free.
    if (!entry.runs.empty()) {
      if (plan::IsDelivering(entry.runs.back().progress)) input.delivering.insert(pull.registry);
      input.running.push_back(std::move(pull));
    } else if (entry.applies()) {
      const plan::StartDecision decision =
          plan::EvaluateStart(StartFactsFor(entry, pull, input.usable), loop_.now());
      entry.no_disk_space = decision.no_disk_space;
      entry.hold = decision.hold;
      if (decision.may_start) input.due.push_back(std::move(pull));
    }
    if (had_no_disk_space != entry.no_disk_space || previous_hold != entry.hold) loop_.Changed();
  }
  next_start_ = base::TimePoint::max();
  // A runtime that is away cannot pull; when it is back, the first poll finds the missing images.
  // The flags above are set in any case, since status shows why nothing starts.
  if (!runtime_.up()) return SetWaitsForDiskSpace({});
  StartPullImages(input);
  if (!may_start) return;
  // The order by size matters only while a cold node fetches its first images.
  const plan::PhaseCount phase = settled ? plan::PhaseCount() : CountPhase();
  input.may_reorder = plan::MayReorder(phase);
  plan::ScheduleOutput output = plan::Schedule(input, limits_, loop_.now());
  next_start_ = output.next_turn_at;
  SetWaitsForDiskSpace({output.short_of_disk_space.begin(), output.short_of_disk_space.end()});
  if (loop_.now() < first_at_) next_start_ = std::min(next_start_, first_at_);
  // Only pulls that could start now have their credentials looked up. A lookup keeps its slot for
  // kPromptLookup at most, so a plugin that hangs does not hold one.
  for (std::size_t index : output.needs_credentials)
    loop_.ChangedIf(lookups_.StartIfNeeded(*all[index].desired, loop_.now()));
  for (std::size_t index : output.start) Start(all[index]);
  if (!settled) QuerySizes(input, phase);
  // This must follow the starts: an image that has just been started is not settled.
  SettleWithoutDiskSpace();
}

void Pulls::SetWaitsForDiskSpace(const std::set<std::size_t>& waiting) {
  disk_is_short_ = !waiting.empty();
  std::vector<Entry>& all = entries_.all();
  for (std::size_t i = 0; i < all.size(); i++) {
    const bool waits = waiting.contains(i);
    loop_.ChangedIf(std::exchange(all[i].waits_for_disk_space, waits) != waits);
  }
}

void Pulls::StartPullImages(plan::ScheduleInput& input) {
  for (std::size_t index : plan::PullImagesToStart(input, limits_)) {
    ActivePull& run = entries_.all()[index].runs.back();
    run.fetch = plan::FetchPhase::kUnpacks;
    std::exchange(run.unpack, nullptr)->Set();
  }
}

// The callbacks run on the worker's thread, so they only post events, and wait for decisions of the loop.
void Pulls::SetCallbacks(pulling::PullJob& job, const RunId& id) {
  job.on_unprotected = [this, id](const cri::CallError& error) {
    loop_.Post("PullUnprotected", [this, id, error] { Unprotected(id, error); });
  };
  job.on_size = [this, id, path = disk_path_](const base::Call& call, std::uint64_t bytes) {
    auto decision = std::make_shared<AdmissionDecision>();
    loop_.Post("PullSizeKnown", [this, id, bytes, disk = probe_disk_(path), decision] {
      // Even if the entry is gone: the worker waits for this decision and would hold its thread.
      pending_decisions_.push_back(decision);
      if (disk.known) ApplyDisk(disk, disk_path_);
      if (FindRun(id) == nullptr) return;
      Entry& entry = *entries_.Find(id.entry);
      entry.history.disk = plan::AfterSize(entry.history.disk, bytes);
      loop_.Changed();
    });
    // The worker waits here, before anything is written, until CheckDiskBudget has decided whether the image
    // fits.
    decision->Await(call);
  };
  job.on_fetched = [this, id](bool fetched) {
    loop_.Post("ContentFetched", [this, id, fetched] {
      if (ActivePull* run = FindRun(id))
        run->fetch = fetched ? plan::FetchPhase::kAwaitsShared : plan::FetchPhase::kDownloads;
    });
  };
  job.on_unpack = [this, id](const base::Call& call) {
    auto decision = std::make_shared<AdmissionDecision>();
    loop_.Post("ContentFetched", [this, id, decision] {
      ActivePull* run = FindRun(id);
      if (run == nullptr) return decision->Set();
      run->fetch = plan::FetchPhase::kFetched;
      run->unpack = decision;
    });
    decision->Await(call);
  };
  job.on_returned = [this, id] {
    loop_.Post("PullReturned", [this, id] {
      if (ActivePull* run = FindRun(id)) run->returned = loop_.now();
    });
  };
}

// Records the pull (lease, attempts, reservation, run) before its worker can post its first event.
void Pulls::Start(Entry& entry) {
  ActivePull run;
  run.id = next_run_++;
  run.started_at = loop_.now();
  run.progress.last_progress_at = loop_.now();
  run.lease = LeaseFor(entry);
  // A poll may see the new image before the pull's own event comes. Without this copy, "image replaced" would
  // compare the new image with itself.
  if (plan::IsUsable(entry.observed)) run.before = entry.observed.local;
  leases_.Begin(run.lease, entry.name(), loop_.now());
  entry.history.attempts++;
  entry.history.started_at = loop_.Wall();
  if (entry.runs.empty())
    entry.history.disk = plan::AfterBegin(entry.history.disk, plan::Usable(disk_, limits_), space_release_);
  // The room that images take can be measured only against a time at which no pull was writing.
  if (!entries_.HasRuns())
    disk_usage_ = plan::AfterFirstBegin(disk_usage_, disk_.known ? disk_.available_bytes : 0);
  pulling::PullJob job;
  job.question.reference = entry.desired->reference;
  job.credentials = lookups_.Take(*entry.desired);
  job.lease = run.lease;
  job.runtime = runtime_.info();
  // Without it, CRI-O shares one pull between equal callers, and a cancel by the agent would fail kubelet's
  // pull (C32).
  if (runtime_.status().name == "cri-o") job.sandbox_cgroup = cri::kOwnPullCgroup;
  const RunId id{entry.name(), run.id};
  SetCallbacks(job, id);
  base::Call call{.stop = run.stop.get_token()};
  loop_.Submit(
      workers_, "PullDone",
      [this, call, job = std::move(job), path = disk_path_] {
        PullDone done{pulling::PerformPull(call, parts_, job)};
        // Measured here and not in the loop, because a dead mount may block it. The next pull may start in
        // the turn that absorbs this event and needs a figure that includes this image.
        if (done.outcome.success) done.disk = probe_disk_(path);
        return done;
      },
      [this, id](PullDone done) { Ended(id, std::move(done)); });
  base::Debug("pull started",
              {{"image", entry.desired->reference.written()}, {"attempt", entry.history.attempts}});
  entry.runs.push_back(std::move(run));
  // An earlier poll that is due for other pulls stays.
  next_watch_ = std::min(next_watch_, loop_.now() + kFirstWatch);
  loop_.Changed();
}

ActivePull* Pulls::FindRun(const RunId& id) {
  Entry* entry = entries_.Find(id.entry);
  if (entry == nullptr) return nullptr;
  auto found = std::ranges::find(entry->runs, id.run, &ActivePull::id);
  return found == entry->runs.end() ? nullptr : &*found;
}

// Polls the progress of all pulls that the runtime shows, in one job. One poll runs at a time, so a slow
// runtime is not asked again before it has answered.
void Pulls::StartWatchIfDue(base::Workers& workers) {
  loop_.Check();
  if (watch_running_ || loop_.now() < next_watch_) return;
  next_watch_ = base::TimePoint::max();
  ProgressPolled watched;
  bool close = false;
  for (const Entry& entry : entries_.all()) {
    // A replacement continues under the reservation of the pull that it replaces.
    if (entry.runs.empty()) continue;
    // If a pull was replaced, only the newest run is of interest; both share the lease.
    const ActivePull& run = entry.runs.back();
    // After PullImage has returned, the worker only verifies the new image, and no byte moves any more.
    if (!ReportsProgress(run) || run.returned) continue;
    const base::Duration age = loop_.now() - run.started_at;
    close = close || age < kCloseWatch;
    if (age < kFirstWatch) {
      next_watch_ = std::min(next_watch_, run.started_at + kFirstWatch);
    } else {
      watched.pulls.push_back({{entry.name(), run.id}, run.lease, std::nullopt});
    }
  }
  if (watched.pulls.empty()) return;
  next_watch_ = loop_.now() + (close ? base::Duration(kFirstWatch) : base::Duration(kWatchInterval));
  watch_running_ = true;
  auto poll = [this, call = loop_.JobCall(), watched = std::move(watched), path = disk_path_] {
    ProgressPolled seen = watched;
    for (ProgressPolled::One& one : seen.pulls) {
      auto progress = parts_.content.Progress(call.Within(kProgressTimeout), one.lease);
      if (progress) {
        one.progress = *progress;
      } else if (progress.error().error_class == image::ErrorClass::kRuntimeUnsupported) {
        seen.unsupported = true;
      }
    }
    seen.disk = probe_disk_(path);
    return seen;
  };
  loop_.Submit(workers, "ProgressPolled", std::move(poll),
               [this](const ProgressPolled& seen) { ApplyProgress(seen); });
}

// A poll brings three facts for each pull: whether it moves, its size, and how far its registry is.
void Pulls::ApplyProgress(const ProgressPolled& seen) {
  watch_running_ = false;
  if (seen.unsupported) shows_progress_ = false;
  if (seen.disk.known) ApplyDisk(seen.disk, disk_path_);
  // From 2.1 on, containerd has one queue of downloads for all pulls (C28). While any pull moves, one that
  // does not may just be waiting in it.
  bool any_active = std::ranges::any_of(
      seen.pulls, [](const ProgressPolled::One& one) { return one.progress && one.progress->active; });
  const bool may_be_queued = runtime_.queues() && any_active;
  for (const ProgressPolled::One& one : seen.pulls) {
    ActivePull* run = FindRun(one.run);
    if (run == nullptr || !one.progress) continue;
    Entry& entry = *entries_.Find(one.run.entry);
    const bool held_back = run->fetch == plan::FetchPhase::kAwaitsShared ||
                           run->fetch == plan::FetchPhase::kFetched ||
                           (parts_.fetcher != nullptr && parts_.fetcher->HoldsBack(run->lease));
    plan::ObservedProgress& progress = run->progress;
    progress = plan::AfterProgress(progress, *one.progress,
                                   {.may_be_queued = may_be_queued, .held_back = held_back}, loop_.now());
    entry.history.disk = plan::AfterSize(entry.history.disk, progress.bytes_total);
    plan::Distance& distance = distances_[entry.desired->reference.domain()];
    // A manifest that is still missing after the first polls shows that the registry is far.
    distance = plan::AfterPollDuringPull(distance, progress.bytes_total > 0, loop_.now() - run->started_at);
    loop_.Changed();
  }
}

// ---- Sizes of images that wait, for the order that plan/schedule.h decides.

namespace {

// Maximum number of size questions at a time. Near registries answer within milliseconds, so a few are
// enough, and no pull waits for them.
constexpr int kSizeQuestions = 2;

}  // namespace

// Counts the images that were missing at some time since the agent started.
plan::PhaseCount Pulls::CountPhase() const {
  plan::PhaseCount phase;
  for (const Entry& entry : entries_.listed()) {
    if (!entry.applies()) continue;
    // An image whose next try is not worth waiting for is over, too: it brings no more bytes soon.
    const bool over = !entry.history.pulled_id.empty() || plan::IsNotWorthWaitingFor(entry.history);
    if (over && entry.runs.empty()) {
      phase.finished++;
    } else if (!entry.runs.empty()) {
      phase.running++;
    } else if (entry.action.kind == plan::ActionKind::kKeep) {
      continue;  // it was here
    }
    phase.images++;
  }
  return phase;
}

// Asks for the sizes of images that wait, so that a large one does not start last. Each question costs one
// request, so they are limited to near registries, the cold phase and two at a time.
void Pulls::QuerySizes(const plan::ScheduleInput& input, const plan::PhaseCount& phase) {
  // The last few have slots in any case.
  if (parts_.fetcher == nullptr || input.due.size() < 2 || !plan::NeedsSizes(phase)) return;
  int searched = 0;
  std::string skipped_registry;  // the newest registry that is not asked; most lists have few
  for (const plan::PullCandidate& pull : input.due) {
    if (size_questions_ + searched >= kSizeQuestions) return;
    if (pull.registry == skipped_registry) continue;
    Entry& entry = entries_.all()[pull.entry];
    if (!entry.runs.empty() || entry.size_requested || pull.bytes > 0) continue;
    // Images of far registries keep their positions (plan/schedule.h), so their sizes would be of no use.
    if (pull.far || pull.update || pull.unlisted) continue;
    // A held registry gets no request at all, and sizes are the least urgent ones.
    if (RegistryIsHeld(entry) || !parts_.fetcher->MayQuerySize(entry.desired->reference, runtime_.info())) {
      skipped_registry = pull.registry;
      continue;
    }
    const plan::LookupState state = lookups_.StateOf(*entry.desired, loop_.now()).state;
    if (state != plan::LookupState::kDone) {
      loop_.ChangedIf(lookups_.StartIfNeeded(*entry.desired, loop_.now()));
      searched++;
      continue;
    }
    // A question that failed is not repeated: the pull itself brings the size.
    entry.size_requested = true;
    size_questions_++;
    pulling::PullJob job;
    job.question.reference = entry.desired->reference;
    job.credentials = lookups_.Peek(*entry.desired);
    job.runtime = runtime_.info();
    loop_.Submit(
        workers_, "SizeQueryDone",
        [call = loop_.JobCall(), parts = parts_, job = std::move(job)] {
          return pulling::QuerySize(call, parts, job);
        },
        [this, name = entry.name()](std::uint64_t bytes) {
          size_questions_--;
          Entry* asked = entries_.Find(name);
          // A pull that runs finds out by itself.
          if (asked == nullptr || !asked->runs.empty()) return;
          asked->history.disk = plan::AfterSize(asked->history.disk, bytes);
          loop_.Changed();
        });
  }
}

// ---- Leases: decides which of them are needed. LeaseManager tracks them.

namespace {

// Time limits for deleting the leases of ended pulls when the agent was stopped, and when a run of --once has
// ended by itself: nothing waits for the end of that process.
constexpr std::chrono::milliseconds kReleaseTimeout{300};
constexpr std::chrono::seconds kReleaseTimeoutOnce{5};

}  // namespace

std::string Pulls::LeaseFor(const Entry& entry) const {
  // Requested images have leases of their own names, which a starting agent leaves alone: it does not know
  // who asked.
  if (!leases_.supported()) return "";
  return entry.on_list ? cri::LeaseFor(options_.instance, entry.desired->reference)
                       : cri::RequestedLeaseFor(options_.instance, entry.desired->reference);
}

bool Pulls::ReportsProgress(const ActivePull& run) const {
  return shows_progress_ && leases_.supported() && !run.lease.empty();
}

// Decides whether a lease without a running pull is still of use: only if the image is missing, or may be.
pulling::IdleLeaseUse Pulls::UseOf(const std::string& name, const std::string& lease) {
  const Entry* entry = entries_.Find(name);
  // The last condition: a lease was named for a requested image that is now on the list, or the other way
  // round. Its pull will use the other name.
  if (entry == nullptr || !entry->applies() || entry->on_list == cri::IsRequestedLease(lease)) {
    return pulling::IdleLeaseUse::kNone;
  }
  // Before the first poll, it is unknown which images are missing, and preflights may repeat their requests.
  // Until then the lease stays: without it, the next pull would lose its bytes.
  bool missing = !entry->observed.known || entry->action.kind != plan::ActionKind::kKeep ||
                 (!entry->on_list && !entry->observed.local);
  if (!missing) return pulling::IdleLeaseUse::kNone;
  return entry->history.disk.kept_bytes > 0 ? pulling::IdleLeaseUse::kHoldsBytes
                                            : pulling::IdleLeaseUse::kNoBytesSeen;
}

void Pulls::StartUpdatingLeases(base::Workers& workers) {
  loop_.Check();
  if (!runtime_.up()) return;
  auto work = leases_.Next(
      entries_.LeasesInUse(),
      [this](const std::string& name, const std::string& lease) { return UseOf(name, lease); },
      runtime_.seen_in_full(), loop_.now());
  if (!work) return;
  if (work->list) {
    for (const Entry& entry : entries_.listed()) {
      // Only its name shows to which image a lease of a previous agent belongs. The name is a hash, so it is
      // compared with those of all current entries.
      if (entry.runs.empty()) work->owners.insert(LeaseFor(entry));
    }
  }
  loop_.Submit(
      workers, "LeasesUpdated",
      [this, call = loop_.JobCall(), work = *std::move(work)] {
        return pulling::UpdateLeases(call, parts_.content, work);
      },
      [this](const pulling::LeasesUpdated& done) { ApplyLeases(done); });
}

void Pulls::ApplyLeases(const pulling::LeasesUpdated& done) {
  if (!done.dropped.empty()) {
    // Only the deletions that were made for room wait until the bytes are gone. After others, the bytes go
    // when containerd next collects garbage.
    space_release_ = done.bytes_gone ? plan::AfterBytesGone(space_release_, loop_.now())
                                     : plan::AfterBytesDropped(space_release_, loop_.now());
    if (done.bytes_gone) {
      // Pulls wait for a new measurement of the disk. A poll that began before the deletion may still report
      // the old one.
      ignore_disk_of_polls_through_ = runtime_.polls();
      runtime_.PollNow();
    }
    for (Entry& entry : entries_.all()) {
      if (std::ranges::find(done.dropped, LeaseFor(entry)) != done.dropped.end())
        entry.history.disk = plan::AfterBytesGone(entry.history.disk, loop_.now());
    }
  }
  leases_.Handle(done, loop_.now());
  if (!done.found || done.found->empty()) return;
  const std::string prefix = cri::LeasePrefix(options_.instance);
  std::map<std::string, std::string> names;
  for (const Entry& entry : entries_.listed()) names.emplace(LeaseFor(entry), entry.name());
  for (const std::string& lease : *done.found) {
    // Another instance of the agent may run on the same node, and its leases are not ours to delete.
    if (!lease.starts_with(prefix) || cri::IsRequestedLease(lease)) continue;
    auto name = names.find(lease);
    leases_.Found(lease, name == names.end() ? "" : name->second, loop_.now());
    if (name != names.end()) RememberKept(*entries_.Find(name->second), done, lease);
  }
}

// Bytes that an agent before has fetched count as if this one had.
void Pulls::RememberKept(Entry& entry, const pulling::LeasesUpdated& done, const std::string& lease) {
  auto kept = done.kept.find(lease);
  if (kept == done.kept.end() || !entry.runs.empty()) return;
  // An image that is present, or whose kept bytes are known already, learns nothing from an old lease.
  if (UseOf(entry.name(), lease) != pulling::IdleLeaseUse::kNoBytesSeen) return;
  entry.history.disk = plan::AfterSize(entry.history.disk, kept->second.bytes_total);
  entry.history.disk.kept_bytes = kept->second.bytes_done;
}

void Pulls::Unprotected(const RunId& id, const cri::CallError& error) {
  // A runtime without leases is normal (CRI-O); that is no reason for a warning.
  bool unsupported = error.error_class == image::ErrorClass::kRuntimeUnsupported;
  if (unsupported) leases_.MarkUnsupported();
  ActivePull* run = FindRun(id);
  if (run == nullptr) return;
  // The run must not be taken for one whose progress can be read, or whose bytes stay after its end.
  run->lease.clear();
  if (unsupported) return;
  base::Warn("pull without a lease: an interruption loses its bytes",
             {{"image", entries_.Find(id.entry)->desired->reference.written()}, {"error", error.message}});
}

// A lease that is not deleted here would keep content for up to an hour after the agent has gone.
void Pulls::ReleaseLeasesAtExit(bool stopped) {
  if (!runtime_.up()) return;
  base::Call call = base::Call().Within(stopped ? base::Duration(kReleaseTimeout) : kReleaseTimeoutOnce);
  pulling::LeaseChanges work;
  work.drop = leases_.LeasesToReleaseAtExit(
      entries_.LeasesInUse(),
      [this](const std::string& name, const std::string& lease) { return UseOf(name, lease); });
  if (!work.drop.empty()) pulling::UpdateLeases(call, parts_.content, work);
}

// ---- Ends of pulls: the facts in each about its image, its registry and the runtime.

namespace {

// No pull starts for this long after ENOSPC.
constexpr std::chrono::minutes kDiskFullHold{5};

// The runtime goes on for a moment with a pull whose call was cancelled. A lease that is deleted at once
// would leave what the pull still writes to the next run of the garbage collector.
constexpr std::chrono::seconds kPullEnds{1};

// These reasons count against the whole registry: the next image from there would most probably meet the
// same. All others are about one image or this node.
bool IsRegistryFailure(plan::Reason reason) {
  using enum plan::Reason;
  return base::IsOneOf(reason, {kRateLimited, kUnreachable, kDnsFailure, kTlsError, kServerError, kTimeout});
}

// Returns the failure of a pull that brought no image; nullopt if the agent ended it for a reason that is not
// its own.
std::optional<plan::PullFailure> FailureOf(const ActivePull& run, const pulling::PullOutcome& outcome) {
  if (run.cancel_reason == CancelReason::kNone) return outcome.failure;
  if (run.cancel_reason == CancelReason::kDeadlineExceeded)
    return {{.reason = plan::Reason::kTimeout, .error = "the pull did not end within its time"}};
  if (run.cancel_reason != CancelReason::kStalled) return std::nullopt;
  return {{.reason = plan::Reason::kStalled,
           .error = "no byte came for a long time, and other images wait for its room on the disk"}};
}

// Returns how a run is counted. A pull that the agent ended itself counts as cancelled, unless its time was
// up or it had stalled.
PullEnd EndOf(const ActivePull& run, const pulling::PullOutcome& outcome, base::TimePoint now) {
  PullEnd end{.result = PullResult::kCancelled, .took = now - run.started_at};
  if (outcome.verification_error || (outcome.success && outcome.success->local.unpacked)) {
    // If the runtime said that the pull went well, it is no failure that nobody could look at the image
    // afterwards.
    end.result = PullResult::kSucceeded;
    if (outcome.success) end.image_bytes = outcome.success->local.size_bytes;
  } else if (outcome.success) {
    end.result = PullResult::kFailed;
    end.reason = plan::Reason::kNotUnpacked;
  } else if (auto failure = FailureOf(run, outcome)) {
    end.result = PullResult::kFailed;
    end.reason = failure->reason;
  } else if (run.cancel_reason == CancelReason::kNoDiskSpace ||
             run.cancel_reason == CancelReason::kDeferred) {
    end.reason = plan::Reason::kDiskPressure;
  } else if (run.cancel_reason == CancelReason::kReplaced) {
    end.reason = plan::Reason::kStalled;
  }
  return end;
}

}  // namespace

void Pulls::Ended(const RunId& id, PullDone done) {
  pinning_.Pulled(id.entry);
  loop_.Changed();
  pulling::PullOutcome& outcome = done.outcome;
  std::optional<ActivePull> run = entries_.TakeRun(id.entry, id.run);
  // Counted even if the list has dropped the entry: the pull did happen.
  if (run) metrics_.PullEnded(EndOf(*run, outcome, loop_.now()));
  Entry* entry = entries_.Find(id.entry);
  if (!run || entry == nullptr) return;  // the lease has no entry any more, so LeaseManager deletes it
  entry->history.finished_at = loop_.Wall();
  if (outcome.success) {
    outcome.success->origin.pulled_at = loop_.Wall();
    // The next pull starts in this turn, by this figure. The upper bound of its room (DiskUsage::factor)
    // waits for a poll that begins later: other pulls have written meanwhile.
    if (done.disk.known) {
      SetDisk(done.disk);
      ignore_disk_of_polls_through_ = runtime_.polls();
    }
    Succeeded(*entry, *run, *outcome.success);
    return;
  }
  if (entry->runs.empty() && !run->lease.empty()) {
    std::uint64_t& kept = entry->history.disk.kept_bytes;
    // A pull that ended before the runtime showed it has brought nothing to what its lease keeps.
    if (run->progress.seen) kept = run->progress.bytes_done;
    kept -= std::min(kept, outcome.discarded);
  }
  if (outcome.verification_error) {
    // The next poll shows whether the image is here; nothing starts before.
    const cri::CallError& error = *outcome.verification_error;
    const base::LogFields fields = {{"image", entry->desired->reference.written()}};
    if (error.error_class == image::ErrorClass::kRuntimeDown) {
      base::Info("pull ended well, and the runtime has gone", fields);
      runtime_.Failed(error, entries_.Pulls());
    } else {
      base::Info("pull ended well, and the runtime did not say in time what came", fields);
    }
    if (!entry->observed.local) entry->observed.known = false;
    entry->ignore_polls_through = runtime_.polls();
    runtime_.PollInFull();
    runtime_.PollNow();
    return;
  }
  if (auto failure = FailureOf(*run, outcome)) {
    Failed(*entry, *run, *failure);
  } else if (run->cancel_reason == CancelReason::kNoDiskSpace) {
    // The leases of all others keep what is still needed.
    DiscardBytes(*entry, cri::LeaseDeletion::kSync, kPullEnds);
  }
}

void Pulls::Succeeded(Entry& entry, const ActivePull& run, const plan::PullSuccess& success) {
  // The factor of disk usage is updated before AfterSuccess, which clears what the history knows about room.
  entry.history.disk = plan::AfterSize(entry.history.disk, run.progress.bytes_total);
  disk_usage_ = plan::AfterEndedWell(disk_usage_, entry.history.disk);
  entry.history = plan::AfterSuccess(std::move(entry.history), success, loop_.now());
  entry.observed.known = true;
  entry.observed.local = success.local;
  // A poll that began before the pull ended may report the image as absent. Believed, it would start the pull
  // again.
  entry.ignore_polls_through = runtime_.polls();
  if (kubelet_ != nullptr) kubelet_->ImageChanged(entry);
  runtime_.PollInFull();
  if (!run.lease.empty()) leases_.ReleaseLease(run.lease);
  // A success ends the registry's probing phase.
  RecordRegistrySuccess(entry.desired->reference.domain());
  delivered_.insert(entry.desired->reference.domain());
  plan::Distance& distance = distances_[entry.desired->reference.domain()];
  distance = plan::AfterPull(distance, loop_.now() - run.started_at);
  // Another pull of the same name has nothing left to do.
  for (ActivePull& other : entry.runs) other.Cancel(CancelReason::kReplaced);
  base::LogFields fields = {{"image", entry.desired->reference.written()},
                            {"imageRef", success.local.id},
                            {"pulledWith", base::EnumName(success.origin.with)},
                            {"took", loop_.now() - run.started_at}};
  if (success.local.unpacked) {
    base::Info("image pulled", fields);
    checks_.Pulled(entry, run.before);
  } else {
    base::Warn("image pulled, but it is not unpacked", fields);
    Failed(entry, run,
           {.reason = plan::Reason::kNotUnpacked,
            .error = "the runtime says that it pulled the image, but it has not unpacked it"});
  }
}

// A registry that serves a pull is in order. A pull that began beside one that met the limit, and was served
// before it, does not end the hold.
void Pulls::RecordRegistrySuccess(const std::string& registry) {
  auto health = registries_.find(registry);
  if (health != registries_.end() && loop_.now() >= health->second.limited_until) registries_.erase(health);
}

// Updates the health of the registry after a failed pull. Only failures that the next image would meet as
// well count.
void Pulls::RecordPullFailure(const Entry& entry, const plan::PullFailure& failure) {
  const plan::Reason reason = failure.reason;
  const std::string& registry = entry.desired->reference.domain();
  if (!IsRegistryFailure(reason)) {
    // A denial is an answer: the registry is reachable. Failures of the disk or of the runtime tell nothing
    // about it.
    if (reason == plan::Reason::kAccessDenied || reason == plan::Reason::kNotFound)
      RecordRegistrySuccess(registry);
    return;
  }
  delivered_.erase(registry);
  plan::RegistryHealth& health = registries_[registry];
  health = plan::AfterRegistryFailure(health, reason, failure.retry_after.value_or(base::Duration(0)),
                                      loop_.now(), loop_.Random());
  // The limit counts requests from this node, the runtime's and a pod's too (R27).
  if (reason == plan::Reason::kRateLimited) checks_.OnPullThrottled(registry, health.not_before);
}

// Returns true if this pull may be why the runtime went away. Each pull that ran may be the cause. The others
// are cleared only once a suspect has had its second try beside others.
bool Pulls::MayHaveCrashedRuntime(const Entry& entry, const ActivePull& run) {
  // One end of the runtime breaks many pulls, whose events come one after the other. The first of them fixes
  // who ran at that moment; the ids tell which events belong to it.
  if (run.id >= outage_.runs_before) {
    outage_ = {.runs_before = next_run_};
    bool second_chance_used = false;
    for (const Entry& one : entries_.all()) {
      if (one.runs.empty() && &one != &entry) continue;
      const bool suspect = plan::IsCrashSuspect(one.history);
      (suspect ? outage_.suspect_ran : outage_.others_ran) = true;
      second_chance_used = second_chance_used || (suspect && one.history.second_chance_used);
    }
    // The suspect has already had its second try beside others, so now it alone is blamed.
    if (second_chance_used) outage_.others_ran = false;
  }
  return !outage_.suspect_ran || outage_.others_ran || plan::IsCrashSuspect(entry.history);
}

// The disk rule comes first, because it may take the failure over. The image's history comes next: it decides
// the reason that the registry's health and the log use.
void Pulls::Failed(Entry& entry, const ActivePull& run, const plan::PullFailure& given) {
  // If the disk rule's own filesystem is full, the pull is repeated by that rule. Only a full disk elsewhere
  // is a failure.
  if (given.reason == plan::Reason::kDiskFull && HandleDiskFull(entry, given.error)) return;
  plan::PullFailure failure = given;
  const bool runtime_down = given.reason == plan::Reason::kRuntimeDown;
  if (runtime_down && MayHaveCrashedRuntime(entry, run)) {
    const plan::InterruptedRun cut{.took = loop_.now() - run.started_at,
                                   .bytes = run.progress.bytes_done,
                                   .beside_others = outage_.suspect_ran && outage_.others_ran};
    entry.history =
        plan::AfterRuntimeOutage(std::move(entry.history), given, cut, loop_.now(), loop_.Random());
    failure = {.reason = *entry.history.last_failure, .error = entry.history.last_error};
  } else {
    entry.history = plan::AfterFailure(std::move(entry.history), given, loop_.now(), loop_.Random());
  }
  checks_.UpdateFailed(entry, failure);
  RecordPullFailure(entry, failure);
  base::LogFields fields = {{"image", entry.desired->reference.written()},
                            {"reason", base::EnumName(failure.reason)},
                            {"error", failure.error},
                            {"failures", entry.history.failures},
                            {"took", loop_.now() - run.started_at}};
  if (entry.history.not_before == base::TimePoint::max()) {
    fields.emplace_back("retry", "when the list changes or a retry is requested");
  } else {
    fields.emplace_back("retryIn", std::max<base::Duration>(entry.history.not_before - loop_.now(), {}));
  }
  base::Warn("pull failed", fields);
  if (runtime_down) {
    // Treats the runtime as down at once: nothing starts before it has told what it has.
    runtime_.Failed({image::ErrorClass::kRuntimeDown, given.error}, entries_.Pulls());
    runtime_.PollNow();
  }
  if (failure.reason == plan::Reason::kDiskFull) {
    // Other pulls would meet the same full disk, so none starts for a while, and bytes that are kept for
    // later tries are given up.
    disk_full_until_ = loop_.now() + kDiskFullHold;
    DropKeptBytes();
  } else if (plan::IsRetriedLate(failure.reason) && entry.history.settled && !failure.keeps_bytes) {
    DiscardBytes(entry, cri::LeaseDeletion::kAsync);
  }
}

// ---- Disk space: plan/disk_budget.h decides, this carries it out.

void Pulls::ApplyPoll(std::uint64_t sequence, const RuntimePoll& poll) {
  loop_.Check();
  // An older poll may have measured the disk before bytes were deleted, or before a pull's end.
  if (sequence > ignore_disk_of_polls_through_) ApplyDisk(poll.disk, poll.disk_path);
}

// Sets the figures by which pulls are admitted.
void Pulls::SetDisk(const plan::DiskSpace& disk) {
  // The message of each image without room states these figures.
  loop_.ChangedIf(disk.available_bytes != disk_.available_bytes &&
                  std::ranges::any_of(entries_.all(), &Entry::no_disk_space));
  disk_ = disk;
}

void Pulls::ApplyDisk(const plan::DiskSpace& disk, const std::string& path) {
  SetDisk(disk);
  disk_path_ = path;
  // Even a measurement that failed counts: bytes that are on their way out must not stop new pulls for ever.
  space_release_ = plan::AfterMeasure(space_release_, loop_.now());
  if (!disk_.known) return;
  disk_usage_ = plan::AfterMeasure(disk_usage_, disk_.available_bytes);
  const std::uint64_t usable = plan::Usable(disk_, limits_);
  for (Entry& entry : entries_.all())
    entry.history.disk = plan::AfterMeasure(entry.history.disk, usable, loop_.now());
}

// The scheduler's view of a pull that runs or is due. plan::Schedule and the disk budget know entries only by
// this, so that they stay pure.
plan::PullCandidate Pulls::CandidateOf(std::size_t index) const {
  const Entry& entry = entries_.all()[index];
  plan::PullCandidate pull{
      .entry = index,
      .registry = entry.desired->reference.domain(),
      .content = entry.desired->reference.digest(),
      .priority = entry.desired->priority,
      .update = plan::IsUsable(entry.observed),
      .preflight_waits = loop_.now() < entry.requested_until,
      .unlisted = !entry.on_list,
      .suspect = plan::IsCrashSuspect(entry.history),
      .stalled = entry.history.last_failure == plan::Reason::kStalled,
      .far = base::FindWithDefault(distances_, entry.desired->reference.domain()) == plan::Distance::kFar,
      .failures = entry.history.failures,
      .bytes = entry.history.disk.compressed};
  if (entry.runs.empty()) {
    pull.lookup = lookups_.StateOf(*entry.desired, loop_.now());
    pull.disk = plan::ReservationOfDue(entry.history.disk, disk_factor_);
  } else if (const ActivePull* run = entry.Current()) {
    // Bytes that an earlier pull has left are reported only once the runtime shows this pull.
    const plan::ObservedProgress& progress = run->progress;
    pull.disk = plan::ReservationOfRunning(
        entry.history.disk, progress.seen ? progress.bytes_done : entry.history.disk.kept_bytes,
        disk_factor_);
    pull.started_at = run->started_at;
    pull.fetch = run->fetch;
    pull.idle = ReportsProgress(*run) && plan::IsIdle(progress, pull.started_at, loop_.now());
    pull.being_verified = run->returned && loop_.now() - *run->returned < plan::kShortVerification;
  } else if (entry.runs.back().cancel_reason == CancelReason::kDeferred) {
    // This pull is due again as soon as it has ended, so its room stays reserved.
    pull.disk.reserved = plan::ReservationOfDue(entry.history.disk, disk_factor_).reserved;
  }
  return pull;
}

std::uint64_t Pulls::RemainingDiskNeed(const Entry& entry) const {
  loop_.Check();
  const ActivePull* run = entry.Current();
  const bool seen = run != nullptr && run->progress.seen;
  return plan::ExpectedDiskUse(entry.history.disk, disk_usage_,
                               seen ? run->progress.bytes_done : entry.history.disk.kept_bytes);
}

// Runs that do not fit are stopped before their workers are released. Otherwise a worker might write before
// it sees the stop.
void Pulls::CheckDiskBudget() {
  EndPullsForDiskSpace();
  for (const std::shared_ptr<AdmissionDecision>& decision : pending_decisions_) decision->Set();
  pending_decisions_.clear();
}

void Pulls::EndPullsForDiskSpace() {
  const std::uint64_t usable = plan::Usable(disk_, limits_);
  std::vector<Entry>& all = entries_.all();
  // The factor is fixed for the whole turn, so that all reservations are comparable.
  disk_factor_ = plan::FactorFor(disk_usage_, std::ranges::any_of(all, [](const Entry& entry) {
                                   return plan::NeedsMoreThanUsual(entry.history.disk);
                                 }));
  std::vector<plan::PullCandidate> running;
  std::uint64_t kept = 0;  // by ended pulls, under their leases
  for (std::size_t i = 0; i < all.size(); i++) {
    if (all[i].runs.empty()) kept += all[i].history.disk.kept_bytes;
    if (all[i].Current() != nullptr) running.push_back(CandidateOf(i));
  }
  if (running.empty()) return;
  // Bytes of pulls that wait are discarded before a running pull is ended.
  if (usable == 0 && !space_release_.pending && plan::KeptBytesMatter(kept, running)) {
    DropKeptBytes();
    return;
  }
  // One pull is ended at a time, and the rest is judged anew: its room may be enough for the others.
  while (auto pull_to_end = plan::ChoosePullToEnd(running, usable, space_release_)) {
    Entry& entry = all[pull_to_end->entry];
    ActivePull& run = entry.runs.back();
    base::LogFields fields = {{"image", entry.desired->reference.written()},
                              {"needed", pull_to_end->needed},
                              {"available", usable}};
    if (pull_to_end->reason == plan::EndReason::kOutOfDiskSpace) {
      base::Warn("pull ended: not enough room", fields);
      run.Cancel(CancelReason::kNoDiskSpace);
      entry.history.disk = plan::AfterOutOfDiskSpace(entry.history.disk, pull_to_end->competed, loop_.now());
      // The disk shows the room only later. Until then this keeps the next turn from ending another pull for
      // the same shortage.
      space_release_ = plan::AfterEnding(space_release_, run.progress.bytes_done, loop_.now());
      disk_usage_ = plan::AfterRemoval(disk_usage_);
    } else {
      base::Info("pull ended: others get the room first", fields);
      run.Cancel(CancelReason::kDeferred);
    }
    loop_.Changed();
    std::erase_if(running, [&](const plan::PullCandidate& pull) { return pull.entry == pull_to_end->entry; });
  }
}

// Handles a runtime's report that no space is left. Returns true if that may be the filesystem that the disk
// rule measures: the rule then decides about the next pull.
bool Pulls::HandleDiskFull(Entry& entry, const std::string& error) {
  const std::uint64_t whole = plan::ReservationOfRunning(entry.history.disk, 0).reserved;
  // With that much room left on the measured filesystem, the full one must be another.
  if (!disk_.known || (plan::Usable(disk_, limits_) > 0 && whole < disk_.available_bytes)) return false;
  // A full disk ends all pulls that write, at about the same moment. Their events come one after the other,
  // so a pull that ended just now counts as a competitor.
  bool competed = space_release_.at_least || loop_.now() < disk_full_until_ || entries_.HasRuns();
  base::Warn(
      "pull ended: not enough room",
      {{"image", entry.desired->reference.written()}, {"needed", whole}, {"available", 0}, {"error", error}});
  // If others had left only few bytes that were not gone yet, fetching the whole image again would not help.
  entry.history.disk =
      plan::AfterOutOfDiskSpace(entry.history.disk, competed, loop_.now(), space_release_.returning);
  space_release_ = plan::AfterEnding(space_release_, 0, loop_.now());
  DiscardBytes(entry, cri::LeaseDeletion::kSync);
  disk_.available_bytes = 0;  // until the next measurement; no pull starts in between
  return true;
}

// Deletes the entry's lease with all that it keeps. Without leases, the bytes were gone with the end of the
// pull.
void Pulls::DiscardBytes(Entry& entry, cri::LeaseDeletion bytes, base::Duration after) {
  entry.history.disk.kept_bytes = 0;
  if (!leases_.supported()) entry.history.disk = plan::AfterBytesGone(entry.history.disk, loop_.now());
  leases_.ReleaseLease(LeaseFor(entry), bytes, loop_.now() + after);
  disk_usage_ = plan::AfterRemoval(disk_usage_);
}

void Pulls::DropKeptBytes() {
  for (Entry& entry : entries_.all()) {
    if (!entry.runs.empty() || entry.history.disk.kept_bytes == 0) continue;
    space_release_ = plan::AfterKeptDropped(space_release_, entry.history.disk.kept_bytes, loop_.now());
    DiscardBytes(entry, cri::LeaseDeletion::kSync);
  }
}

// Settles images without room when no running pull could give any back: waiting would not help.
void Pulls::SettleWithoutDiskSpace() {
  // Room is on its way back, so an image without room may still fit.
  if (space_release_.pending) return;
  if (entries_.HasRuns()) return;
  for (Entry& entry : entries_.all()) {
    if (!entry.no_disk_space) continue;
    loop_.ChangedIf(!entry.history.settled);
    entry.history.settled = true;
    if (entry.history.disk.kept_bytes > 0) DiscardBytes(entry, cri::LeaseDeletion::kSync);
  }
}

}  // namespace prefetch::agent
