#include "agent/agent.h"

#include <algorithm>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include "base/heap.h"
#include "kubelet/runtime_quirks.h"
#include "plan/decide.h"
#include "plan/readiness.h"
#include "plan/requested.h"

namespace prefetch::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A Snapshot of thousands of entries costs milliseconds; while many pulls end at once, so many a second will
// do.
constexpr milliseconds kPublishInterval{25};
// --once gives a runtime that is just starting so long.
constexpr seconds kOnceRuntimeGrace{10};
// Each look at the runtime begins with a turn; while one takes long, there is a turn so often.
constexpr seconds kLongestRest{12};
// Registries that no entry is of any more are forgotten so often.
constexpr std::chrono::minutes kForgetEvery{10};
// At the end a touch pod is taken away within this; one that is not is the next start's.
constexpr milliseconds kTouchFarewell{500};

// For one thread at a time.
DiskProbe ProbeOf(const Parts& parts) {
  return parts.disk ? parts.disk : WithDeadline(ProbeDisk);
}

}  // namespace

Agent::Agent(Options options, Parts parts)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      started_at_(parts_.clock.Now()),
      loop_(parts_.clock, options_.seed),
      list_(std::make_shared<plan::ImageList>()),
      entries_(options_.platform),
      turns_(started_at_),
      next_turn_(started_at_),
      look_ups_(parts_.keyring, [this](LookupFinished event) { loop_.Push(std::move(event)); }),
      runtime_(
          loop_, parts_.keyring,
          Observer(parts_.images, parts_.content, ProbeOf(parts_), options_.platform, options_.audit_ignore),
          StaleMounts(options_.mountinfo), parts_.access, options_.endpoint),
      checks_({.asker = parts_.registry, .node = options_.platform, .once = options_.once}, parts_.clock,
              loop_, entries_, look_ups_, refusals_, metrics_),
      looks_(3) {
  if (options_.kubelet) {
    kubelet_ = std::make_unique<KubeletView>(loop_, entries_, parts_.keyring, *std::move(options_.kubelet));
    options_.kubelet.reset();
  }
  if (options_.fetch && parts_.contents) {
    fetcher_.emplace(true, parts_.content, parts_.contents, parts_.clock, options_.platform, metrics_);
  }
  pulls_.emplace(PullOptions{.limits = options_.limits, .instance = options_.instance, .once = options_.once},
                 PullParts{parts_.images, parts_.content, refusals_, parts_.clock, options_.platform,
                           fetcher_ ? &*fetcher_ : nullptr},
                 ProbeOf(parts_),
                 PullCollaborators{loop_, entries_, look_ups_, metrics_, runtime_, checks_, kubelet_.get()});
  if (kubelet_ && options_.touch && parts_.api != nullptr) {
    touch_pods_.emplace(*options_.touch, *parts_.api, parts_.keyring);
    touching_.emplace(*touch_pods_, metrics_, [this] { return loop_.Random(); });
    touches_.emplace(1);
  }
  ApplyCredentials(parts_.keyring.Health());
  Publish();
}

Agent::~Agent() {
  StopAll();
}

void Agent::StopAll() {
  loop_.Stop();
  look_ups_.DropAll();
  pulls_->StopAll();
}

void Agent::SetList(std::shared_ptr<const plan::ImageList> list) {
  loop_.Push(ListChanged{std::move(list)});
}

void Agent::RecordsChanged(kubelet::FileChanges changes) {
  loop_.Push(RecordsTouched{std::move(changes)});
}

void Agent::ImagesChanged() {
  loop_.Push(ImagesTouched{});
}

void Agent::AskPull(const image::Reference& reference, base::TimePoint looked_at) {
  loop_.Push(PullRequested{reference, looked_at});
}

void Agent::ReportProblem(std::string of, std::string problem) {
  loop_.Push(ProblemReported{std::move(of), std::move(problem)});
}

