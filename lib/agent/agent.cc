#include "agent/agent.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/process_stat.h"
#include "base/text.h"
#include "kubelet/records.h"
#include "plan/decide.h"
#include "plan/disk_budget.h"
#include "plan/readiness.h"

namespace prefetch::agent {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Minimum time between two Snapshots. One of thousands of entries costs milliseconds, and many pulls may end
// at once.
constexpr milliseconds kPublishInterval{25};
// Time that --once waits for a runtime that is just starting.
constexpr seconds kOnceRuntimeGrace{10};
// Maximum time between two turns. Starting a poll causes a turn, but a poll that takes long delays the next
// one.
constexpr seconds kMaxTurnInterval{12};
// Interval at which state of unreferenced registries is discarded.
constexpr std::chrono::minutes kForgetEvery{10};

DiskProbe ProbeOf(const Parts& parts) {
  return parts.disk ? parts.disk : WithDeadline(ProbeDisk);
}

}  // namespace

// Members are built in the order of their declaration, and later parts hold references to earlier ones.
// `pulls_` is optional only because it needs `kubelet_`, which is built in the body.
Agent::Agent(Options options, Parts parts)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      started_at_(parts_.clock.Now()),
      loop_(parts_.clock, options_.seed),
      list_(std::make_shared<plan::ImageList>()),
      entries_(options_.platform, {.labels = std::nullopt, .pending = options_.reads_labels}),
      all_entries_at_(started_at_),
      next_turn_(started_at_),
      lookups_(parts_.keyring,
               [this](pulling::LookupFinished event) {
                 loop_.Post("LookupFinished", [this, event = std::move(event)] {
                   loop_.Changed();
                   if (lookups_.Handle(event, loop_.now())) metrics_.CredentialsFound(*event.lookup);
                 });
               }),
      runtime_(
          loop_, parts_.keyring,
          Observer(parts_.images, parts_.content, ProbeOf(parts_), options_.platform, options_.audit_ignore),
          StaleMounts(options_.mountinfo), parts_.access, options_.endpoint),
      checks_({.resolver = parts_.registry,
               .node = options_.platform,
               .once = options_.once,
               .hold_pulls = [this](const std::string& registry,
                                    base::Duration wait) { pulls_->Hold(registry, wait); }},
              parts_.clock, loop_, entries_, lookups_, refusals_, metrics_),
      pinning_(cri::PinOwner(options_.instance), options_.unpin, parts_.content, loop_, entries_, runtime_),
      // Five kinds of blocking polls: of the runtime, of kubelet, of the progress of pulls, of leases and of
      // pins. A hanging one must not delay the others.
      poll_workers_(5) {
  if (options_.kubelet) {
    kubelet_ = std::make_unique<KubeletView>(loop_, entries_, parts_.keyring, *std::move(options_.kubelet));
    options_.kubelet.reset();
  }
  if (options_.fetch && parts_.contents) {
    fetcher_.emplace(
        parts_.content, parts_.contents, parts_.clock,
        [this](std::uint64_t bytes) { metrics_.Add("prefetchd_fetched_bytes_total", bytes); },
        options_.limits.download_bytes_per_second);
  }
  pulls_.emplace(
      PullOptions{.limits = options_.limits, .instance = options_.instance, .once = options_.once},
      pulling::PullDependencies{parts_.images, parts_.content, refusals_, parts_.clock, options_.platform,
                                fetcher_ ? &*fetcher_ : nullptr},
      ProbeOf(parts_),
      PullCollaborators{loop_, entries_, lookups_, metrics_, runtime_, checks_, pinning_, kubelet_.get()});
  if (kubelet_ && options_.touch && parts_.api != nullptr) {
    touching_.emplace(TouchPods(*options_.touch, *parts_.api, parts_.keyring), metrics_, loop_, entries_);
  }
  // Readers may ask the Board before the first turn, so a Snapshot exists from here on: without a list, and
  // not ready.
  ApplyCredentials(parts_.keyring.Health());
  Publish();
  Release();
}

