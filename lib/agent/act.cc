// The Agent's acts: what is known, decided on, and handed to the workers.
#include <algorithm>
#include <utility>

#include "agent/agent.h"
#include "base/log.h"
#include "kubelet/runtime_quirks.h"
#include "plan/asked.h"
#include "plan/decide.h"
#include "plan/disk.h"
#include "plan/stall.h"

namespace prefetch::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kLookTimeout{30};
// Runtime rule C25: ListStatuses opens every ingest, so not more often than this; a pull's first seconds are
// watched more closely, since its manifest, and so its size, shows up then.
constexpr seconds kWatchInterval{2};
constexpr milliseconds kFirstWatch{250};
constexpr seconds kCloseWatch{3};
// A stalled pull is cancelled this long after its replacement was started (C26: 100 ms).
constexpr milliseconds kReplaceOverlap{300};
// At the end a touch pod is taken away within this; one that is not is the next start's.
constexpr milliseconds kTouchFarewell{500};

}  // namespace

// Which running pulls go on, by their progress.
void Agent::JudgeRuns() {
  std::vector<Entry*> to_replace;
  for (Entry& entry : entries_.all()) {
    for (ActiveRun& run : entry.runs) {
      if (run.cancel_at <= now_) {
        run.stop.request_stop();
        run.cancel_at = base::TimePoint::max();
      }
      if (run.ending != Ending::kNot) continue;
      switch (plan::JudgePull(run.run.movement, Shows(run), run.run.started_at, entry.want->pull_timeout,
                              limits_, now_)) {
        case plan::PullVerdict::kGoOn:
          break;
        case plan::PullVerdict::kReplace:
          // While its replacement's credentials are searched for it may move again.
          if (look_ups_.StateOf(*entry.want, now_).state != plan::LookUpState::kDone) {
            StartLookUp(entry);
            break;
          }
          run.ending = Ending::kReplaced;
          run.cancel_at = now_ + kReplaceOverlap;
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
        now_, Random());
    StartPull(*entry);
  }
}

// Need nobody wait for what a registry says of it, or for what that asks for?
bool Agent::HasHeardEnough(const Entry& entry) const {
  if (!Asks(entry)) return true;
  bool heard = entry.fresh->newest || entry.fresh->confirmed_at;
  bool awaited =
      entry.want->refresh == plan::Refresh::kAlways || entry.want->ready_for == image::PullPolicy::kAlways;
  if (!options_.once) return heard || !awaited;
  return heard && !(entry.refresh.pull && entry.past.failures == 0);
}

void Agent::DecideAll() {
  for (Entry& entry : entries_.all()) {
    if (!entry.applies) continue;
    plan::RefreshDecision refresh;
    if (Asks(entry) && entry.seen.local) {
      refresh = plan::DecideRefresh(entry.want, *entry.seen.local, entry.fresh, now_);
    }
    plan::Action action = entry.on_list ? plan::Decide(entry.seen, entry.past, refresh, now_)
                                        : plan::DecideAsked(entry.seen, entry.past, entry.asked_until, now_);
    if (action != entry.action || refresh != entry.refresh) {
      entry.action = action;
      entry.refresh = refresh;
      dirty_ = true;
    }
    bool judged = !kubelet_ ||
                  (entry.verdict.shown && entry.seen.local && entry.verdict.image_id == entry.seen.local->id);
    bool here = plan::IsUsable(entry.seen, entry.past) ||
                (action.kind == plan::ActionKind::kKeep && action.reason == plan::Reason::kWrongPlatform);
    if (here && judged && HasHeardEnough(entry)) entry.past.settled = true;
  }
  settled_ = entries_.Settled();
}

// One run takes what it can get.
bool Agent::SavesPulls(const std::string& registry) const {
  auto pace = paces_.find(registry);
  return !options_.once && pace != paces_.end() && plan::SavesPulls(pace->second, now_);
}

void Agent::StartDuePulls() {
  plan::ScheduleInput input;
  input.settled = settled_;
  input.hold_until = hold_until_;
  input.registries = registries_;
  input.usable = plan::Usable(disk_, limits_);
  std::vector<Entry>& all = entries_.all();
  for (std::size_t i = 0; i < all.size(); i++) {
    Entry& entry = all[i];
    bool had_no_room = std::exchange(entry.no_room, false);
    std::optional<plan::Reason> was_held = std::exchange(entry.held, std::nullopt);
    if (entry.runs.empty() &&
        entry.action.kind != plan::ActionKind::kPull) {  // most of them, most of the time
      if (had_no_room || was_held) dirty_ = true;
      continue;
    }
    plan::PullSlot slot = SlotOf(i);
    if (!entry.runs.empty()) {
      input.running.push_back(std::move(slot));
    } else if (entry.applies) {
      entry.no_room = !plan::MayFit(slot.room, input.usable);
      if (now_ < hold_until_) entry.held = plan::Reason::kDiskFull;
      if (auto health = registries_.find(slot.registry); health != registries_.end()) {
        if (now_ < health->second.not_before) entry.held = registry_trouble_[slot.registry];
      }
      // An update that readiness waits for is worth one of the last pulls.
      bool saved = slot.update && entry.refresh.ready && !slot.asked && SavesPulls(slot.registry);
      bool must_wait = now_ < first_pulls_at_ && entry.past.attempts == 0 && entry.past.vanished.empty() &&
                       now_ >= entry.asked_until;
      bool loses_lease = leases_.AnyIsGoing() && leases_.IsGoing(LeaseFor(entry));
      if (!entry.no_room && !must_wait && !saved && !loses_lease) input.due.push_back(std::move(slot));
    }
    if (had_no_room != entry.no_room || was_held != entry.held) dirty_ = true;
  }
  start_again_ = base::TimePoint::max();
  // A runtime that is away cannot pull; when it is back the first look says what is still missing. And how
  // full the disk may become is kubelet's to say.
  if (!runtime_.up || (kubelet_observer_ && !kubelet_looked_)) return;
  plan::ScheduleOutput output = plan::Schedule(input, limits_, now_);
  start_again_ = output.look_again;
  if (now_ < first_pulls_at_) start_again_ = std::min(start_again_, first_pulls_at_);
  for (std::size_t index : output.look_up) StartLookUp(all[index]);
  for (std::size_t index : output.start) StartPull(all[index]);
  SettleWithoutRoom();
}

void Agent::StartLookUp(const Entry& entry) {
  if (look_ups_.StateOf(*entry.want, now_).state != plan::LookUpState::kWanted) return;
  jobs_++;
  look_ups_.Begin(*entry.want, now_);
  dirty_ = true;
}

void Agent::StartPull(Entry& entry) {
  ActiveRun run;
  run.id = next_run_++;
  run.run.started_at = now_;
  run.run.movement.moved_at = now_;
  run.lease = LeaseFor(entry);
  leases_.Begin(run.lease, entry.name(), now_);
  entry.past.attempts++;
  entry.past.started_at = parts_.clock.Wall();
  PullJob job{
      .reference = entry.want->reference, .credentials = look_ups_.Take(*entry.want), .lease = run.lease};
  job.unprotected = [this, name = entry.name(), id = run.id](const cri::CallError& error) {
    inbox_.Push(PullUnprotected{name, id, error});
  };
  base::Call call{.stop = run.stop.get_token()};
  PullParts parts{parts_.images, parts_.content, refusals_, parts_.clock, options_.platform};
  Submit(pulls_, [call, parts, job = std::move(job), name = entry.name(), id = run.id]() -> Event {
    return PullDone{name, id, PerformPull(call, parts, job)};
  });
  base::Debug("pull started", {{"image", entry.want->reference.written()}, {"attempt", entry.past.attempts}});
  entry.runs.push_back(std::move(run));
  next_watch_ = std::min(next_watch_, now_ + kFirstWatch);
  dirty_ = true;
}

void Agent::StartLookIfDue() {
  // Before the list is read there is nothing to look for; it comes within milliseconds of the start.
  if (look_running_ || list_epoch_ == 0 || now_ < next_look_) return;
  look_running_ = true;
  look_sequence_++;
  base::Call call{.stop = stopping_.get_token()};
  Submit(looks_,
         [this, call, list = list_, epoch = list_epoch_, sequence = look_sequence_, full = look_in_full_,
          wall = parts_.clock.Wall()]() -> Event {
           return LookDone{epoch, sequence, observer_.Take(call.Within(kLookTimeout), *list, full, wall),
                           parts_.keyring.Health()};
         });
}

// What the last reading of kubelet's files has left to time.
void Agent::ReleaseVerdicts() {
  for (Entry& entry : entries_.all()) {
    if (entry.verdict.differs_since) FoldVerdict(entry, plan::AfterTime(entry.verdict, now_));
  }
}

void Agent::StartKubeletLookIfDue() {
  if (!kubelet_observer_ || kubelet_look_running_ || list_epoch_ == 0) return;
  bool touched = records_changed_.all || !records_changed_.names.empty();
  if (kubelet_question_ && !touched && now_ < next_kubelet_look_) return;
  if (!kubelet_question_) {
    auto question = std::make_shared<KubeletQuestion>();
    question->list_epoch = list_epoch_;
    const std::vector<Entry>& all = entries_.all();
    for (std::size_t i = 0; i < entries_.listed().size(); i++) {
      if (!all[i].applies || !all[i].seen.local) continue;
      for (const image::Reference& spelling : plan::SpellingsOf(all[i].want)) {
        question->images.push_back({spelling.written(), all[i].seen.local->id});
        question->entries.push_back(i);
      }
    }
    kubelet_question_ = std::move(question);
  }
  kubelet_look_running_ = true;
  next_kubelet_look_ = now_ + kLookInterval;
  Submit(looks_,
         [this, question = kubelet_question_, changes = std::exchange(records_changed_, {})]() -> Event {
           KubeletLooked event{kubelet_observer_->Take(question, changes)};
           parts_.keyring.UseKubeletRoot(event.look.status.root);
           return event;
         });
}

void Agent::StartWatchIfDue() {
  if (watch_running_ || now_ < next_watch_) return;
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
    if (!Shows(run)) continue;
    targets.push_back({entry.name(), run.lease, run.id, entry.want->reference});
    close = close || now_ - run.run.started_at < kCloseWatch;
  }
  if (targets.empty()) return;
  next_watch_ = now_ + (close ? base::Duration(kFirstWatch) : base::Duration(kWatchInterval));
  watch_running_ = true;
  base::Call call{.stop = stopping_.get_token()};
  Submit(looks_, [this, call, targets = std::move(targets), path = disk_path_]() -> Event {
    ProgressSeen seen;
    for (const Target& target : targets) {
      auto progress = parts_.content.Progress(call.Within(kLookTimeout), target.lease, target.reference);
      if (progress) {
        seen.pulls.push_back({target.name, target.run, *progress});
      } else if (progress.error().error_class == image::ErrorClass::kRuntimeUnsupported) {
        seen.unsupported = true;
      }
    }
    seen.disk = parts_.disk(path);
    return seen;
  });
}

