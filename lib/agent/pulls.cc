#include "agent/pulls.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/log.h"
#include "plan/decide.h"
#include "plan/disk_budget.h"
#include "plan/stall.h"

namespace prefetch::agent {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kProgressTimeout{30};
// Runtime rule C25: ListStatuses opens every ingest, so not more often than this; a pull's first seconds are
// watched more closely, since its manifest, and so its size, shows up then. One that is younger than the
// first interval is left alone: most pulls from near are over by then, and a look at each is dear.
constexpr seconds kWatchInterval{2};
constexpr milliseconds kFirstWatch{250};
constexpr seconds kCloseWatch{3};
// A stalled pull is cancelled this long after its replacement was started (C26: 100 ms).
constexpr milliseconds kReplaceOverlap{300};

plan::ProgressFacts Facts(const cri::PullProgress& seen, bool may_be_queued) {
  return {.bytes_done = seen.bytes_done,
          .bytes_total = seen.bytes_total,
          .fingerprint = seen.fingerprint,
          .active = seen.active,
          .unpacking = seen.unpacking,
          .may_be_queued = may_be_queued};
}

}  // namespace

Pulls::Pulls(PullOptions options, const PullParts& parts, DiskProbe disk, const PullCollaborators& neighbours)
    : options_(std::move(options)),
      parts_(parts),
      probe_disk_(std::move(disk)),
      loop_(neighbours.loop),
      entries_(neighbours.entries),
      look_ups_(neighbours.look_ups),
      metrics_(neighbours.metrics),
      runtime_(neighbours.runtime),
      checks_(neighbours.checks),
      kubelet_(neighbours.kubelet),
      limits_(options_.limits),
      // A replacement runs beside the pull that it replaces, and pulls whose content is here beside others.
      workers_(4 * std::max({limits_.parallel_pulls, limits_.parallel_pulls_when_ready,
                             limits_.parallel_pulls_far})) {}

void Pulls::UseThreshold(int kubelet_percent) {
  limits_ = plan::WithThreshold(options_.limits, kubelet_percent);
}

void Pulls::ListChanged(bool another) {
  leases_.LookForLeftovers();
  if (!another || limits_.start_jitter.count() == 0) return;
  auto wait = std::chrono::duration<double>(limits_.start_jitter) * loop_.Random();
  first_at_ = loop_.now() + std::chrono::duration_cast<base::Duration>(wait);
}

void Pulls::Forget(const std::set<std::string>& in_use) {
  std::erase_if(registries_, [&](const auto& one) {
    return !in_use.contains(one.first) && plan::MayBeForgotten(one.second, loop_.now());
  });
  std::erase_if(distances_, [&](const auto& one) { return !in_use.contains(one.first); });
  std::erase_if(registry_trouble_, [&](const auto& one) { return !registries_.contains(one.first); });
}

void Pulls::RuntimeReconnected() {
  shows_progress_ = true;
  leases_.Reconnected();
}

void Pulls::Hold(const RegistryHold& hold) {
  plan::RegistryHealth& health = registries_[hold.registry];
  health = plan::AfterRegistryFailure(health, true, hold.wait, loop_.now(), loop_.Random());
  registry_trouble_[hold.registry] = plan::Reason::kRateLimited;
}

void Pulls::StopAll() {
  for (Entry& entry : entries_.all()) {
    for (ActiveRun& run : entry.runs) run.stop.request_stop();
  }
}

base::TimePoint Pulls::NextTurn() const {
  base::TimePoint next = std::min(start_again_, leases_.NextTurn(loop_.now()));
  if (!watch_running_) next = std::min(next, next_watch_);
  for (const Entry& entry : entries_.all()) {
    for (const ActiveRun& run : entry.runs) {
      next = std::min(next, run.cancel_at);
      if (run.ending != Ending::kNot) continue;
      base::TimePoint judgement = plan::NextJudgement(run.run.movement, Shows(run), run.run.started_at,
                                                      entry.want->pull_timeout, limits_);
      // A stalled pull waits for the credentials of its replacement, whose event wakes the loop.
      if (judgement > loop_.now()) next = std::min(next, judgement);
    }
  }
  return next;
}

