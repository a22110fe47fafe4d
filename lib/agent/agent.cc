#include "agent/agent.h"

#include <algorithm>
#include <utility>

#include "agent/gc_outlook.h"
#include "base/heap.h"
#include "base/log.h"
#include "kubelet/runtime_quirks.h"
#include "plan/asked.h"
#include "plan/disk.h"
#include "plan/stall.h"

namespace prefetch::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A Snapshot of thousands of entries costs milliseconds; while many pulls end at once, so many a second will
// do.
constexpr milliseconds kPublishInterval{25};
// Nothing was published for so long, and nothing is under way: the work of before is over.
constexpr seconds kCalm{5};
// --once gives a runtime that is just starting so long.
constexpr seconds kOnceRuntimeGrace{10};

}  // namespace

Agent::Agent(Options options, Parts parts)
    : options_(std::move(options)),
      limits_(options_.limits),
      parts_(std::move(parts)),
      random_(options_.seed),
      observer_(parts_.images, parts_.content, parts_.disk, options_.platform, options_.audit_ignore),
      now_(parts_.clock.Now()),
      started_at_(now_),
      next_turn_(now_),
      list_(std::make_shared<plan::ImageList>()),
      entries_(options_.platform),
      next_look_(now_),
      next_kubelet_look_(now_),
      look_ups_(parts_.keyring, [this](LookedUp event) { inbox_.Push(std::move(event)); }),
      // A replacement runs beside the pull that it replaces.
      pulls_(2 * std::max(options_.limits.parallel_pulls, options_.limits.parallel_pulls_when_ready)),
      looks_(3) {
  if (options_.kubelet) {
    kubelet_.emplace();
    kubelet_observer_.emplace(*std::move(options_.kubelet),
                              [this](kubelet::FileChanges changes) { RecordsChanged(std::move(changes)); });
    options_.kubelet.reset();
    if (options_.touch && parts_.api != nullptr) {
      touch_pods_.emplace(*options_.touch, *parts_.api, parts_.keyring);
      touching_.emplace(*touch_pods_, metrics_, [this] { return Random(); });
      touches_.emplace(1);
    }
  }
  runtime_.endpoint = options_.endpoint;
  FoldCredentials(parts_.keyring.Health());
  Publish();
}

Agent::~Agent() {
  stopping_.request_stop();
  look_ups_.DropAll();
  for (Entry& entry : entries_.all()) {
    for (ActiveRun& run : entry.runs) run.stop.request_stop();
  }
}

void Agent::SetList(std::shared_ptr<const plan::ImageList> list) {
  inbox_.Push(ListChanged{std::move(list)});
}

void Agent::RecordsChanged(kubelet::FileChanges changes) {
  inbox_.Push(RecordsTouched{std::move(changes)});
}

void Agent::AskPull(const image::Reference& reference, base::TimePoint looked_at) {
  inbox_.Push(PullAsked{reference, looked_at});
}

void Agent::Run(const std::stop_token& stop, base::TimePoint deadline) {
  std::stop_callback wake(stop, [this] { inbox_.Push(Wake{}); });
  base::TimePoint started = parts_.clock.Now();
  std::optional<Event> event;
  while (!stop.stop_requested() && parts_.clock.Now() < deadline) {
    Turn(std::move(event));
    if (options_.once && NothingMoreToWaitFor(started)) break;
    if (records_replaced_) break;
    event = inbox_.PopUntil(std::min(next_turn_, deadline));
  }
  // Of a pull that has ended meanwhile, too, the lease goes.
  while (std::optional<Event> more = inbox_.TryPop()) Absorb(*std::move(more));
  if (dirty_) Publish();  // the last word
  stopping_.request_stop();
  look_ups_.DropAll();
  for (Entry& entry : entries_.all()) {
    for (ActiveRun& run : entry.runs) run.stop.request_stop();
  }
  TakeTouchPodAway();
  DropLastLeases();
}