// What is still to be pulled may be touched in the same pod.
bool Agent::MorePullsToCome() const {
  return std::any_of(entries_.listed().begin(), entries_.listed().end(), [](const Entry& entry) {
    if (!entry.applies) return false;
    bool judged = entry.verdict.shown && entry.seen.local && entry.verdict.image_id == entry.seen.local->id;
    return !entry.runs.empty() || entry.action.kind == plan::ActionKind::kPull ||
           (entry.seen.local && !judged);
  });
}

void Agent::StartTouchIfDue() {
  if (!touching_ || list_epoch_ == 0 || !kubelet_looked_) return;
  bool verifies = possible_kubelets_ &&
                  std::all_of(possible_kubelets_->begin(), possible_kubelets_->end(),
                              [](const kubelet::KubeletSettings& settings) { return settings.gate; });
  TouchSurroundings surroundings{
      .kubelet_verifies = verifies,
      .records_note = kubelet::WhyRecordsNeverMatch(runtime_.name, runtime_.version),
      .more_to_come = MorePullsToCome()};
  base::WallTime wall = parts_.clock.Wall();
  dirty_ = touching_->Review(entries_, surroundings, now_, wall) || dirty_;
  std::optional<Touching::Job> job = touching_->NextJob(entries_, now_);
  dirty_ = touching_->Review(entries_, surroundings, now_, wall) || dirty_;
  if (!job) return;
  base::Call call{.stop = stopping_.get_token()};
  Submit(*touches_, [job = *std::move(job), call]() -> Event { return TouchStepped{job(call)}; });
}

void Agent::TakeTouchPodAway() {
  if (!touching_ || !touching_->HasPod()) return;
  touch_pods_->Sweep(base::Call().Within(kTouchFarewell));
}

}  // namespace prefetch::agent
