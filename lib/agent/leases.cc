// The Agent and its leases: agent/lease_book.h keeps the book, this tells it what is needed.
#include <map>
#include <utility>

#include "agent/agent.h"
#include "base/log.h"

namespace prefetch::agent {
namespace {

// At the end leases of pulls that are over are deleted within this; --once has nobody who waits for the end.
constexpr std::chrono::milliseconds kFarewell{300};
constexpr std::chrono::seconds kFarewellOnce{5};

}  // namespace

std::string Agent::LeaseFor(const Entry& entry) const {
  if (!leases_.supported()) return "";
  return entry.on_list ? cri::LeaseFor(options_.instance, entry.want->reference)
                       : cri::AskedLeaseFor(options_.instance, entry.want->reference);
}

bool Agent::Shows(const ActiveRun& run) const {
  return progress_supported_ && leases_.supported() && !run.lease.empty();
}

LeaseUse Agent::UseOf(const std::string& name, const std::string& lease) {
  const Entry* entry = entries_.Find(name);
  if (entry == nullptr || !entry->applies || entry->on_list == cri::IsAskedLease(lease)) {
    return LeaseUse::kNone;
  }
  // Before the first look nobody knows what is missing; who asked for an image may ask again.
  bool missing = !entry->seen.known || entry->action.kind != plan::ActionKind::kKeep ||
                 (!entry->on_list && !entry->seen.local);
  if (!missing) return LeaseUse::kNone;
  return entry->past.room.kept > 0 ? LeaseUse::kKeeps : LeaseUse::kWaits;
}

void Agent::StartTendingLeases() {
  if (!runtime_.up) return;
  auto work = leases_.Next(
      entries_.LeasesInUse(),
      [this](const std::string& name, const std::string& lease) { return UseOf(name, lease); },
      list_epoch_ > 0 && !look_in_full_, now_);
  if (!work) return;
  base::Call call{.stop = stopping_.get_token()};
  Submit(looks_,
         [this, call, work = *std::move(work)]() -> Event { return TendLeases(call, parts_.content, work); });
}

void Agent::On(const LeasesTended& event) {
  jobs_--;
  if (!event.dropped.empty()) relief_ = plan::AfterBytesDropped(relief_, now_);
  leases_.Absorb(event, now_);
  if (!event.found || event.found->empty()) return;
  const std::string prefix = cri::LeasePrefix(options_.instance);
  std::map<std::string, std::string> names;
  for (const Entry& entry : entries_.listed()) names.emplace(LeaseFor(entry), entry.name());
  for (const std::string& lease : *event.found) {
    if (!lease.starts_with(prefix) || cri::IsAskedLease(lease)) continue;
    auto name = names.find(lease);
    leases_.Found(lease, name == names.end() ? "" : name->second, now_);
  }
}

void Agent::On(const PullUnprotected& event) {
  bool unsupported = event.error.error_class == image::ErrorClass::kRuntimeUnsupported;
  if (unsupported) leases_.FoundUnsupported();
  Entry* entry = entries_.Find(event.name);
  if (entry == nullptr) return;
  for (ActiveRun& run : entry->runs) {
    if (run.id != event.run) continue;
    run.lease.clear();
    if (unsupported) continue;
    base::Warn("pull without a lease: what it fetches is lost if it breaks off",
               {{"image", entry->want->reference.written()}, {"error", event.error.message}});
  }
}

// What pulls that are over have left, before the process ends. Leases of pulls that were interrupted stay:
// the next start goes on with their bytes.
void Agent::DropLastLeases() {
  if (!runtime_.up) return;
  base::Call call = base::Call().Within(options_.once ? base::Duration(kFarewellOnce) : kFarewell);
  LeaseWork work;
  work.drop = leases_.LastToGo(
      entries_.LeasesInUse(),
      [this](const std::string& name, const std::string& lease) { return UseOf(name, lease); });
  if (!work.drop.empty()) TendLeases(call, parts_.content, work);
}

}  // namespace prefetch::agent