void Pulls::JudgeRuns() {
  std::vector<Entry*> to_replace;
  for (Entry& entry : entries_.all()) {
    for (ActiveRun& run : entry.runs) {
      if (run.cancel_at <= loop_.now()) {
        run.stop.request_stop();
        run.cancel_at = base::TimePoint::max();
      }
      if (run.ending != Ending::kNot) continue;
      switch (plan::JudgePull(run.run.movement, Shows(run), run.run.started_at, entry.want->pull_timeout,
                              limits_, loop_.now())) {
        case plan::PullVerdict::kContinue:
          break;
        case plan::PullVerdict::kReplace:
          if (room_is_short_) {
            run.ending = Ending::kStalled;
            run.stop.request_stop();
            break;
          }
          // While its replacement's credentials are searched for it may move again.
          if (look_ups_.StateOf(*entry.want, loop_.now()).state != plan::LookupState::kDone) {
            loop_.ChangedIf(look_ups_.Want(*entry.want, loop_.now()));
            break;
          }
          run.ending = Ending::kReplaced;
          run.cancel_at = loop_.now() + kReplaceOverlap;
          to_replace.push_back(&entry);
          break;
        case plan::PullVerdict::kEnd:
          run.ending = Ending::kTimeUp;
          run.stop.request_stop();
          break;
      }
    }
  }
  for (Entry* entry : to_replace) {
    base::Warn("pull stalled, started anew", {{"image", entry->want->reference.written()}});
    entry->past = plan::AfterFailure(
        std::move(entry->past), {.reason = plan::Reason::kStalled, .error = "no byte came for a long time"},
        loop_.now(), loop_.Random());
    Start(*entry);
  }
}

plan::StartFacts Pulls::FactsOfStart(const Entry& entry, const plan::PullSlot& slot, std::uint64_t usable) {
  plan::StartFacts facts{.fits = plan::MayFit(slot.room, usable),
                         .disk_held_until = hold_until_,
                         .asked = slot.asked,
                         .update = slot.update,
                         .ready = entry.refresh.ready,
                         .pulls_are_saved = checks_.SavesPulls(slot.registry),
                         .tried_before = entry.past.attempts > 0 || !entry.past.vanished.empty(),
                         .first_at = first_at_,
                         .lease_is_leaving = leases_.IsBeingReleased(LeaseFor(entry))};
  if (auto health = registries_.find(slot.registry); health != registries_.end()) {
    facts.registry_held_until = health->second.not_before;
    facts.registry_trouble = registry_trouble_[slot.registry];
  }
  return facts;
}