void Agent::Release() const {
  loop_.Release();
  entries_.Release();
  lookups_.Release();
}

Agent::~Agent() {
  Release();
  StopAll();
}

void Agent::StopAll() {
  loop_.Stop();
  lookups_.DropAll();
  // Pulls::StopAll cancels the running pulls. Their leases stay, so that the next agent goes on with their
  // bytes. ReleaseLeasesAtExit deletes the others later.
  pulls_->StopAll();
}

void Agent::SetList(std::shared_ptr<const plan::ImageList> list) {
  loop_.Post("ListChanged", [this, list = std::move(list)] { ApplyList(list); });
}

void Agent::RecordsChanged(kubelet::FileChanges changes) {
  loop_.Post("KubeletRecordsChanged", [this, changes = std::move(changes)]() mutable {
    // The caller does not know whether there is one.
    if (kubelet_) kubelet_->FilesChanged(std::move(changes));
  });
}

void Agent::ImagesChanged() {
  loop_.Post("RuntimeImagesChanged", [this] { runtime_.ImagesAnnounced(); });
}

void Agent::RequestPull(const image::Reference& reference, base::TimePoint observed_at) {
  loop_.Post("PullRequested", [this, reference, observed_at] { ApplyPullRequest(reference, observed_at); });
}

void Agent::Retry(std::vector<std::string> names) {
  loop_.Post("OperatorRetry", [this, names = std::move(names)] { ApplyRetry(names); });
}

void Agent::SetNodeLabels(std::optional<image::NodeLabels> labels) {
  loop_.Post("NodeLabelsRead", [this, labels = std::move(labels)] { return ApplyNodeLabels(labels); });
}

void Agent::ReportProblem(std::string component, std::string problem) {
  loop_.Post("ProblemReported", [this, component = std::move(component), problem = std::move(problem)] {
    if (problem.empty()) {
      component_problems_.erase(component);
    } else {
      component_problems_.insert_or_assign(component, problem);
    }
    loop_.Changed();
  });
}

void Agent::Run(const std::stop_token& stop, base::TimePoint deadline) {
  // The loop sleeps in PopUntil, which knows nothing of `stop`.
  std::stop_callback wake(stop, [this] { loop_.Post("Wake", [] {}); });
  base::TimePoint started = parts_.clock.Now();
  std::optional<Event> event;
  while (!stop.stop_requested() && parts_.clock.Now() < deadline) {
    Turn(std::move(event));
    if (options_.once && IsFinished(started)) break;
    // A replaced folder cannot be mounted again by a running container. Going on would judge images by the
    // records of a folder that kubelet no longer writes.
    if (MustRestart()) break;
    event = loop_.PopUntil(std::min(next_turn_, deadline));
  }
  // Events that are still in the inbox are applied before the end: they release the leases of pulls that
  // ended in the meantime.
  while (std::optional<Event> more = loop_.TryPop()) more->apply();
  pinning_.End();
  if (loop_.changed()) Publish();  // the final Snapshot
  StopAll();
  if (touching_) touching_->DeletePodAtExit();
  pulls_->ReleaseLeasesAtExit(stop.stop_requested() || !options_.once);
  Release();
}

bool Agent::IsFinished(base::TimePoint started) const {
  // `--once` must end even without a runtime, but one that starts beside the agent gets some time.
  if (!runtime_.ever_up()) {
    return loop_.now() - started >= kOnceRuntimeGrace && !runtime_.status().error.empty();
  }
  if (runtime_.DownFor().value_or(base::Duration(0)) >= plan::kRuntimeGrace) return true;
  // Verdicts are not final while kubelet's settings are still being read.
  if (kubelet_ && kubelet_->status().learning) return false;
  // An image is undecided while its verdict is held, or before kubelet's verdict on a new image is known.
  bool undecided = std::ranges::any_of(entries_.listed(), [this](const Entry& entry) {
    if (!kubelet_ || !entry.applies() || !entry.observed.local) return false;
    return !entry.touch_status->settled || entry.verdict.differs_since || !entry.IsJudged();
  });
  return list_epoch_ > 0 && settled_ && !undecided && pinning_.IsSettled();
}

