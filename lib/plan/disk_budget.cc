#include "plan/disk_budget.h"

#include <algorithm>
#include <chrono>

#include "base/saturating.h"
#include "base/text.h"
#include "plan/schedule.h"

namespace prefetch::plan {

namespace {

// The size of an image until pulls have shown it: the blobs, and three times that unpacked.
constexpr std::uint64_t kExpectedFactor = 4;
// Bounds for an image whose size is not known yet. Most images need less than the upper one, so such an image
// starts beside others only where that much is free. Hardly any image is smaller than the lower one, so it
// does not start by itself in less. On containerd, the size is known within a second of the start. CRI-O
// never reports it.
constexpr std::uint64_t kUnknownLeast = 32ULL << 20;
constexpr std::uint64_t kUnknownMost = 2ULL << 30;
// If a pull ran out of less than this much, the pull itself filled the disk, else others did. A pull that
// runs out of more all the same gets twice that the next time.
constexpr std::uint64_t kPlausibleFactor = 128;
// The same for an image of unknown size: on CRI-O, every image.
constexpr std::uint64_t kPlausibleUnknown = 16ULL << 30;
// Time for which bytes of a dropped lease may remain. containerd's collector runs at once when a lease is
// deleted, and walks all that it has.
constexpr std::chrono::seconds kReleaseLimit{60};
// The same after the first time that an image ran out of room. If 5 s were too short, the next time has
// kReleaseLimit.
constexpr std::chrono::seconds kFirstReleaseLimit{5};
// Measurements that are older than this may not show yet that a lease was dropped.
constexpr std::chrono::seconds kSettles{2};
// Upper limit of a wait for room: nothing reports the end of a lease that could not be dropped.
constexpr std::chrono::seconds kRoomLimit{20};

// Kept bytes below this share of the fetched ones would give back next to nothing.
constexpr std::uint64_t kKeptShare = 16;

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

using base::SaturatingAdd;
using base::SaturatingMul;
using base::SaturatingSub;

}  // namespace

DiskHistory AfterSize(DiskHistory past, std::uint64_t compressed) {
  if (compressed == 0 || compressed == past.compressed) return past;
  if (past.compressed != 0) past = DiskHistory{};
  past.compressed = compressed;
  return past;
}

DiskHistory AfterBegin(DiskHistory past, std::uint64_t usable, const PendingSpaceRelease& release) {
  // While room is coming back, `usable` understates what this pull will get, so it must not become an upper
  // limit of what the pull had.
  past.space_at_begin = release.pending ? kUnlimited : SaturatingAdd(usable, past.kept_bytes);
  return past;
}

DiskHistory AfterOutOfDiskSpace(DiskHistory past, bool competed, base::TimePoint now, std::uint64_t others) {
  past.kept_bytes = 0;
  past.unreleased_bytes = others;
  // Beside others, the free room at the end shows what all of them took. Only a pull that runs alone shows
  // what this image needs, so `proven_need` stays as it is.
  if (competed) {
    past.must_run_alone = true;
  } else {
    past.measured_until = now + kReleaseLimit;
    past.measured = false;
    past.exhaustions++;
    const std::uint64_t by_size =
        past.compressed == 0 ? kPlausibleUnknown : SaturatingMul(past.compressed, kPlausibleFactor);
    past.max_plausible = std::max(by_size, SaturatingMul(past.proven_need, 2));
  }
  return past;
}

DiskHistory AfterBytesGone(DiskHistory past, base::TimePoint now) {
  if (now >= past.measured_until) return past;
  past.measured = false;
  if (past.exhaustions == 1)
    past.measured_until = std::min<base::TimePoint>(past.measured_until, now + kFirstReleaseLimit);
  return past;
}

DiskHistory AfterMeasure(DiskHistory past, std::uint64_t usable, base::TimePoint now) {
  // The first measurement counts however late it comes. Without any, the pull would be repeated at once in
  // the room in which it has just failed.
  if (now >= past.measured_until && past.measured) return past;
  past.measured = true;
  // These are three upper limits of what the pull had, and the smallest counts. Too large a value would keep
  // the image waiting for room that it does not need.
  const std::uint64_t had =
      std::min({SaturatingSub(usable, past.unreleased_bytes), past.space_at_begin, past.max_plausible});
  // A tenth more is enough to try again. A smaller gain may be a log file. `proven_need` never falls, since
  // an earlier, larger shortage was seen on the same image.
  past.proven_need = std::max(past.proven_need, SaturatingAdd(had, had / 10));
  return past;
}

DiskHistory AfterDiskSpaceFound(DiskHistory past) {
  past.kept_bytes = 0;
  past.must_run_alone = false;
  past.measured_until = base::TimePoint();
  past.measured = true;
  past.exhaustions = 0;
  past.unreleased_bytes = 0;
  return past;
}

// If a pull that runs beside others needs more than was reserved for it, another has to give way, and its
// download may be lost: containerd keeps unpacked layers for as long as it keeps the blobs, so a pull that
// only waits frees next to nothing. So the first pulls of a process get the largest bound. The bytes that
// they have taken then stand for those of the next ones, with half as much added.
//
// No rule that learns from earlier images is safe for every mixture. Suppose that two pulls run although 21
// times their sizes do not fit together, and that the room ends while both unpack. One has to give way, and
// nobody knows yet what the other needs in all. If the second gives way, the first may need more than the
// whole room: then the second fits, and is fetched twice. If the first gives way, it may need no more than it
// would have got: then it fits, and is fetched twice. That costs one download, once: NeedsMoreThanUsual
// brings the largest bound back. A rule that never risks it runs one pull at a time on a disk that is 21
// times too small.
DiskUsage AfterFirstBegin(DiskUsage past, std::uint64_t available) {
  if (past.news) return past;  // it goes on without a pause
  // A new series of pulls has its own start, but never a lower bound than any series before it.
  return {.free_before = available, .largest = std::max(past.largest, past.factor)};
}

DiskUsage AfterEndedWell(DiskUsage past, const DiskHistory& image) {
  // Bytes that an earlier pull had kept were on the disk before `free_before` was measured. Counting them as
  // brought here would lower the bound too far.
  if (past.free_before == 0 || image.compressed == 0 || image.kept_bytes > 0) return past;
  past.fetched = SaturatingAdd(past.fetched, image.compressed);
  past.news = true;
  return past;
}

DiskUsage AfterRemoval(DiskUsage past) {
  // Bytes that are removed would be mistaken for bytes that pulls did not take, so the series ends here.
  return {.largest = std::max(past.largest, past.factor)};
}

DiskUsage AfterMeasure(DiskUsage past, std::uint64_t available) {
  if (!past.news) return past;
  past.news = false;
  // This includes what running pulls have written so far, so the bound errs upwards.
  const std::uint64_t taken = SaturatingSub(past.free_before, available);
  // The room taken per compressed byte, with half as much added, rounded up. If less than the blobs was
  // taken, the layers were here already, or other programs have given room back: that measurement says
  // nothing.
  if (taken >= past.fetched) past.factor = (SaturatingMul(taken, 3) / 2 + past.fetched - 1) / past.fetched;
  return past;
}

bool NeedsMoreThanUsual(const DiskHistory& past) {
  return past.must_run_alone || past.proven_need > SaturatingMul(past.compressed, kUsualFactor);
}

std::uint64_t FactorFor(const DiskUsage& usage, bool any_needs_more_than_usual) {
  // One image that needs much brings the largest bound back for all: the next ones may be like it.
  const std::uint64_t factor = std::max(usage.factor, usage.largest);
  return any_needs_more_than_usual || factor == 0 ? kMaxFactor : std::clamp(factor, kUsualFactor, kMaxFactor);
}

DiskReservation ReservationOfRunning(const DiskHistory& past, std::uint64_t done, std::uint64_t factor) {
  // `min_space` and `max_space` assume that fetched bytes are unpacked already, `reserved` that none is.
  // `min_space` alone decides that a pull cannot fit, so it must never be too large.
  const std::uint64_t left = SaturatingSub(past.compressed, done);
  return {.min_space = SaturatingMul(left, kLeastFactor),
          .max_space = SaturatingMul(left, factor),
          .reserved = SaturatingSub(
              std::max(past.compressed == 0 ? kUnknownMost : SaturatingMul(past.compressed, factor),
                       past.proven_need),
              done),
          .returns = done,
          .must_run_alone = past.must_run_alone};
}

DiskReservation ReservationOfDue(const DiskHistory& past, std::uint64_t factor) {
  DiskReservation reservation = ReservationOfRunning(past, past.kept_bytes, factor);
  if (past.compressed == 0) reservation.min_space = kUnknownLeast;
  reservation.min_space = std::max(reservation.min_space, SaturatingSub(past.proven_need, past.kept_bytes));
  return reservation;
}

std::uint64_t ExpectedDiskUse(const DiskHistory& past, const DiskUsage& usage, std::uint64_t done) {
  // The bound is half as much again as what pulls have taken, so two thirds of it are the expected use.
  const std::uint64_t bound = std::max(usage.factor, usage.largest);
  const std::uint64_t taken_so_far = bound == 0 ? SaturatingMul(past.compressed, kExpectedFactor)
                                                : SaturatingMul(past.compressed, 2 * bound) / 3;
  return SaturatingSub(
      std::max({taken_so_far, SaturatingMul(past.compressed, kLeastFactor), past.proven_need}), done);
}

bool MayFit(const DiskReservation& reservation, std::uint64_t usable) {
  return usable > 0 && reservation.min_space <= usable;
}

DiskBudget::DiskBudget(std::uint64_t usable, const std::vector<PullCandidate>& running)
    : usable_(usable), running_(running) {
  for (const PullCandidate& pull : running) exclusive_ = exclusive_ || pull.disk.must_run_alone;
}

bool DiskBudget::Admits(const PullCandidate& due, bool has_slot) {
  // A running pull of lower rank may have to make room, so it counts with the least that it still needs. One
  // of higher rank keeps its whole reservation.
  std::uint64_t taken = promised_;
  for (const PullCandidate& pull : running_) {
    taken = SaturatingAdd(taken, ComesBefore(pull, due) ? pull.disk.reserved : pull.disk.min_space);
  }
  const std::uint64_t left = SaturatingSub(usable_, taken);
  const bool nothing_runs = running_.empty() && !any_starts_;
  // With nothing else on the disk, trying is the only way to find out what the image needs. Beside others,
  // the upper bound has to fit.
  bool starts = nothing_runs
                    ? MayFit(due.disk, left)
                    : left > 0 && due.disk.reserved <= left && !due.disk.must_run_alone && !exclusive_;
  // A pull that has to wait keeps its reservation. Otherwise small images of lower priority could take the
  // room for ever.
  promised_ = SaturatingAdd(promised_, due.disk.must_run_alone ? kUnlimited : due.disk.reserved);
  if (!starts || !has_slot) return false;
  any_starts_ = true;
  exclusive_ = exclusive_ || due.disk.must_run_alone;
  return true;
}

PendingSpaceRelease AfterEnding(PendingSpaceRelease past, std::uint64_t returns, base::TimePoint now) {
  past.pending = true;
  // AfterBytesDropped and AfterBytesGone shorten this once the lease is gone.
  past.until = now + kRoomLimit;
  past.returning = SaturatingAdd(past.returning, returns);
  past.at_least = true;
  return past;
}

PendingSpaceRelease AfterKeptDropped(PendingSpaceRelease past, std::uint64_t kept, base::TimePoint now) {
  // Only a pull that was running is known to give back more than its bytes.
  const bool at_least = past.at_least;
  past = AfterEnding(past, kept, now);
  past.at_least = at_least;
  return past;
}

PendingSpaceRelease AfterBytesDropped(PendingSpaceRelease past, base::TimePoint now) {
  if (past.pending) past.until = std::min<base::TimePoint>(past.until, now + kSettles);
  return past;
}

PendingSpaceRelease AfterBytesGone(PendingSpaceRelease past, base::TimePoint now) {
  if (past.pending) past.until = std::min<base::TimePoint>(past.until, now);
  return past;
}

PendingSpaceRelease AfterMeasure(PendingSpaceRelease past, base::TimePoint now) {
  return past.pending && now >= past.until ? PendingSpaceRelease{} : past;
}

bool KeptBytesMatter(std::uint64_t kept, const std::vector<PullCandidate>& running) {
  std::uint64_t fetched = 0;
  for (const PullCandidate& pull : running) fetched = SaturatingAdd(fetched, pull.disk.returns);
  return kept > 0 && kept >= fetched / kKeptShare;
}

std::optional<PullToEnd> ChoosePullToEnd(const std::vector<PullCandidate>& running, std::uint64_t usable,
                                         const PendingSpaceRelease& release) {
  // kUnlimited: the filesystem cannot be measured, so no pull is ended for it.
  if (running.empty() || usable == kUnlimited) return std::nullopt;
  std::vector<const PullCandidate*> order;
  for (const PullCandidate& pull : running) order.push_back(&pull);
  std::sort(order.begin(), order.end(),
            [](const PullCandidate* a, const PullCandidate* b) { return ComesBefore(*a, *b); });
  const bool competed = order.size() > 1;
  if (usable == 0) {
    // The room of the pull that was ended last is still on its way. Ending a second one now would be one too
    // many.
    if (release.pending) return std::nullopt;
    const PullCandidate& last = *order.back();
    return PullToEnd{last.entry, EndReason::kOutOfDiskSpace, competed, last.disk.reserved};
  }
  // First: does any pull not fit even if all pulls of lower rank make room? In rank order, so that the pull
  // of highest rank is ended only if nothing else can help it. `behind` holds what the pulls after `pull`
  // give back.
  const std::uint64_t coming = SaturatingAdd(usable, release.returning);
  std::uint64_t behind = 0;
  for (const PullCandidate* pull : order) behind = SaturatingAdd(behind, pull->disk.returns);
  for (const PullCandidate* pull : order) {
    behind = SaturatingSub(behind, pull->disk.returns);
    if (pull->disk.min_space > SaturatingAdd(coming, behind)) {
      return PullToEnd{pull->entry, EndReason::kOutOfDiskSpace, competed, pull->disk.min_space};
    }
  }
  // Then: may some of them have to wait? The first may take all. A pull with all its bytes (`max_space` is 0)
  // gives back less than its repetition costs, so it goes on.
  std::uint64_t most = 0;
  for (const PullCandidate* pull : order) most = SaturatingAdd(most, pull->disk.max_space);
  if (most <= coming) return std::nullopt;
  for (std::size_t i = order.size(); i-- > 1;) {
    if (order[i]->disk.max_space > 0) return PullToEnd{order[i]->entry, EndReason::kDeferred, competed, most};
  }
  return std::nullopt;
}

namespace {

constexpr int kDefaultPercent = 80;

int Percent(const Limits& limits) {
  return std::clamp(limits.disk_high_percent.value_or(kDefaultPercent), 0, 100);
}

// Usage as kubelet counts it: everything that is not available (pkg/kubelet/images/image_gc_manager.go). The
// division comes first, so that the product does not overflow.
std::uint64_t KeptByPercent(const DiskSpace& disk, const Limits& limits) {
  return disk.capacity_bytes / 100 * static_cast<std::uint64_t>(100 - Percent(limits));
}

}  // namespace

std::uint64_t KeptFree(const DiskSpace& disk, const Limits& limits) {
  if (!disk.known) return 0;
  return std::max(KeptByPercent(disk, limits), limits.disk_min_free_bytes);
}

std::uint64_t Usable(const DiskSpace& disk, const Limits& limits) {
  if (!disk.known) return std::numeric_limits<std::uint64_t>::max();
  std::uint64_t kept = KeptFree(disk, limits);
  return disk.available_bytes > kept ? disk.available_bytes - kept : 0;
}

std::string DecidingLimit(const DiskSpace& disk, const Limits& limits) {
  if (!disk.known) return "";
  std::string limit = "diskMinFreeBytes";
  if (KeptByPercent(disk, limits) >= limits.disk_min_free_bytes) {
    limit = limits.percent_from_kubelet ? "kubelet's imageGCLowThresholdPercent (" : "diskHighPercent (";
    limit += std::to_string(Percent(limits)) + " %)";
  }
  return base::HumanBytes(disk.available_bytes) + " of the image filesystem's " +
         base::HumanBytes(disk.capacity_bytes) + " are free, and " + limit + " keeps " +
         base::HumanBytes(KeptFree(disk, limits)) + " free";
}

}  // namespace prefetch::plan
