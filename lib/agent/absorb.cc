// The Agent's facts: what each event tells, folded into what the loop knows.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "agent/agent.h"
#include "base/log.h"
#include "plan/asked.h"

namespace prefetch::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

// A runtime that is away is asked so often at first, then once a second.
constexpr milliseconds kDownLookMin{100};
constexpr milliseconds kDownLookMax{1000};
// After ENOSPC the node waits this long.
constexpr minutes kDiskFullHold{5};

plan::ProgressFacts Facts(const cri::PullProgress& seen, bool may_be_queued) {
  return {.bytes_done = seen.bytes_done,
          .bytes_total = seen.bytes_total,
          .fingerprint = seen.fingerprint,
          .active = seen.active,
          .unpacking = seen.unpacking,
          .may_be_queued = may_be_queued};
}

bool IsRegistryTrouble(plan::Reason reason) {
  switch (reason) {
    case plan::Reason::kRateLimited:
    case plan::Reason::kUnreachable:
    case plan::Reason::kDnsFailure:
    case plan::Reason::kTlsError:
    case plan::Reason::kServerError:
    case plan::Reason::kTimeout:
      return true;
    default:  // a question of two sides, not a list that must grow with the enum
      return false;
  }
}

// What a look at kubelet's files says of one entry, whose spellings are its images from `first` to before
// `end`.
plan::VerdictSeen SeenOf(const KubeletLook& look, std::size_t first, std::size_t end,
                         const plan::HeldVerdict& past) {
  plan::VerdictSeen seen{.verdicts = nullptr, .image_id = look.question->images[first].image_id};
  std::vector<plan::SpelledVerdicts> each;
  for (std::size_t i = first; i < end; i++) {
    each.push_back({look.question->images[i].image, look.reading.verdicts[i]});
    seen.pull_under_way = seen.pull_under_way || look.reading.pull_under_way[i];
    seen.files_changed = seen.files_changed || look.reading.files_changed[i];
  }
  plan::EntryVerdicts all = plan::WorstOf(std::move(each), {past.newest, past.newest_spellings});
  seen.verdicts = std::move(all.worst);
  seen.spellings = std::move(all.each);
  return seen;
}

// How a run is counted. One that we took back is no failure of anybody's, but for one whose time was up.
PullEnd EndOf(const ActiveRun& run, const PullOutcome& outcome, base::TimePoint now) {
  PullEnd end{.result = PullResult::kCancelled, .took = now - run.run.started_at};
  if (outcome.success && outcome.success->unpacked) {
    end.result = PullResult::kSucceeded;
    end.image_bytes = outcome.local ? outcome.local->size_bytes : 0;
    return end;
  }
  if (outcome.success) {
    end.result = PullResult::kFailed;
    end.reason = plan::Reason::kNotUnpacked;
    return end;
  }
  switch (run.ending) {
    case Ending::kNot:
      if (outcome.failure) {
        end.result = PullResult::kFailed;
        end.reason = outcome.failure->reason;
      }
      break;
    case Ending::kTimeUp:
      end.result = PullResult::kFailed;
      end.reason = plan::Reason::kTimeout;
      break;
    case Ending::kNoRoom:
    case Ending::kWaits:
      end.reason = plan::Reason::kDiskPressure;
      break;
    case Ending::kReplaced:
      end.reason = plan::Reason::kStalled;
      break;
    case Ending::kNotWanted:
      break;
  }
  return end;
}

// "2.3.4", "v1.7.24~ds1": the first two numbers, for quirks only.
bool AtLeast(const std::string& version, int major, int minor) {
  int have_major = 0;
  int have_minor = 0;
  std::size_t start = version.find_first_of("0123456789");
  if (start == std::string::npos) return false;
  if (std::sscanf(version.c_str() + start, "%d.%d", &have_major, &have_minor) < 1) return false;
  return have_major > major || (have_major == major && have_minor >= minor);
}

}  // namespace