void Agent::Turn(std::optional<Event> event) {
  loop_.BeginTurn();
  board_.RecordTurn(loop_.now());
  // A turn costs time for each entry, so a wake-up without news skips it. A due poll of the runtime counts
  // as news, since turns start these polls.
  bool news = std::min(all_entries_at_, runtime_.NextTurn(list_epoch_ > 0)) <= loop_.now();
  if (event) news = event->apply() || news;
  // Events that came meanwhile belong to the same turn.
  while (std::optional<Event> more = loop_.TryPop()) news = more->apply() || news;
  if (news || loop_.changed()) ProcessEntries();
  // kubelet is polled far more often than turns happen, and most of these polls bring no news. So this stands
  // outside of ProcessEntries.
  if (kubelet_) {
    kubelet_->StartPollIfDue(poll_workers_, list_epoch_, [this](KubeletView::Polled polled) {
      return ApplyKubeletPoll(std::move(polled));
    });
  }
  ReturnMemoryIfIdle();
  next_turn_ = NextWakeTime();
}

// The order matters. Pulls that must end are ended before new ones are started, since they hold slots and
// room. Decisions come after all facts, and before everything that acts on them. The Snapshot comes last and
// so shows what this turn has started.
void Agent::ProcessEntries() {
  pulls_->EvaluateRuns();
  pulls_->CheckDiskBudget();
  if (kubelet_) kubelet_->ShowDueVerdicts();
  if (entries_.ForgetRequested(loop_.now())) {
    loop_.Changed();
    ForgetLookups();
  }
  // Bounds the memory for registries: lists of CI jobs, and preflights, keep naming new ones.
  if (loop_.now() >= forget_at_) {
    forget_at_ = loop_.now() + kForgetEvery;
    const std::set<std::string> in_use = entries_.Registries();
    checks_.Forget(in_use);
    pulls_->Forget(in_use);
  }
  DecideAll();
  // No pull starts before kubelet's garbage collection threshold is known.
  pulls_->StartDue(settled_, !kubelet_ || kubelet_->polled());
  // StartDue, too, settles entries: those for which there will be no room.
  settled_ = entries_.Settled();
  if (checks_.Start(runtime_.up(), runtime_.info())) runtime_.ReportAccess();
  runtime_.StartPollIfDue(poll_workers_, list_, list_epoch_,
                          [this](RuntimePolled polled) { return ApplyPoll(std::move(polled)); });
  pulls_->StartWatchIfDue(poll_workers_);
  pulls_->StartUpdatingLeases(poll_workers_);
  if (list_epoch_ > 0 && (!kubelet_ || kubelet_->polled()))
    pinning_.StartIfDue(poll_workers_, pulls_->disk(), pulls_->limits(), plan::MayUnpin(*list_));
  StartTouchIfDue();
  runtime_.CheckGrace();
  if (loop_.changed() && (loop_.at_once() || loop_.now() - published_at_ >= kPublishInterval)) Publish();
  all_entries_at_ = NextTurnTime();
  turns_++;
}

// Stops looking up credentials for images that nobody names any more.
void Agent::ForgetLookups() {
  lookups_.RetainOnly([this](const std::string& name) { return entries_.Find(name) != nullptr; });
}

// A new list, a first poll and a Snapshot leave as much free memory behind as the agent holds. Needs no turn
// of its own.
void Agent::ReturnMemoryIfIdle() {
  if (loop_.jobs() + lookups_.under_way() > 0 || loop_.now() < return_memory_at_) return;
  base::ReturnFreeMemory();
  return_memory_at_ = base::TimePoint::max();
}

