// Disk budget: decides which pulls may use the free disk space above the reserve that the disk rule keeps
// (Limits::disk_min_free_bytes, disk_high_percent; below). Pure.
//
// A manifest has the compressed size of an image; no document has its unpacked size. So a pull has bounds: it
// takes at least twice its compressed size (the blobs, and at least as much unpacked), and hardly ever more
// than 21 times that. The room that the first pulls really took lowers the upper bound for the next ones.
// Pulls run side by side while the upper bounds of all of them fit. If only the lower bound of a pull fits,
// it runs alone, since that is the way to find out. A pull that ran out of room is not repeated before there
// is more.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "plan/limits.h"

namespace prefetch::plan {

// The least that an image takes, as a multiple of its compressed size: blobs, and their content once more,
// since compression makes no image larger.
inline constexpr std::uint64_t kLeastFactor = 2;

// The upper bound, in compressed sizes: the blobs, and twenty times that unpacked. It holds until pulls have
// shown what images of this node take.
constexpr std::uint64_t kMaxFactor = 21;
// The upper bound is never lower than this. Few images need more.
constexpr std::uint64_t kUsualFactor = 8;

// The agent's knowledge of the room that one image needs. It lasts as long as the process.
//
// `proven_need` is the result: no try begins in less. After a pull that had the disk for itself and ran out,
// it is a tenth more than this pull had, and the other members keep that estimate low enough:
// `space_at_begin` and `max_plausible` are upper limits of what the pull had, and `unreleased_bytes` is room
// that belongs to earlier pulls. If other pulls ran, nothing is learnt but `must_run_alone`.
struct DiskHistory {
  std::uint64_t compressed = 0;  // as the newest pull saw it; 0: not known
  // Minimum space for the next try: a tenth more than a pull had that ran alone and ran out. 0: none did.
  std::uint64_t proven_need = 0;
  // The part of its compressed bytes that its lease keeps on the disk while no pull runs.
  std::uint64_t kept_bytes = 0;
  // It ran out of space while others ran. Only a pull that runs alone shows the image's need.
  bool must_run_alone = false;
  // Its bytes are being removed. Space that becomes free until then was taken by this pull, or by pulls that
  // had ended before it.
  base::TimePoint measured_until;
  bool measured = true;           // the filesystem was measured since
  std::uint32_t exhaustions = 0;  // number of times that it did so with the disk for itself
  // Bytes of earlier pulls that were still being removed when this pull ran out of space.
  std::uint64_t unreleased_bytes = 0;
  // The free space plus its own bytes when its pull began. Space that became free later was not available to
  // this pull.
  std::uint64_t space_at_begin = std::numeric_limits<std::uint64_t>::max();
  // No image of its size needs more. If more is free when the end of its pull is measured, others had filled
  // the disk, such as a job whose files are gone now.
  std::uint64_t max_plausible = std::numeric_limits<std::uint64_t>::max();

  friend bool operator==(const DiskHistory&, const DiskHistory&) = default;
};

// The manifest has come. Another size means another image: the old image's figures are forgotten.
DiskHistory AfterSize(DiskHistory past, std::uint64_t compressed);
struct PendingSpaceRelease;
// A pull begins, and no other pull of the same image runs. While `release` is pending, the space that this
// pull will get is unknown.
DiskHistory AfterBegin(DiskHistory past, std::uint64_t usable, const PendingSpaceRelease& release);
// The pull ended for want of space, and its bytes are removed. `competed`: other pulls ran at that time.
// `others`: bytes that earlier pulls have left on the disk and that are being removed, too.
DiskHistory AfterOutOfDiskSpace(DiskHistory past, bool competed, base::TimePoint now,
                                std::uint64_t others = 0);
// The runtime was told to remove the bytes. The first measurement from now on counts however late it comes.
// Space that becomes free much later was not taken by this pull.
DiskHistory AfterBytesGone(DiskHistory past, base::TimePoint now);
// The filesystem was measured.
DiskHistory AfterMeasure(DiskHistory past, std::uint64_t usable, base::TimePoint now);
// The image is complete: forgets what an earlier shortage left behind, but for `proven_need`.
DiskHistory AfterDiskSpaceFound(DiskHistory past);

// Disk use of successful pulls. It lasts as long as the process.
struct DiskUsage {
  // The free room when a pull began while no other ran; 0: not known, or bytes were removed since.
  std::uint64_t free_before = 0;
  std::uint64_t fetched = 0;  // compressed bytes of the pulls that have ended well since
  bool news = false;          // one of them ended after the newest measurement
  std::uint64_t factor = 0;   // the upper bound that they give; 0: none
  std::uint64_t largest = 0;  // the largest bound that earlier pulls gave

