#include "plan/registry_pace.h"

#include <algorithm>

#include "base/find_with_default.h"
#include "plan/history.h"

namespace prefetch::plan {

namespace {

using image::RegistryAnswerKind;
using std::chrono::seconds;

// R28: the number of pulls below which they are saved, and the window of a limit that names none. Both are
// Docker Hub's.
constexpr std::uint64_t kFewPulls = 5;
constexpr seconds kUsualWindow{21'600};

// The holds of a registry double for this long at most.
constexpr seconds kForgottenAfter{3600};

// Leaves the registry alone until then. A hold never shortens an earlier one, and the first check after it is
// a probe.
void Hold(RegistryPace& pace, base::TimePoint until) {
  pace.held_until = std::max(pace.held_until, until);
  pace.probing = true;
}

// Keeps the limit of pulls that the answer names. An answer about the tag that names none means that there is
// no limit any more.
void ApplyAllowance(RegistryPace& pace, const image::RegistryAnswer& answer, base::TimePoint now) {
  bool of_the_tag = answer.kind == RegistryAnswerKind::kSame || answer.kind == RegistryAnswerKind::kMoved;
  if (!answer.allowance && !of_the_tag) return;  // a refusal need not have one
  pace.allowance = answer.allowance;
  pace.allowance_at = now;
}

}  // namespace

bool UpdatesWait(const RegistryPace& pace, base::TimePoint now) {
  if (!pace.allowance) return false;
  base::Duration window = pace.allowance->window.count() > 0 ? pace.allowance->window : kUsualWindow;
  if (now - pace.allowance_at >= window) return false;
  return pace.allowance->remaining <= std::max(kFewPulls, pace.allowance->limit / 10);
}

bool CanDiscard(const RegistryPace& pace, base::TimePoint now) {
  return pace.running == 0 && now >= pace.held_until + kForgottenAfter && !UpdatesWait(pace, now) &&
         pace.budget.At(now) >= image::kRegistryRequests.burst;
}

RegistryPace AfterStart(RegistryPace past, base::TimePoint now) {
  // AfterStart takes one token for the check. A check with several requests (mirrors, token services) takes
  // the rest in AfterCheck, when their number is known.
  past.budget.Take(1, now);
  past.running++;
  return past;
}

RegistryPace AfterCheck(RegistryPace past, const image::RegistryAnswer& answer, base::TimePoint now,
                        base::WallTime wall, double random) {
  past.running--;
  past.requests += static_cast<std::uint64_t>(std::max(answer.requests, 0));
  past.budget.Take(std::max(answer.requests - 1, 0), now);
  ApplyAllowance(past, answer, now);
  switch (image::IsUncountedDenial(answer) ? RegistryAnswerKind::kAccessDenied : answer.kind) {
    // Every answer about the tag, even a denial, shows that the registry is up.
    case RegistryAnswerKind::kSame:
    case RegistryAnswerKind::kMoved:
    case RegistryAnswerKind::kTagMissing:
    case RegistryAnswerKind::kAccessDenied:
    case RegistryAnswerKind::kIndeterminate:
      past.failures = 0;
      past.holds = 0;
      past.probing = false;
      past.away_since.reset();
      past.away_since_wall.reset();
      past.trouble.reset();
      return past;
    case RegistryAnswerKind::kRateLimited: {
      past.holds++;
      base::Duration wait = image::kRateLimitCircuit.Pause(past.holds);
      if (answer.retry_after) wait = *answer.retry_after;
      // Jitter, so that the nodes that were told the same time do not come back together.
      Hold(past, now + Spread(wait, random));
      break;
    }
    case RegistryAnswerKind::kUnreachable:
    case RegistryAnswerKind::kServerError:
      if (answer.requests == 0 && answer.retry_after && past.probing) {
        // The client holds it, too: no request was sent, so there is no news.
        Hold(past, now + *answer.retry_after);
        return past;
      }
      past.failures++;
      // A failed probe holds the registry again at once. It takes five failures only the first time.
      if (past.probing || image::kRegistryCircuit.IsOpen(past.failures)) {
        past.holds++;
        base::Duration wait = image::kRegistryCircuit.Pause(past.holds);
        if (answer.retry_after) wait = std::max<base::Duration>(wait, *answer.retry_after);
        Hold(past, now + Scaled(wait, 0.75 + random / 2));
      }
      break;
  }
  if (!past.away_since) {
    past.away_since = now;
    past.away_since_wall = wall;
  }
  past.trouble = answer;
  return past;
}

RegistryPace AfterPullThrottled(RegistryPace past, base::TimePoint until) {
  Hold(past, until);
  if (!past.trouble) {
    past.trouble = image::RegistryAnswer{.kind = RegistryAnswerKind::kRateLimited,
                                         .detail = image::RegistryDetail::kOnPull,
                                         .message = "the registry limits pulls"};
  }
  return past;
}

image::RegistryAnswer AnswerWhileHeld(const RegistryPace& pace) {
  image::RegistryAnswer answer = pace.trouble.value_or(image::RegistryAnswer{});
  // A hold without a known cause is shown as silence: a default RegistryAnswer would say that the answer
  // could not be compared.
  if (answer.kind == RegistryAnswerKind::kIndeterminate) answer.kind = RegistryAnswerKind::kUnreachable;
  answer.detail = image::RegistryDetail::kNotAsked;
  answer.retry_after.reset();
  answer.requests = 0;
  return answer;
}

ChecksToStart ScheduleChecks(std::vector<CheckCandidate> checks,
                             const std::map<std::string, RegistryPace>& paces, base::TimePoint now) {
  ChecksToStart out;
  // Entries whose readiness needs the answer go first, then those that have waited longest.
  std::stable_sort(checks.begin(), checks.end(), [](const CheckCandidate& a, const CheckCandidate& b) {
    if (a.urgent != b.urgent) return a.urgent;
    return a.due < b.due;
  });
  int total = 0;
  for (const auto& [name, pace] : paces) total += pace.running;
  // The requests that a registry may still get in this turn. `paces` does not count the checks that this turn
  // starts.
  struct Capacity {
    int running = 0;  // and searches for credentials, which count for their registry alone
    base::TokenBucket budget;
  };
  std::map<std::string, Capacity> capacities;
  std::map<std::string, int> lookups_running;
  for (const CheckCandidate& check : checks) {
    if (check.lookup.state == LookupState::kUnderWay) lookups_running[check.registry]++;
  }
  for (const CheckCandidate& check : checks) {
    const RegistryPace& pace = base::FindWithDefault(paces, check.registry);
    bool due = check.due <= now;
    // A due entry of a held registry gets its answer without a request, so that its directives can take
    // effect.
    if (now < pace.held_until) {
      if (due) out.skipped.push_back(check.entry);
      continue;
    }
    Capacity& capacity =
        capacities
            .try_emplace(check.registry,
                         Capacity{pace.running + lookups_running[check.registry], pace.budget})
            .first->second;
    if (check.lookup.state == LookupState::kUnderWay) continue;
    // After a hold, one question at a time: the first check that comes is the probe, due or not.
    if (pace.probing ? capacity.running > 0 : !due) continue;
    if (capacity.running >= image::kRequestsPerRegistry || total >= image::kChecksAtOnce) continue;
    // The copy of the budget in `capacity` is spent here. The real one is charged by AfterStart, once the
    // check has begun.
    if (!capacity.budget.TryTake(now)) {
      base::Duration wait = capacity.budget.WaitAt(now);
      out.next_turn_at = std::min(out.next_turn_at, now + std::chrono::ceil<std::chrono::milliseconds>(wait));
      continue;
    }
    capacity.running++;
    if (check.lookup.state == LookupState::kNeeded) {
      out.needs_credentials.push_back(check.entry);
      continue;
    }
    // A lookup of credentials has no slot among all checks, so plugins that hang do not stop other
    // registries.
    total++;
    out.start.push_back(check.entry);
  }
  return out;
}

}  // namespace prefetch::plan
