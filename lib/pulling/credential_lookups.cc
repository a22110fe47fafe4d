#include "pulling/credential_lookups.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace prefetch::pulling {

CredentialLookups::CredentialLookups(credentials::Keyring& keyring,
                                     std::function<void(LookupFinished)> on_finished)
    : on_finished_(std::move(on_finished)), pool_(keyring) {}

plan::CredentialLookup CredentialLookups::StateOf(const plan::DesiredImage& desired,
                                                  base::TimePoint now) const {
  thread_.Check();
  auto found = pending_.find(desired.reference.Normalized());
  // Mounted pull secrets are for certain sources only, so a result for other sources may hold a credential
  // that this image must not use, or lack one.
  if (found == pending_.end() || found->second.question.sources != desired.sources ||
      found->second.question.for_any_pod != desired.for_any_pod) {
    return {plan::LookupState::kNeeded, {}};
  }
  const PendingLookup& pending = found->second;
  if (!pending.found) return {plan::LookupState::kUnderWay, pending.since};
  if (now - pending.since >= kLookupLifetime) return {plan::LookupState::kNeeded, {}};
  return {plan::LookupState::kDone, {}};
}

bool CredentialLookups::StartIfNeeded(const plan::DesiredImage& desired, base::TimePoint now) {
  thread_.Check();
  if (StateOf(desired, now).state != plan::LookupState::kNeeded) return false;
  const std::string& name = desired.reference.Normalized();
  PendingLookup pending{.id = next_id_++,
                        .question = {desired.reference, desired.sources, desired.for_any_pod},
                        .since = now,
                        .found = nullptr,
                        .stop = {}};
  LookupJob job{.call = {.stop = pending.stop.get_token()},
                .question = pending.question,
                .done = [on_finished = on_finished_, name, id = pending.id](credentials::Lookup lookup) {
                  on_finished({name, id, std::make_shared<const credentials::Lookup>(std::move(lookup))});
                }};
  const bool replaces = pending_.count(name) != 0;
  PendingLookup& place = pending_[name];
  // A lookup with other sources may still run for this name. Its event is recognised by its id and ignored.
  place.stop.request_stop();
  place = std::move(pending);
  if (replaces) pool_.DropStopped();
  under_way_++;
  pool_.Start(std::move(job));
  return true;
}

bool CredentialLookups::Handle(const LookupFinished& event, base::TimePoint now) {
  thread_.Check();
  // Counted even if nobody waits for the result any more: the thread is free.
  under_way_--;
  auto found = pending_.find(event.name);
  if (found == pending_.end() || found->second.id != event.id) return false;
  found->second.found = event.lookup;
  found->second.since = now;
  return true;
}

LookupPtr CredentialLookups::Peek(const plan::DesiredImage& desired) const {
  thread_.Check();
  return pending_.at(desired.reference.Normalized()).found;
}

LookupPtr CredentialLookups::Take(const plan::DesiredImage& desired) {
  thread_.Check();
  auto found = pending_.find(desired.reference.Normalized());
  // Each pull gets credentials of its own: a result that was used is not used for the retry.
  LookupPtr lookup = std::move(found->second.found);
  pending_.erase(found);
  return lookup;
}

void CredentialLookups::RetainOnly(const std::function<bool(const std::string& name)>& wanted) {
  thread_.Check();
  const auto dropped = std::erase_if(pending_, [&wanted](auto& one) {
    if (wanted && wanted(one.first)) return false;
    one.second.stop.request_stop();
    return true;
  });
  if (dropped > 0) pool_.DropStopped();
}

CredentialLookupPool::CredentialLookupPool(credentials::Keyring& keyring)
    : keyring_(keyring), plugins_(kLookupThreads), files_(1) {}

void CredentialLookupPool::Start(LookupJob job) {
  // Most images need only files or an answer that a plugin gave before. Those never wait behind a plugin.
  files_.Submit([this, job = std::move(job)]() mutable {
    if (auto lookup = keyring_.TryFind(job.question)) {
      job.done(*std::move(lookup));
    } else {
      Group group = keyring_.ProvidersFor(job.question.reference);
      Begin({std::move(group), std::move(job)});
    }
  });
}

void CredentialLookupPool::DropStopped() {
  base::Lock lock(mutex_);
  StartWaiting();
}

int CredentialLookupPool::queued() const {
  base::Lock lock(mutex_);
  return static_cast<int>(waiting_.size());
}

void CredentialLookupPool::Begin(PluginLookup lookup) {
  base::Lock lock(mutex_);
  waiting_.push_back(std::move(lookup));
  if (MayRun(waiting_.back())) Run(std::prev(waiting_.end()));
}

// Returns true if the lookup may take one of the shared threads. Otherwise it needs a thread of its own.
bool CredentialLookupPool::MayShare(const PluginLookup& lookup) const {
  if (std::ranges::count(running_, false, &PluginLookup::has_own_thread) >= kPluginsAtOnce) return false;
  const bool is_first = std::ranges::none_of(running_, [&](const PluginLookup& one) {
    return one.group == lookup.group &&
           one.job.question.reference.domain() == lookup.job.question.reference.domain();
  });
  // The first lookup of a registry may use threads that further ones of the same registry may not: a registry
  // for which a plugin hangs cannot take all of them.
  const int most = is_first ? kMaxLookupsPerPlugin : kMaxLookupsPerRegistry;
  return std::ranges::all_of(lookup.group, [&](const std::string& plugin) PREFETCH_REQUIRES(mutex_) {
    return std::ranges::count_if(running_, [&](const PluginLookup& one) {
             return std::ranges::find(one.group, plugin) != one.group.end();
           }) < most;
  });
}

// A stopped lookup may always run, since it ends at once and must report.
bool CredentialLookupPool::MayRun(const PluginLookup& lookup) const {
  if (running_.size() >= kLookupThreads) return false;
  // The first lookup of a group always runs, so that no plugin is kept from its images by another one.
  return std::ranges::find(running_, lookup.group, &PluginLookup::group) == running_.end() ||
         lookup.job.call.Stopped() || MayShare(lookup);
}

void CredentialLookupPool::Run(PluginLookups::iterator lookup) {
  lookup->has_own_thread = !MayShare(*lookup);
  running_.splice(running_.end(), waiting_, lookup);
  plugins_.Submit([this, lookup] {
    credentials::Lookup found = keyring_.Find(lookup->job.call, lookup->job.question);
    const auto done = std::move(lookup->job.done);
    // Before the event, so that its receiver finds the thread free.
    Ended(lookup);
    done(std::move(found));
  });
}

void CredentialLookupPool::Ended(PluginLookups::iterator lookup) {
  base::Lock lock(mutex_);
  running_.erase(lookup);
  StartWaiting();
}

void CredentialLookupPool::StartWaiting() {
  while (true) {
    // In the order of arrival, but one that may not run yet holds up no other.
    auto next = std::ranges::find_if(
        waiting_, [this](const PluginLookup& one) PREFETCH_REQUIRES(mutex_) { return MayRun(one); });
    if (next == waiting_.end()) return;
    Run(next);
  }
}

}  // namespace prefetch::pulling
