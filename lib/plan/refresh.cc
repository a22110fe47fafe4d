#include "plan/refresh.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace prefetch::plan {
namespace {

using image::RegistryAnswerKind;

// Something that stands against calling the image current. `blocks`: it makes the entry unready.
struct Cause {
  Reason reason;
  bool blocks;
};

// Returns the reason that is shown for checks without an answer. Only a rate limit and a server error have
// one of their own.
Reason SilenceReason(const Freshness& past) {
  if (!past.newest) return Reason::kUnreachable;
  switch (past.newest->kind) {
    case RegistryAnswerKind::kRateLimited:
      return Reason::kRateLimited;
    case RegistryAnswerKind::kServerError:
      return Reason::kServerError;
    case RegistryAnswerKind::kSame:
    case RegistryAnswerKind::kMoved:
    case RegistryAnswerKind::kTagMissing:
    case RegistryAnswerKind::kAccessDenied:
    case RegistryAnswerKind::kUnreachable:
    case RegistryAnswerKind::kIndeterminate:
      return Reason::kUnreachable;
  }
  std::abort();
}

// The facts of one decision, by name.
struct Facts {
  const DesiredImage& want;
  const Local& local;
  const Freshness& past;
  base::TimePoint now;

  bool strict() const { return want.refresh == Refresh::kAlways; }
  bool Blocks(OnFailure directive) const { return strict() || directive == OnFailure::kNotReady; }
  bool moved() const { return !past.remote.empty() && !HasDigest(local, past.remote); }
  bool lagging() const { return moved() && past.lag_digest == past.remote; }
  // The reason for moved(). An imported image has no digest that could be compared.
  Reason MovedReason() const {
    return local.digest.empty() ? Reason::kLocalDigestUnknown : Reason::kTagMoved;
  }
  bool signature_refused() const { return past.update_failure == Reason::kSignatureRejected; }
  // A single failed check does not make a ready node unready, and neither do two within a minute (R45).
  bool silence_counts() const { return past.silent >= 2 && now - past.silent_since >= kConfirmAfter; }
  bool invalidated() const { return past.invalidated_at && now - *past.invalidated_at >= kConfirmAfter; }
  bool confirmed_within(base::Duration age) const {
    return past.confirmed_at && !invalidated() && now - *past.confirmed_at < age;
  }
  bool overdue() const { return !confirmed_within(2 * want.refresh_interval); }
  // `strict` entries have a limit of their own, overdue(). min() as `age_from` marks a denial, which no time
  // heals.
  bool too_old() const {
    if (!want.max_age || strict()) return false;
    if (past.confirmed_at && !invalidated()) return now - *past.confirmed_at >= *want.max_age;
    if (past.age_from == base::TimePoint::min()) return true;
    return now - std::max(past.age_from, past.invalidated_at.value_or(past.age_from)) >= *want.max_age;
  }
  Reason OverdueReason() const { return past.confirmed_at ? Reason::kCheckOverdue : Reason::kNotChecked; }
};

// Returns all that stands against it, in the order of R45: the most certain cause first, since the first one
// that blocks is reported.
std::vector<Cause> CausesOf(const Facts& facts) {
  const DesiredImage& want = facts.want;
  const Freshness& past = facts.past;
  std::vector<Cause> causes;
  if (facts.signature_refused()) causes.push_back({Reason::kSignatureRejected, true});
  if (past.denied) causes.push_back({Reason::kAccessDenied, facts.Blocks(want.on_access_denied)});
  if (past.missing) {
    causes.push_back({Reason::kTagMissing, facts.Blocks(want.on_tag_missing)});
  } else if (past.missing_since) {
    causes.push_back({Reason::kTagMissingUnconfirmed, false});
  }
  if (past.silent > 0) {
    causes.push_back({SilenceReason(past), facts.silence_counts() && facts.Blocks(want.on_unreachable)});
  }
  if (past.undecided) causes.push_back({Reason::kIndeterminate, facts.Blocks(want.on_unreachable)});
  if (past.update_failure && !facts.signature_refused()) {
    causes.push_back({*past.update_failure, facts.strict()});
  }
  if (facts.lagging()) {
    // A lagging mirror blocks nothing, even for `Always`: pods on this node would be given the same image.
    causes.push_back({Reason::kMirrorLag, false});
  } else if (facts.moved()) {
    causes.push_back({facts.MovedReason(), facts.strict()});
  }
  if (facts.too_old()) causes.push_back({Reason::kStale, facts.Blocks(want.on_stale)});
  if (facts.strict() && facts.overdue() && !facts.lagging()) causes.push_back({facts.OverdueReason(), true});
  return causes;
}

// Returns the registry's result for a pod with Always; kUpToDate if such a pod would pass. Directives do not
// count here: kubelet knows none of them.
Reason WhyNotAlways(const Facts& facts) {
  const Freshness& past = facts.past;
  if (facts.signature_refused()) return Reason::kSignatureRejected;
  if (past.denied) return Reason::kAccessDenied;
  if (past.missing) return Reason::kTagMissing;
  if (facts.moved()) return facts.lagging() ? Reason::kMirrorLag : facts.MovedReason();
  if (!facts.overdue()) return Reason::kUpToDate;
  if (past.silent > 0) return SilenceReason(past);
  bool cannot_say = past.newest && past.newest->kind == RegistryAnswerKind::kIndeterminate;
  return cannot_say ? Reason::kIndeterminate : facts.OverdueReason();
}

// Returns true if only silence stands against it, and the last confirmation is younger than maxAge: the
// operator has declared that much silence acceptable.
bool FreshThroughSilence(const Facts& facts, const std::vector<Cause>& causes) {
  if (!facts.want.max_age || !facts.confirmed_within(*facts.want.max_age)) return false;
  return causes.size() == 1 && facts.past.silent > 0;
}

// Decides whether to pull the image again, and why. Readiness is decided apart from that, since the local
// image stays in use during the pull.
void DecidePull(const Facts& facts, RefreshDecision& decision) {
  const Freshness& past = facts.past;
  if (facts.want.refresh == Refresh::kIfNotPresent) return;  // the local image stays, whatever the answer
  if (past.pull_due) {
    decision.pull = true;
    decision.pull_reason = past.undecided ? Reason::kIndeterminate : Reason::kCheckedByPull;
    return;
  }
  if (!facts.moved()) return;
  // The digest that the registry named before cannot be pulled now, and each try would count as a failure of
  // the image.
  if (past.denied || past.missing_since) return;
  if (facts.lagging() && facts.now < past.lag_until) return;
  decision.pull = true;
  decision.pull_reason = facts.MovedReason();
}

}  // namespace