// Decides anew about every entry from its facts, so a fact that changes needs no code that updates decisions
// made on the old one. The time at which this node starts in a pull window (with its jitter) is kept from the
// last turn of the loop.
void Agent::DecideAll() {
  for (Entry& entry : entries_.all()) {
    if (!entry.applies()) {
      entry.action = {};  // what it waited for before the list changed is over
      entry.refresh = {};
      continue;
    }
    plan::RefreshDecision refresh;
    if (checks_.AppliesTo(entry) && entry.observed.local) {
      refresh = plan::DecideRefresh(entry.desired, *entry.observed.local, entry.freshness, loop_.now());
    }
    plan::Action action = entry.on_list ? plan::Decide(entry.observed, entry.history, refresh, loop_.now())
                                        : plan::DecideRequested(entry.observed, entry.history,
                                                                entry.requested_until, loop_.now());
    const std::optional<base::WallTime> opens = std::exchange(entry.window_opens, std::nullopt);
    if (!entry.desired->pull_windows.empty() && !MayPullAnyTime(entry)) {
      const base::WallTime wall = loop_.Wall();
      plan::WindowDecision decided =
          plan::DecideByWindow(action,
                               {.window = windows_.At(entry.desired->pull_windows, loop_.now(), wall),
                                .delay = DelayOfOpening(entry),
                                .last = entry.action,
                                .last_opens = opens},
                               loop_.now(), wall);
      action = decided.action;
      entry.window_opens = decided.opens;
    }
    // Another client may have brought the image before the agent's pull that was asked for.
    if (action.kind == plan::ActionKind::kKeep && entry.runs.empty())
      entry.history.retry_requested_at.reset();
    loop_.ChangedIf(opens != entry.window_opens);
    if (action != entry.action || refresh != entry.refresh) {
      entry.action = action;
      entry.refresh = refresh;
      loop_.Changed();
    }
    // The history stays settled: a later failure must not start the busy phase with its higher limits
    // again. Status has a `settled` of its own, which can become false again (EvaluateAbsent).
    if (entry.history.settled) continue;
    // With a kubelet, "present" is not enough: the verdict must be about this image id, not about the one
    // that a pull has just replaced.
    bool judged = !kubelet_ || entry.IsJudged();
    // A pull of the agent brought an image for the wrong platform: another pull changes nothing.
    bool outcome_is_known = plan::IsUsable(entry.observed) || (action.kind == plan::ActionKind::kKeep &&
                                                               action.reason == plan::Reason::kWrongPlatform);
    // A digest that depends on a tag gets one pull before its entry is settled, so that `wait` and `--once`
    // see the result. If that pull fails, the present image is enough.
    const bool needs_own_pull =
        plan::DependsOnTag(entry.observed, entry.history) && entry.history.failures == 0;
    if (outcome_is_known && judged && !needs_own_pull && checks_.HasAnswersToSettle(entry))
      entry.history.settled = true;
  }
  settled_ = entries_.Settled();
}

// Windows spread work that nobody waits for: here an operator or a preflight does, or the process of --once.
bool Agent::MayPullAnyTime(const Entry& entry) const {
  return options_.once || loop_.now() < entry.requested_until ||
         (entry.history.retry_requested_at && loop_.now() < entry.history.windows_waived_until);
}

base::Duration Agent::DelayOfOpening(const Entry& entry) {
  if (options_.limits.start_jitter.count() == 0) return base::Duration(0);
  if (!window_fraction_) window_fraction_ = loop_.Random();
  return plan::DelayOfOpening(entry.desired->pull_windows, options_.limits.start_jitter, *window_fraction_);
}

bool Agent::MayTouch() const {
  return touching_ && list_epoch_ > 0 && kubelet_->polled();
}

void Agent::StartTouchIfDue() {
  if (!MayTouch()) return;
  const plan::RuntimeStatus& runtime = runtime_.status();
  // An image that is still to be pulled may share the touch pod.
  const bool more_to_come = std::ranges::any_of(entries_.listed(), [](const Entry& entry) {
    return entry.applies() && (!entry.runs.empty() || entry.action.kind == plan::ActionKind::kPull ||
                               (entry.observed.local && !entry.IsJudged()));
  });
  touching_->StartIfDue({.kubelet_verifies = kubelet_->Verifies(),
                         .records_note = kubelet::RecordMismatchReason(runtime.name, runtime.version),
                         .more_to_come = more_to_come});
}

