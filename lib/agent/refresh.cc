// The Agent's questions to registries: which are due, and what the answers change.
#include <algorithm>
#include <utility>

#include "agent/agent.h"
#include "base/log.h"
#include "base/text.h"

namespace prefetch::agent {
namespace {

using image::RegistryAnswer;
using image::RegistryAnswerKind;

// An answer that tells nothing is asked for once more after this.
constexpr std::chrono::seconds kAgainAfterNothing{10};

bool IsSilence(RegistryAnswerKind kind) {
  return kind == RegistryAnswerKind::kUnreachable || kind == RegistryAnswerKind::kServerError ||
         kind == RegistryAnswerKind::kRateLimited;
}

void CheckAt(Entry& entry, base::TimePoint at) {
  entry.fresh.Change([at](plan::Freshness& fresh) { fresh.next_check = at; });
}

}  // namespace

bool Agent::Asks(const Entry& entry) const {
  return parts_.registry && entry.applies && plan::AsksRegistry(entry.want);
}

plan::Answered Agent::NowAnswered() const {
  return {.at = now_, .wall = parts_.clock.Wall()};
}

// A runtime has told what it is, or a look was taken at it: what is known of its registries may have changed.
void Agent::FoldAccess() {
  if (!parts_.access || runtime_.name.empty()) return;
  image::RegistryAccess access = parts_.access({runtime_.name, runtime_.version, runtime_.registries});
  if (runtime_.access == access) return;
  runtime_.access = std::move(access);
  access_told_ = false;
  dirty_ = true;
}

// Once somebody is to be asked, what an operator should know of how that is done; again only when it is
// another thing than before.
void Agent::TellAccess() {
  if (!runtime_.access || std::exchange(access_told_, true)) return;
  const image::RegistryAccess& access = *runtime_.access;
  base::Info("registries are asked", {{"configPath", access.config_path},
                                      {"configPathSource", access.config_path_source},
                                      {"byPull", base::Join(access.by_pull, ",")},
                                      {"byPullSource", access.by_pull_source},
                                      {"notes", base::Join(access.notes, "; ")}});
}

// A list has come: who is asked about what has changed.
void Agent::FoldDemands() {
  for (Entry& entry : entries_.all()) {
    if (!std::exchange(entry.demand_changed, false)) continue;
    if (Asks(entry)) {
      entry.fresh = plan::AfterNewDemand(entry.fresh, entry.want, now_, Random());
    } else {
      entry.fresh = {};
      entry.refresh = {};
    }
  }
}

bool Agent::WaitsForAProbe(const std::string& registry) const {
  auto pace = paces_.find(registry);
  return pace != paces_.end() && pace->second.probing && now_ >= pace->second.held_until;
}

void Agent::StartDueChecks() {
  checks_again_ = base::TimePoint::max();
  if (!parts_.registry || !runtime_.up) return;
  std::vector<Entry>& all = entries_.all();
  std::vector<plan::CheckSlot> slots;
  std::map<std::string, plan::CheckSlot> probes;  // of each registry that waits for one, the next that is due
  for (std::size_t i = 0; i < all.size(); i++) {
    Entry& entry = all[i];
    if (!Asks(entry) || entry.checking || !entry.runs.empty()) continue;
    if (!plan::IsUsable(entry.seen, entry.past)) continue;
    if (entry.fresh->next_check == base::TimePoint()) {
      entry.fresh = plan::PlanFirstCheck(entry.fresh, entry.want, now_, Random());
      if (options_.once) CheckAt(entry, now_);
      dirty_ = true;
    }
    const base::TimePoint due = entry.fresh->next_check;
    const bool urgent = plan::IsUrgent(entry.want);
    if (due > now_ && urgent) checks_again_ = std::min(checks_again_, due);
    const std::string& registry = entry.want->reference.domain();
    if (due > now_ && !WaitsForAProbe(registry)) continue;  // most, most of the time
    plan::CheckSlot slot{.entry = i,
                         .registry = registry,
                         .due = due,
                         .urgent = urgent,
                         .look_up = look_ups_.StateOf(*entry.want, now_)};
    if (due <= now_) {
      slots.push_back(std::move(slot));
      continue;
    }
    auto [probe, is_first] = probes.try_emplace(registry, slot);
    if (!is_first && due < probe->second.due) probe->second = std::move(slot);
  }
  for (auto& [registry, slot] : probes) slots.push_back(std::move(slot));
  if (slots.empty()) return;
  plan::ChecksToStart checks = plan::ScheduleChecks(std::move(slots), paces_, now_);
  checks_again_ = std::min(checks_again_, checks.look_again);
  for (std::size_t index : checks.unasked) {
    Entry& entry = all[index];
    const plan::RegistryPace& pace = paces_[entry.want->reference.domain()];
    entry.fresh =
        plan::AfterUnasked(entry.fresh, entry.want, plan::HeldAnswer(pace), NowAnswered(), Random());
    dirty_ = true;
  }
  for (std::size_t index : checks.look_up) StartLookUp(all[index]);
  for (std::size_t index : checks.start) StartCheck(all[index]);
}

void Agent::StartCheck(Entry& entry) {
  TellAccess();
  plan::RegistryPace& pace = paces_[entry.want->reference.domain()];
  pace = plan::AfterStart(std::move(pace), now_);
  entry.checking = true;
  // Only a node that asks registries needs the threads for it.
  if (!checks_) checks_ = std::make_unique<Workers>(plan::kChecksAtOnce);
  AskJob job{.reference = entry.want->reference,
             .credentials = look_ups_.Take(*entry.want),
             .local = entry.seen.local,
             .runtime = {runtime_.name, runtime_.version, runtime_.registries}};
  base::Call call{.stop = stopping_.get_token()};
  Submit(*checks_, [this, call, job = std::move(job), name = entry.name()]() -> Event {
    base::TimePoint started = parts_.clock.Now();
    CheckDone done{.name = name, .registry = job.reference.domain(), .answer = {}};
    done.answer = AskRegistry(call, {parts_.registry, &refusals_, parts_.clock, options_.platform}, job);
    metrics_.RegistryAsked(done.answer, parts_.clock.Now() - started);
    return done;
  });
}

void Agent::On(const CheckDone& event) {
  jobs_--;
  dirty_ = true;
  Entry* entry = entries_.Find(event.name);
  bool waited_for = entry != nullptr && std::exchange(entry->checking, false);
  if (SaysNothing(event.answer)) {
    paces_[event.registry].running--;
    if (waited_for) CheckAt(*entry, now_ + kAgainAfterNothing);
    return;
  }
  FoldPace(event.registry, event.answer);
  if (!waited_for || !Asks(*entry)) return;  // its entry is gone, or came anew
  std::string remote = entry->fresh->remote;
  bool was_missing = entry->fresh->missing;
  bool was_denied = entry->fresh->denied;
  plan::Local nothing;
  const plan::Local& local = entry->seen.local ? *entry->seen.local : nothing;
  entry->fresh = plan::AfterAnswer(entry->fresh, entry->want, local, event.answer, NowAnswered(), Random());
  // What a pull failed for is not what the tag points to now.
  bool other = entry->fresh->remote != remote || event.answer.kind == RegistryAnswerKind::kSame;
  if (other && plan::IsUsable(entry->seen, entry->past)) {
    entry->past = plan::AfterUpdateDropped(std::move(entry->past), now_);
  }
  LogAnswer(*entry, event.answer, {.remote = remote, .missing = was_missing, .denied = was_denied});
}

// What a person may want to know, once: not each time that it is still so.
void Agent::LogAnswer(const Entry& entry, const RegistryAnswer& answer, const SaidBefore& before) const {
  base::LogFields fields = {{"image", entry.want->reference.written()},
                            {"answer", image::RegistryAnswerName(answer.kind)},
                            {"answeredBy", answer.answered_by}};
  bool moved = answer.kind == RegistryAnswerKind::kMoved && !answer.local_digest_unknown &&
               entry.fresh->remote != before.remote;
  if (moved) {
    fields.emplace_back("digest", entry.seen.local ? entry.seen.local->digest : "");
    fields.emplace_back("remoteDigest", answer.digest);
    base::Info("tag changed", fields);
  } else if (entry.fresh->missing && !before.missing) {
    fields.emplace_back("message", answer.message);
    base::Warn("tag missing", fields);
  } else if (before.missing && !entry.fresh->missing) {
    base::Info("tag is back", fields);
  } else if (entry.fresh->denied && !before.denied) {
    fields.emplace_back("message", answer.message);
    base::Warn("registry denies access", fields);
  } else {
    base::Debug("registry answered", fields);
  }
}

void Agent::FoldPace(const std::string& registry, const RegistryAnswer& answer) {
  plan::RegistryPace& pace = paces_[registry];
  std::optional<base::TimePoint> away_since = pace.away_since;
  pace = plan::AfterCheck(std::move(pace), answer, now_, parts_.clock.Wall(), Random());
  if (IsSilence(answer.kind)) {
    if (!away_since) {
      base::Warn("registry does not answer", {{"registry", registry},
                                              {"answer", image::RegistryAnswerName(answer.kind)},
                                              {"message", answer.message}});
    }
    if (answer.kind == RegistryAnswerKind::kRateLimited) HoldPulls(registry, answer);
    return;
  }
  if (!away_since) return;
  base::Info("registry answers again", {{"registry", registry}, {"after", now_ - *away_since}});
  // Readiness waits for these. The others are asked in their turn: a registry that comes back is not met by
  // all that was missed.
  for (Entry& entry : entries_.all()) {
    bool waits = entry.fresh->silent > 0 && plan::IsUrgent(entry.want);
    if (waits && Asks(entry) && entry.want->reference.domain() == registry) CheckAt(entry, now_);
  }
}

// A registry that asks for patience means pulls, too (registry rule R27).
void Agent::HoldPulls(const std::string& registry, const RegistryAnswer& answer) {
  base::Duration wait = answer.retry_after.value_or(std::chrono::milliseconds(0));
  registries_[registry] = plan::AfterRegistryFailure(registries_[registry], true, wait, now_, Random());
  registry_trouble_[registry] = plan::Reason::kRateLimited;
}

// An image came by a pull of ours, in place of `before`.
void Agent::FoldPulled(Entry& entry, const std::optional<plan::Local>& before) {
  if (!Asks(entry) || !entry.seen.local) return;
  const plan::Local& local = *entry.seen.local;
  entry.fresh = plan::AfterPulled(entry.fresh, entry.want, before, local, NowAnswered(), Random());
  if (!before) return;
  base::LogFields fields = {
      {"image", entry.want->reference.written()}, {"digest", local.digest}, {"digestBefore", before->digest}};
  if (!entry.fresh->lag_digest.empty()) {
    fields.emplace_back("remoteDigest", entry.fresh->lag_digest);
    base::Warn("mirror lags behind the registry", fields);
  } else if (plan::IsAnother(*before, local)) {
    base::Info("image replaced", fields);
  }
}

// A pull that should have replaced what is here has failed; what is here stays in use.
void Agent::FoldUpdateFailed(Entry& entry, const plan::PullFailure& failure) {
  if (failure.reason == plan::Reason::kRuntimeDown) return;
  if (!Asks(entry) || !plan::IsUsable(entry.seen, entry.past)) return;
  entry.fresh = plan::AfterUpdateFailed(entry.fresh, entry.want, failure.reason, failure.error, NowAnswered(),
                                        Random());
}

std::vector<plan::RegistryStatus> Agent::RegistriesInUse() const {
  std::map<std::string, plan::RegistryStatus> by_name;
  for (const Entry& entry : entries_.all()) {
    if (!Asks(entry)) continue;
    plan::RegistryStatus& status = by_name[entry.want->reference.domain()];
    status.entries++;
    status.checks_per_hour += 3600.0 / static_cast<double>(entry.want->refresh_interval.count());
  }
  std::vector<plan::RegistryStatus> all;
  for (auto& [name, status] : by_name) {
    status.name = name;
    auto found = paces_.find(name);
    const plan::RegistryPace pace = found == paces_.end() ? plan::RegistryPace{} : found->second;
    status.requests_per_second = plan::kRequestsPerSecond;
    status.requests_left = std::max(0.0, plan::TokensAt(pace, now_));
    status.requests = pace.requests;
    status.unreachable_since = pace.away_since_wall;
    if (pace.trouble) {
      status.trouble = image::RegistryAnswerName(pace.trouble->kind);
      status.message = pace.trouble->message;
    }
    if (pace.held_until > now_) {
      status.held_until =
          parts_.clock.Wall() + std::chrono::duration_cast<base::WallTime::duration>(pace.held_until - now_);
    }
    status.allowance = pace.allowance;
    status.saves_pulls = plan::SavesPulls(pace, now_);
    all.push_back(std::move(status));
  }
  return all;
}

}  // namespace prefetch::agent
