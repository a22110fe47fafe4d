#include "agent/credential_lookups.h"

#include <utility>

namespace prefetch::agent {

CredentialLookups::CredentialLookups(credentials::Keyring& keyring,
                                     std::function<void(LookupFinished)> on_finished)
    : on_finished_(std::move(on_finished)), pool_(keyring) {}

plan::CredentialLookup CredentialLookups::StateOf(const plan::DesiredImage& want, base::TimePoint now) const {
  thread_.Check();
  auto found = searches_.find(want.reference.Normalized());
  // Mounted pull secrets are for certain sources only, so a result for other sources may hold a credential
  // that this image must not use, or lack one.
  if (found == searches_.end() || found->second.sources != want.sources ||
      found->second.for_any_pod != want.for_any_pod) {
    return {plan::LookupState::kWanted, {}};
  }
  const Search& search = found->second;
  if (!search.found) return {plan::LookupState::kUnderWay, search.since};
  if (now - search.since >= kLookupLifetime) return {plan::LookupState::kWanted, {}};
  return {plan::LookupState::kDone, {}};
}

bool CredentialLookups::Want(const plan::DesiredImage& want, base::TimePoint now) {
  thread_.Check();
  if (StateOf(want, now).state != plan::LookupState::kWanted) return false;
  const std::string& name = want.reference.Normalized();
  Search search{.id = next_id_++,
                .sources = want.sources,
                .for_any_pod = want.for_any_pod,
                .since = now,
                .found = nullptr,
                .stop = {}};
  LookupJob job{.call = {.stop = search.stop.get_token()},
                .reference = want.reference,
                .sources = want.sources,
                .for_any_pod = want.for_any_pod,
                .done = [on_finished = on_finished_, name, id = search.id](credentials::Lookup lookup) {
                  on_finished({name, id, std::make_shared<const credentials::Lookup>(std::move(lookup))});
                }};
  const bool replaces = searches_.count(name) != 0;
  Search& place = searches_[name];
  // A search with other sources may still run for this name. Its event is recognised by its id and ignored.
  place.stop.request_stop();
  place = std::move(search);
  if (replaces) pool_.DropStopped();
  under_way_++;
  pool_.Start(std::move(job));
  return true;
}

bool CredentialLookups::Handle(const LookupFinished& event, base::TimePoint now) {
  thread_.Check();
  // Counted even if nobody waits for the result any more: the thread is free.
  under_way_--;
  auto found = searches_.find(event.name);
  if (found == searches_.end() || found->second.id != event.id) return false;
  found->second.found = event.lookup;
  found->second.since = now;
  return true;
}

LookupPtr CredentialLookups::Peek(const plan::DesiredImage& want) const {
  thread_.Check();
  return searches_.at(want.reference.Normalized()).found;
}

LookupPtr CredentialLookups::Take(const plan::DesiredImage& want) {
  thread_.Check();
  auto found = searches_.find(want.reference.Normalized());
  // Each pull gets credentials of its own: a result that was used is not used for the retry.
  LookupPtr lookup = std::move(found->second.found);
  searches_.erase(found);
  return lookup;
}

void CredentialLookups::RetainOnly(const std::function<bool(const std::string& name)>& wanted) {
  thread_.Check();
  const auto dropped = std::erase_if(searches_, [&wanted](auto& one) {
    if (wanted && wanted(one.first)) return false;
    one.second.stop.request_stop();
    return true;
  });
  if (dropped > 0) pool_.DropStopped();
}

}  // namespace prefetch::agent