void Agent::On(ListChanged event) {
  bool same_hash = list_epoch_ > 0 && event.list->hash == list_->hash;
  std::vector<std::string> known = list_->warnings;
  list_ = std::move(event.list);
  list_epoch_++;
  entries_.Replace(list_);
  look_ups_.Keep([this](const std::string& name) { return entries_.Find(name) != nullptr; });
  FoldDemands();
  if (!same_hash && limits_.start_jitter.count() > 0) {
    first_pulls_at_ = now_ + std::chrono::duration_cast<base::Duration>(
                                 std::chrono::duration<double>(limits_.start_jitter) * Random());
  }
  look_in_full_ = true;
  next_look_ = now_;
  leases_.LookForLeftovers();
  kubelet_question_ = nullptr;
  dirty_ = true;
  published_at_ = base::TimePoint();  // at once
  for (const std::string& warning : list_->warnings) {
    if (std::count(known.begin(), known.end(), warning) == 0) base::Warn("list", {{"warning", warning}});
  }
  if (!same_hash) {
    base::Info(
        "list in force",
        {{"hash", list_->hash}, {"entries", list_->images.size()}, {"sources", list_->sources.size()}});
  }
}

void Agent::RuntimeFailed(const cri::CallError& error) {
  if (runtime_.up || runtime_.error.empty()) {
    base::Warn("runtime not reachable", {{"endpoint", options_.endpoint}, {"error", error.message}});
  }
  if (!runtime_down_since_) runtime_down_since_ = now_;
  dirty_ = dirty_ || runtime_.up || runtime_.error != error.message;
  runtime_.up = false;
  runtime_.error = error.message;
  look_in_full_ = true;
  base::Duration wait = kDownLookMin * (1 << std::min(failed_looks_, 4));
  next_look_ = now_ + std::min<base::Duration>(wait, kDownLookMax);
  failed_looks_++;
}

void Agent::On(LookDone event) {
  look_running_ = false;
  jobs_--;
  FoldCredentials(std::move(event.credentials));
  Look& look = event.look;
  // Also of a look that went wrong later, or for another list: the next one compares with this one.
  if (look.unlisted) FoldUnlisted(std::move(look.unlisted));
  bool another = look.connected &&
                 (runtime_.name != look.connected->name || runtime_.version != look.connected->version);
  if (look.connected) {
    runtime_.name = look.connected->name;
    runtime_.version = look.connected->version;
    runtime_.registries = look.connected->registries;
    queues_in_runtime_ = runtime_.name == "containerd" && AtLeast(runtime_.version, 2, 1);
    progress_supported_ = true;
    leases_.Reconnected();
    dirty_ = true;
  }
  FoldAccess();
  if (look.error) {
    RuntimeFailed(*look.error);
    return;
  }
  failed_looks_ = 0;
  next_look_ = now_ + kLookInterval;
  FoldDisk(look.disk);
  disk_path_ = look.disk_path;
  if (!runtime_.up || another) {
    base::Info("runtime reached",
               {{"endpoint", options_.endpoint}, {"runtime", runtime_.name}, {"version", runtime_.version}});
    dirty_ = true;
  }
  runtime_.up = true;
  runtime_.error.clear();
  runtime_ever_up_ = true;
  runtime_down_since_.reset();
  if (event.list_epoch != list_epoch_) {
    next_look_ = now_;
    return;
  }
  if (look.unchanged) return;
  look_in_full_ = false;
  std::span<Entry> all = entries_.listed();
  for (std::size_t i = 0; i < all.size(); i++) {
    if (event.sequence > all[i].trust_looks_after) {
      FoldLocal(all[i], std::move(look.locals[i]));
    } else {
      look_in_full_ = true;  // that the next answer is as this one would tell nothing of this entry
    }
  }
}

void Agent::FoldCredentials(credentials::KeyringHealth health) {
  if (health == credentials_) return;
  if (health.changes != credentials_.changes) {
    look_ups_.DropAll();
    for (Entry& entry : entries_.all()) {
      entry.past = plan::AfterNewCredentials(std::move(entry.past), now_);
      if (Asks(entry)) entry.fresh = plan::AfterNewCredentials(entry.fresh, now_);
    }
    if (touching_) touching_->News(entries_, now_);
  }
  if (health.problems != credentials_.problems) {
    for (const std::string& problem : health.problems) base::Err("credentials", {{"problem", problem}});
    if (health.problems.empty()) base::Info("credentials mended");
  }
  credentials_ = std::move(health);
  dirty_ = true;
}

void Agent::FoldUnlisted(std::shared_ptr<const plan::Unlisted> unlisted) {
  std::size_t before = unlisted_ ? unlisted_->images.size() : 0;
  unlisted_ = std::move(unlisted);
  dirty_ = true;
  if (unlisted_->images.size() <= before) return;
  base::Info("images came that are on no list",
             {{"count", unlisted_->images.size() - before}, {"newest", unlisted_->images.back().image}});
}

