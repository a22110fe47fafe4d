// Pulls and their leases: decides which leases are needed, for the book in agent/lease_manager.h.
#include <map>
#include <utility>

#include "agent/pulls.h"
#include "base/log.h"

namespace prefetch::agent {
namespace {

// At the end leases of pulls that are over are deleted within this; --once does not wait for the end.
constexpr std::chrono::milliseconds kFarewell{300};
constexpr std::chrono::seconds kFarewellOnce{5};

}  // namespace

std::string Pulls::LeaseFor(const Entry& entry) const {
  if (!leases_.supported()) return "";
  return entry.on_list ? cri::LeaseFor(options_.instance, entry.want->reference)
                       : cri::RequestedLeaseFor(options_.instance, entry.want->reference);
}

bool Pulls::Shows(const ActiveRun& run) const {
  return shows_progress_ && leases_.supported() && !run.lease.empty();
}

IdleLeaseUse Pulls::UseOf(const std::string& name, const std::string& lease) {
  const Entry* entry = entries_.Find(name);
  if (entry == nullptr || !entry->applies || entry->on_list == cri::IsRequestedLease(lease)) {
    return IdleLeaseUse::kNone;
  }
  // Before the first look, missing images are unknown; preflights may repeat their wishes.
  bool missing = !entry->seen.known || entry->action.kind != plan::ActionKind::kKeep ||
                 (!entry->on_list && !entry->seen.local);
  if (!missing) return IdleLeaseUse::kNone;
  return entry->past.room.kept > 0 ? IdleLeaseUse::kKeeps : IdleLeaseUse::kWaits;
}

void Pulls::StartUpdatingLeases(Workers& workers) {
  if (!runtime_.up()) return;
  auto work = leases_.Next(
      entries_.LeasesInUse(),
      [this](const std::string& name, const std::string& lease) { return UseOf(name, lease); },
      runtime_.seen_in_full(), loop_.now());
  if (!work) return;
  if (work->list) {
    for (const Entry& entry : entries_.listed()) {
      if (entry.runs.empty()) work->owners.emplace(LeaseFor(entry), entry.want->reference);
    }
  }
  base::Call call{.stop = loop_.stopping()};
  loop_.Submit(workers, [this, call, work = *std::move(work)]() -> Event {
    return UpdateLeases(call, parts_.content, work);
  });
}

void Pulls::Absorb(const LeasesUpdated& event) {
  if (!event.dropped.empty()) {
    relief_ = event.bytes_gone ? plan::AfterBytesGone(relief_, loop_.now())
                               : plan::AfterBytesDropped(relief_, loop_.now());
    if (event.bytes_gone) {
      // Pulls wait for the figure.
      trust_room_of_looks_after_ = runtime_.looks();
      runtime_.PollNow();
    }
    for (Entry& entry : entries_.all()) {
      if (std::find(event.dropped.begin(), event.dropped.end(), LeaseFor(entry)) != event.dropped.end())
        entry.past.room = plan::AfterBytesGone(entry.past.room, loop_.now());
    }
  }
  leases_.Absorb(event, loop_.now());
  if (!event.found || event.found->empty()) return;
  const std::string prefix = cri::LeasePrefix(options_.instance);
  std::map<std::string, std::string> names;
  for (const Entry& entry : entries_.listed()) names.emplace(LeaseFor(entry), entry.name());
  for (const std::string& lease : *event.found) {
    if (!lease.starts_with(prefix) || cri::IsRequestedLease(lease)) continue;
    auto name = names.find(lease);
    leases_.Found(lease, name == names.end() ? "" : name->second, loop_.now());
    if (name != names.end()) RememberKept(*entries_.Find(name->second), event, lease);
  }
}

// Bytes that an agent before has fetched count as if this one had.
void Pulls::RememberKept(Entry& entry, const LeasesUpdated& event, const std::string& lease) {
  auto kept = event.kept.find(lease);
  if (kept == event.kept.end() || !entry.runs.empty()) return;
  if (UseOf(entry.name(), lease) != IdleLeaseUse::kWaits) return;
  entry.past.room = plan::AfterSize(entry.past.room, kept->second.bytes_total);
  entry.past.room.kept = kept->second.bytes_done;
}

void Pulls::Absorb(const PullUnprotected& event) {
  bool unsupported = event.error.error_class == image::ErrorClass::kRuntimeUnsupported;
  if (unsupported) leases_.FoundUnsupported();
  Entry* entry = entries_.Find(event.name);
  if (entry == nullptr) return;
  for (ActiveRun& run : entry->runs) {
    if (run.id != event.run) continue;
    run.lease.clear();
    if (unsupported) continue;
    base::Warn("pull without a lease: an interruption loses its bytes",
               {{"image", entry->want->reference.written()}, {"error", event.error.message}});
  }
}

void Pulls::DropLastLeases() {
  if (!runtime_.up()) return;
  base::Call call = base::Call().Within(options_.once ? base::Duration(kFarewellOnce) : kFarewell);
  LeaseChanges work;
  work.drop = leases_.LastToRelease(
      entries_.LeasesInUse(),
      [this](const std::string& name, const std::string& lease) { return UseOf(name, lease); });
  if (!work.drop.empty()) UpdateLeases(call, parts_.content, work);
}

}  // namespace prefetch::agent