// Returns the time of the next turn that is needed without an event.
base::TimePoint Agent::NextTurnTime() const {
  base::TimePoint next = std::min({pulls_->NextTurn(), checks_.NextTurn(), pinning_.NextTurn()});
  if (MayTouch()) next = std::min(next, touching_->NextTurn());
  if (loop_.changed()) next = std::min<base::TimePoint>(next, published_at_ + kPublishInterval);
  for (const Entry& entry : entries_.all()) {
    // Every decision that depends on time must be listed here. One that is missing would wait for
    // kMaxTurnInterval.
    next = std::min(next, plan::NextShowTime(entry.verdict));
    if (checks_.AppliesTo(entry)) {
      next = std::min(next, plan::NextRefreshChange(entry.desired, entry.freshness, loop_.now()));
    }
    if (entry.action.kind == plan::ActionKind::kWait) next = std::min(next, entry.action.until);
    if (!entry.on_list && entry.runs.empty()) {
      next = std::min(next, plan::ForgetRequestedAt(entry.history, entry.requested_until));
    }
  }
  return std::min<base::TimePoint>(next, loop_.now() + kMaxTurnInterval);
}

base::TimePoint Agent::NextWakeTime() const {
  const bool has_list = list_epoch_ > 0;
  base::TimePoint next = std::min(all_entries_at_, runtime_.NextTurn(has_list));
  if (kubelet_) next = std::min(next, kubelet_->NextTurn(has_list));
  // While a job is under way, its event wakes the loop. The loop sleeps for at most one poll interval, since
  // /livez reports a loop that did not turn.
  return std::min(std::max(next, loop_.now()), loop_.now() + kPollInterval);
}

// Publishes Snapshots.

namespace {

// The loop counts as calm if it published nothing for this long and no job is running.
constexpr std::chrono::seconds kIdleBeforeMemoryReturn{5};

}  // namespace

plan::ImageState Agent::EvaluateImage(const Entry& entry, base::WallTime wall) const {
  const ActivePull* run = entry.Current();
  plan::ImageState state = plan::EvaluateImage(
      {.entry = entry,
       .labels_pending = entries_.labels().pending,
       .progress = run == nullptr ? nullptr : &run->progress,
       // An unlisted image gets its verdict when a caller asks for it.
       .has_kubelet = entry.on_list && kubelet_,
       .learning = kubelet_ && kubelet_->status().learning,
       .disk = pulls_->disk(),
       .limits = pulls_->limits(),
       .asks_registry = checks_.AppliesTo(entry),
       .looking_up = lookups_.StateOf(*entry.desired, loop_.now()).state == plan::LookupState::kUnderWay,
       .pin_problem = pinning_.ProblemOf(entry)},
      loop_.now(), wall);
  state.requested_at = entry.requested_at;
  return state;
}

void Agent::AddImages(plan::Snapshot& snapshot) const {
  snapshot.images.reserve(entries_.listed().size());
  for (const Entry& entry : entries_.listed()) {
    snapshot.images.push_back(EvaluateImage(entry, snapshot.time));
    snapshot.disk.pressure = snapshot.disk.pressure || entry.no_disk_space;
    if (entry.applies() && !entry.observed.local)
      snapshot.disk.needed_bytes += pulls_->RemainingDiskNeed(entry);
  }
  for (const Entry& entry : entries_.requested()) {
    snapshot.requested.push_back(EvaluateImage(entry, snapshot.time));
  }
}