void Pulls::StartDue(bool settled, bool may_start) {
  plan::ScheduleInput input;
  input.settled = settled;
  input.hold_until = hold_until_;
  input.registries = registries_;
  input.usable = plan::Usable(disk_, limits_);
  std::set<std::size_t> waited;  // for room, until now
  std::vector<Entry>& all = entries_.all();
  for (std::size_t i = 0; i < all.size(); i++) {
    Entry& entry = all[i];
    bool had_no_room = std::exchange(entry.no_room, false);
    bool waited_for_room = std::exchange(entry.waits_for_room, false);
    std::optional<plan::Reason> was_held = std::exchange(entry.held, std::nullopt);
    if (entry.runs.empty() &&
        entry.action.kind != plan::ActionKind::kPull) {  // most of them, most of the time
      if (had_no_room || waited_for_room || was_held) loop_.Changed();
      if (plan::IsDueSoon(entry.action, plan::IsUsable(entry.seen), loop_.now()))
        input.soon.insert(entry.want->reference.domain());
      continue;
    }
    plan::PullSlot slot = SlotOf(i);
    if (!entry.runs.empty()) {
      input.running.push_back(std::move(slot));
    } else if (entry.applies) {
      const plan::StartVerdict verdict =
          plan::JudgeStart(FactsOfStart(entry, slot, input.usable), loop_.now());
      entry.no_room = verdict.no_room;
      entry.held = verdict.held;
      if (verdict.may) input.due.push_back(std::move(slot));
    }
    if (waited_for_room) waited.insert(i);
    if (had_no_room != entry.no_room || was_held != entry.held) loop_.Changed();
  }
  start_again_ = base::TimePoint::max();
  room_is_short_ = false;
  // A runtime that is away cannot pull; when it is back, the first look finds the missing images.
  if (!runtime_.up() || !may_start) return;
  const plan::PhaseCount phase = settled ? plan::PhaseCount() : CountPhase();
  input.may_reorder = plan::MayReorder(phase);
  plan::ScheduleOutput output = plan::Schedule(input, limits_, loop_.now());
  start_again_ = output.look_again;
  room_is_short_ = !output.short_of_room.empty();
  for (std::size_t index : output.short_of_room) {
    all[index].waits_for_room = true;
    loop_.ChangedIf(waited.erase(index) == 0);
  }
  loop_.ChangedIf(!waited.empty());
  if (loop_.now() < first_at_) start_again_ = std::min(start_again_, first_at_);
  for (std::size_t index : output.look_up) loop_.ChangedIf(look_ups_.Want(*all[index].want, loop_.now()));
  for (std::size_t index : output.start) Start(all[index]);
  if (!settled) AskSizes(input, phase);
  SettleForDiskSpace();
}

void Pulls::Start(Entry& entry) {
  ActiveRun run;
  run.id = next_run_++;
  run.run.started_at = loop_.now();
  run.run.movement.moved_at = loop_.now();
  run.lease = LeaseFor(entry);
  if (plan::IsUsable(entry.seen)) run.before = entry.seen.local;
  leases_.Begin(run.lease, entry.name(), loop_.now());
  entry.past.attempts++;
  entry.past.started_at = loop_.Wall();
  if (entry.runs.empty())
    entry.past.room = plan::AfterBegin(entry.past.room, plan::Usable(disk_, limits_), relief_);
  const std::vector<Entry>& all = entries_.all();
  if (std::all_of(all.begin(), all.end(), [](const Entry& one) { return one.runs.empty(); }))
    taken_ = plan::AfterFirstBegin(taken_, disk_.known ? disk_.available_bytes : 0);
  PullJob job{.reference = entry.want->reference,
              .credentials = look_ups_.Take(*entry.want),
              .lease = run.lease,
              .runtime = runtime_.Asking()};
  if (runtime_.status().name == "cri-o") job.sandbox_cgroup = cri::kOwnPull;
  job.unprotected = [this, name = entry.name(), id = run.id](const cri::CallError& error) {
    loop_.Push(PullUnprotected{name, id, error});
  };
  job.sized = [this, name = entry.name(), id = run.id, path = disk_path_](const base::Call& call,
                                                                          std::uint64_t bytes) {
    auto decision = std::make_shared<Decision>();
    loop_.Push(SizeKnown{name, id, bytes, probe_disk_(path), decision});
    decision->Await(call);
  };
  job.brought = [this, name = entry.name(), id = run.id] { loop_.Push(ContentFetched{name, id}); };
  job.returned = [this, name = entry.name(), id = run.id] { loop_.Push(PullReturned{name, id}); };
  base::Call call{.stop = run.stop.get_token()};
  loop_.Submit(
      workers_,
      [this, call, job = std::move(job), name = entry.name(), id = run.id, path = disk_path_]() -> Event {
        PullDone done{name, id, PerformPull(call, parts_, job)};
        if (done.outcome.success) done.disk = probe_disk_(path);
        return done;
      });
  base::Debug("pull started", {{"image", entry.want->reference.written()}, {"attempt", entry.past.attempts}});
  entry.runs.push_back(std::move(run));
  next_watch_ = std::min(next_watch_, loop_.now() + kFirstWatch);
  loop_.Changed();
}