void Agent::Run(const std::stop_token& stop, base::TimePoint deadline) {
  std::stop_callback wake(stop, [this] { loop_.Push(Wake{}); });
  base::TimePoint started = parts_.clock.Now();
  std::optional<Event> event;
  while (!stop.stop_requested() && parts_.clock.Now() < deadline) {
    Turn(std::move(event));
    if (options_.once && IsFinished(started)) break;
    if (MustRestart()) break;
    event = loop_.PopUntil(std::min(next_turn_, deadline));
  }
  // Of a pull that has ended meanwhile, too, the lease goes.
  while (std::optional<Event> more = loop_.TryPop()) Absorb(*std::move(more));
  if (loop_.changed()) Publish();  // the last word
  StopAll();
  DeleteTouchPod();
  pulls_->DropLastLeases();
}

bool Agent::IsFinished(base::TimePoint started) const {
  if (!runtime_.ever_up()) {
    return loop_.now() - started >= kOnceRuntimeGrace && !runtime_.status().error.empty();
  }
  if (runtime_.DownFor().value_or(base::Duration(0)) >= plan::kRuntimeGrace) return true;
  if (kubelet_ && kubelet_->status().learning) return false;
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
  loop_.BeginTurn();
  board_.Touch(loop_.now());
  bool news = std::min(turns_.due(), runtime_.NextTurn(list_epoch_ > 0)) <= loop_.now();
  if (event) news = Absorb(*std::move(event)) || news;
  // Events that came meanwhile belong to the same turn.
  while (std::optional<Event> more = loop_.TryPop()) news = Absorb(*std::move(more)) || news;
  if (news || loop_.changed()) ProcessEntries();
  if (kubelet_) kubelet_->StartPollIfDue(looks_, list_epoch_);
  TidyIfCalm();
  next_turn_ = NextWakeTime();
}

void Agent::ProcessEntries() {
  pulls_->JudgeRuns();
  pulls_->CheckDiskBudget();
  if (kubelet_) kubelet_->ReleaseVerdicts();
  loop_.ChangedIf(entries_.ForgetRequested(loop_.now()));
  ForgetRegistries();
  DecideAll();
  // How full the disk may become is kubelet's to say.
  pulls_->StartDue(settled_, !kubelet_ || kubelet_->looked());
  settled_ = entries_.Settled();
  if (checks_.Start(runtime_.up(), runtime_.Asking())) runtime_.ReportAccess();
  runtime_.StartPollIfDue(looks_, list_, list_epoch_);
  pulls_->StartWatchIfDue(looks_);
  pulls_->StartUpdatingLeases(looks_);
  StartTouchIfDue();
  runtime_.CheckGrace();
  if (loop_.changed() && (loop_.at_once() || loop_.now() - published_at_ >= kPublishInterval)) Publish();
  turns_.Went(NextTurnTime());
}

// Lists of CI jobs, and preflights, name ever new registries.
void Agent::ForgetRegistries() {
  if (loop_.now() < forget_at_) return;
  forget_at_ = loop_.now() + kForgetEvery;
  const std::set<std::string> in_use = entries_.Registries();
  checks_.Forget(in_use);
  pulls_->Forget(in_use);
}

// A new list, a first look and a Snapshot leave as much free memory behind as the agent holds. Needs no turn
// of its own.
void Agent::TidyIfCalm() {
  if (loop_.jobs() + look_ups_.under_way() > 0 || loop_.now() < tidy_at_) return;
  base::ReturnFreeMemory();
  tidy_at_ = base::TimePoint::max();
}

bool Agent::Absorb(Event event) {
  return std::visit(
      [this](auto&& one) {
        using Answer = decltype(On(std::forward<decltype(one)>(one)));
        if constexpr (std::is_void_v<Answer>) {
          On(std::forward<decltype(one)>(one));
          return true;
        } else {
          return On(std::forward<decltype(one)>(one));
        }
      },
      std::move(event));
}

