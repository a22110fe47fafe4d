#include "plan/freshness.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "plan/history.h"

namespace prefetch::plan {

namespace {

using image::RegistryAnswer;
using image::RegistryAnswerKind;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// A check without an answer is repeated after this, doubling up to the interval.
constexpr seconds kSilentBase{60};
// The pause is that of a denied pull: asking more often does not help, and locks accounts.
constexpr minutes kDeniedBase{5};
// R12: pauses of a pull that did not bring the registry's version, doubling.
constexpr minutes kLagBase{10};
constexpr hours kLagCap{6};

// Returns the interval with a tenth more or less. Nodes that started together do not stay together.
base::Duration Jittered(base::Duration interval, double random) {
  return Scaled(interval, 0.9 + 0.2 * random);
}

// Returns the pause after a check without an answer. It doubles with each such check in a row, up to the
// interval.
base::Duration AfterSilence(const Freshness& past, const DesiredImage& desired, double random) {
  return Spread(ExponentialBackoff(kSilentBase, past.checks_without_answer - 1, desired.refresh_interval),
                random);
}

// The registry has spoken about the tag, so its earlier silence, denial or useless answer no longer holds.
void ResetFailures(Freshness& past) {
  past.checks_without_answer = 0;
  past.denied = false;
  past.denials = 0;
  past.undecided = false;
}

// The registry named a digest, so the tag exists, whatever earlier answers said.
void ApplyTagFound(Freshness& past, const std::string& digest, AnswerTime when) {
  ResetFailures(past);
  past.missing = false;
  past.missing_since.reset();
  // The failure was about replacing the old digest's image. A new digest is a new attempt.
  if (past.remote_digest != digest) {
    past.update_failure.reset();
    past.update_error.clear();
  }
  past.remote_digest = digest;
  past.named = when;
}

// The image on the node is the registry's version. Earlier doubts end with that: changed credentials, a
// failed update, and the lag of a mirror.
void Confirm(Freshness& past, AnswerTime when) {
  past.confirmed_at = when.at;
  past.confirmed_wall = when.wall;
  past.age_from = when.at;  // an earlier denial no longer counts
  past.invalidated_at.reset();
  past.update_failure.reset();
  past.update_error.clear();
  past.lag_digest.clear();
  past.lags = 0;
  past.pull_due = false;
}

void ApplyTagMissing(Freshness& past, const DesiredImage& desired, AnswerTime when, double random) {
  // R23: a tag is missing after two answers a minute apart. The first one changes neither readiness nor what
  // earlier answers have established.
  if (!past.missing_since) past.missing_since = when.at;
  bool confirmed = when.at - *past.missing_since >= kConfirmAfter;
  if (confirmed) ResetFailures(past);
  past.missing = past.missing || confirmed;
  past.checks_without_answer = 0;
  past.next_check =
      when.at + (past.missing ? Jittered(desired.refresh_interval, random) : Spread(kConfirmAfter, random));
}

void ApplyDenied(Freshness& past, const DesiredImage& desired, AnswerTime when, double random) {
  past.checks_without_answer = 0;
  past.denied = true;
  past.denials++;
  // A denial counts at once (R45), and takes earlier confirmations back. With min() as its age, maxAge is
  // over, too.
  past.confirmed_at.reset();
  past.age_from = base::TimePoint::min();
  past.next_check =
      when.at + Spread(ExponentialBackoff(kDeniedBase, past.denials - 1, desired.refresh_interval), random);
}

void ApplyNoAnswer(Freshness& past, const DesiredImage& desired, const RegistryAnswer& answer,
                   AnswerTime when, double random) {
  // Everything that earlier answers have established stays: silence is no answer.
  if (past.checks_without_answer == 0) past.silent_since = when.at;
  past.checks_without_answer++;
  base::Duration wait = AfterSilence(past, desired, random);
  if (answer.retry_after) wait = std::max<base::Duration>(wait, *answer.retry_after);
  past.next_check = when.at + wait;
}

// The answer cannot be compared with the local image, so a pull takes the place of the check.
void ApplyIndeterminate(Freshness& past, const DesiredImage& desired, const RegistryAnswer& answer,
                        AnswerTime when, double random) {
  past.next_check = when.at + Jittered(desired.refresh_interval, random);
  if (answer.only_by_pull && answer.requests == 0) {  // no registry was asked yet
    past.pull_due = true;
    return;
  }
  past.checks_without_answer = 0;
  past.undecided = true;
  // A pull is the check here. One within kUndecidedPullInterval has to do, unless the entry is not ready
  // without an answer.
  bool lately = past.pulled_undecided_at && when.at - *past.pulled_undecided_at < kUndecidedPullInterval;
  if (ReadinessNeedsAnswers(desired) || !lately) past.pull_due = true;
}

// Returns the answer that a check would have got, if the failed pull shows it. nullopt: the runtime itself
// failed, which says nothing about the registry.
std::optional<RegistryAnswerKind> AnswerOf(Reason failure) {
  switch (failure) {
    case Reason::kAccessDenied:
      return RegistryAnswerKind::kAccessDenied;
    case Reason::kNotFound:
      return RegistryAnswerKind::kTagMissing;
    case Reason::kRateLimited:
      return RegistryAnswerKind::kRateLimited;
    case Reason::kUnreachable:
    case Reason::kDnsFailure:
    case Reason::kTlsError:
      return RegistryAnswerKind::kUnreachable;
    case Reason::kServerError:
    case Reason::kContentMissing:
      return RegistryAnswerKind::kServerError;
    default:  // the runtime's own troubles; not a list that must grow with the enum
      return std::nullopt;
  }
}

// Applies one answer: each kind changes what it speaks about, and plans the next check.
void ApplyAnswer(Freshness& past, const DesiredImage& desired, const RegistryAnswer& answer, AnswerTime when,
                 double random) {
  past.newest = answer;
  past.answered_wall = when.wall;
  switch (answer.kind) {
    case RegistryAnswerKind::kSame:
    case RegistryAnswerKind::kMoved:
      ApplyTagFound(past, answer.digest, when);
      past.next_check = when.at + Jittered(desired.refresh_interval, random);
      return;
    case RegistryAnswerKind::kTagMissing:
      ApplyTagMissing(past, desired, when, random);
      return;
    case RegistryAnswerKind::kAccessDenied:
      ApplyDenied(past, desired, when, random);
      return;
    case RegistryAnswerKind::kRateLimited:
    case RegistryAnswerKind::kUnreachable:
    case RegistryAnswerKind::kServerError:
      ApplyNoAnswer(past, desired, answer, when, random);
      return;
    case RegistryAnswerKind::kIndeterminate:
      ApplyIndeterminate(past, desired, answer, when, random);
      return;
  }
}

}  // namespace

bool NeedsRegistryCheck(const DesiredImage& desired) {
  if (desired.ready_for == image::PullPolicy::kAlways) return true;
  return desired.refresh != Refresh::kIfNotPresent && !desired.reference.has_digest();
}

bool NeedsFirstAnswer(const DesiredImage& desired) {
  return desired.refresh == Refresh::kAlways || desired.ready_for == image::PullPolicy::kAlways;
}

bool ReadinessNeedsAnswers(const DesiredImage& desired) {
  return NeedsFirstAnswer(desired) || desired.on_unreachable == OnFailure::kNotReady;
}

bool HasDigest(const Local& local, const std::string& digest) {
  if (digest.empty()) return false;
  return local.digest == digest || std::find(local.other_digests.begin(), local.other_digests.end(),
                                             digest) != local.other_digests.end();
}

bool IsDifferentImage(const Local& before, const Local& now) {
  // An imported image has no digest. Image ids are compared with each other only, never with a registry's
  // digest (R10).
  bool comparable = !before.digest.empty() && !now.digest.empty();
  return comparable ? before.digest != now.digest : before.id != now.id;
}

Freshness PlanFirstCheck(Freshness past, const DesiredImage& desired, base::TimePoint now, double random) {
  if (past.next_check != base::TimePoint()) return past;
  base::Duration within = desired.refresh_interval;
  if (NeedsFirstAnswer(desired)) within = std::min<base::Duration>(within, kFirstUrgentCheck);
  // A random moment within the interval, so that a fleet that starts together asks evenly. `age_from` is set
  // here, since after a start freshness is unknown and maxAge counts from there: a restart during an outage
  // must not turn a ready node unready.
  past.next_check = now + Scaled(within, random);
  past.age_from = now;
  return past;
}

Freshness AfterDesiredChanged(Freshness past, const DesiredImage& desired, base::TimePoint now,
                              double random) {
  if (past.next_check == base::TimePoint()) return past;
  // The earlier of the two times counts: a shorter interval takes effect at once, and a longer one does not
  // postpone a check that is due.
  base::TimePoint planned = std::exchange(past.next_check, {});
  base::TimePoint age_from = past.age_from;
  past = PlanFirstCheck(std::move(past), desired, now, random);
  past.next_check = std::min(past.next_check, planned);
  past.age_from = age_from;
  return past;
}

Freshness AfterAnswer(Freshness past, const DesiredImage& desired, const Local& local,
                      const RegistryAnswer& answer, AnswerTime when, double random) {
  ApplyAnswer(past, desired, answer, when, random);
  // Only an answer about the tag changes with whose credential it was got. Silence and denials leave that as
  // it is.
  if (answer.kind == RegistryAnswerKind::kSame || answer.kind == RegistryAnswerKind::kMoved) {
    past.restricted = answer.restricted;
  }
  // The image may have changed since the question to the registry.
  bool same =
      answer.kind == RegistryAnswerKind::kSame && (answer.digest.empty() || HasDigest(local, answer.digest));
  if (same) Confirm(past, when);
  return past;
}

Freshness AfterSkippedCheck(Freshness past, const DesiredImage& desired, const RegistryAnswer& why,
                            AnswerTime when, double random) {
  const std::optional<base::WallTime> asked = past.answered_wall;
  ApplyAnswer(past, desired, why, when, random);
  past.answered_wall = asked;
  // The registry gets its probes anyway. Entries that can wait ask a full interval later, so that a registry
  // that comes back does not meet all missed checks at once.
  if (!ReadinessNeedsAnswers(desired)) past.next_check = when.at + Jittered(desired.refresh_interval, random);
  return past;
}

Freshness AfterPulled(Freshness past, const DesiredImage& desired, const std::optional<Local>& before,
                      const Local& now_local, AnswerTime when, double random) {
  if (before && IsDifferentImage(*before, now_local)) {
    past.changed_from = before->digest;
    past.changed_wall = when.wall;
  }
  if (past.undecided) past.pulled_undecided_at = when.at;
  // R12: the pull ended well, and yet brought another digest than the registry named, so it came from a
  // mirror. If `pull_due` is set, the pull itself was the check, and there is no digest to compare with.
  bool missed =
      before && !past.remote_digest.empty() && !HasDigest(now_local, past.remote_digest) && !past.pull_due;
  past.next_check = when.at + Jittered(desired.refresh_interval, random);
  past.pull_due = false;
  if (missed) {
    past.lags = past.lag_digest == past.remote_digest ? past.lags + 1 : 1;
    past.lag_digest = past.remote_digest;
    past.lag_until = when.at + Spread(ExponentialBackoff(kLagBase, past.lags - 1, kLagCap), random);
    past.update_failure.reset();
    past.update_error.clear();
    // The tag may have moved once more meanwhile: that is no lag, as the next answer shows.
    past.next_check = when.at + Spread(kConfirmAfter, random);
    return past;
  }
  ApplyTagFound(past, now_local.digest, when);
  Confirm(past, when);
  return past;
}

Freshness AfterUpdateFailed(Freshness past, const DesiredImage& desired, const PullFailure& failure,
                            AnswerTime when, double random) {
  if (past.undecided) past.pulled_undecided_at = when.at;
  past.pull_due = false;
  if (std::optional<RegistryAnswerKind> kind = AnswerOf(failure.reason)) {
    RegistryAnswer answer{.kind = *kind, .detail = image::RegistryDetail::kOnPull, .message = failure.error};
    if (failure.lacks_credential) image::MakeUncountedDenial(answer);
    ApplyAnswer(past, desired, answer, when, random);
    return past;
  }
  // The reason is the runtime's own. It is kept beside the registry's answers, which it does not contradict.
  past.update_failure = failure.reason;
  past.update_error = failure.error;
  return past;
}

Freshness AfterReplacedByOthers(Freshness past, const Local& now_local, base::TimePoint now) {
  if (past.next_check == base::TimePoint()) return past;
  if (HasDigest(now_local, past.remote_digest)) {
    // The registry's version, so it was confirmed when the registry named it: unless a later denial, or new
    // credentials, have taken that back.
    const bool taken_back = past.denied || (past.invalidated_at && past.named.at < *past.invalidated_at);
    if (!taken_back) Confirm(past, past.named);
    return past;
  }
  // The registry's answer is older than this image, and no reason to replace it.
  past.remote_digest.clear();
  return AfterNewCredentials(std::move(past), now);
}

Freshness AfterNewCredentials(Freshness past, base::TimePoint now) {
  if (past.next_check == base::TimePoint()) return past;
  // The first doubt counts: credentials that change again and again must not postpone the moment at which the
  // old confirmation stops counting.
  if (!past.invalidated_at) past.invalidated_at = now;
  past.denials = 0;
  past.next_check = now;
  return past;
}

namespace {

// Something that stands against calling the image current. `blocks`: it makes the entry unready.
struct Cause {
  Reason reason;
  bool blocks;
};

// Returns the reason that is shown for checks without an answer. Only a rate limit and a server error have
// one of their own.
Reason SilenceReason(const Freshness& past) {
  const auto kind = past.newest ? past.newest->kind : RegistryAnswerKind::kUnreachable;
  if (kind == RegistryAnswerKind::kRateLimited) return Reason::kRateLimited;
  return kind == RegistryAnswerKind::kServerError ? Reason::kServerError : Reason::kUnreachable;
}

// The facts of one decision, by name.
struct Facts {
  const DesiredImage& desired;
  const Local& local;
  const Freshness& past;
  base::TimePoint now;

