#include "plan/image_readiness.h"

#include <cstdlib>

#include "base/text.h"

namespace prefetch::plan {

namespace {

std::string Progress(const ObservedProgress& progress) {
  if (!progress.seen) return "the pull has started";
  if (progress.bytes_total == 0) return base::HumanBytes(progress.bytes_done) + " so far";
  std::string text = base::HumanBytes(progress.bytes_done) + " of " + base::HumanBytes(progress.bytes_total);
  if (progress.bytes_per_second >= 1) {
    text += ", " + base::HumanBytes(static_cast<std::uint64_t>(progress.bytes_per_second)) + "/s";
  }
  return text;
}

constexpr const char* kNoLabels =
    "the entry has a nodeSelector, and the agent cannot read the labels of its Node: let it (kubeApi), or "
    "remove the "
    "nodeSelector";

std::string NoDiskSpace(const EntryFacts& facts) {
  const std::uint64_t usable = Usable(facts.disk, facts.limits);
  std::string text = "the disk rule leaves " +
                     (usable == 0 ? std::string("nothing") : base::HumanBytes(usable)) +
                     " to images: " + DecidingLimit(facts.disk, facts.limits);
  const std::uint64_t needed = ReservationOfDue(facts.entry.history.disk).min_space;
  return needed == 0 ? text : "it needs at least " + base::HumanBytes(needed) + ", and " + text;
}

std::string WindowMessage(const EntryFacts& facts) {
  std::vector<std::string> windows;
  for (const PullWindow& window : facts.entry.desired->pull_windows) windows.push_back(TextOf(window));
  std::string text = "waits for its pullWindow (" + base::Join(windows, "; ") + ")";
  if (facts.entry.window_opens) text += ", which opens at " + base::Rfc3339(*facts.entry.window_opens);
  return text;
}

}  // namespace

std::string ObstacleMessage(Reason obstacle, const Local& local) {
  if (obstacle == Reason::kNotAnImage) {
    return "the runtime has an OCI artifact under this name: no container starts from it";
  }
  if (obstacle == Reason::kNotUnpacked)
    return "the runtime lists it, but has not unpacked it: it may be no image";
  return "the runtime's image of this name is for " + local.platform +
         ": push it for this node's platform too";
}

namespace {

// Returns the message of a reason, for entries without a better error text.
std::string MessageFor(Reason reason, const EntryFacts& facts) {
  switch (reason) {
    case Reason::kPresent:
      return "on the node";
    case Reason::kPolicyAlways:
      return "pods with Always contact the registry, and this agent asks no registry";
    case Reason::kOtherPlatform:
      return "the entry is for other platforms than this node's";
    case Reason::kNotSelected:
      return "the entry's nodeSelector does not match this node's labels";
    case Reason::kFactsUnknown:
      return "the container runtime has not answered yet";
    case Reason::kImageAbsent:
      return "not on the node yet";
    case Reason::kQueued:
      if (facts.looking_up) return "waits for its credentials";
      return facts.entry.waits_for_disk_space
                 ? "waits for room on the disk: running pulls may need what is left of it"
                 : "waits for its turn";
    case Reason::kOutsidePullWindow:
      return WindowMessage(facts);
    case Reason::kPulling:
      return facts.progress != nullptr ? Progress(*facts.progress) : "the pull has started";
    case Reason::kUnpacking:
      return "all bytes are here, the runtime unpacks them";
    case Reason::kDiskPressure:
      return NoDiskSpace(facts);
    case Reason::kWrongPlatform:
    case Reason::kNotAnImage:
    case Reason::kNotUnpacked:
      return ObstacleMessage(reason,
                             facts.entry.observed.local.value_or(Local{.platform = "another platform"}));
    case Reason::kEvictedByKubelet:
      return "removed from the node again and again, most likely by kubelet's image garbage collection: "
             "give the image filesystem more room, or shorten the list";
    default:  // the others come with a text of their own, or are the node's
      return std::string(base::EnumName(reason));
  }
}

// Returns what keeps the first try of an image, or the next one of a failed image, from starting.
std::string HoldMessage(Reason held, bool has_failed) {
  const std::string name(base::EnumName(held));
  const std::string waits = has_failed ? "the next try waits" : "waits";
  if (held == Reason::kDiskFull) return waits + " until the disk has room again (" + name + ")";
  const std::string too = has_failed ? ", too" : "";
  return waits + ", since the registry has trouble with other images" + too + " (" + name + ")";
}

// The failure that an operator can act on while the entry waits for its window; none: only the window holds
// it. Evictions are no failed pulls, and do not count as such.
std::optional<Reason> FailureBeforeWindow(const EntryFacts& facts) {
  const History& past = facts.entry.history;
  const bool evicted = past.last_failure == Reason::kEvictedByKubelet && !facts.entry.observed.local;
  return past.failures > 0 || evicted ? past.last_failure : std::nullopt;
}

bool OnlyAwaitsWindow(const EntryFacts& facts) {
  return facts.entry.action.reason == Reason::kOutsidePullWindow && !FailureBeforeWindow(facts);
}

PullStatus PullOf(const EntryFacts& facts, base::TimePoint now, base::WallTime wall) {
  const History& past = facts.entry.history;
  PullStatus pull;
  pull.attempts = past.attempts;
  pull.started_at = past.started_at;
  pull.finished_at = past.finished_at;
  pull.last_error = past.last_error;
  pull.retry_requested_at = past.retry_requested_at;
  pull.lacked_credential = past.lacked_credential;
  if (facts.progress != nullptr) {
    const ObservedProgress& progress = *facts.progress;
    pull.state = progress.unpacking ? PullState::kUnpacking : PullState::kPulling;
    pull.bytes_known = progress.seen;
    pull.bytes_done = progress.bytes_done;
    pull.bytes_total = progress.bytes_total;
    pull.bytes_per_second = progress.bytes_per_second;
    pull.finished_at.reset();
    return pull;
  }
  const auto wall_of = [&](base::TimePoint at) {
    return wall + std::chrono::duration_cast<base::WallTime::duration>(at - now);
  };
  switch (facts.entry.action.kind) {
    case ActionKind::kKeep:
      pull.state = facts.entry.action.reason == Reason::kWrongPlatform ? PullState::kFailed
                   : past.pulled_id.empty()                            ? PullState::kNone
                                                                       : PullState::kDone;
      break;
    case ActionKind::kPull:
      pull.held = facts.entry.hold.has_value();
      pull.state = pull.held && past.failures > 0 ? PullState::kWaiting : PullState::kQueued;
      if (pull.held) pull.next_attempt_at = wall_of(facts.entry.hold->until);
      break;
    case ActionKind::kWait:
      if (facts.entry.action.reason == Reason::kFactsUnknown) {
        pull.state = PullState::kNone;
      } else if (facts.entry.action.until == base::TimePoint::max()) {
        pull.state = PullState::kFailed;
      } else {
        // A closed window is no failure: metrics and alerts must not count a retry.
        pull.state = !OnlyAwaitsWindow(facts)                                    ? PullState::kWaiting
                     : IsUsable(facts.entry.observed) && !past.pulled_id.empty() ? PullState::kDone
                                                                                 : PullState::kNone;
        pull.next_attempt_at = wall_of(facts.entry.action.until);
      }
      break;
  }
  return pull;
}

// Returns true if another try is not worth waiting for. `reason` is that of the state.
bool IsNotWorthWaitingFor(const EntryFacts& facts, Reason reason) {
  return facts.entry.no_disk_space || facts.entry.action.kind == ActionKind::kKeep ||
         reason == Reason::kEvictedByKubelet || IsNotWorthWaitingFor(facts.entry.history);
}

// Reason and phase of an entry that is not on the node as it should be.
void EvaluateAbsent(const EntryFacts& facts, ImageState& state) {
  const std::optional<Hold>& hold = facts.entry.hold;
  if (facts.progress != nullptr) {
    state.reason = facts.progress->unpacking ? Reason::kUnpacking : Reason::kPulling;
    state.phase = Phase::kProgressing;
  } else if (facts.entry.no_disk_space) {
    state.reason = Reason::kDiskPressure;
    state.phase = Phase::kFailing;
  } else if (facts.entry.action.kind == ActionKind::kPull) {
    // The entry's own failure comes first: the trouble of other images at its registry is not why it failed.
    const bool has_failed = facts.entry.history.failures > 0;
    state.reason = has_failed ? *facts.entry.history.last_failure : hold ? hold->reason : Reason::kQueued;
    state.phase = hold || has_failed ? Phase::kFailing : Phase::kProgressing;
  } else if (OnlyAwaitsWindow(facts)) {
    state.reason = facts.entry.action.reason;
    state.phase = Phase::kProgressing;
  } else {
    const bool outside = facts.entry.action.reason == Reason::kOutsidePullWindow;
    state.reason = outside ? *FailureBeforeWindow(facts) : facts.entry.action.reason;
    state.phase = state.reason == Reason::kFactsUnknown ? Phase::kProgressing : Phase::kFailing;
  }
  // An entry that was ready once has settled in its history. If its image is gone and can come back, it is
  // worth waiting for again.
  if (state.phase == Phase::kFailing && !IsNotWorthWaitingFor(facts, state.reason)) state.settled = false;
  // The last error is only shown with the reason that it explains. An eviction has a fixed sentence with the
  // cure.
  bool error_says_it = state.phase == Phase::kFailing && !facts.entry.history.last_error.empty() &&
                       facts.entry.history.last_failure == state.reason &&
                       state.reason != Reason::kEvictedByKubelet;
  const bool is_held = facts.entry.action.kind == ActionKind::kPull && facts.progress == nullptr && hold;
  const bool held_alone = is_held && facts.entry.history.failures == 0 && hold->reason == state.reason;
  state.message = error_says_it ? facts.entry.history.last_error
                  : held_alone  ? HoldMessage(hold->reason, false)
                                : MessageFor(state.reason, facts);
  if (is_held && hold->reason != state.reason) state.message += "; " + HoldMessage(hold->reason, true);
  if (facts.entry.action.reason == Reason::kOutsidePullWindow && state.reason != Reason::kOutsidePullWindow) {
    state.message += "; the next try " + WindowMessage(facts);
  }
}

// An image that is closed to pods shows what its touch has come to: on its way, or given up.
void EvaluateTouch(const TouchStatus& touch, ImageState& state) {
  bool given_up = touch.state == TouchState::kIneffective;
  bool under_way = touch.state == TouchState::kDue || touch.state == TouchState::kRunning ||
                   touch.state == TouchState::kWaiting;
  if (!given_up && !under_way) return;
  state.reason = given_up ? Reason::kTouchIneffective : Reason::kTouching;
  state.phase = given_up ? Phase::kFailing : Phase::kProgressing;
  if (given_up) {
    state.message += " Touching it does not help: " + touch.why + ".";
  } else if (touch.state == TouchState::kWaiting && !touch.why.empty()) {
    state.message += " A touch had no effect and is repeated: " + touch.why + ".";
  } else {
    state.message += " kubelet is being asked to record it for every pod of the node (a touch).";
  }
}

// Judges a present, usable image by kubelet's verdict.
void EvaluateVerdict(const EntryFacts& facts, ImageState& state) {
  // The runtime has the image, so a verdict of absence is older than the image, and says nothing.
  const VerdictsPtr& verdicts = facts.entry.verdict.shown.worst;
  if (!verdicts || verdicts->never.reason == kubelet::VerdictReason::kImageAbsent) {
    state.verdicts = nullptr;
    state.spellings = nullptr;
    state.reason = Reason::kFactsUnknown;
    state.message = "kubelet's verdict is not known yet";
    return;
  }
  image::PullPolicy policy = facts.entry.desired->ready_for;
  // For pods with Always, the registry decides the rest: EvaluateRegistry takes `ready` back unless it
  // agrees.
  const bool registry_decides = policy == image::PullPolicy::kAlways && !facts.entry.desired->also_for_never;
  // The verdict for Never is the stricter one: such a pod may not fall back on a pull.
  if (facts.entry.desired->also_for_never) policy = image::PullPolicy::kNever;
  if (policy == image::PullPolicy::kAlways) policy = image::PullPolicy::kIfNotPresent;
  state.ready = registry_decides || IsReadyFor(state, policy, true);
  state.phase = state.ready ? Phase::kReady : Phase::kFailing;
  const kubelet::Verdict& verdict = verdicts->For(policy);
  state.reason = ReasonFor(verdict.reason);
  state.message = verdict.message;
  if (facts.learning && state.reason == Reason::kFactsUnknown) {
    state.phase = Phase::kProgressing;
    state.message = "the agent is still reading this node's kubelet settings";
  }
  if (!state.ready) EvaluateTouch(facts.entry.touch_status, state);
}

// Applies the registry's objections to a present image that kubelet lets pods use.
void EvaluateRegistry(const EntryFacts& facts, ImageState& state) {
  const RegistryView& registry_view = *state.registry;
  bool for_always = facts.entry.desired->ready_for == image::PullPolicy::kAlways;
  if (!state.ready || (facts.entry.refresh.ready && (!for_always || registry_view.agrees))) return;
  state.ready = false;
  state.reason = facts.entry.refresh.ready ? registry_view.always_reason : registry_view.reason;
  state.message = facts.entry.refresh.ready ? registry_view.always_message : registry_view.message;
  // A first answer, or a running update, comes without any action of an operator.
  bool on_its_way = state.reason == Reason::kNotChecked || state.reason == Reason::kTagMissingUnconfirmed ||
                    (facts.entry.refresh.pull && facts.entry.history.failures == 0);
  state.phase = on_its_way ? Phase::kProgressing : Phase::kFailing;
}

// The image is here as it should be.
void EvaluateUsable(const EntryFacts& facts, ImageState& state) {
  state.usable = true;
  if (facts.has_kubelet) {
    EvaluateVerdict(facts, state);
  } else {
    state.ready = true;
    state.phase = Phase::kReady;
    state.reason = Reason::kPresent;
    state.message = MessageFor(state.reason, facts);
  }
  if (state.registry) {
    EvaluateRegistry(facts, state);
  } else if (state.ready && facts.entry.desired->ready_for == image::PullPolicy::kAlways) {
    state.ready = false;
    state.phase = Phase::kFailing;
    state.reason = Reason::kPolicyAlways;
    state.message = MessageFor(state.reason, facts);
  }
  if (facts.entry.action.reason == Reason::kOutsidePullWindow && facts.progress == nullptr) {
    state.message += "; an update " + WindowMessage(facts);
  }
}

}  // namespace

void SetLocal(const Local& local, ImageState& state) {
  state.image_id = local.id;
  state.digest = local.digest;
  state.other_digests = local.other_digests;
  state.size_bytes = local.size_bytes;
  state.aliases = local.aliases;
  state.pinned = local.pinned;
}

PresenceVerdict VerdictWithoutKubelet(const ImageState& image, image::PullPolicy policy) {
  using kubelet::VerdictResult;
  if (policy == image::PullPolicy::kAlways) return {VerdictResult::kPulls, Reason::kPolicyAlways};
  if (image.usable) return {VerdictResult::kStarts, Reason::kPresent};
  // The image may be here: the runtime has not reported it yet.
  if (IsUnknown(image.reason)) return {};
  // IfNotPresent pulls an image that is not usable, where Never fails.
  return {policy == image::PullPolicy::kNever ? VerdictResult::kRefused : VerdictResult::kPulls,
          image.present ? image.reason : Reason::kImageAbsent};
}

// Always needs the registry's agreement, Never needs an image that starts, and IfNotPresent may fall back on
// a pull.
bool IsReadyFor(image::PullPolicy policy, const PolicyFacts& facts) {
  using kubelet::VerdictResult;
  if (!facts.usable) return false;
  if (policy == image::PullPolicy::kAlways) return facts.agrees;
  return facts.result == VerdictResult::kStarts ||
         (policy == image::PullPolicy::kIfNotPresent && facts.result == VerdictResult::kPulls);
}

bool IsReadyFor(const ImageState& image, image::PullPolicy policy, bool has_kubelet) {
  PolicyFacts facts{
      .usable = image.usable, .result = std::nullopt, .agrees = image.registry && image.registry->agrees};
  if (!has_kubelet) facts.result = VerdictWithoutKubelet(image, policy).result;
  if (has_kubelet && image.verdicts) facts.result = image.verdicts->For(policy).result;
  return IsReadyFor(policy, facts);
}

// Goes from the general to the particular: does the entry concern this node, is the image here, does kubelet
// let pods use it, does the registry object. The first obstacle gives the reason that status shows.
ImageState EvaluateImage(const EntryFacts& facts, base::TimePoint now, base::WallTime wall) {
  ImageState state{.desired = facts.entry.desired,
                   .applies = facts.entry.selection <= Selection::kLabelsUnknown};
  state.settled = facts.entry.history.settled && facts.entry.touch_status->settled;
  // An entry for other nodes counts as ready: nothing is to be done on this node, and it must not hold it
  // back.
  if (!state.applies) {
    state.ready = true;
    state.phase = Phase::kReady;
    const bool other_platform = facts.entry.selection == Selection::kOtherPlatform;
    state.reason = other_platform ? Reason::kOtherPlatform : Reason::kNotSelected;
    state.message = MessageFor(state.reason, facts);
    return state;
  }
  if (facts.entry.selection == Selection::kLabelsUnknown) {
    // Nobody knows whether pods of this node need it, so the node is not ready.
    state.reason = facts.labels_pending ? Reason::kFactsUnknown : Reason::kNodeLabelsUnknown;
    state.phase = facts.labels_pending ? Phase::kProgressing : Phase::kFailing;
    state.settled = !facts.labels_pending;
    state.message = facts.labels_pending
                        ? "the entry has a nodeSelector, and the agent has not read its Node yet"
                        : kNoLabels;
    return state;
  }
  if (facts.entry.observed.local) {
    state.present = facts.entry.observed.local->runs_here;
    SetLocal(*facts.entry.observed.local, state);
    state.pin_problem = facts.pin_problem;
    // Credentials are known for the agent's own pulls only. Another id means that kubelet or another client
    // has pulled it since.
    if (state.image_id == facts.entry.history.pulled_id) state.origin = facts.entry.history.origin;
  }
  state.pull = PullOf(facts, now, wall);
  state.touch = facts.entry.touch_status;
  if (facts.has_kubelet) {
    state.verdicts = facts.entry.verdict.shown.worst;
    state.spellings = facts.entry.verdict.shown.each;
  }
  if (facts.asks_registry) {
    const Local* local = facts.entry.observed.local ? &*facts.entry.observed.local : nullptr;
    state.registry = std::make_shared<const RegistryView>(
        ViewOf(facts.entry.desired, local, facts.entry.freshness, facts.entry.refresh, now, wall));
  }
  // The registry's view is built first, for absent images as well, so that status shows its answers.
  if (IsUsable(facts.entry.observed)) {
    EvaluateUsable(facts, state);
  } else {
    EvaluateAbsent(facts, state);
  }
  return state;
}

namespace {

constexpr std::size_t kShortDigest = 19;  // "sha256:" and twelve digits

std::string Short(const std::string& digest) {
  return digest.empty() ? "an unknown digest" : digest.substr(0, kShortDigest);
}

// Returns the words of the registry, or of the pull, as the second half of a sentence.
std::string AnswerWords(const Freshness& past) {
  return past.newest && !past.newest->message.empty() ? ": " + past.newest->message : std::string();
}

std::string Moved(const DesiredImage& desired, const Local* local, const Freshness& past) {
  std::string change = "the tag has changed: " + Short(local == nullptr ? "" : local->digest) + " here, " +
                       Short(past.remote_digest) + " in the registry";
  if (desired.refresh == Refresh::kIfNotPresent) {
    return change + "; it is not pulled again, since refresh is IfNotPresent";
  }
  return change + "; the node's image stays in use until then";
}

// Returns true if only a pull could check the entry, and the list rules one out.
bool IsNeverChecked(const DesiredImage& desired, const Freshness& past) {
  return past.pull_due && desired.refresh == Refresh::kIfNotPresent && !desired.reference.has_digest();
}

// `reason` stands against calling the image current.
std::string MessageFor(Reason reason, const DesiredImage& desired, const Local* local,
                       const Freshness& past) {
  switch (reason) {
    case Reason::kUpToDate:
      return "the registry agreed";
    case Reason::kPinnedByDigest:
      return "a digest always names the same content";
    case Reason::kNotChecked:
      if (past.invalidated_at) return "not asked since the node's credentials or image changed";
      return "the registry has not been asked since the agent started";
    case Reason::kCheckOverdue:
      return "the registry has not agreed for longer than two refresh intervals" + AnswerWords(past);
    case Reason::kTagMoved:
      return Moved(desired, local, past);
    case Reason::kLocalDigestUnknown:
      return "the runtime does not report its image's digest, so the agent pulls it again";
    case Reason::kMirrorLag:
      return "the runtime was given " + Short(local == nullptr ? "" : local->digest) +
             " where the registry names " + Short(past.remote_digest) + ": a mirror lags behind";
    case Reason::kTagMissing:
      return "the tag is gone from the registry" + AnswerWords(past);
    case Reason::kTagMissingUnconfirmed:
      return "the registry said once that the tag is missing: it is asked again in a minute";
    case Reason::kIndeterminate:
      return "the registry's answer cannot be compared with the node's image" + AnswerWords(past) +
             (IsNeverChecked(desired, past)
                  ? "; no pull decides, since refresh is IfNotPresent: set refresh: IfDigestChanged"
                  : "");
    case Reason::kCheckedByPull:
      return "the registry can only be asked by pulling" + AnswerWords(past);
    case Reason::kStale:
      return "the registry has not agreed within maxAge" + AnswerWords(past);
    case Reason::kAccessDenied:
      return "the registry denies access" + AnswerWords(past);
    case Reason::kRateLimited:
      return "the registry limits the rate of requests" + AnswerWords(past);
    case Reason::kUnreachable:
      if (past.newest && image::IsUncountedDenial(*past.newest))
        return "the registry denies access without the credential of a plugin that has failed" +
               AnswerWords(past);
      return "the registry does not answer" + AnswerWords(past);
    case Reason::kServerError:
      return "the registry answers with errors" + AnswerWords(past);
    case Reason::kSignatureRejected:
      return "the tag has changed, and the runtime rejects the new image: " + past.update_error;
    default:  // a failed pull's reasons, which are the runtime's words
      if (past.update_failure) return "the tag has changed, and could not be pulled: " + past.update_error;
      return std::string(base::EnumName(reason));
  }
}

}  // namespace

RegistryView ViewOf(const DesiredImage& desired, const Local* local, const Freshness& past,
                    const RefreshDecision& decision, base::TimePoint now, base::WallTime wall) {
  RegistryView view;
  if (past.newest) {
    view.answer = past.newest->kind;
    view.detail = past.newest->detail.name();
    view.answered_by = past.newest->answered_by;
    view.checked_at = past.answered_wall;
  }
  view.digest = past.remote_digest;
  view.restricted = past.restricted;
  view.confirmed_at = past.confirmed_wall;
  if (past.next_check != base::TimePoint()) {
    view.next_check_at = wall + std::chrono::duration_cast<base::WallTime::duration>(past.next_check - now);
  }
  view.fresh = decision.fresh;
  view.acceptable = decision.ready;
  view.agrees = decision.agrees;
  view.reason = decision.reason;
  view.message = MessageFor(decision.reason, desired, local, past);
  view.always_reason = decision.always_reason;
  if (!decision.agrees) view.always_message = MessageFor(decision.always_reason, desired, local, past);
  view.silent = past.checks_without_answer;
  view.changed_from = past.changed_from;
  view.changed_at = past.changed_wall;
  return view;
}

}  // namespace prefetch::plan
