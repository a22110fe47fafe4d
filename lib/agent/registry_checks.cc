#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "agent/registry_checks.h"
#include "base/find_with_default.h"
#include "base/log.h"
#include "plan/check.h"

namespace prefetch::agent {
namespace {

using image::RegistryAnswer;
using image::RegistryAnswerKind;

// Time after which a check is repeated that was stopped, or that the agent's own limits held back.
constexpr std::chrono::seconds kRepeatAfterNoAnswer{10};

// A denial or a missing tag shows that the registry is up; these kinds do not. A rate limit is one of them,
// since it says nothing of the tag.
bool IsSilence(const RegistryAnswer& answer) {
  return base::IsOneOf(answer.kind, {RegistryAnswerKind::kUnreachable, RegistryAnswerKind::kServerError,
                                     RegistryAnswerKind::kRateLimited}) &&
         !image::IsUncountedDenial(answer);
}

void CheckAt(Entry& entry, base::TimePoint at) {
  entry.freshness.Change([at](plan::Freshness& fresh) { fresh.next_check = at; });
}

}  // namespace

bool RegistryChecks::AppliesTo(const Entry& entry) const {
  return options_.resolver && entry.applies() && plan::NeedsRegistryCheck(entry.desired);
}

plan::AnswerTime RegistryChecks::AnswerTimeNow() const {
  return {.at = loop_.now(), .wall = loop_.Wall()};
}

void RegistryChecks::OnDesiredChanged() {
  for (Entry& entry : entries_.all()) {
    if (!std::exchange(entry.desired_changed, false)) continue;
    if (AppliesTo(entry)) {
      entry.freshness =
          plan::AfterDesiredChanged(entry.freshness, entry.desired, loop_.now(), loop_.Random());
    } else {
      entry.freshness = {};
      entry.refresh = {};
    }
  }
}

bool RegistryChecks::HasAnswersToSettle(const Entry& entry) const {
  loop_.Check();
  if (!AppliesTo(entry)) return true;
  // A confirmation counts as an answer, even if the newest question brought none.
  bool heard = entry.freshness->newest || entry.freshness->confirmed_at;
  if (!options_.once) return heard || !plan::NeedsFirstAnswer(entry.desired);
  // --once also takes the pull that follows from the answer, but only one try.
  return heard && !(entry.refresh.pull && entry.history.failures == 0);
}

// With --once nothing is saved: there is no later pull to save it for.
bool RegistryChecks::UpdatesWait(const std::string& registry) const {
  loop_.Check();
  return !options_.once && plan::UpdatesWait(base::FindWithDefault(paces_, registry), loop_.now());
}

// A registry whose hold has ended gets one probe first, even if no check is due yet: only its answer lets
// others follow.
bool RegistryChecks::AwaitsProbe(const std::string& registry) const {
  const plan::RegistryPace& pace = base::FindWithDefault(paces_, registry);
  return pace.probing && loop_.now() >= pace.held_until;
}

// Collects the checks that are due and lets plan::ScheduleChecks choose. Absent images and running pulls need
// no check, since the pull brings the newest answer.
bool RegistryChecks::Start(bool runtime_up, const image::RuntimeInfo& runtime) {
  loop_.Check();
  next_turn_ = base::TimePoint::max();
  // The runtime's version and configuration decide how a registry is asked.
  if (!options_.resolver || !runtime_up) return false;
  std::vector<Entry>& all = entries_.all();
  std::vector<plan::CheckCandidate> candidates;
  std::map<std::string, plan::CheckCandidate> probes;  // by registry that waits for a probe: its next check
  for (std::size_t i = 0; i < all.size(); i++) {
    Entry& entry = all[i];
    // While a pull runs, it will bring the newest answer itself.
    if (!AppliesTo(entry) || entry.checking || !entry.runs.empty()) continue;
    // An absent image is pulled anyway; a check would only cost a request.
    if (!plan::IsUsable(entry.observed)) continue;
    if (entry.freshness->next_check == base::TimePoint()) {
      entry.freshness = plan::PlanFirstCheck(entry.freshness, entry.desired, loop_.now(), loop_.Random());
      if (options_.once) CheckAt(entry, loop_.now());
      loop_.Changed();
    }
    const base::TimePoint due = entry.freshness->next_check;
    const bool urgent = plan::ReadinessNeedsAnswers(entry.desired);
    // Other checks wait for the next turn, which is seconds away at most.
    if (due > loop_.now() && urgent) next_turn_ = std::min(next_turn_, due);
    const std::string& registry = entry.desired->reference.domain();
    if (due > loop_.now() && !AwaitsProbe(registry)) continue;  // most, most of the time
    plan::CheckCandidate candidate{.entry = i,
                                   .registry = registry,
                                   .due = due,
                                   .urgent = urgent,
                                   .lookup = lookups_.StateOf(*entry.desired, loop_.now())};
    if (due <= loop_.now()) {
      candidates.push_back(std::move(candidate));
      continue;
    }
    auto [probe, is_first] = probes.try_emplace(registry, candidate);
    if (!is_first && due < probe->second.due) probe->second = std::move(candidate);
  }
  for (auto& [registry, candidate] : probes) candidates.push_back(std::move(candidate));
  if (candidates.empty()) return false;
  plan::ChecksToStart checks = plan::ScheduleChecks(std::move(candidates), paces_, loop_.now());
  next_turn_ = std::min(next_turn_, checks.next_turn_at);
  // The entry gets the answer of its held registry, so that its freshness is up to date without a request.
  for (std::size_t index : checks.skipped) {
    Entry& entry = all[index];
    const plan::RegistryPace& pace = paces_[entry.desired->reference.domain()];
    entry.freshness = plan::AfterSkippedCheck(entry.freshness, entry.desired, plan::AnswerWhileHeld(pace),
                                              AnswerTimeNow(), loop_.Random());
    loop_.Changed();
  }
  for (std::size_t index : checks.needs_credentials)
    loop_.ChangedIf(lookups_.StartIfNeeded(*all[index].desired, loop_.now()));
  for (std::size_t index : checks.start) StartCheck(all[index], runtime);
  return !checks.start.empty();
}

void RegistryChecks::StartCheck(Entry& entry, const image::RuntimeInfo& runtime) {
  plan::RegistryPace& pace = paces_[entry.desired->reference.domain()];
  pace = plan::AfterStart(std::move(pace), loop_.now());
  entry.checking = true;
  // Nodes that ask no registry never create these threads.
  if (!workers_) workers_ = std::make_unique<base::Workers>(image::kChecksAtOnce);
  pulling::RegistryQueryJob job{.reference = entry.desired->reference,
                                .credentials = lookups_.Take(*entry.desired),
                                .local = entry.observed.local,
                                .runtime = runtime};
  auto ask = [this, call = loop_.JobCall(), job = std::move(job)] {
    base::TimePoint started = clock_.Now();
    RegistryAnswer answer =
        pulling::QueryRegistry(call, {options_.resolver, &refusals_, clock_, options_.node}, job);
    metrics_.RegistryChecked(answer, clock_.Now() - started);
    return answer;
  };
  loop_.Submit(*workers_, "RegistryCheckDone", std::move(ask),
               [this, name = entry.name(),
                registry = entry.desired->reference.domain()](const RegistryAnswer& answer) {
                 Apply(name, registry, answer);
                 // Only a limit holds pulls, too. A registry that is silent to the agent may well answer the
                 // runtime, which may use another proxy.
                 if (answer.kind == RegistryAnswerKind::kRateLimited && !pulling::IsLocalFailure(answer))
                   options_.hold_pulls(registry, answer.retry_after.value_or(std::chrono::milliseconds(0)));
               });
}

// `name`: the entry's, normalised.
void RegistryChecks::Apply(const std::string& name, const std::string& registry,
                           const RegistryAnswer& answer) {
  loop_.Changed();
  Entry* entry = entries_.Find(name);
  // The entry may have been dropped by a list and brought back by the next one. The new one does not wait for
  // this answer.
  bool waited_for = entry != nullptr && std::exchange(entry->checking, false);
  // The registry was not asked, so neither its circuit nor the entry may count this as a failure.
  if (pulling::IsLocalFailure(answer)) {
    paces_[registry].running--;
    if (waited_for) CheckAt(*entry, loop_.now() + kRepeatAfterNoAnswer);
    return;
  }
  ApplyPace(registry, answer);
  if (!waited_for || !AppliesTo(*entry)) return;  // the entry is gone, or a new list has brought it back
  const base::Shared<plan::Freshness> before = entry->freshness;
  plan::Local nothing;
  const plan::Local& local = entry->observed.local ? *entry->observed.local : nothing;
  entry->freshness =
      plan::AfterAnswer(entry->freshness, entry->desired, local, answer, AnswerTimeNow(), loop_.Random());
  // The pull that failed was for a digest that the tag no longer names, so its failure and its waiting time
  // are void.
  bool other =
      entry->freshness->remote_digest != before->remote_digest || answer.kind == RegistryAnswerKind::kSame;
  if (other && plan::IsUsable(entry->observed)) {
    entry->history = plan::AfterUpdateObsolete(std::move(entry->history), loop_.now());
  }
  LogAnswer(*entry, answer, before);
}

// Logs changes only, not each answer.
void RegistryChecks::LogAnswer(const Entry& entry, const RegistryAnswer& answer,
                               const plan::Freshness& before) const {
  base::LogFields fields = {{"image", entry.desired->reference.written()},
                            {"answer", base::EnumName(answer.kind)},
                            {"answeredBy", answer.answered_by}};
  bool moved = answer.kind == RegistryAnswerKind::kMoved && !answer.local_digest_unknown &&
               entry.freshness->remote_digest != before.remote_digest;
  if (moved) {
    fields.emplace_back("digest", entry.observed.local ? entry.observed.local->digest : "");
    fields.emplace_back("remoteDigest", answer.digest);
    base::Info("tag changed", fields);
  } else if (entry.freshness->missing && !before.missing) {
    fields.emplace_back("message", answer.message);
    base::Warn("tag missing", fields);
  } else if (before.missing && !entry.freshness->missing) {
    base::Info("tag is back", fields);
  } else if (entry.freshness->denied && !before.denied) {
    fields.emplace_back("message", answer.message);
    base::Warn("registry denies access", fields);
  } else {
    base::Debug("registry answered", fields);
  }
}

void RegistryChecks::ApplyPace(const std::string& registry, const RegistryAnswer& answer) {
  plan::RegistryPace& pace = paces_[registry];
  // Taken before AfterCheck, which clears it with the first answer.
  std::optional<base::TimePoint> away_since = pace.away_since;
  pace = plan::AfterCheck(std::move(pace), answer, loop_.now(), loop_.Wall(), loop_.Random());
  if (IsSilence(answer)) {
    if (!away_since) {
      base::Warn(
          "registry does not answer",
          {{"registry", registry}, {"answer", base::EnumName(answer.kind)}, {"message", answer.message}});
    }
    return;
  }
  if (!away_since) return;
  base::Info("registry answers again", {{"registry", registry}, {"after", loop_.now() - *away_since}});
  // Only checks that readiness needs are repeated at once. The others keep their times: a registry that
  // comes back must not meet everything that was missed.
  for (Entry& entry : entries_.all()) {
    bool waits = entry.freshness->checks_without_answer > 0 && plan::ReadinessNeedsAnswers(entry.desired);
    if (waits && AppliesTo(entry) && entry.desired->reference.domain() == registry)
      CheckAt(entry, loop_.now());
  }
}

void RegistryChecks::OnPullThrottled(const std::string& registry, base::TimePoint until) {
  loop_.Check();
  if (!options_.resolver) return;
  plan::RegistryPace& pace = paces_[registry];
  pace = plan::AfterPullThrottled(std::move(pace), until);
}

bool RegistryChecks::RetryRequested(Entry& entry) {
  loop_.Check();
  if (!AppliesTo(entry) || !entry.freshness->newest ||
      !plan::IsWorthAnotherCheck(entry.freshness->newest->kind)) {
    return false;
  }
  CheckAt(entry, loop_.now());
  return true;
}

void RegistryChecks::Forget(const std::set<std::string>& in_use) {
  loop_.Check();
  std::erase_if(paces_, [&](const auto& one) {
    return !in_use.contains(one.first) && plan::CanDiscard(one.second, loop_.now());
  });
}

// Compares the new image with the one before. If the registry has named another digest than the pull brought,
// a mirror lags behind.
void RegistryChecks::Pulled(Entry& entry, const std::optional<plan::Local>& before) {
  loop_.Check();
  if (!AppliesTo(entry) || !entry.observed.local) return;
  const plan::Local& local = *entry.observed.local;
  entry.freshness =
      plan::AfterPulled(entry.freshness, entry.desired, before, local, AnswerTimeNow(), loop_.Random());
  if (!before) return;
  base::LogFields fields = {{"image", entry.desired->reference.written()},
                            {"digest", local.digest},
                            {"digestBefore", before->digest}};
  if (!entry.freshness->lag_digest.empty()) {
    fields.emplace_back("remoteDigest", entry.freshness->lag_digest);
    base::Warn("mirror lags behind the registry", fields);
  } else if (plan::IsDifferentImage(*before, local)) {
    base::Info("image replaced", fields);
  }
}

void RegistryChecks::UpdateFailed(Entry& entry, const plan::PullFailure& failure) {
  loop_.Check();
  // The runtime's end says nothing of the registry or the new image.
  if (failure.reason == plan::Reason::kRuntimeDown) return;
  if (!AppliesTo(entry) || !plan::IsUsable(entry.observed)) return;
  entry.freshness =
      plan::AfterUpdateFailed(entry.freshness, entry.desired, failure, AnswerTimeNow(), loop_.Random());
}

std::vector<plan::RegistryStatus> RegistryChecks::Statuses() const {
  std::map<std::string, plan::RegistryStatus> by_name;
  std::map<std::string, double> checks_per_hour;
  for (const Entry& entry : entries_.all()) {
    if (!AppliesTo(entry)) continue;
    const std::string& name = entry.desired->reference.domain();
    by_name[name].entries++;
    checks_per_hour[name] += 3600.0 / static_cast<double>(entry.desired->refresh_interval.count());
  }
  std::vector<plan::RegistryStatus> all;
  for (auto& [name, status] : by_name) {
    status.name = name;
    const plan::RegistryPace& pace = base::FindWithDefault(paces_, name);
    status.checks_per_hour = static_cast<std::uint64_t>(std::ceil(checks_per_hour[name]));
    status.requests_per_second = static_cast<std::uint64_t>(image::kRegistryRequests.per_second);
    status.requests_left = static_cast<std::uint64_t>(std::max(0.0, pace.budget.At(loop_.now())));
    status.requests = pace.requests;
    status.unreachable_since = pace.away_since_wall;
    if (pace.trouble) {
      status.trouble = base::EnumName(pace.trouble->kind);
      status.message = pace.trouble->message;
    }
    if (pace.held_until > loop_.now()) {
      status.held_until =
          loop_.Wall() + std::chrono::duration_cast<base::WallTime::duration>(pace.held_until - loop_.now());
    }
    if (pace.allowance) {
      status.pulls_left = pace.allowance->remaining;
      status.pulls_allowed = pace.allowance->limit;
    }
    status.updates_wait = plan::UpdatesWait(pace, loop_.now());
    all.push_back(std::move(status));
  }
  return all;
}

}  // namespace prefetch::agent
