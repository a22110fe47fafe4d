#include "pulling/credential_lookups.h"

#include <algorithm>

#include "base/find_with_default.h"

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
  if (found == pending_.end() || found->second.sources != desired.sources ||
      found->second.for_any_pod != desired.for_any_pod) {
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
                        .sources = desired.sources,
                        .for_any_pod = desired.for_any_pod,
                        .since = now,
                        .found = nullptr,
                        .stop = {}};
  LookupJob job{.call = {.stop = pending.stop.get_token()},
                .reference = desired.reference,
                .sources = desired.sources,
                .for_any_pod = desired.for_any_pod,
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

namespace {

template <typename Key>
void CountDown(std::map<Key, int>& counts, const Key& key) {
  auto found = counts.find(key);
  if (--found->second == 0) counts.erase(found);
}

}  // namespace

CredentialLookupPool::CredentialLookupPool(credentials::Keyring& keyring)
    : keyring_(keyring), plugins_(kLookupThreads), files_(1) {}

void CredentialLookupPool::Start(LookupJob job) {
  // Most images need only files or an answer that a plugin gave before. Those never wait behind a plugin.
  files_.Submit([this, job = std::move(job)]() mutable {
    auto lookup = job.for_any_pod ? keyring_.TryFindForAnyPod(job.reference)
                                  : keyring_.TryFind(job.reference, job.sources);
    if (lookup) {
      job.done(*std::move(lookup));
    } else {
      Group group = keyring_.ProvidersFor(job.reference);
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

void CredentialLookupPool::Begin(Waiting one) {
  base::Lock lock(mutex_);
  if (MayRun(one)) {
    Run(std::move(one));
  } else {
    waiting_.push_back(std::move(one));
  }
}

// Returns true if the lookup may take one of the shared threads. Otherwise it needs a thread of its own.
bool CredentialLookupPool::MayShare(const Waiting& one) const {
  if (running_ - running_on_own_threads_ >= kPluginsAtOnce) return false;
  const bool is_first = of_registry_.count({one.group, one.job.reference.domain()}) == 0;
  // The first lookup of a registry may use threads that further ones of the same registry may not: a registry
  // for which a plugin hangs cannot take all of them.
  const int most = is_first ? kMaxLookupsPerPlugin : kMaxLookupsPerRegistry;
  return std::ranges::all_of(one.group, [&](const std::string& plugin) PREFETCH_REQUIRES(mutex_) {
    return base::FindWithDefault(of_plugin_, plugin) < most;
  });
}

// A stopped lookup may always run, since it ends at once and must report.
bool CredentialLookupPool::MayRun(const Waiting& one) const {
  if (running_ >= kLookupThreads) return false;
  // The first lookup of a group always runs, so that no plugin is kept from its images by another one.
  return of_group_.count(one.group) == 0 || one.job.call.Stopped() || MayShare(one);
}

void CredentialLookupPool::Run(Waiting one) {
  const bool has_own = !MayShare(one);
  running_++;
  running_on_own_threads_ += has_own ? 1 : 0;
  of_group_[one.group]++;
  of_registry_[{one.group, one.job.reference.domain()}]++;
  for (const std::string& plugin : one.group) of_plugin_[plugin]++;
  plugins_.Submit([this, has_own, group = std::move(one.group), job = std::move(one.job)] {
    credentials::Lookup lookup = job.for_any_pod ? keyring_.FindForAnyPod(job.call, job.reference)
                                                 : keyring_.Find(job.call, job.reference, job.sources);
    // Before the event, so that its receiver finds the thread free.
    Ended(group, job.reference.domain(), has_own);
    job.done(std::move(lookup));
  });
}

void CredentialLookupPool::Ended(const Group& group, const std::string& registry, bool has_own) {
  base::Lock lock(mutex_);
  running_--;
  running_on_own_threads_ -= has_own ? 1 : 0;
  CountDown(of_group_, group);
  CountDown(of_registry_, {group, registry});
  for (const std::string& plugin : group) CountDown(of_plugin_, plugin);
  StartWaiting();
}

void CredentialLookupPool::StartWaiting() {
  while (true) {
    // In the order of arrival, but one that may not run yet holds up no other.
    auto next = std::ranges::find_if(
        waiting_, [this](const Waiting& one) PREFETCH_REQUIRES(mutex_) { return MayRun(one); });
    if (next == waiting_.end()) return;
    Waiting one = std::move(*next);
    waiting_.erase(next);
    Run(std::move(one));
  }
}

}  // namespace prefetch::pulling