void Agent::DecideAll() {
  for (Entry& entry : entries_.all()) {
    if (!entry.applies) {
      entry.action = {};  // what it waited for before the list changed is over
      entry.refresh = {};
      continue;
    }
    plan::RefreshDecision refresh;
    if (checks_.Asks(entry) && entry.seen.local) {
      refresh = plan::DecideRefresh(entry.want, *entry.seen.local, entry.fresh, loop_.now());
    }
    plan::Action action = entry.on_list
                              ? plan::Decide(entry.seen, entry.past, refresh, loop_.now())
                              : plan::DecideRequested(entry.seen, entry.past, entry.asked_until, loop_.now());
    if (action != entry.action || refresh != entry.refresh) {
      entry.action = action;
      entry.refresh = refresh;
      loop_.Changed();
    }
    if (entry.past.settled) continue;
    bool judged = !kubelet_ ||
                  (entry.verdict.shown && entry.seen.local && entry.verdict.image_id == entry.seen.local->id);
    bool here = plan::IsUsable(entry.seen) ||
                (action.kind == plan::ActionKind::kKeep && action.reason == plan::Reason::kWrongPlatform);
    // One try, for clients that wait for the agent's last answer; present images count all the same.
    const bool tries = plan::DependsOnTag(entry.seen, entry.past) && entry.past.failures == 0;
    if (here && judged && !tries && checks_.HasEnoughAnswers(entry)) entry.past.settled = true;
  }
  settled_ = entries_.Settled();
}

// An image that is still to be pulled may share the touch pod.
bool Agent::MorePullsToCome() const {
  return std::any_of(entries_.listed().begin(), entries_.listed().end(), [](const Entry& entry) {
    if (!entry.applies) return false;
    bool judged = entry.verdict.shown && entry.seen.local && entry.verdict.image_id == entry.seen.local->id;
    return !entry.runs.empty() || entry.action.kind == plan::ActionKind::kPull ||
           (entry.seen.local && !judged);
  });
}

bool Agent::MayTouch() const {
  return touching_ && list_epoch_ > 0 && kubelet_->looked();
}

void Agent::StartTouchIfDue() {
  if (!MayTouch()) return;
  const plan::RuntimeStatus& runtime = runtime_.status();
  TouchSurroundings surroundings{.kubelet_verifies = kubelet_->Verifies(),
                                 .records_note = kubelet::WhyRecordsNeverMatch(runtime.name, runtime.version),
                                 .more_to_come = MorePullsToCome()};
  base::WallTime wall = loop_.Wall();
  loop_.ChangedIf(touching_->Review(entries_, surroundings, loop_.now(), wall));
  std::optional<Touching::Job> job = touching_->NextJob(entries_, loop_.now());
  loop_.ChangedIf(touching_->Review(entries_, surroundings, loop_.now(), wall));
  if (!job) return;
  base::Call call{.stop = loop_.stopping()};
  loop_.Submit(*touches_, [job = *std::move(job), call]() -> Event { return TouchAdvanced{job(call)}; });
}

void Agent::DeleteTouchPod() {
  if (!touching_ || !touching_->HasPod()) return;
  touch_pods_->Sweep(base::Call().Within(kTouchFarewell));
}

base::TimePoint Agent::NextTurnTime() const {
  base::TimePoint next = std::min(pulls_->NextTurn(), checks_.NextTurn());
  if (MayTouch()) next = std::min(next, touching_->NextTurn());
  if (loop_.changed()) next = std::min<base::TimePoint>(next, published_at_ + kPublishInterval);
  for (const Entry& entry : entries_.all()) {
    next = std::min(next, plan::NextRelease(entry.verdict));
    if (checks_.Asks(entry)) {
      next = std::min(next, plan::NextRefreshChange(entry.want, entry.fresh, loop_.now()));
    }
    if (entry.action.kind == plan::ActionKind::kWait) next = std::min(next, entry.action.until);
    if (!entry.on_list && entry.runs.empty()) {
      next = std::min(next, plan::ForgetRequestedAt(entry.past, entry.asked_until));
    }
  }
  return std::min<base::TimePoint>(next, loop_.now() + kLongestRest);
}

base::TimePoint Agent::NextWakeTime() const {
  const bool has_list = list_epoch_ > 0;
  base::TimePoint next = std::min(turns_.due(), runtime_.NextTurn(has_list));
  if (kubelet_) next = std::min(next, kubelet_->NextTurn(has_list));
  // While a job is under way its event wakes us; at most a look's interval passes in sleep, for /livez.
  return std::min(std::max(next, loop_.now()), loop_.now() + kPollInterval);
}

}  // namespace prefetch::agent