// Problems are faults of the node or the configuration that belong to no single image.
void Agent::AddProblems(plan::Snapshot& snapshot) const {
  snapshot.problems = credentials_.problems;
  snapshot.providers_not_given = credentials_.missing_on_agent;
  const std::vector<std::string>& stale = runtime_.stale_mounts();
  snapshot.problems.insert(snapshot.problems.end(), stale.begin(), stale.end());
  if (kubelet_) {
    snapshot.problems.insert(snapshot.problems.end(), kubelet_->problems().begin(),
                             kubelet_->problems().end());
  }
  const std::size_t unselected = entries_.CountUnselected();
  if (unselected > 0 && !entries_.labels().pending) {
    snapshot.problems.push_back(
        base::Plural(unselected, "entry has", "entries have") +
        " a nodeSelector, and the agent cannot read the labels of its Node: it does not "
        "pull them, and is not ready");
  }
  for (const auto& [component, problem] : component_problems_) snapshot.problems.push_back(problem);
  if (options_.touch && !touching_) {
    snapshot.problems.emplace_back(
        "--touch needs an API server, and none is reachable from here: the agent touches nothing");
  }
}

// Makes a new Snapshot of everything. Readers keep the old one for as long as they need it, so nothing in it
// ever changes.
void Agent::Publish() {
  auto snapshot = std::make_shared<plan::Snapshot>();
  const plan::RuntimeStatus& runtime = runtime_.status();
  const plan::DiskSpace& disk = pulls_->disk();
  snapshot->node = options_.node;
  snapshot->time = loop_.Wall();
  snapshot->list.hash = list_->hash;
  snapshot->list.sources = list_->sources;
  snapshot->list.warnings = list_->warnings;
  snapshot->runtime = runtime;
  // Pulls go on while a stopping CRI-O finishes them (runtime rule C35), so the error names their number.
  if (!runtime.up) snapshot->runtime.error = plan::WithPullsUnderWay(runtime.error, entries_.Pulls());
  snapshot->disk_known = disk.known;
  snapshot->disk = {.path = pulls_->disk_path(),
                    .capacity_bytes = disk.capacity_bytes,
                    .available_bytes = disk.available_bytes,
                    .kept_free_bytes = plan::KeptFree(disk, pulls_->limits())};
  AddImages(*snapshot);
  if (kubelet_) {
    snapshot->kubelet = kubelet_->status();
    snapshot->kubelet->runtime_note = kubelet::RecordMismatchReason(runtime.name, runtime.version);
    snapshot->possible_kubelets = kubelet_->possible();
  }
  snapshot->registries = checks_.Statuses();
  snapshot->unlisted = runtime_.unlisted();
  AddProblems(*snapshot);
  AddGcOutlook(*snapshot);
  snapshot->readiness = plan::Summarize({.list = *list_,
                                         .list_loaded = list_epoch_ > 0,
                                         .runtime_ever_up = runtime_.ever_up(),
                                         .runtime_down_for = runtime_.DownFor(),
                                         .runtime_error = snapshot->runtime.error,
                                         .has_kubelet = kubelet_ != nullptr,
                                         .credentials_error = credentials_.unusable_provider_config},
                                        snapshot->images);
  if (snapshot->readiness.ready != was_ready_) {
    was_ready_ = snapshot->readiness.ready;
    if (was_ready_) metrics_.ReadyAfter(loop_.now() - started_at_);
    base::Info(was_ready_ ? "node ready" : "node not ready",
               {{"reason", base::EnumName(snapshot->readiness.reason)},
                {"message", snapshot->readiness.message},
                {"hash", list_->hash}});
  }
  board_.Publish(std::move(snapshot));
  published_at_ = loop_.now();
  // Each Snapshot postpones the return of free memory, so that a busy agent does not return what it needs
  // again.
  return_memory_at_ = loop_.now() + kIdleBeforeMemoryReturn;
  loop_.Published();
}

// Event handlers: each applies one event to the loop's state.

void Agent::ApplyList(std::shared_ptr<const plan::ImageList> list) {
  // The same content may come again, for example when a source is rewritten. It is not logged, and starts no
  // jitter, but is applied: sources and warnings may differ.
  bool same_hash = list_epoch_ > 0 && list->hash == list_->hash;
  std::vector<std::string> known = list_->warnings;
  list_ = std::move(list);
  // A poll that is running answers for the old list's entries. The epoch lets its answer be recognised and
  // dropped.
  list_epoch_++;
  windows_.Forget();
  entries_.Replace(list_);
  ForgetLookups();
  checks_.OnDesiredChanged();
  pulls_->ListChanged(!same_hash);
  runtime_.PollInFull();
  runtime_.PollNow();
  if (kubelet_) kubelet_->ListChanged();
  loop_.PublishAtOnce();  // the Snapshot of the list before must not stay
  for (const std::string& warning : list_->warnings) {
    if (std::ranges::count(known, warning) == 0) base::Warn("list", {{"warning", warning}});
  }
  if (!same_hash) {
    base::Info(
        "list in force",
        {{"hash", list_->hash}, {"entries", list_->images.size()}, {"sources", list_->sources.size()}});
  }
}