void Agent::FoldLocal(Entry& entry, std::optional<plan::Local> local) {
  bool had = entry.seen.local.has_value();
  if (entry.seen.known && entry.seen.local == local) return;
  dirty_ = true;
  if (had && !local) {
    published_at_ = base::TimePoint();  // what was said is not true any more
    entry.past = plan::AfterVanished(std::move(entry.past), now_);
    base::Warn("image vanished", {{"image", entry.want->reference.written()},
                                  {"imageRef", entry.seen.local->id},
                                  {"evictedAgainAndAgain", plan::IsEvictedAgainAndAgain(entry.past)}});
  }
  if (local && !had && entry.seen.known) {
    base::Info("image present", {{"image", entry.want->reference.written()}, {"imageRef", local->id}});
  }
  bool replaced = had && local && entry.seen.local->digest != local->digest;
  entry.seen.known = true;
  entry.seen.local = std::move(local);
  if (replaced && Asks(entry)) {
    entry.fresh = plan::AfterReplacedByOthers(entry.fresh, *entry.seen.local, now_);
  }
  ImageChanged(entry);
}

// The image under the entry's name is another one, or none.
void Agent::ImageChanged(Entry& entry) {
  if (!kubelet_) return;
  kubelet_question_ = nullptr;
  if (entry.seen.local) return;
  // What is not here needs no file to be judged.
  auto absent = std::make_shared<const kubelet::Verdicts>(kubelet::DecideVerdicts(
      {.image = entry.want->reference.written(), .image_id = "", .record = {}}, {}, {}));
  FoldVerdict(entry,
              plan::AfterReading(entry.verdict, {.verdicts = std::move(absent), .image_id = ""}, now_));
}

void Agent::FoldVerdict(Entry& entry, plan::HeldVerdict verdict) {
  plan::VerdictsPtr before = std::exchange(entry.verdict, std::move(verdict)).shown;
  const plan::VerdictsPtr& now = entry.verdict.shown;
  if (before == now) return;
  dirty_ = true;
  auto starts = [](const plan::VerdictsPtr& verdicts) {
    return verdicts && verdicts->never.result == kubelet::VerdictResult::kStarts;
  };
  bool about_this_image = entry.seen.local && entry.verdict.image_id == entry.seen.local->id;
  if (!about_this_image || (before && starts(before) == starts(now))) return;
  base::LogFields fields = {{"image", entry.want->reference.written()},
                            {"imageRef", entry.verdict.image_id},
                            {"verdict", kubelet::VerdictResultName(now->never.result)},
                            {"reason", kubelet::VerdictReasonName(now->never.reason)},
                            {"message", now->never.message}};
  if (!starts(now)) {
    published_at_ = base::TimePoint();  // what was said is not true any more
    base::Warn("image closed to pods", fields);
  } else if (before && before->never.reason != kubelet::VerdictReason::kImageAbsent) {
    base::Info("image open to pods", fields);
  }
}

void Agent::On(RecordsTouched event) {
  records_changed_.Add(std::move(event.changes));
}

void Agent::On(KubeletLooked event) {
  kubelet_look_running_ = false;
  kubelet_looked_ = true;
  jobs_--;
  KubeletLook& look = event.look;
  bool restarted = !kubelet_process_.empty() && kubelet_process_ != look.process;
  kubelet_process_ = look.process;
  if (restarted && touching_) touching_->KubeletRestarted(entries_, now_);
  records_replaced_ = look.reading.access == kubelet::RecordsAccess::kReplaced;
  if (*kubelet_ != look.status) {
    base::Info("kubelet",
               {{"version", look.status.version.empty() ? "unknown" : look.status.version},
                {"verification", look.status.verification.empty() ? "unknown" : look.status.verification},
                {"root", look.status.root},
                {"recordsReadable", look.status.records_readable.value_or(false)}});
    kubelet_ = std::move(look.status);
    if (kubelet_->gc && kubelet_->gc->maximum_age.count() > 0) {
      base::Warn("kubelet removes unused images by age", {{"imageMaximumGCAge", kubelet_->gc->maximum_age}});
    }
    limits_ = plan::WithThreshold(options_.limits, kubelet_->gc ? kubelet_->gc->low_percent : 0);
    dirty_ = true;
  }
  if (possible_kubelets_ != look.possible) {
    possible_kubelets_ = std::move(look.possible);
    if (touching_) touching_->News(entries_, now_);
    dirty_ = true;
  }
  if (kubelet_problems_ != look.problems) {
    for (const std::string& problem : look.problems) base::Warn("kubelet", {{"problem", problem}});
    kubelet_problems_ = std::move(look.problems);
    dirty_ = true;
  }
  if (look.reading.unchanged) return;
  const KubeletQuestion& question = *look.question;
  if (question.list_epoch != list_epoch_) return;  // the next look is due already
  for (std::size_t i = 0, next = 0; i < question.images.size(); i = next) {
    while (next < question.images.size() && question.entries[next] == question.entries[i]) next++;
    Entry& entry = entries_.all()[question.entries[i]];
    if (!entry.seen.local || entry.seen.local->id != question.images[i].image_id) continue;
    FoldVerdict(entry, plan::AfterReading(entry.verdict, SeenOf(look, i, next, entry.verdict), now_));
  }
}