  friend bool operator==(const DiskUsage&, const DiskUsage&) = default;
};
// A pull begins, and no other runs.
DiskUsage AfterFirstBegin(DiskUsage past, std::uint64_t available);
// Call it before AfterDiskSpaceFound.
DiskUsage AfterEndedWell(DiskUsage past, const DiskHistory& image);
// Bytes of pulls are being removed: free room no longer tells what pulls have taken.
DiskUsage AfterRemoval(DiskUsage past);
// The filesystem was measured.
DiskUsage AfterMeasure(DiskUsage past, std::uint64_t available);

// Returns true if the image needs more than kUsualFactor times its compressed size, or ran out of room beside
// others.
bool NeedsMoreThanUsual(const DiskHistory& past);
// The upper bound of every pull, in compressed sizes. `any_needs_more_than_usual`: NeedsMoreThanUsual of any
// image.
std::uint64_t FactorFor(const DiskUsage& usage, bool any_needs_more_than_usual);

// The bytes of the free room that one pull will still take.
struct DiskReservation {
  std::uint64_t min_space = 0;
  std::uint64_t max_space = 0;  // if all that is fetched so far is unpacked already
  std::uint64_t reserved = 0;   // if none of it is: a single layer unpacks after its last byte
  std::uint64_t returns = 0;    // what ending the pull gives back at least
  bool must_run_alone = false;
};
// `factor`: FactorFor.
DiskReservation ReservationOfDue(const DiskHistory& past, std::uint64_t factor = kMaxFactor);
// Returns the same for a pull that has fetched `done` bytes.
DiskReservation ReservationOfRunning(const DiskHistory& past, std::uint64_t done,
                                     std::uint64_t factor = kMaxFactor);
// Returns the bytes of the free room that an absent image will probably still take, for messages; `done` of
// its compressed bytes are on the disk. 0: not known.
std::uint64_t ExpectedDiskUse(const DiskHistory& past, const DiskUsage& usage, std::uint64_t done);

// Returns true if a pull with this reservation can end well if it gets all the space that is left.
bool MayFit(const DiskReservation& reservation, std::uint64_t usable);

struct PullCandidate;

// Hands out the remaining space to pulls that are due. Not thread-safe. Call Admits in the order in which the
// pulls should start, since each call reserves space against all later ones.
class DiskBudget {
 public:
  // `usable`: plan::Usable. `running` outlives the budget, and may grow.
  DiskBudget(std::uint64_t usable, const std::vector<PullCandidate>& running);

  // Returns true if the pull may start now. A pull that has to wait keeps its reservation against the pulls
  // that are passed to later calls. `has_slot`: only space may stand against the start.
  bool Admits(const PullCandidate& due, bool has_slot);

 private:
  const std::uint64_t usable_;
  const std::vector<PullCandidate>& running_;
  std::uint64_t promised_ = 0;  // to the pulls of earlier calls
  bool exclusive_ = false;
  bool any_starts_ = false;
};

// Space that is about to become free, since a pull was ended for want of it.
struct PendingSpaceRelease {
  bool pending = false;
  base::TimePoint until;        // when the bytes of a dropped lease have been deleted, at the latest
  std::uint64_t returning = 0;  // bytes that become free at least
  bool at_least = false;        // more become free: content that a running pull had unpacked

  friend bool operator==(const PendingSpaceRelease&, const PendingSpaceRelease&) = default;
};
// A pull that ran was ended.
PendingSpaceRelease AfterEnding(PendingSpaceRelease past, std::uint64_t returns, base::TimePoint now);
// The bytes that ended pulls had kept were dropped.
PendingSpaceRelease AfterKeptDropped(PendingSpaceRelease past, std::uint64_t kept, base::TimePoint now);
// AfterBytesDropped: the runtime deletes the bytes soon. AfterBytesGone: it has deleted them.
PendingSpaceRelease AfterBytesDropped(PendingSpaceRelease past, base::TimePoint now);
PendingSpaceRelease AfterBytesGone(PendingSpaceRelease past, base::TimePoint now);
// The filesystem was measured.
PendingSpaceRelease AfterMeasure(PendingSpaceRelease past, base::TimePoint now);

// Returns true if the bytes that ended pulls have left are worth removing for the running pulls. Called when
// the disk is exhausted.
bool KeptBytesMatter(std::uint64_t kept, const std::vector<PullCandidate>& running);

// Why the agent ends a pull of its own for disk space. kubelet's evictions of images are another matter
// (plan/history.h).
enum class EndReason {
  kOutOfDiskSpace,  // it does not fit, or the disk is exhausted: its bytes go, too
  kDeferred,        // it may fit once the others are done: its bytes stay
};
struct PullToEnd {
  std::size_t entry = 0;
  EndReason reason = EndReason::kDeferred;
  bool competed = false;
  // More than there is: what this pull may still take (kOutOfDiskSpace), or all that run (kDeferred).
  std::uint64_t needed = 0;
};
// Returns the running pull that has to end, or nullopt. If the pulls together need more space than there is,
// the one of lowest priority ends, and the newest among equals. Only one ends at a time, since the space that
// it gives back may be enough.
std::optional<PullToEnd> ChoosePullToEnd(const std::vector<PullCandidate>& running, std::uint64_t usable,
                                         const PendingSpaceRelease& release);

// ---- The disk rule: after a pull the image filesystem must stay below kubelet's image GC threshold with
// some bytes free, so that a prefetch never makes kubelet evict (kubelet's rule K41). Pure.

struct DiskSpace {
  bool known = false;  // false: the filesystem cannot be measured from here; then nothing is refused
  std::uint64_t capacity_bytes = 0;
  std::uint64_t available_bytes = 0;  // for an ordinary user: f_bavail
};

// Bytes that the rule keeps free. 0: the filesystem cannot be measured.
std::uint64_t KeptFree(const DiskSpace& disk, const Limits& limits);

// Bytes that may still be used before the rule says stop. 0: none.
std::uint64_t Usable(const DiskSpace& disk, const Limits& limits);

// Returns a text with the free room and the one limit that decides: "19.0 GB of the image filesystem's 100 GB
// are free, and diskHighPercent (80 %) keeps 20.0 GB free". Empty if the filesystem cannot be measured.
std::string DecidingLimit(const DiskSpace& disk, const Limits& limits);

}  // namespace prefetch::plan