// Returns whether a turn is needed. Parts hear of a new runtime before the poll's facts are applied, since
// these belong to the new one.
bool Agent::ApplyPoll(RuntimePolled event) {
  // Applied even if the runtime did not answer: the same worker has read the credential files.
  ApplyCredentials(std::move(event.credentials));
  const RuntimeView::News news = runtime_.Handle(event, list_epoch_, entries_.Pulls());
  if (news.reconnected) pulls_->RuntimeReconnected();
  if (news.reconnected) pinning_.Reconnected();
  if (news.answered) pulls_->ApplyPoll(event.sequence, event.poll);
  // An unchanged poll still measures the room, which matters to pulls that wait. With a quiet list it costs
  // no turn: a turn for each answer would double the work of an idle agent.
  const bool same = news.answered && !news.reconnected && event.poll.unchanged;
  if (same && event.list_epoch == list_epoch_ && entries_.IsIdle()) return false;
  // The answer is for another list, or an unchanged one that lists no images: nothing in it may be matched to
  // entries by index.
  if (!news.reports_entries) return true;
  std::span<Entry> all = entries_.listed();
  for (std::size_t i = 0; i < all.size(); i++) {
    if (event.sequence > all[i].ignore_polls_through) {
      ApplyLocal(all[i], std::move(event.poll.locals[i]));
    } else {
      runtime_.PollInFull();  // this poll may be older than the entry's pull, so an unchanged next one would
                              // prove nothing
    }
  }
  return true;
}

// New credential files make pulls due that failed for a credential, and all checks. They void lookups that
// used the old files, and let abandoned touches be tried again.
void Agent::ApplyCredentials(credentials::KeyringHealth health) {
  if (health == credentials_) return;
  if (health.changes != credentials_.changes) {
    // Results that were found with the old files would be used by the next pull.
    lookups_.DropAll();
    for (Entry& entry : entries_.all()) {
      entry.history = plan::AfterNewCredentials(std::move(entry.history), loop_.now());
      if (checks_.AppliesTo(entry)) entry.freshness = plan::AfterNewCredentials(entry.freshness, loop_.now());
    }
    // The registry may have refused kubelet for the credential that has just been replaced on the node.
    if (touching_) touching_->ConditionsChanged();
  }
  if (health.problems != credentials_.problems) {
    for (const std::string& problem : health.problems) base::Err("credentials", {{"problem", problem}});
    if (health.problems.empty()) base::Info("credentials mended");
  }
  credentials_ = std::move(health);
  loop_.Changed();
}

// The Node is read each minute, and mostly says the same. An API server that does not answer leaves the last
// known labels in force.
bool Agent::ApplyNodeLabels(std::optional<image::NodeLabels> labels) {
  plan::ObservedLabels seen{.labels = std::move(labels), .pending = false};
  if (!seen.labels && entries_.labels().labels) return false;
  if (seen == entries_.labels()) return false;
  loop_.Changed();
  if (!entries_.SetLabels(std::move(seen))) return true;
  base::Info("node labels select other entries",
             {{"entries", std::ranges::count_if(entries_.listed(), &Entry::applies)}});
  checks_.OnDesiredChanged();
  if (kubelet_) kubelet_->ListChanged();
  loop_.PublishAtOnce();  // the node may not have what its labels ask for now
  return true;
}