void Agent::On(TouchStepped event) {
  jobs_--;
  touching_->Absorb(std::move(event.report), entries_, now_, parts_.clock.Wall());
}

void Agent::On(PullDone event) {
  jobs_--;
  dirty_ = true;
  std::optional<ActiveRun> run = entries_.TakeRun(event.name, event.run);
  if (run) metrics_.PullEnded(EndOf(*run, event.outcome, now_));
  Entry* entry = entries_.Find(event.name);
  if (!run || entry == nullptr) return;  // its entry is gone; its lease goes now
  entry->past.finished_at = parts_.clock.Wall();
  if (entry->runs.empty()) entry->past.room.kept = run->lease.empty() ? 0 : run->run.movement.bytes_done;
  if (event.outcome.success) {
    PullSucceeded(*entry, *run, std::move(event.outcome));
    return;
  }
  switch (run->ending) {
    case Ending::kNot:
      if (event.outcome.failure) PullFailed(*entry, *run, *event.outcome.failure);
      break;
    case Ending::kTimeUp:
      PullFailed(*entry, *run,
                 {.reason = plan::Reason::kTimeout, .error = "the pull did not end within its time"});
      break;
    case Ending::kNoRoom:
      entry->past.room.kept = 0;
      leases_.LetGo(LeaseFor(*entry));
      break;
    case Ending::kWaits:
    case Ending::kReplaced:
    case Ending::kNotWanted:
      break;
  }
}

void Agent::PullSucceeded(Entry& entry, const ActiveRun& run, PullOutcome outcome) {
  const plan::PullSuccess& success = *outcome.success;
  std::optional<plan::Local> before;
  if (plan::IsUsable(entry.seen, entry.past)) before = entry.seen.local;
  entry.past = plan::AfterSuccess(std::move(entry.past), success, now_);
  entry.past.room = plan::AfterSize(entry.past.room, run.run.movement.bytes_total);
  entry.seen.known = true;
  entry.seen.local = std::move(outcome.local);
  entry.trust_looks_after = look_sequence_;
  ImageChanged(entry);
  look_in_full_ = true;
  if (!run.lease.empty()) leases_.LetGo(run.lease);
  registries_.erase(entry.want->reference.domain());
  // Another pull of the same name has nothing left to do.
  for (ActiveRun& other : entry.runs) {
    other.ending = Ending::kReplaced;
    other.stop.request_stop();
  }
  base::LogFields fields = {{"image", entry.want->reference.written()},
                            {"imageRef", success.id},
                            {"pulledWith", plan::PulledWithName(success.with)},
                            {"took", now_ - run.run.started_at}};
  if (success.unpacked) {
    base::Info("image pulled", fields);
    FoldPulled(entry, before);
  } else {
    base::Warn("image pulled, but it is not unpacked", fields);
    PullFailed(entry, run,
               {.reason = plan::Reason::kNotUnpacked,
                .error = "the runtime says that it pulled the image, but it has not unpacked it"});
  }
}

void Agent::RegistryAnswered(const Entry& entry, plan::Reason reason) {
  const std::string& registry = entry.want->reference.domain();
  if (!IsRegistryTrouble(reason)) {
    if (reason == plan::Reason::kAccessDenied || reason == plan::Reason::kNotFound)
      registries_.erase(registry);
    return;
  }
  plan::RegistryHealth& health = registries_[registry];
  registry_trouble_[registry] = reason;
  health = plan::AfterRegistryFailure(health, reason == plan::Reason::kRateLimited, {}, now_, Random());
  if (reason == plan::Reason::kRateLimited && parts_.registry) {
    plan::RegistryPace& pace = paces_[registry];
    pace = plan::AfterHeldByPull(std::move(pace), health.not_before);
  }
}