bool Agent::NothingMoreToWaitFor(base::TimePoint started) const {
  if (!runtime_ever_up_) return now_ - started >= kOnceRuntimeGrace && !runtime_.error.empty();
  if (kubelet_ && kubelet_->learning) return false;
  // A verdict is held, or what kubelet would say of an image that has just come is not known yet.
  bool undecided =
      std::any_of(entries_.listed().begin(), entries_.listed().end(), [this](const Entry& entry) {
        if (!kubelet_ || !entry.applies || !entry.seen.local) return false;
        return !entry.touched->settled || entry.verdict.differs_since || !entry.verdict.shown ||
               entry.verdict.image_id != entry.seen.local->id;
      });
  return list_epoch_ > 0 && settled_ && !undecided;
}

void Agent::Turn(std::optional<Event> event) {
  now_ = parts_.clock.Now();
  board_.Touch(now_);
  if (event) Absorb(*std::move(event));
  // What else has come meanwhile belongs to the same turn.
  while (std::optional<Event> more = inbox_.TryPop()) Absorb(*std::move(more));
  JudgeRuns();
  JudgeRoom();
  ReleaseVerdicts();
  dirty_ = entries_.ForgetAsked(now_) || dirty_;
  DecideAll();
  StartDuePulls();
  StartDueChecks();
  StartLookIfDue();
  StartKubeletLookIfDue();
  StartWatchIfDue();
  StartTendingLeases();
  StartTouchIfDue();
  // A runtime that stays away is no change by itself, but at the end of its grace readiness is one.
  bool grace_over = runtime_down_since_ && now_ - *runtime_down_since_ >= plan::kRuntimeGrace;
  dirty_ = dirty_ || grace_over != std::exchange(runtime_grace_over_, grace_over);
  if (dirty_ && now_ - published_at_ >= kPublishInterval) Publish();
  TidyIfCalm();
  next_turn_ = WhenToTurn();
}

// A new list, a first look and a Snapshot leave as much free memory behind as the agent holds. Needs no turn
// of its own.
void Agent::TidyIfCalm() {
  if (jobs_ > 0 || now_ < tidy_at_) return;
  base::ReturnFreeMemory();
  tidy_at_ = base::TimePoint::max();
}

void Agent::Absorb(Event event) {
  std::visit([this](auto&& one) { On(std::forward<decltype(one)>(one)); }, std::move(event));
}

void Agent::Submit(Workers& pool, std::function<Event()> job) {
  jobs_++;
  pool.Submit([this, job = std::move(job)] { inbox_.Push(job()); });
}

plan::ImageState Agent::Judge(const Entry& entry, base::WallTime wall) const {
  std::optional<plan::Run> run;
  if (const ActiveRun* current = entry.Current()) run = current->run;
  return plan::Judge(
      {.want = entry.want,
       .applies = entry.applies,
       .seen = entry.seen,
       .past = entry.past,
       .action = entry.action,
       .run = run,
       // What kubelet would say of an image that is on no list is said to who asks.
       .has_kubelet = entry.on_list && kubelet_.has_value(),
       .learning = kubelet_ && kubelet_->learning,
       .verdicts = entry.verdict.shown,
       .spellings = entry.verdict.shown_spellings,
       .no_room = entry.no_room,
       .room_needed = plan::ClaimOfDue(entry.past.room).least,
       .room_usable = plan::Usable(disk_, limits_),
       .refresh = Asks(entry) ? &entry.refresh : nullptr,
       .freshness = &*entry.fresh,
       .held = entry.held,
       .looking_up = look_ups_.StateOf(*entry.want, now_).state == plan::LookUpState::kUnderWay,
       .touch = entry.touched},
      now_, wall);
}