  bool strict() const { return desired.refresh == Refresh::kAlways; }
  bool Blocks(OnFailure directive) const { return strict() || directive == OnFailure::kNotReady; }
  bool moved() const { return !past.remote_digest.empty() && !HasDigest(local, past.remote_digest); }
  bool lagging() const { return moved() && past.lag_digest == past.remote_digest; }
  // The reason for moved(). An imported image has no digest that could be compared.
  Reason MovedReason() const {
    return local.digest.empty() ? Reason::kLocalDigestUnknown : Reason::kTagMoved;
  }
  bool signature_refused() const { return past.update_failure == Reason::kSignatureRejected; }
  // A single failed check does not make a ready node unready, and neither do two within a minute (R45).
  bool silence_counts() const {
    return past.checks_without_answer >= 2 && now - past.silent_since >= kConfirmAfter;
  }
  bool invalidated() const { return past.invalidated_at && now - *past.invalidated_at >= kConfirmAfter; }
  bool confirmed_within(base::Duration age) const {
    return past.confirmed_at && !invalidated() && now - *past.confirmed_at < age;
  }
  bool overdue() const { return !confirmed_within(2 * desired.refresh_interval); }
  // `strict` entries have a limit of their own, overdue(). min() as `age_from` marks a denial, which no time
  // heals.
  bool too_old() const {
    if (!desired.max_age || strict()) return false;
    if (past.confirmed_at && !invalidated()) return now - *past.confirmed_at >= *desired.max_age;
    if (past.age_from == base::TimePoint::min()) return true;
    return now - std::max(past.age_from, past.invalidated_at.value_or(past.age_from)) >= *desired.max_age;
  }
  Reason OverdueReason() const { return past.confirmed_at ? Reason::kCheckOverdue : Reason::kNotChecked; }
};

// Returns all that stands against it, in the order of R45: the most certain cause first, since the first one
// that blocks is reported.
std::vector<Cause> CausesOf(const Facts& facts) {
  const DesiredImage& desired = facts.desired;
  const Freshness& past = facts.past;
  std::vector<Cause> causes;
  if (facts.signature_refused()) causes.push_back({Reason::kSignatureRejected, true});
  if (past.denied) causes.push_back({Reason::kAccessDenied, facts.Blocks(desired.on_access_denied)});
  if (past.missing) {
    causes.push_back({Reason::kTagMissing, facts.Blocks(desired.on_tag_missing)});
  } else if (past.missing_since) {
    causes.push_back({Reason::kTagMissingUnconfirmed, false});
  }
  if (past.checks_without_answer > 0) {
    causes.push_back({SilenceReason(past), facts.silence_counts() && facts.Blocks(desired.on_unreachable)});
  }
  if (past.undecided) causes.push_back({Reason::kIndeterminate, facts.Blocks(desired.on_unreachable)});
  if (past.update_failure && !facts.signature_refused()) {
    causes.push_back({*past.update_failure, facts.strict()});
  }
  if (facts.lagging()) {
    // A lagging mirror blocks nothing, even for `Always`: pods on this node would be given the same image.
    causes.push_back({Reason::kMirrorLag, false});
  } else if (facts.moved()) {
    causes.push_back({facts.MovedReason(), facts.strict()});
  }
  if (facts.too_old()) causes.push_back({Reason::kStale, facts.Blocks(desired.on_stale)});
  if (facts.strict() && facts.overdue() && !facts.lagging()) causes.push_back({facts.OverdueReason(), true});
  return causes;
}

// Returns the registry's result for a pod with Always; kUpToDate if such a pod would pass. Directives do not
// count here: kubelet knows none of them.
Reason AlwaysReason(const Facts& facts) {
  const Freshness& past = facts.past;
  if (facts.signature_refused()) return Reason::kSignatureRejected;
  if (past.denied) return Reason::kAccessDenied;
  if (past.missing) return Reason::kTagMissing;
  if (facts.moved()) return facts.lagging() ? Reason::kMirrorLag : facts.MovedReason();
  if (!facts.overdue()) return Reason::kUpToDate;
  if (past.checks_without_answer > 0) return SilenceReason(past);
  bool cannot_say = past.newest && past.newest->kind == RegistryAnswerKind::kIndeterminate;
  return cannot_say ? Reason::kIndeterminate : facts.OverdueReason();
}

// Returns true if only silence stands against it, and the last confirmation is younger than maxAge: the
// operator has declared that much silence acceptable.
bool FreshThroughSilence(const Facts& facts, const std::vector<Cause>& causes) {
  if (!facts.desired.max_age || !facts.confirmed_within(*facts.desired.max_age)) return false;
  return causes.size() == 1 && facts.past.checks_without_answer > 0;
}

// Decides whether to pull the image again, and why. Readiness is decided apart from that, since the local
// image stays in use during the pull.
void DecidePull(const Facts& facts, RefreshDecision& decision) {
  const Freshness& past = facts.past;
  // IfNotPresent keeps the local image, whatever the answer. Only the pull of a digest cannot replace it:
  // that one shows whether the registry still gives access, for readyFor: Always.
  const bool keeps_image = facts.desired.refresh == Refresh::kIfNotPresent;
  if (keeps_image && !facts.desired.reference.has_digest()) return;
  if (past.pull_due) {
    decision.pull = true;
    decision.pull_reason = past.undecided ? Reason::kIndeterminate : Reason::kCheckedByPull;
    return;
  }
  if (keeps_image || !facts.moved()) return;
  // The digest that the registry named before cannot be pulled now, and each try would count as a failure of
  // the image.
  if (past.denied || past.missing_since) return;
  if (facts.lagging() && facts.now < past.lag_until) return;
  decision.pull = true;
  decision.pull_reason = facts.MovedReason();
}

}  // namespace

RefreshDecision DecideRefresh(const DesiredImage& desired, const Local& local, const Freshness& past,
                              base::TimePoint now) {
  RefreshDecision decision;
  if (!NeedsRegistryCheck(desired)) {
    if (desired.reference.has_digest()) decision.reason = Reason::kPinnedByDigest;
    return decision;
  }
  Facts facts{desired, local, past, now};
  DecidePull(facts, decision);
  decision.always_reason = AlwaysReason(facts);
  decision.agrees = decision.always_reason == Reason::kUpToDate;
  // The first cause that blocks is the reason for unreadiness, even if a more certain one stands before it
  // that the operator told the agent to accept.
  std::vector<Cause> causes = CausesOf(facts);
  auto block = std::find_if(causes.begin(), causes.end(), [](const Cause& cause) { return cause.blocks; });
  if (block != causes.end()) {
    decision.ready = false;
    decision.reason = block->reason;
    return decision;
  }
  if (!causes.empty()) decision.reason = causes.front().reason;
  bool clean = causes.empty() || FreshThroughSilence(facts, causes);
  if (!clean) return decision;
  base::Duration lately = desired.max_age ? base::Duration(*desired.max_age) : 2 * desired.refresh_interval;
  decision.fresh = facts.confirmed_within(lately) && !past.invalidated_at;
  decision.reason = decision.fresh                              ? Reason::kUpToDate
                    : past.confirmed_at && !past.invalidated_at ? Reason::kCheckOverdue
                                                                : Reason::kNotChecked;
  return decision;
}

base::TimePoint NextRefreshChange(const DesiredImage& desired, const Freshness& past, base::TimePoint now) {
  base::TimePoint next = base::TimePoint::max();
  auto at = [&](base::TimePoint time) {
    if (time > now) next = std::min(next, time);
  };
  // These are the times that Facts compares with `now`. If one were left out, a change of readiness would
  // show with the loop's next turn, seconds later.
  if (past.checks_without_answer >= 2) at(past.silent_since + kConfirmAfter);
  if (past.invalidated_at) at(*past.invalidated_at + kConfirmAfter);
  if (past.confirmed_at) {
    at(*past.confirmed_at + 2 * desired.refresh_interval);
    if (desired.max_age) at(*past.confirmed_at + *desired.max_age);
  }
  if (desired.max_age && past.age_from != base::TimePoint::min())
    at(std::max(past.age_from, past.invalidated_at.value_or(past.age_from)) + *desired.max_age);
  at(past.lag_until);
  return next;
}

}  // namespace prefetch::plan