// The runtime went away: may this pull be why? While a suspect was pulled nobody else is.
bool Agent::MayHaveEndedRuntime(const Entry& entry, const ActiveRun& run) {
  if (run.id >= collapse_.runs_before) {
    bool suspect_ran = std::any_of(entries_.all().begin(), entries_.all().end(), [](const Entry& one) {
      return !one.runs.empty() && plan::IsSuspect(one.past);
    });
    collapse_ = {.runs_before = next_run_, .suspect_ran = suspect_ran || plan::IsSuspect(entry.past)};
  }
  return !collapse_.suspect_ran || plan::IsSuspect(entry.past);
}

void Agent::PullFailed(Entry& entry, const ActiveRun& run, const plan::PullFailure& given) {
  if (given.reason == plan::Reason::kDiskFull && FilledDisk(entry, given.error)) return;
  plan::PullFailure failure = given;
  const bool runtime_down = given.reason == plan::Reason::kRuntimeDown;
  if (runtime_down && MayHaveEndedRuntime(entry, run)) {
    entry.past = plan::AfterRuntimeEnd(std::move(entry.past), given, now_, Random());
    failure = {.reason = *entry.past.last_failure, .error = entry.past.last_error, .retry_after = {}};
  } else {
    entry.past = plan::AfterFailure(std::move(entry.past), given, now_, Random());
  }
  FoldUpdateFailed(entry, failure);
  RegistryAnswered(entry, failure.reason);
  base::LogFields fields = {{"image", entry.want->reference.written()},
                            {"reason", plan::ReasonName(failure.reason)},
                            {"error", failure.error},
                            {"failures", entry.past.failures},
                            {"took", now_ - run.run.started_at}};
  if (entry.past.not_before == base::TimePoint::max()) {
    fields.emplace_back("retry", "not before the list changes");
  } else {
    fields.emplace_back("retryIn", std::max<base::Duration>(entry.past.not_before - now_, {}));
  }
  base::Warn("pull failed", fields);
  if (runtime_down) {
    // In doubt, not failed: nothing starts before the runtime has said what it has.
    RuntimeFailed({image::ErrorClass::kRuntimeDown, given.error});
    next_look_ = now_;
  }
  if (failure.reason == plan::Reason::kDiskFull) {
    hold_until_ = now_ + kDiskFullHold;
    DropKeptBytes();
  } else if (plan::IsForGood(failure.reason) && entry.past.settled) {
    entry.past.room.kept = 0;
    leases_.LetGo(LeaseFor(entry));
  }
}

void Agent::On(const ProgressSeen& event) {
  watch_running_ = false;
  jobs_--;
  if (event.unsupported) progress_supported_ = false;
  if (event.disk.known) FoldDisk(event.disk);
  bool any_active = std::any_of(event.pulls.begin(), event.pulls.end(),
                                [](const ProgressSeen::One& one) { return one.progress.active; });
  for (const ProgressSeen::One& one : event.pulls) {
    Entry* entry = entries_.Find(one.name);
    if (entry == nullptr) continue;
    for (ActiveRun& run : entry->runs) {
      if (run.id != one.run) continue;
      run.run.movement =
          plan::AfterProgress(run.run.movement, Facts(one.progress, queues_in_runtime_ && any_active), now_);
      entry->past.room = plan::AfterSize(entry->past.room, run.run.movement.bytes_total);
      dirty_ = true;
    }
  }
}

void Agent::On(const LookedUp& event) {
  jobs_--;
  dirty_ = true;
  if (look_ups_.Absorb(event, now_)) metrics_.CredentialsLookedUp(*event.lookup);
}

void Agent::On(const PullAsked& event) {
  Entry* entry = entries_.Find(event.reference.Normalized());
  if (entry == nullptr) {
    entry = entries_.Ask(event.reference, now_);
    if (entry == nullptr) return;  // who waits asks again
    base::Info("pull asked for", {{"image", event.reference.written()}});
  }
  entry->asked_at = std::max(entry->asked_at, event.looked_at);
  entry->asked_until = now_ + plan::kAskedFor;
  dirty_ = true;
  // It came, and was gone again when it was looked at; for entries of the list looks tell that.
  if (entry->on_list || !entry->seen.local || entry->past.pulled_at >= event.looked_at) return;
  entry->seen.local.reset();
  entry->past = plan::AfterVanished(std::move(entry->past), now_);
}

}  // namespace prefetch::agent