ActiveRun* Pulls::FindRun(const std::string& name, std::uint64_t id) {
  Entry* entry = entries_.Find(name);
  if (entry == nullptr) return nullptr;
  auto found = std::find_if(entry->runs.begin(), entry->runs.end(),
                            [&](const ActiveRun& run) { return run.id == id; });
  return found == entry->runs.end() ? nullptr : &*found;
}

void Pulls::Absorb(const ContentFetched& event) {
  if (ActiveRun* run = FindRun(event.name, event.run)) run->brought = true;
}

void Pulls::Absorb(const PullReturned& event) {
  if (ActiveRun* run = FindRun(event.name, event.run)) run->returned = loop_.now();
}

void Pulls::StartWatchIfDue(Workers& workers) {
  if (watch_running_ || loop_.now() < next_watch_) return;
  next_watch_ = base::TimePoint::max();
  struct Target {
    std::string name, lease;
    std::uint64_t run;
    image::Reference reference;
  };
  std::vector<Target> targets;
  bool close = false;
  for (const Entry& entry : entries_.all()) {
    if (entry.runs.empty()) continue;
    const ActiveRun& run = entry.runs.back();
    if (!Shows(run) || run.returned) continue;
    const base::Duration age = loop_.now() - run.run.started_at;
    close = close || age < kCloseWatch;
    if (age < kFirstWatch) {
      next_watch_ = std::min(next_watch_, run.run.started_at + kFirstWatch);
    } else {
      targets.push_back({entry.name(), run.lease, run.id, entry.want->reference});
    }
  }
  if (targets.empty()) return;
  next_watch_ = loop_.now() + (close ? base::Duration(kFirstWatch) : base::Duration(kWatchInterval));
  watch_running_ = true;
  base::Call call{.stop = loop_.stopping()};
  loop_.Submit(workers, [this, call, targets = std::move(targets), path = disk_path_]() -> Event {
    ProgressSeen seen;
    for (const Target& target : targets) {
      auto progress = parts_.content.Progress(call.Within(kProgressTimeout), target.lease, target.reference);
      if (progress) {
        seen.pulls.push_back({target.name, target.run, *progress});
      } else if (progress.error().error_class == image::ErrorClass::kRuntimeUnsupported) {
        seen.unsupported = true;
      }
    }
    seen.disk = probe_disk_(path);
    return seen;
  });
}

void Pulls::Absorb(const ProgressSeen& event) {
  watch_running_ = false;
  if (event.unsupported) shows_progress_ = false;
  if (event.disk.known) ApplyDisk(event.disk, disk_path_);
  bool any_active = std::any_of(event.pulls.begin(), event.pulls.end(),
                                [](const ProgressSeen::One& one) { return one.progress.active; });
  for (const ProgressSeen::One& one : event.pulls) {
    Entry* entry = entries_.Find(one.name);
    if (entry == nullptr) continue;
    for (ActiveRun& run : entry->runs) {
      if (run.id != one.run) continue;
      run.run.movement = plan::AfterProgress(
          run.run.movement, Facts(one.progress, runtime_.queues() && any_active), loop_.now());
      entry->past.room = plan::AfterSize(entry->past.room, run.run.movement.bytes_total);
      plan::Distance& distance = distances_[entry->want->reference.domain()];
      distance = plan::AfterPollDuringPull(distance, run.run.movement.bytes_total > 0,
                                           loop_.now() - run.run.started_at);
      loop_.Changed();
    }
  }
}

// Pulls and the sizes of images that wait: plan/largest_first.h decides, this brings it the sizes.

namespace {

// Near registries answer within milliseconds, so few are enough, and nobody waits for them.
constexpr int kSizeQuestions = 2;

}  // namespace