void Agent::Publish() {
  auto snapshot = std::make_shared<plan::Snapshot>();
  base::WallTime wall = parts_.clock.Wall();
  snapshot->node = options_.node;
  snapshot->time = wall;
  snapshot->turned_at = now_;
  snapshot->list.hash = list_->hash;
  snapshot->list.sources = list_->sources;
  snapshot->list.warnings = list_->warnings;
  snapshot->runtime = runtime_;
  snapshot->disk = {.known = disk_.known,
                    .path = disk_path_,
                    .capacity_bytes = disk_.capacity_bytes,
                    .available_bytes = disk_.available_bytes,
                    .kept_free_bytes = plan::KeptFree(disk_, limits_)};
  snapshot->images.reserve(entries_.listed().size());
  for (const Entry& entry : entries_.listed()) {
    snapshot->images.push_back(Judge(entry, wall));
    snapshot->disk.pressure = snapshot->disk.pressure || entry.no_room;
    if (entry.applies && !entry.seen.local)
      snapshot->disk.needed_bytes += plan::ExpectedRoom(entry.past.room);
  }
  for (const Entry& entry : entries_.asked()) {
    snapshot->asked.push_back({Judge(entry, wall), entry.asked_at});
  }
  snapshot->kubelet = kubelet_;
  snapshot->possible_kubelets = possible_kubelets_;
  if (kubelet_)
    snapshot->kubelet->runtime_note = kubelet::WhyRecordsNeverMatch(runtime_.name, runtime_.version);
  snapshot->registries = RegistriesInUse();
  snapshot->unlisted = unlisted_;
  snapshot->problems = credentials_.problems;
  snapshot->problems.insert(snapshot->problems.end(), kubelet_problems_.begin(), kubelet_problems_.end());
  if (options_.touch && !touching_) {
    snapshot->problems.emplace_back(
        "--touch is on, and there is no API server here at which pods could be made: nothing is touched");
  }
  AddGcOutlook(*snapshot);
  std::optional<base::Duration> down_for;
  if (runtime_down_since_) down_for = now_ - *runtime_down_since_;
  snapshot->readiness = plan::Summarize({.list = *list_,
                                         .list_loaded = list_epoch_ > 0,
                                         .runtime_up = runtime_.up,
                                         .runtime_ever_up = runtime_ever_up_,
                                         .runtime_down_for = down_for,
                                         .runtime_error = runtime_.error,
                                         .has_kubelet = kubelet_.has_value(),
                                         .credentials_error = credentials_.unusable_provider_config},
                                        snapshot->images);
  if (snapshot->readiness.ready != was_ready_) {
    was_ready_ = snapshot->readiness.ready;
    if (was_ready_) metrics_.ReadyAfter(now_ - started_at_);
    base::Info(was_ready_ ? "node ready" : "node not ready",
               {{"reason", plan::ReasonName(snapshot->readiness.reason)},
                {"message", snapshot->readiness.message},
                {"hash", list_->hash}});
  }
  board_.Publish(std::move(snapshot));
  published_at_ = now_;
  tidy_at_ = now_ + kCalm;
  dirty_ = false;
}

base::TimePoint Agent::WhenToTurn() const {
  base::TimePoint next = base::TimePoint::max();
  if (!look_running_ && list_epoch_ > 0) next = std::min(next, next_look_);
  if (dirty_) next = std::min<base::TimePoint>(next, published_at_ + kPublishInterval);
  if (!watch_running_) next = std::min(next, next_watch_);
  next = std::min({next, start_again_, checks_again_});
  if (touching_) next = std::min(next, touching_->NextTurn());
  if (kubelet_observer_ && !kubelet_look_running_ && list_epoch_ > 0) {
    next = std::min(next, next_kubelet_look_);
  }
  if (runtime_down_since_ && *runtime_down_since_ + plan::kRuntimeGrace > now_) {
    next = std::min<base::TimePoint>(next, *runtime_down_since_ + plan::kRuntimeGrace);
  }
  for (const Entry& entry : entries_.all()) {
    next = std::min(next, plan::NextRelease(entry.verdict));
    if (Asks(entry)) next = std::min(next, plan::NextRefreshChange(entry.want, entry.fresh, now_));
    if (entry.action.kind == plan::ActionKind::kWait) next = std::min(next, entry.action.until);
    if (!entry.on_list && entry.runs.empty()) {
      next = std::min(next, plan::ForgetAskedAt(entry.past, entry.asked_until));
    }
    for (const ActiveRun& run : entry.runs) {
      next = std::min(next, run.cancel_at);
      if (run.ending == Ending::kNot) {
        base::TimePoint judgement = plan::NextJudgement(run.run.movement, Shows(run), run.run.started_at,
                                                        entry.want->pull_timeout, limits_);
        // One that is overdue waits for the credentials of its replacement, which wake us.
        if (judgement > now_) next = std::min(next, judgement);
      }
    }
  }
  // While a job is under way its event wakes us; at most a look's interval passes without a turn, for /livez.
  return std::min(std::max(next, now_), now_ + kLookInterval);
}

}  // namespace prefetch::agent