// Applies what a poll has found of one entry. "Vanished" is only an image that was known to be here, so the
// first poll after a start reports nothing.
void Agent::ApplyLocal(Entry& entry, std::optional<plan::Local> local) {
  bool had = entry.observed.local.has_value();
  if (entry.observed.known && entry.observed.local == local) return;
  loop_.Changed();
  if (had && !local) {
    loop_.PublishAtOnce();  // the published Snapshot calls it present
    entry.history = plan::AfterVanished(std::move(entry.history), loop_.now());
    base::Warn("image vanished", {{"image", entry.desired->reference.written()},
                                  {"imageRef", entry.observed.local->id},
                                  {"evictedAgainAndAgain", plan::IsEvictedRepeatedly(entry.history)}});
  }
  if (local && !had && entry.observed.known) {
    base::Info("image present", {{"image", entry.desired->reference.written()}, {"imageRef", local->id}});
  }
  // Pulls of the agent set observed.local themselves, so a different digest here was brought by another
  // client of the runtime.
  bool replaced = had && local && entry.observed.local->digest != local->digest;
  entry.observed.known = true;
  entry.observed.local = std::move(local);
  if (replaced && checks_.AppliesTo(entry)) {
    entry.freshness = plan::AfterReplacedByOthers(entry.freshness, *entry.observed.local, loop_.now());
  }
  if (kubelet_) kubelet_->ImageChanged(entry);
}

bool Agent::ApplyKubeletPoll(KubeletView::Polled polled) {
  const KubeletView::News news = kubelet_->Handle(std::move(polled), list_epoch_);
  if (!news.any) return false;
  const plan::KubeletStatus& status = kubelet_->status();
  // kubelet's garbage collection starts above the high threshold and frees down to the low one (K41). Staying
  // below the low one keeps pulls from triggering it.
  pulls_->UseThreshold(status.gc ? status.gc->low_percent : 0);
  if (!touching_) return true;
  if (news.restarted) touching_->KubeletRestarted();
  if (news.settings) touching_->ConditionsChanged();
  return true;
}

void Agent::ApplyRetry(const std::vector<std::string>& names) {
  std::size_t retried = 0;
  for (const std::string& name : names) {
    Entry* entry = entries_.Find(name);
    if (entry == nullptr || !entry->applies()) continue;
    const bool pulls = pulls_->RetryRequested(*entry);
    const bool checks = checks_.RetryRequested(*entry);
    if (pulls || checks) retried++;
  }
  loop_.ChangedIf(retried > 0);
  base::Info("retry requested", {{"images", retried}});
}

// A client repeats its request while it waits, so only a new request, or one for an image that is not worth
// waiting for, counts as a request to try at once. A failure within kRecentFailure already answers the
// request.
bool Agent::MaySkipBackoffFor(const Entry& entry) {
  const bool is_new = loop_.now() >= entry.requested_until || plan::IsNotWorthWaitingFor(entry.history);
  return is_new && pulls_->HasWaitToEnd(entry) &&
         loop_.now() - entry.history.failed_at >= plan::kRecentFailure && backoff_skips_.TryTake(loop_.now());
}

void Agent::ApplyPullRequest(const image::Reference& reference, base::TimePoint observed_at) {
  Entry* entry = entries_.Find(reference.Normalized());
  if (entry == nullptr) {
    entry = entries_.Request(reference, loop_.now());
    if (entry == nullptr) return;  // no slot is free; the waiting client asks again
    base::Info("pull asked for", {{"image", reference.written()}});
  }
  if (MaySkipBackoffFor(*entry)) pulls_->RetryRequested(*entry);
  // Requests of several preflights arrive in any order.
  entry->requested_at = std::max(entry->requested_at, observed_at);
  entry->requested_until = loop_.now() + plan::kRequestLifetime;
  loop_.Changed();
  // The image was pulled, and was absent again when the preflight looked. For entries of the list, polls
  // report that.
  if (entry->on_list || !entry->observed.local || entry->history.pulled_at >= observed_at) return;
  entry->observed.local.reset();
  entry->history = plan::AfterVanished(std::move(entry->history), loop_.now());
}

}  // namespace prefetch::agent