// Those that were missing since the agent started.
plan::PhaseCount Pulls::CountPhase() const {
  plan::PhaseCount phase;
  for (const Entry& entry : entries_.listed()) {
    if (!entry.applies) continue;
    const bool over = !entry.past.pulled_id.empty() || plan::HasFailedPermanently(entry.past);
    if (over && entry.runs.empty()) {
      phase.over++;
    } else if (!entry.runs.empty()) {
      phase.running++;
    } else if (entry.action.kind == plan::ActionKind::kKeep) {
      continue;  // it was here
    }
    phase.images++;
  }
  return phase;
}

bool Pulls::MayAskSize(const Entry& entry) const {
  auto health = registries_.find(entry.want->reference.domain());
  if (health != registries_.end() && loop_.now() < health->second.not_before) return false;
  return parts_.fetcher->MayAskSize(entry.want->reference, runtime_.Asking());
}

void Pulls::AskSizes(const plan::ScheduleInput& input, const plan::PhaseCount& phase) {
  // The last few have places in any case.
  if (parts_.fetcher == nullptr || input.due.size() < 2 || !plan::WantsSizes(phase)) return;
  int searched = 0;
  std::string left_alone;  // the newest registry that is not asked; most lists have few
  for (const plan::PullSlot& slot : input.due) {
    if (size_questions_ + searched >= kSizeQuestions) return;
    if (slot.registry == left_alone) continue;
    Entry& entry = entries_.all()[slot.entry];
    if (!entry.runs.empty() || entry.size_asked || slot.bytes > 0) continue;
    if (slot.far || slot.update || slot.unlisted) continue;
    if (!MayAskSize(entry)) {
      left_alone = slot.registry;
      continue;
    }
    const plan::LookupState state = look_ups_.StateOf(*entry.want, loop_.now()).state;
    if (state != plan::LookupState::kDone) {
      loop_.ChangedIf(look_ups_.Want(*entry.want, loop_.now()));
      searched++;
      continue;
    }
    entry.size_asked = true;
    size_questions_++;
    PullJob job{.reference = entry.want->reference,
                .credentials = look_ups_.Peek(*entry.want),
                .lease = {},
                .runtime = runtime_.Asking()};
    base::Call call{.stop = loop_.stopping()};
    loop_.Submit(workers_, [call, parts = parts_, job = std::move(job), name = entry.name()]() -> Event {
      return SizeReceived{name, AskSize(call, parts, job)};
    });
  }
}

void Pulls::Absorb(const SizeReceived& event) {
  size_questions_--;
  Entry* entry = entries_.Find(event.name);
  // A pull that runs finds out by itself.
  if (entry == nullptr || !entry->runs.empty()) return;
  entry->past.room = plan::AfterSize(entry->past.room, event.bytes);
  loop_.Changed();
}

// Pulls and their leases: decides which leases are needed, for the book in agent/lease_manager.h.

namespace {

// At the end leases of pulls that are over are deleted within this; --once does not wait for the end.
constexpr std::chrono::milliseconds kFarewell{300};
constexpr std::chrono::seconds kFarewellOnce{5};

}  // namespace

std::string Pulls::LeaseFor(const Entry& entry) const {
  if (!leases_.supported()) return "";
  return entry.on_list ? cri::LeaseFor(options_.instance, entry.want->reference)
                       : cri::RequestedLeaseFor(options_.instance, entry.want->reference);
}

bool Pulls::Shows(const ActiveRun& run) const {
  return shows_progress_ && leases_.supported() && !run.lease.empty();
}

IdleLeaseUse Pulls::UseOf(const std::string& name, const std::string& lease) {
  const Entry* entry = entries_.Find(name);
  if (entry == nullptr || !entry->applies || entry->on_list == cri::IsRequestedLease(lease)) {
    return IdleLeaseUse::kNone;
  }
  // Before the first look, missing images are unknown; preflights may repeat their wishes.
  bool missing = !entry->seen.known || entry->action.kind != plan::ActionKind::kKeep ||
                 (!entry->on_list && !entry->seen.local);
  if (!missing) return IdleLeaseUse::kNone;
  return entry->past.room.kept > 0 ? IdleLeaseUse::kKeeps : IdleLeaseUse::kWaits;
}

