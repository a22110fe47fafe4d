#include "agent/touching.h"

#include <algorithm>

#include "base/log.h"

namespace prefetch::agent {

namespace {

using plan::TouchNeed;
using plan::TouchObstacle;
using plan::TouchResult;

// kubelet's records report a success by themselves; polls of the pod only find what failed. The first one
// comes soon enough for an operator who waits, and later ones are rare enough for an API server that a
// thousand nodes ask at the same time.
constexpr std::chrono::milliseconds kFirstPodPoll{1000};
constexpr std::chrono::seconds kPodPollInterval{5};
// Time limit for deleting the touch pod at exit. The next start deletes a pod that remains.
constexpr std::chrono::milliseconds kPodDeleteTimeout{500};

// Returns the need of the judged pod that needs most.
TouchNeed NeedBy(const Entry& entry, const plan::EntryVerdicts& verdicts) {
  // The verdict must be about this content: for a moment after a pull, it is still about the old one.
  if (!verdicts.worst || entry.verdict.image_id != entry.touch_history->image_id) return TouchNeed::kNone;
  if (!verdicts.each) return plan::NeedOf(entry.desired, *verdicts.worst);
  TouchNeed most = TouchNeed::kNone;
  for (const plan::SpellingVerdicts& one : *verdicts.each) {
    most = std::max(most, plan::NeedOf(entry.desired, *one.verdicts));
  }
  return most;
}

// Returns the id of the entry's image if its verdicts are known and a touch could open it; else an empty
// string.
std::string TouchableId(const Entry& entry) {
  bool here = entry.applies() && entry.observed.local && entry.action.reason == plan::Reason::kPresent;
  return here ? entry.observed.local->id : "";
}

// The need by kubelet's files now. Readers may see an older verdict for a moment (plan/verdict_debounce.h).
TouchNeed NeedNow(const Entry& entry) {
  return NeedBy(entry, entry.verdict.newest);
}

// Returns the need of the pods of one spelling; none if the list has that spelling no more.
TouchNeed NeedNow(const Entry& entry, const image::Reference& spelling) {
  // A list that dropped this spelling while the pod ran makes its result irrelevant.
  if (!plan::IsSpelled(entry.desired, spelling.written())) return TouchNeed::kNone;
  if (!entry.verdict.newest.each) return NeedNow(entry);
  TouchNeed most = TouchNeed::kNone;
  for (const plan::SpellingVerdicts& one : *entry.verdict.newest.each) {
    if (one.image == spelling.written()) most = std::max(most, NeedBy(entry, {one.verdicts}));
  }
  return most;
}

// Returns true if the times differ by less than a second. The two clocks are not read at the same moment, so
// such a difference is no news.
bool IsTheSameTime(const std::optional<base::WallTime>& a, const std::optional<base::WallTime>& b) {
  if (!a || !b) return false;
  return std::chrono::abs(*a - *b) < std::chrono::seconds(1);
}

// Returns the obstacle that makes a touch of this entry pointless, if there is one.
std::optional<TouchResult> FindObstacle(const Entry& entry, const TouchContext& context) {
  if (!context.records_note.empty()) {
    return TouchResult{TouchObstacle::kRecordsNeverMatch, context.records_note};
  }
  // kubelet would pull with the node's credentials or with none, so a touch would fail where a mounted pull
  // secret was needed.
  bool exposed = entry.history.pulled_id == entry.touch_history->image_id && entry.history.origin.exposed;
  if (!exposed) return std::nullopt;
  return TouchResult{TouchObstacle::kPullSecret, "the agent pulled it with \"" +
                                                     entry.history.origin.credential +
                                                     "\", a credential that kubelet does not have"};
}

// Makes entry.touch_history describe the content that the entry has now, or none.
void SyncHistory(Entry& entry, base::TimePoint now) {
  const std::string id = TouchableId(entry);
  const plan::TouchHistory& past = *entry.touch_history;
  const std::string& about = past.image_id.empty() ? past.paused_image_id : past.image_id;
  // While the same content is only being pulled again, say, its failures must go on counting: otherwise each
  // pull would start three more touches.
  const bool still_there = id.empty() && entry.observed.local && entry.observed.local->id == about;
  if (id == past.image_id && (past.paused_image_id.empty() || still_there)) return;
  entry.touch_history = still_there ? plan::PauseTouch(past) : plan::ForContent(past, id, now);
}

}  // namespace

Entry* Touching::EntryOf(const Part& part) const {
  Entry* entry = entries_.Find(part.name);
  // The entry may have got other content since the pod was created; a result about the old content says
  // nothing about it.
  return entry != nullptr && entry->touch_history->image_id == part.image_id ? entry : nullptr;
}

bool Touching::InPod(const Entry& entry) const {
  auto has = [&](const std::vector<Part>& parts) {
    return std::ranges::any_of(parts, [&](const Part& part) {
      return part.name == entry.name() && part.image_id == entry.touch_history->image_id;
    });
  };
  return has(creating_) || (pod_ && has(pod_->parts));
}

// StartCall decides by the states that Review has set, and changes some of them: an entry becomes "running".
// The second Review shows that in this turn's Snapshot.
void Touching::StartIfDue(TouchContext context) {
  context_ = std::move(context);
  const base::WallTime wall = loop_.Wall();
  Review(wall);
  StartCall();
  Review(wall);
}

// Sets the touch state of each entry from its verdict, its history and the obstacles. It starts nothing.
void Touching::Review(base::WallTime wall) {
  const base::TimePoint now = loop_.now();
  next_change_ = base::TimePoint::max();
  for (Entry& entry : entries_.all()) {
    SyncHistory(entry, now);
    TouchNeed shown = NeedBy(entry, entry.verdict.shown);
    // A kubelet that may not verify at all would never close the image, so there is nothing to keep open.
    if (shown == TouchNeed::kKeepOpen && !context_.kubelet_verifies) shown = TouchNeed::kNone;
    if (shown != TouchNeed::kNone && entry.touch_history->failures < plan::kTouchesWithoutEffect) {
      if (auto obstacle = FindObstacle(entry, context_)) {
        entry.touch_history = plan::AfterTouch(entry.touch_history, *obstacle, now, wall, 0);
      }
    }
    // kubelet's files are open already, and the verdict is only held back (plan/verdict_debounce.h). The
    // touch counts as running until readers see it.
    bool about_to_be_reported = shown != TouchNeed::kNone && NeedNow(entry) == TouchNeed::kNone;
    plan::TouchStatus status = plan::StatusOf({.need = shown,
                                               .running = InPod(entry) || about_to_be_reported,
                                               .past = entry.touch_history,
                                               .pod_health = pod_health_},
                                              now, wall);
    // These two states end by time alone, so the loop must be woken for them.
    const bool has_time =
        status.state == plan::TouchState::kWaiting || status.state == plan::TouchState::kIneffective;
    if (has_time && entry.touch_history->not_before > now) {
      next_change_ = std::min(next_change_, entry.touch_history->not_before);
    }
    // Otherwise the small difference of the clocks would make a new Snapshot in every turn.
    if (IsTheSameTime(status.next_attempt_at, entry.touch_status->next_attempt_at)) {
      status.next_attempt_at = entry.touch_status->next_attempt_at;
    }
    if (status == *entry.touch_status) continue;
    entry.touch_status = std::move(status);
    loop_.Changed();
  }
}

std::vector<Touching::DuePart> Touching::Due() const {
  std::vector<DuePart> due;
  const std::vector<Entry>& all = entries_.all();
  for (std::size_t i = 0; i < all.size(); i++) {
    const Entry& entry = all[i];
    // Ineffective touches are tried too, when their own time or that of the common obstacle has come.
    const bool wanted = entry.touch_status->state == plan::TouchState::kDue ||
                        entry.touch_status->state == plan::TouchState::kIneffective;
    if (!wanted || entry.touch_history->not_before > loop_.now() || NeedNow(entry) == TouchNeed::kNone)
      continue;
    for (image::Reference& spelling : plan::SpellingsOf(entry.desired)) {
      TouchNeed need = NeedNow(entry, spelling);
      if (need == TouchNeed::kNone) continue;
      plan::TouchCandidate candidate{
          .entry = due.size(),
          .need = need,
          .priority = entry.desired->priority,
          .failures = entry.touch_history->failures + entry.touch_history->transient_failures};
      due.push_back({i, std::move(spelling), candidate});
    }
  }
  return due;
}

void Touching::Begin() {
  std::vector<DuePart> due = Due();
  if (due.empty()) {
    due_since_.reset();
    return;
  }
  if (!due_since_) due_since_ = loop_.now();
  // Images that are still being pulled may share the pod: one pod for twenty images costs the API server as
  // much as one for a single image.
  bool full = due.size() >= plan::kMostImagesOfATouch;
  if (!full && context_.more_to_come && loop_.now() - *due_since_ < plan::kTouchBatchDelay) return;
  due_since_.reset();
  std::vector<TouchPods::Target> images;
  std::vector<plan::TouchCandidate> candidates;
  for (const DuePart& part : due) candidates.push_back(part.candidate);
  for (std::size_t i : plan::NextTouch(std::move(candidates), pods_.MaxFailures())) {
    const Entry& entry = entries_.all()[due[i].entry];
    // The report names images by their index in the request only.
    creating_.push_back({entry.name(), entry.touch_history->image_id, due[i].reference});
    images.push_back({due[i].reference, due[i].candidate.need == TouchNeed::kKeepOpen});
  }
  // The pod before may still be terminating under its own name.
  slot_ = (slot_ + 1) % kube::kTouchPodNames;
  Submit([this, images = std::move(images),
          slot = slot_](const base::Call& call) { return pods_.Begin(call, images, slot); },
         [this](TouchBegun report) { ApplyBegun(std::move(report)); });
}

template <typename Job, typename Apply>
void Touching::Submit(Job job, Apply apply) {
  busy_ = true;
  loop_.Submit(
      worker_, "TouchCallDone", [job = std::move(job), call = loop_.JobCall()] { return job(call); },
      [this, apply = std::move(apply)](auto report) {
        busy_ = false;
        apply(std::move(report));
      });
}

// The life of a pod, one call at a time: sweep what a previous agent left, begin, look until it is over, end,
// wait for the verdicts, conclude.
void Touching::StartCall() {
  if (busy_) return;
  if (pod_) {
    // Verdicts may have opened since the last poll, which ends the pod without another call.
    EvaluatePod();
    if (pod_->ended_at == base::TimePoint::max()) {
      if (loop_.now() < pod_->next_poll) return;
      std::vector<image::Reference> images;
      for (const Part& part : pod_->parts) images.push_back(part.reference);
      return Submit([this, images = std::move(images), name = pod_->name, uid = pod_->uid](
                        const base::Call& call) { return pods_.Observe(call, name, uid, images); },
                    [this](TouchObserved report) { ApplyObserved(std::move(report)); });
    }
    // The pod is deleted first. Verdicts that its end leaves open are awaited afterwards.
    if (!pod_->deleted) {
      return Submit([this, name = pod_->name,
                     uid = pod_->uid](const base::Call& call) { return pods_.End(call, name, uid); },
                    [this](bool deleted) {
                      // Even if the deletion failed: a sweep repeats it before the next pod.
                      if (pod_) pod_->deleted = true;
                      if (!deleted) swept_ = false;
                    });
    }
    if (!VerdictsSettled()) return;
    Conclude();
  }
  // An obstacle to all pods holds every touch.
  if (pod_health_.not_before > loop_.now()) return;
  if (swept_) return Begin();
  // Nothing is created before all leftovers are gone: a pod of ours under the same name would be a conflict.
  Submit([this](const base::Call& call) { return pods_.Sweep(call); },
         [this](const TouchResult& failed) {
           swept_ = failed.obstacle == TouchObstacle::kNone;
           if (!swept_) ReportFailure(failed);
         });
}

// Records an obstacle that every touch pod of this node would meet.
void Touching::ReportFailure(const TouchResult& result) {
  bool news = pod_health_.obstacle != result.obstacle || pod_health_.why != result.why;
  bool was_hopeless = plan::IsLongObstacle(pod_health_);
  pod_health_ = plan::AfterPod(pod_health_, result, loop_.now(), loop_.Random());
  metrics_.Add("prefetchd_touch_pods_total", 1, {result.obstacle});
  // An obstacle that lasts is logged once, and again when the agent gives up its quick retries.
  if (!news && was_hopeless == plan::IsLongObstacle(pod_health_)) return;
  base::Warn(plan::IsLongObstacle(pod_health_) ? "touches paused" : "touch failed",
             {{"obstacle", base::EnumName(result.obstacle)},
              {"error", result.why},
              {"retryIn", pod_health_.not_before - loop_.now()}});
}

void Touching::ApplyBegun(TouchBegun report) {
  std::vector<Part> parts = std::exchange(creating_, {});
  std::vector<bool> in(parts.size(), true);
  for (auto& [index, result] : report.left_out) {
    in[index] = false;
    Entry* entry = EntryOf(parts[index]);
    // Counted and logged once an entry: all its spellings share a registry, and so its obstacles.
    if (entry == nullptr || !IsFirst(parts, index)) continue;
    metrics_.Add("prefetchd_touches_total", 1, {result.obstacle});
    base::Warn("image not touched", {{"image", entry->desired->reference.written()},
                                     {"obstacle", base::EnumName(result.obstacle)},
                                     {"error", result.why}});
    entry->touch_history =
        plan::AfterTouch(entry->touch_history, result, loop_.now(), loop_.Wall(), loop_.Random());
  }
  // The answer to the call may have been lost after the pod was created.
  if (report.pod_may_exist) swept_ = false;
  if (report.failed.obstacle != TouchObstacle::kNone) {
    ReportFailure(report.failed);
    return;
  }
  if (report.uid.empty()) return;  // every image of it was left out
  Pod pod{.name = std::move(report.name), .uid = std::move(report.uid)};
  for (std::size_t i = 0; i < parts.size(); i++) {
    if (!in[i]) continue;
    if (Entry* entry = EntryOf(parts[i]); entry != nullptr && IsFirst(parts, i)) {
      entry->touch_history.Change([](plan::TouchHistory& touch) { touch.attempts++; });
    }
    pod.parts.push_back(parts[i]);
  }
  pod.created_at = pod.changed_at = loop_.now();
  pod.next_poll = loop_.now() + kFirstPodPoll;
  pod.poll_interval = kFirstPodPoll;
  base::Info("touch pod created", {{"pod", pod.name}, {"images", pod.parts.size()}});
  pod_ = std::move(pod);
}

void Touching::ApplyObserved(TouchObserved report) {
  if (!pod_) return;
  // Most pods are through within seconds; a pod that takes longer is asked about less often.
  pod_->poll_interval = std::min<base::Duration>(pod_->poll_interval * 3 / 2, kPodPollInterval);
  pod_->next_poll = loop_.now() + pod_->poll_interval;
  if (report.failed.obstacle != TouchObstacle::kNone) {
    // kubelet goes on without the API server; only a pod whose status cannot be read is given up.
    bool late = loop_.now() - pod_->created_at >= plan::kTouchLimit;
    if (!late) return;
    pod_->evaluation = {.over = true, .pod = std::move(report.failed), .images = {}};
    return;
  }
  bool moved = report.pod.phase != pod_->seen.phase;
  // Judged without its age first, only to see whether anything has moved since the last poll. The second
  // judgement needs the result, since it counts the time without a move.
  plan::PodEvaluation evaluation = plan::EvaluatePod(report.pod, {}, {});
  for (std::size_t i = 0; i < evaluation.images.size(); i++) {
    moved = moved || i >= pod_->evaluation.images.size() ||
            evaluation.images[i].outcome != pod_->evaluation.images[i].outcome;
  }
  if (moved) pod_->changed_at = loop_.now();
  pod_->seen = std::move(report.pod);
  pod_->evaluation =
      plan::EvaluatePod(pod_->seen, loop_.now() - pod_->changed_at, loop_.now() - pod_->created_at);
}

// A pod is over when the verdicts of all its images are open, or when its status shows that nothing more will
// come.
void Touching::EvaluatePod() {
  if (pod_->ended_at != base::TimePoint::max()) return;
  bool all_open = std::ranges::all_of(pod_->parts, [&](const Part& part) {
    const Entry* entry = EntryOf(part);
    // An entry that is gone, or has other content, must not hold up the pod.
    return entry == nullptr || NeedNow(*entry, part.reference) == TouchNeed::kNone;
  });
  if (all_open || pod_->evaluation.over) pod_->ended_at = loop_.now();
}

void Touching::ConditionsChanged() {
  for (Entry& entry : entries_.all())
    entry.touch_history = plan::AfterConditionsChanged(entry.touch_history, loop_.now());
}

void Touching::KubeletRestarted() {
  for (Entry& entry : entries_.all())
    entry.touch_history = plan::AfterKubeletRestart(entry.touch_history, loop_.now());
  pod_health_ = plan::AfterKubeletRestart(pod_health_, loop_.now());
}

void Touching::DeletePodAtExit() {
  loop_.Check();
  if (pod_ || busy_) pods_.Sweep(base::Call().Within(kPodDeleteTimeout));
}

base::TimePoint Touching::NextTurn() const {
  loop_.Check();
  // The report of the call under way wakes the loop.
  if (busy_) return base::TimePoint::max();
  if (pod_) {
    if (pod_->ended_at == base::TimePoint::max()) return pod_->next_poll;
    return pod_->deleted ? pod_->ended_at + plan::kTouchStableAfter : loop_.now();
  }
  base::TimePoint next = next_change_;
  if (!swept_) next = std::min(next, pod_health_.not_before);
  if (pod_health_.not_before > loop_.now()) next = std::min(next, pod_health_.not_before);
  if (due_since_) next = std::min<base::TimePoint>(next, *due_since_ + plan::kTouchBatchDelay);
  return next;
}

// The end of a touch pod: the result for each of its images.

// Returns true if no verdict can still change because of this pod.
bool Touching::VerdictsSettled() const {
  // A changed verdict is held for 3 s. After twice that, a verdict that has not opened stays closed.
  if (loop_.now() - pod_->ended_at >= plan::kTouchStableAfter) return true;
  for (std::size_t i = 0; i < pod_->parts.size(); i++) {
    const Entry* entry = EntryOf(pod_->parts[i]);
    if (entry == nullptr || NeedNow(*entry, pod_->parts[i].reference) == TouchNeed::kNone) continue;
    bool failed = pod_->evaluation.pod.obstacle != TouchObstacle::kNone ||
                  (i < pod_->evaluation.images.size() &&
                   pod_->evaluation.images[i].outcome == plan::ContainerOutcome::kFailed);
    if (!failed) return false;
  }
  return true;
}

TouchResult Touching::ResultFor(const Entry& entry, std::size_t part) const {
  // The verdict comes before the pod's own status: only kubelet's records open an image.
  if (NeedNow(entry, pod_->parts[part].reference) == TouchNeed::kNone) return {};
  if (part < pod_->evaluation.images.size()) {
    const plan::ContainerEvaluation& evaluation = pod_->evaluation.images[part];
    if (evaluation.outcome == plan::ContainerOutcome::kFailed) return evaluation.result;
    if (evaluation.outcome == plan::ContainerOutcome::kPulled)
      return {TouchObstacle::kNotRecorded, "kubelet ran the touch pod, and its records did not change"};
  }
  return {TouchObstacle::kPullFailed, "kubelet did not finish with it within the touch pod's time"};
}

bool Touching::IsOpen(const Entry& entry, std::size_t part) const {
  return ResultFor(entry, part).obstacle == TouchObstacle::kNone;
}

std::size_t Touching::DecisivePart(const Entry& entry, std::size_t first) const {
  // An entry is open only if all its spellings are, so the first that is not decides.
  for (std::size_t i = first; i < pod_->parts.size(); i++) {
    if (pod_->parts[i].name == entry.name() && !IsOpen(entry, i)) return i;
  }
  return first;
}

bool Touching::IsFirst(const std::vector<Part>& parts, std::size_t part) {
  auto end = parts.begin() + static_cast<std::ptrdiff_t>(part);
  return std::none_of(parts.begin(), end, [&](const Part& one) { return one.name == parts[part].name; });
}

void Touching::Conclude() {
  bool any_open = false;
  bool whole_pod_failed = pod_->evaluation.pod.obstacle != TouchObstacle::kNone;
  for (std::size_t i = 0; i < pod_->parts.size(); i++) {
    Entry* entry = EntryOf(pod_->parts[i]);
    if (entry == nullptr) continue;
    any_open = any_open || IsOpen(*entry, i);
    if (!IsFirst(pod_->parts, i)) continue;
    std::size_t decisive = DecisivePart(*entry, i);
    TouchResult result = ResultFor(*entry, decisive);
    bool opened = result.obstacle == TouchObstacle::kNone;
    // The failure is the pod's, and counted once below. Counted for each image, three failures of the API
    // server would give up every image.
    if (!opened && whole_pod_failed) continue;
    entry->touch_history =
        plan::AfterTouch(entry->touch_history, result, loop_.now(), loop_.Wall(), loop_.Random());
    metrics_.Add("prefetchd_touches_total", 1, {result.obstacle});
    base::LogFields fields = {{"image", pod_->parts[decisive].reference.written()},
                              {"imageRef", entry->touch_history->image_id},
                              {"took", loop_.now() - pod_->created_at}};
    if (opened) {
      base::Info("image touched", fields);
      continue;
    }
    fields.emplace_back("obstacle", base::EnumName(result.obstacle));
    fields.emplace_back("error", result.why);
    fields.emplace_back("failures", entry->touch_history->failures);
    base::Warn("touch had no effect", fields);
  }
  // If even one image opened, kubelet did work on the pod, so there is no obstacle to all.
  if (whole_pod_failed && !any_open) {
    ReportFailure(pod_->evaluation.pod);
  } else {
    pod_health_ = plan::AfterPod(pod_health_, {}, loop_.now(), 0);
    metrics_.Add("prefetchd_touch_pods_total", 1, {TouchObstacle::kNone});
  }
  pod_.reset();
}

}  // namespace prefetch::agent