RefreshDecision DecideRefresh(const DesiredImage& want, const Local& local, const Freshness& past,
                              base::TimePoint now) {
  RefreshDecision decision;
  if (!AsksRegistry(want)) {
    if (want.reference.has_digest()) decision.reason = Reason::kPinnedByDigest;
    return decision;
  }
  Facts facts{want, local, past, now};
  DecidePull(facts, decision);
  decision.always_reason = WhyNotAlways(facts);
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
  base::Duration lately = want.max_age ? base::Duration(*want.max_age) : 2 * want.refresh_interval;
  decision.fresh = facts.confirmed_within(lately) && !past.invalidated_at;
  decision.reason = decision.fresh                              ? Reason::kUpToDate
                    : past.confirmed_at && !past.invalidated_at ? Reason::kCheckOverdue
                                                                : Reason::kNotChecked;
  return decision;
}

base::TimePoint NextRefreshChange(const DesiredImage& want, const Freshness& past, base::TimePoint now) {
  base::TimePoint next = base::TimePoint::max();
  auto at = [&](base::TimePoint time) {
    if (time > now) next = std::min(next, time);
  };
  // These are the times that Facts compares with `now`. If one were left out, the loop would sleep past a
  // change of readiness.
  if (past.silent >= 2) at(past.silent_since + kConfirmAfter);
  if (past.invalidated_at) at(*past.invalidated_at + kConfirmAfter);
  if (past.confirmed_at) {
    at(*past.confirmed_at + 2 * want.refresh_interval);
    if (want.max_age) at(*past.confirmed_at + *want.max_age);
  } else if (want.max_age && past.age_from != base::TimePoint::min()) {
    at(past.age_from + *want.max_age);
  }
  return next;
}

}  // namespace prefetch::plan