void Pulls::StartUpdatingLeases(Workers& workers) {
  if (!runtime_.up()) return;
  auto work = leases_.Next(
      entries_.LeasesInUse(),
      [this](const std::string& name, const std::string& lease) { return UseOf(name, lease); },
      runtime_.seen_in_full(), loop_.now());
  if (!work) return;
  if (work->list) {
    for (const Entry& entry : entries_.listed()) {
      if (entry.runs.empty()) work->owners.emplace(LeaseFor(entry), entry.want->reference);
    }
  }
  base::Call call{.stop = loop_.stopping()};
  loop_.Submit(workers, [this, call, work = *std::move(work)]() -> Event {
    return UpdateLeases(call, parts_.content, work);
  });
}

void Pulls::Absorb(const LeasesUpdated& event) {
  if (!event.dropped.empty()) {
    relief_ = event.bytes_gone ? plan::AfterBytesGone(relief_, loop_.now())
                               : plan::AfterBytesDropped(relief_, loop_.now());
    if (event.bytes_gone) {
      // Pulls wait for the figure.
      trust_room_of_looks_after_ = runtime_.looks();
      runtime_.PollNow();
    }
    for (Entry& entry : entries_.all()) {
      if (std::find(event.dropped.begin(), event.dropped.end(), LeaseFor(entry)) != event.dropped.end())
        entry.past.room = plan::AfterBytesGone(entry.past.room, loop_.now());
    }
  }
  leases_.Absorb(event, loop_.now());
  if (!event.found || event.found->empty()) return;
  const std::string prefix = cri::LeasePrefix(options_.instance);
  std::map<std::string, std::string> names;
  for (const Entry& entry : entries_.listed()) names.emplace(LeaseFor(entry), entry.name());
  for (const std::string& lease : *event.found) {
    if (!lease.starts_with(prefix) || cri::IsRequestedLease(lease)) continue;
    auto name = names.find(lease);
    leases_.Found(lease, name == names.end() ? "" : name->second, loop_.now());
    if (name != names.end()) RememberKept(*entries_.Find(name->second), event, lease);
  }
}

// Bytes that an agent before has fetched count as if this one had.
void Pulls::RememberKept(Entry& entry, const LeasesUpdated& event, const std::string& lease) {
  auto kept = event.kept.find(lease);
  if (kept == event.kept.end() || !entry.runs.empty()) return;
  if (UseOf(entry.name(), lease) != IdleLeaseUse::kWaits) return;
  entry.past.room = plan::AfterSize(entry.past.room, kept->second.bytes_total);
  entry.past.room.kept = kept->second.bytes_done;
}

void Pulls::Absorb(const PullUnprotected& event) {
  bool unsupported = event.error.error_class == image::ErrorClass::kRuntimeUnsupported;
  if (unsupported) leases_.FoundUnsupported();
  Entry* entry = entries_.Find(event.name);
  if (entry == nullptr) return;
  for (ActiveRun& run : entry->runs) {
    if (run.id != event.run) continue;
    run.lease.clear();
    if (unsupported) continue;
    base::Warn("pull without a lease: an interruption loses its bytes",
               {{"image", entry->want->reference.written()}, {"error", event.error.message}});
  }
}

void Pulls::DropLastLeases() {
  if (!runtime_.up()) return;
  base::Call call = base::Call().Within(options_.once ? base::Duration(kFarewellOnce) : kFarewell);
  LeaseChanges work;
  work.drop = leases_.LastToRelease(
      entries_.LeasesInUse(),
      [this](const std::string& name, const std::string& lease) { return UseOf(name, lease); });
  if (!work.drop.empty()) UpdateLeases(call, parts_.content, work);
}

}  // namespace prefetch::agent
