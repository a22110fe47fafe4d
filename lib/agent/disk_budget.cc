// Pulls and the room on the disk: plan/disk_budget.h decides, this carries it out.
#include <algorithm>

#include "agent/pulls.h"
#include "base/log.h"
#include "plan/disk_budget.h"

namespace prefetch::agent {

void Pulls::ApplyPoll(std::uint64_t sequence, const RuntimePoll& poll) {
  loop_.Check();
  // An older poll may have measured the disk before bytes were deleted, or before a pull's end.
  if (sequence > trust_space_of_polls_after_) ApplyDisk(poll.disk, poll.disk_path);
}

// Sets the figures by which pulls are admitted.
void Pulls::SetDisk(const plan::DiskSpace& disk) {
  const std::vector<Entry>& all = entries_.all();
  // The message of each image without room states these figures.
  loop_.ChangedIf(
      disk.available_bytes != disk_.available_bytes &&
      std::any_of(all.begin(), all.end(), [](const Entry& entry) { return entry.no_disk_space; }));
  disk_ = disk;
}

void Pulls::ApplyDisk(const plan::DiskSpace& disk, const std::string& path) {
  SetDisk(disk);
  disk_path_ = path;
  // Even a measurement that failed counts: bytes that are on their way out must not stop new pulls for ever.
  eviction_ = plan::AfterMeasure(eviction_, loop_.now());
  if (!disk_.known) return;
  taken_ = plan::AfterMeasure(taken_, disk_.available_bytes);
  const std::uint64_t usable = plan::Usable(disk_, limits_);
  for (Entry& entry : entries_.all())
    entry.past.disk = plan::AfterMeasure(entry.past.disk, usable, loop_.now());
}

bool Pulls::IsFar(const Entry& entry) const {
  auto distance = distances_.find(entry.want->reference.domain());
  return distance != distances_.end() && distance->second == plan::Distance::kFar;
}

// The scheduler's view of a pull that runs or is due. plan::Schedule and the disk budget know entries only by
// this, so that they stay pure.
plan::PullCandidate Pulls::SlotOf(std::size_t index) const {
  const Entry& entry = entries_.all()[index];
  plan::PullCandidate slot{.entry = index,
                           .registry = entry.want->reference.domain(),
                           .content = entry.want->reference.digest(),
                           .priority = entry.want->priority,
                           .update = plan::IsUsable(entry.seen),
                           .requested = loop_.now() < entry.requested_until,
                           .unlisted = !entry.on_list,
                           .suspect = plan::IsSuspicious(entry.past),
                           .stalled = entry.past.last_failure == plan::Reason::kStalled,
                           .far = IsFar(entry),
                           .failures = entry.past.failures,
                           .bytes = entry.past.disk.compressed};
  if (entry.runs.empty()) {
    slot.lookup = lookups_.StateOf(*entry.want, loop_.now());
    slot.disk = plan::ReservationOfDue(entry.past.disk, disk_factor_);
  } else if (const ActivePull* run = entry.Current()) {
    // Bytes that an earlier pull has left are reported only once the runtime shows this pull.
    const plan::Movement& movement = run->run.movement;
    slot.disk = plan::ReservationOfRunning(
        entry.past.disk, movement.seen ? movement.bytes_done : entry.past.disk.kept, disk_factor_);
    slot.started_at = run->run.started_at;
    slot.fetched = run->fetched;
    slot.idle = Shows(*run) && plan::IsIdle(movement, slot.started_at, loop_.now());
    slot.over = run->returned && loop_.now() - *run->returned < plan::kShortPoll;
  } else if (entry.runs.back().ending == Ending::kWaits) {
    // This pull is due again as soon as it has ended, so its room stays reserved.
    slot.disk.reserved = plan::ReservationOfDue(entry.past.disk, disk_factor_).reserved;
  }
  return slot;
}

std::uint64_t Pulls::StillNeeds(const Entry& entry) const {
  loop_.Check();
  const ActivePull* run = entry.Current();
  const bool seen = run != nullptr && run->run.movement.seen;
  return plan::ExpectedDiskUse(entry.past.disk, taken_,
                               seen ? run->run.movement.bytes_done : entry.past.disk.kept);
}

void Pulls::Handle(const SizeKnown& event) {
  loop_.Check();
  // Even if the entry is gone: the worker waits for this decision and would hold its thread.
  undecided_.push_back(event.decision);
  if (event.disk.known) ApplyDisk(event.disk, disk_path_);
  Entry* entry = entries_.Find(event.name);
  if (entry == nullptr) return;
  for (const ActivePull& run : entry->runs) {
    if (run.id == event.run) entry->past.disk = plan::AfterSize(entry->past.disk, event.bytes);
  }
  loop_.Changed();
}

// Runs that do not fit are stopped before their workers are released. Otherwise a worker might write before
// it sees the stop.
void Pulls::CheckDiskBudget() {
  loop_.Check();
  EndForDiskSpace();
  for (const std::shared_ptr<Decision>& decision : undecided_) decision->Made();
  undecided_.clear();
}

void Pulls::EndForDiskSpace() {
  const std::uint64_t usable = plan::Usable(disk_, limits_);
  std::vector<Entry>& all = entries_.all();
  // The factor is fixed for the whole turn, so that all reservations are comparable.
  disk_factor_ = plan::FactorFor(taken_, std::any_of(all.begin(), all.end(), [](const Entry& entry) {
                                   return plan::NeedsMoreThanUsual(entry.past.disk);
                                 }));
  std::vector<plan::PullCandidate> running;
  for (std::size_t i = 0; i < all.size(); i++) {
    if (!all[i].runs.empty() && all[i].Current() != nullptr) running.push_back(SlotOf(i));
  }
  if (running.empty()) return;
  // Bytes of pulls that wait are discarded before a running pull is ended.
  if (usable == 0 && !eviction_.pending && plan::KeptBytesMatter(KeptBytes(), running)) {
    DropKeptBytes();
    return;
  }
  // One pull is ended at a time, and the rest is judged anew: its room may be enough for the others.
  while (auto verdict = plan::ChoosePullToEnd(running, usable, eviction_)) {
    Entry& entry = all[verdict->entry];
    ActivePull& run = entry.runs.back();
    base::LogFields fields = {
        {"image", entry.want->reference.written()}, {"needed", verdict->needed}, {"available", usable}};
    if (verdict->ending == plan::PullToEnd::kOutOfDiskSpace) {
      base::Warn("pull ended: not enough room", fields);
      run.ending = Ending::kNoDiskSpace;
      entry.past.disk = plan::AfterDiskFull(entry.past.disk, verdict->competed, loop_.now());
      // The disk shows the room only later. Until then this keeps the next turn from ending another pull for
      // the same shortage.
      eviction_ = plan::AfterEnding(eviction_, run.run.movement.bytes_done, loop_.now());
      taken_ = plan::AfterRemoval(taken_);
    } else {
      base::Info("pull ended: others get the room first", fields);
      run.ending = Ending::kWaits;
    }
    run.stop.request_stop();
    loop_.Changed();
    std::erase_if(running, [&](const plan::PullCandidate& slot) { return slot.entry == verdict->entry; });
  }
}

// Handles a runtime's report that no space is left. Returns true if that may be the filesystem that the disk
// rule measures: the rule then decides about the next pull.
bool Pulls::FilledDisk(Entry& entry, const std::string& error) {
  const std::uint64_t whole = plan::ReservationOfRunning(entry.past.disk, 0).reserved;
  // With that much room left on the measured filesystem, the full one must be another.
  if (!disk_.known || (plan::Usable(disk_, limits_) > 0 && whole < disk_.available_bytes)) return false;
  // A full disk ends all pulls that write, at about the same moment. Their events come one after the other,
  // so a pull that ended just now counts as a competitor.
  bool competed = eviction_.at_least || loop_.now() < hold_until_ ||
                  std::any_of(entries_.all().begin(), entries_.all().end(),
                              [](const Entry& one) { return !one.runs.empty(); });
  base::Warn(
      "pull ended: not enough room",
      {{"image", entry.want->reference.written()}, {"needed", whole}, {"available", 0}, {"error", error}});
  // If others had left only few bytes that were not gone yet, fetching the whole image again would not help.
  entry.past.disk = plan::AfterDiskFull(entry.past.disk, competed, loop_.now(), eviction_.returning);
  eviction_ = plan::AfterEnding(eviction_, 0, loop_.now());
  DiscardBytes(entry, cri::LeaseBytes::kReleaseNow);
  disk_.available_bytes = 0;  // until the next measurement; no pull starts in between
  return true;
}

// Returns the sum of the bytes that ended pulls keep under their leases.
std::uint64_t Pulls::KeptBytes() const {
  std::uint64_t sum = 0;
  for (const Entry& entry : entries_.all()) {
    if (entry.runs.empty()) sum += entry.past.disk.kept;
  }
  return sum;
}

// Deletes the entry's lease with all that it keeps. Without leases, the bytes were gone with the end of the
// pull.
void Pulls::DiscardBytes(Entry& entry, cri::LeaseBytes bytes, base::Duration after) {
  entry.past.disk.kept = 0;
  if (!leases_.supported()) entry.past.disk = plan::AfterBytesGone(entry.past.disk, loop_.now());
  leases_.ReleaseLease(LeaseFor(entry), bytes, loop_.now() + after);
  taken_ = plan::AfterRemoval(taken_);
}

void Pulls::DropKeptBytes() {
  for (Entry& entry : entries_.all()) {
    if (!entry.runs.empty() || entry.past.disk.kept == 0) continue;
    eviction_ = plan::AfterKeptDropped(eviction_, entry.past.disk.kept, loop_.now());
    DiscardBytes(entry, cri::LeaseBytes::kReleaseNow);
  }
}

// Settles images without room when no running pull could give any back: waiting would not help.
void Pulls::DecideForDiskSpace() {
  // Room is on its way back, so an image without room may still fit.
  if (eviction_.pending) return;
  std::vector<Entry>& all = entries_.all();
  if (std::any_of(all.begin(), all.end(), [](const Entry& entry) { return !entry.runs.empty(); })) return;
  for (Entry& entry : all) {
    if (!entry.no_disk_space) continue;
    loop_.ChangedIf(!entry.past.settled);
    entry.past.settled = true;
    if (entry.past.disk.kept > 0) DiscardBytes(entry, cri::LeaseBytes::kReleaseNow);
  }
}

}  // namespace prefetch::agent
