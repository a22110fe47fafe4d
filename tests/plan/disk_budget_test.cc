#include "plan/disk_budget.h"

#include <gtest/gtest.h>

#include "must.h"
#include "plan/schedule.h"
#include "rows.h"

namespace prefetch::plan::room_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::uint64_t kGiB = 1ULL << 30;
const base::TimePoint kNow{std::chrono::hours(1)};

DiskHistory Sized(std::uint64_t gib) {
  return AfterSize({}, gib * kGiB);
}

PullCandidate Due(std::size_t entry, const DiskHistory& past, int priority = 0) {
  return {.entry = entry, .priority = priority, .disk = ReservationOfDue(past)};
}

PullCandidate Running(std::size_t entry, std::uint64_t gib, std::uint64_t done_gib, int priority = 0) {
  PullCandidate slot{
      .entry = entry, .priority = priority, .disk = ReservationOfRunning(Sized(gib), done_gib * kGiB)};
  slot.started_at = kNow + seconds(entry);
  return slot;
}

std::vector<bool> Admitted(std::uint64_t usable_gib, const std::vector<PullCandidate>& running,
                           const std::vector<PullCandidate>& due) {
  DiskBudget book(usable_gib * kGiB, running);
  std::vector<bool> starts;
  for (const PullCandidate& slot : due) starts.push_back(book.Admits(slot, true));
  return starts;
}

using Bools = std::vector<bool>;

TEST(DiskBudget, PullsRunSideBySideWhileTheirUpperBoundsFit) {
  EXPECT_EQ(Admitted(640, {}, {Due(0, Sized(10)), Due(1, Sized(10)), Due(2, Sized(10)), Due(3, Sized(10))}),
            (Bools{true, true, true, false}));
}

TEST(DiskBudget, OneThatMayFitRunsAlone) {
  EXPECT_EQ(Admitted(25, {}, {Due(0, Sized(10)), Due(1, Sized(1))}), (Bools{true, false}));
  EXPECT_EQ(Admitted(19, {}, {Due(0, Sized(10))}), (Bools{false}));
}

TEST(DiskBudget, AnUnknownSizeNeedsOnlySomeRoom) {
  EXPECT_EQ(Admitted(1, {}, {Due(0, {}), Due(1, {})}), (Bools{true, false}));
  EXPECT_EQ(Admitted(4, {}, {Due(0, {}), Due(1, {}), Due(2, {})}), (Bools{true, true, false}));
  EXPECT_EQ(Admitted(0, {}, {Due(0, {})}), (Bools{false}));
  EXPECT_TRUE(MayFit(ReservationOfDue({}), 32 << 20));
  EXPECT_FALSE(MayFit(ReservationOfDue({}), 31 << 20));
}

TEST(DiskBudget, WhatRunsWithLowerPriorityIsNotWaitedForLonger) {
  EXPECT_EQ(Admitted(210, {Running(0, 10, 0)}, {Due(1, Sized(9), 5)}), (Bools{true}));
  EXPECT_EQ(Admitted(210, {Running(0, 10, 0)}, {Due(1, Sized(9))}), (Bools{false}));
}

TEST(DiskBudget, WhatHasNoPlaceYetKeepsItsRoom) {
  const std::vector<PullCandidate> nothing_runs;
  DiskBudget book(260 * kGiB, nothing_runs);
  EXPECT_FALSE(book.Admits(Due(0, Sized(12)), false));
  EXPECT_TRUE(book.Admits(Due(1, Sized(2)), true)) << "8 GiB are left, and nothing runs";
  EXPECT_FALSE(book.Admits(Due(2, Sized(1)), true));
}

TEST(DiskBudget, WhatRanOutOfRoomAmongOthersRunsAlone) {
  DiskHistory past = AfterOutOfDiskSpace(Sized(1), true, kNow);
  EXPECT_EQ(Admitted(500, {Running(0, 1, 0)}, {Due(1, past), Due(2, Sized(1))}), (Bools{false, false}));
  EXPECT_EQ(Admitted(500, {}, {Due(1, past), Due(2, Sized(1))}), (Bools{true, false}));
}

// A job's files fill the disk and go again while the room of the pull that they have ended is measured.
TEST(DiskHistory, WhatOthersGiveBackIsNotItsNeed) {
  DiskHistory past = AfterMeasure(AfterOutOfDiskSpace(Sized(1), false, kNow), 500 * kGiB, kNow + seconds(8));
  past = AfterMeasure(past, 600 * kGiB, kNow + seconds(16));
  EXPECT_TRUE(MayFit(ReservationOfDue(past), 141 * kGiB));
  EXPECT_FALSE(MayFit(ReservationOfDue(past), 140 * kGiB));
  // It ran out of that, too: twice as much.
  past = AfterMeasure(AfterOutOfDiskSpace(past, false, kNow), 500 * kGiB, kNow + seconds(8));
  past = AfterMeasure(past, 600 * kGiB, kNow + seconds(16));
  EXPECT_FALSE(MayFit(ReservationOfDue(past), 309 * kGiB));
  EXPECT_TRUE(MayFit(ReservationOfDue(past), 310 * kGiB));
}

// A look may come before the bytes have gone, and the next one late.
TEST(DiskHistory, TheFirstMeasurementAfterItsBytesHaveGoneCountsHoweverLateItComes) {
  DiskHistory past = AfterMeasure(AfterOutOfDiskSpace(Sized(8), false, kNow), kGiB, kNow);
  past = AfterBytesGone(past, kNow);
  past = AfterMeasure(past, 20 * kGiB, kNow + seconds(8));
  EXPECT_FALSE(MayFit(ReservationOfDue(past), 21 * kGiB));
  past = AfterBytesGone(past, kNow + seconds(9));  // of a lease that it had later
  past = AfterMeasure(past, 90 * kGiB, kNow + seconds(16));
  EXPECT_TRUE(MayFit(ReservationOfDue(past), 23 * kGiB));
}

// Once its bytes are known to be gone, free room that comes later is others', however large the image is.
TEST(DiskHistory, WhatBecomesFreeAfterItsBytesAreGoneIsNotItsNeed) {
  DiskHistory past = AfterBytesGone(AfterOutOfDiskSpace(Sized(8), false, kNow), kNow);
  past = AfterMeasure(past, 20 * kGiB, kNow + seconds(1));
  past = AfterMeasure(past, 90 * kGiB, kNow + seconds(6));
  EXPECT_TRUE(MayFit(ReservationOfDue(past), 23 * kGiB));
  EXPECT_FALSE(MayFit(ReservationOfDue(past), 21 * kGiB));
}

// A runtime that takes long to remove them costs one more download, and no third.
TEST(DiskHistory, OfASecondTryAllCountsThatBecomesFreeWithinAMinute) {
  DiskHistory past = AfterBytesGone(AfterOutOfDiskSpace(Sized(8), false, kNow), kNow);
  past = AfterMeasure(past, 20 * kGiB, kNow + seconds(1));
  past = AfterBytesGone(AfterOutOfDiskSpace(past, false, kNow), kNow);
  past = AfterMeasure(past, 90 * kGiB, kNow + seconds(50));
  EXPECT_FALSE(MayFit(ReservationOfDue(past), 98 * kGiB));
}

TEST(DiskHistory, TheFirstMeasurementCountsHoweverLateItComes) {
  DiskHistory past = AfterBytesGone(AfterOutOfDiskSpace(Sized(8), false, kNow), kNow);
  past = AfterMeasure(past, 50 * kGiB, kNow + seconds(8));
  past = AfterMeasure(past, 90 * kGiB, kNow + seconds(16));
  EXPECT_FALSE(MayFit(ReservationOfDue(past), 50 * kGiB));
  EXPECT_TRUE(MayFit(ReservationOfDue(past), 56 * kGiB));
}

TEST(DiskHistory, AfterATryThatHadTheDiskForItselfATenthMoreIsNeeded) {
  DiskHistory past = AfterOutOfDiskSpace(Sized(8), false, kNow);
  past = AfterMeasure(past, 3 * kGiB, kNow + seconds(1));
  past = AfterMeasure(past, 50 * kGiB, kNow + seconds(2));
  past = AfterMeasure(past, 90 * kGiB, kNow + minutes(2));  // not what it had: somebody made room
  EXPECT_FALSE(MayFit(ReservationOfDue(past), 54 * kGiB));
  EXPECT_TRUE(MayFit(ReservationOfDue(past), 56 * kGiB));
  EXPECT_EQ(ExpectedDiskUse(past, {}, 0), 55 * kGiB);
}

TEST(ExpectedDiskUse, IsWhatImagesOfThisNodeHaveTaken) {
  EXPECT_EQ(ExpectedDiskUse({}, {}, 0), 0U);
  EXPECT_EQ(ExpectedDiskUse(Sized(6), {}, 0), 24 * kGiB) << "nothing has been pulled here yet";
  EXPECT_EQ(ExpectedDiskUse(Sized(6), {.factor = 9}, 0), 36 * kGiB) << "the bound has half as much again";
  EXPECT_EQ(ExpectedDiskUse(Sized(6), {.largest = 9}, 0), 36 * kGiB);
  EXPECT_EQ(ExpectedDiskUse(Sized(6), {.factor = 2}, 0), 12 * kGiB)
      << "never less than the disk rule asks for";
}

TEST(ExpectedDiskUse, LeavesOutWhatIsOnTheDiskAlready) {
  EXPECT_EQ(ExpectedDiskUse(Sized(6), {}, 5 * kGiB), 19 * kGiB);
  EXPECT_EQ(ExpectedDiskUse(Sized(6), {}, 60 * kGiB), 0U);
  EXPECT_EQ(ExpectedDiskUse({.compressed = ~0ULL}, {}, 0), ~0ULL);
}

// A tenth more than the free room of that moment is there soon, and was its own.
TEST(DiskHistory, OfATryThatBeganWhileRoomWasOnItsWayBackNobodyKnowsWhatItHad) {
  const PendingSpaceRelease relief = AfterEnding({}, 8 * kGiB, kNow);
  DiskHistory past = AfterOutOfDiskSpace(AfterBegin(Sized(8), 17 * kGiB, relief), false, kNow);
  past = AfterMeasure(past, 29 * kGiB, kNow + seconds(1));
  EXPECT_FALSE(MayFit(ReservationOfDue(past), 29 * kGiB));
}

TEST(DiskHistory, WhatOthersHadLeftIsNotWhatItHad) {
  for (std::uint64_t others : {3, 20}) {
    DiskHistory past = AfterOutOfDiskSpace(Sized(8), false, kNow, others * kGiB);
    past = AfterMeasure(past, 50 * kGiB, kNow + seconds(1));
    EXPECT_EQ(MayFit(ReservationOfDue(past), 50 * kGiB), others == 20)
        << "a tenth more than it had is a reason to try";
  }
}

TEST(PendingSpaceRelease, WhatLeasesKeptIsKnown) {
  PendingSpaceRelease relief = AfterKeptDropped({}, kGiB, kNow);
  EXPECT_TRUE(relief.pending);
  EXPECT_EQ(relief.returning, kGiB);
  EXPECT_FALSE(relief.at_least);
  relief = AfterKeptDropped(AfterEnding(relief, kGiB, kNow), kGiB, kNow);
  EXPECT_EQ(relief.returning, 3 * kGiB);
  EXPECT_TRUE(relief.at_least) << "nobody knows what a pull that ran had unpacked";
}

TEST(DiskHistory, AnotherSizeIsAnotherImage) {
  DiskHistory past = AfterMeasure(AfterOutOfDiskSpace(Sized(8), false, kNow), 50 * kGiB, kNow);
  EXPECT_EQ(AfterSize(past, 8 * kGiB), past);
  EXPECT_EQ(AfterSize(past, 0), past);
  EXPECT_TRUE(MayFit(ReservationOfDue(AfterSize(past, 7 * kGiB)), 15 * kGiB));
}

DiskUsage Finished(DiskUsage past, std::uint64_t gib, std::uint64_t kept_gib = 0) {
  DiskHistory image = Sized(gib);
  image.kept_bytes = kept_gib * kGiB;
  return AfterEndedWell(past, image);
}

TEST(DiskUsage, HalfAsMuchAgainAsPullsHaveTakenIsReserved) {
  DiskUsage taken;
  EXPECT_EQ(FactorFor(taken, false), kMaxFactor);
  taken = AfterFirstBegin(taken, 500 * kGiB);
  taken = AfterMeasure(taken, 460 * kGiB);
  EXPECT_EQ(FactorFor(taken, false), kMaxFactor) << "none has ended";
  taken = AfterMeasure(Finished(taken, 5), 465 * kGiB);  // 7 times
  EXPECT_EQ(FactorFor(taken, false), 11U);
  taken = AfterMeasure(Finished(taken, 15), 420 * kGiB);  // 4 times
  EXPECT_EQ(FactorFor(taken, false), kUsualFactor);
  taken = AfterMeasure(Finished(taken, 1), 90 * kGiB);
  EXPECT_EQ(FactorFor(taken, false), kMaxFactor);
}

TEST(DiskUsage, TheLargestBoundOfAllPullsCounts) {
  DiskUsage taken = AfterMeasure(Finished(AfterFirstBegin({}, 500 * kGiB), 10), 400 * kGiB);
  EXPECT_EQ(FactorFor(taken, false), 15U);
  taken = AfterMeasure(Finished(AfterFirstBegin(taken, 400 * kGiB), 10), 370 * kGiB);
  EXPECT_EQ(FactorFor(taken, false), 15U);
}

TEST(DiskUsage, APullThatBeginsAsAnotherEndsGoesOnWithItsFigures) {
  DiskUsage taken = Finished(AfterFirstBegin({}, 500 * kGiB), 10);
  EXPECT_EQ(AfterFirstBegin(taken, 500 * kGiB), taken) << "it is not measured yet";
}

TEST(DiskUsage, WhatTellsNothingIsNotCounted) {
  const DiskUsage begun = AfterFirstBegin({}, 500 * kGiB);
  for (DiskUsage taken : {Finished(begun, 10, 4), Finished(begun, 0), Finished(AfterRemoval(begun), 10),
                          Finished(AfterFirstBegin({}, 0), 10)}) {
    EXPECT_EQ(FactorFor(AfterMeasure(taken, 460 * kGiB), false), kMaxFactor);
  }
  // Its layers were here already.
  EXPECT_EQ(FactorFor(AfterMeasure(Finished(begun, 10), 495 * kGiB), false), kMaxFactor);
}

TEST(DiskUsage, OneThatNeedsMuchBringsTheLargestBoundBack) {
  const DiskUsage taken = AfterMeasure(Finished(AfterFirstBegin({}, 500 * kGiB), 10), 460 * kGiB);
  EXPECT_EQ(FactorFor(taken, true), kMaxFactor);
  EXPECT_TRUE(NeedsMoreThanUsual(AfterOutOfDiskSpace(Sized(1), true, kNow))) << "beside others";
  DiskHistory alone = AfterOutOfDiskSpace(Sized(8), false, kNow);
  EXPECT_FALSE(NeedsMoreThanUsual(AfterMeasure(alone, 50 * kGiB, kNow)));
  EXPECT_TRUE(NeedsMoreThanUsual(AfterMeasure(alone, 70 * kGiB, kNow)));
}

TEST(DiskBudget, AKnownFactorLetsMoreRunSideBySide) {
  std::vector<PullCandidate> due = {Due(0, Sized(10)), Due(1, Sized(10))};
  EXPECT_EQ(Admitted(160, {}, due), (Bools{true, false}));
  for (PullCandidate& slot : due) slot.disk = ReservationOfDue(Sized(10), kUsualFactor);
  EXPECT_EQ(Admitted(160, {}, due), (Bools{true, true}));
}

TEST(ChoosePullToEnd, NobodyWhileAllFit) {
  EXPECT_FALSE(ChoosePullToEnd({Running(0, 10, 0), Running(1, 10, 0)}, 420 * kGiB, {}));
  EXPECT_FALSE(ChoosePullToEnd({Running(0, 10, 5)}, 11 * kGiB, {})) << "alone it may try";
  EXPECT_FALSE(ChoosePullToEnd({}, 0, {}));
}

TEST(ChoosePullToEnd, TheNewestOfEqualsWaitsForTheOthers) {
  auto verdict =
      tests::Must(ChoosePullToEnd({Running(2, 10, 0), Running(0, 10, 0), Running(1, 10, 0)}, 200 * kGiB, {}));
  EXPECT_EQ(verdict->entry, 2U);
  EXPECT_EQ(verdict->reason, EndReason::kDeferred);
  EXPECT_EQ(verdict->needed, 630 * kGiB) << "more than there is";
}

TEST(ChoosePullToEnd, TheOneOfLowestPriority) {
  auto verdict = tests::Must(ChoosePullToEnd({Running(0, 10, 0, 1), Running(1, 10, 0, 2)}, 100 * kGiB, {}));
  EXPECT_EQ(verdict->entry, 0U);
}

TEST(ChoosePullToEnd, WhatCannotFitGoesThoughItComesFirst) {
  auto verdict = tests::Must(ChoosePullToEnd({Running(0, 8, 0), Running(1, 1, 0)}, 10 * kGiB, {}));
  EXPECT_EQ(verdict->entry, 0U);
  EXPECT_EQ(verdict->reason, EndReason::kOutOfDiskSpace);
  EXPECT_EQ(verdict->needed, 16 * kGiB);
}

TEST(ChoosePullToEnd, WhatFitsOnceOthersHaveGivenBackStays) {
  auto verdict = tests::Must(ChoosePullToEnd({Running(0, 8, 0), Running(1, 10, 9)}, 10 * kGiB, {}));
  EXPECT_EQ(verdict->entry, 1U);
}

TEST(ChoosePullToEnd, OnAnExhaustedDiskOneAtATime) {
  const std::vector<PullCandidate> running = {Running(0, 8, 8), Running(1, 8, 8)};
  auto verdict = tests::Must(ChoosePullToEnd(running, 0, {}));
  EXPECT_EQ(verdict->entry, 1U);
  EXPECT_EQ(verdict->reason, EndReason::kOutOfDiskSpace);
  EXPECT_TRUE(verdict->competed);
  EXPECT_EQ(verdict->needed, 160 * kGiB) << "it may still unpack to so much";
  PendingSpaceRelease relief = AfterEnding({}, 8 * kGiB, kNow);
  EXPECT_FALSE(ChoosePullToEnd({running[0]}, 0, relief)) << "what it gives back is on its way";
  relief = AfterMeasure(AfterBytesDropped(relief, kNow), kNow + seconds(1));
  EXPECT_FALSE(ChoosePullToEnd({running[0]}, 0, relief));
  relief = AfterMeasure(relief, kNow + seconds(2));
  EXPECT_TRUE(ChoosePullToEnd({running[0]}, 0, relief));
}

TEST(ChoosePullToEnd, ReliefThatHasComeIsOverWithTheNextMeasurement) {
  PendingSpaceRelease relief = AfterBytesGone(AfterEnding({}, 8 * kGiB, kNow), kNow);
  EXPECT_TRUE(relief.pending);
  relief = AfterMeasure(relief, kNow);
  EXPECT_FALSE(relief.pending);
  EXPECT_FALSE(AfterBytesGone(relief, kNow).pending);
}

TEST(KeptBytesMatter, ComparedWithWhatRuns) {
  EXPECT_FALSE(KeptBytesMatter(0, {}));
  EXPECT_FALSE(KeptBytesMatter(kGiB / 2, {Running(0, 10, 10)}));
  EXPECT_TRUE(KeptBytesMatter(kGiB, {Running(0, 10, 10)}));
}

struct DiskCase {
  std::string name;
  DiskSpace disk;
  std::uint64_t usable;
};

TEST_TABLE(DiskTest, Row, DiskCase) {
  EXPECT_EQ(Usable(row.disk, Limits{}) / kGiB, row.usable);
}

DiskSpace Disk(std::uint64_t capacity, std::uint64_t available) {
  return {.known = true, .capacity_bytes = capacity * kGiB, .available_bytes = available * kGiB};
}

TEST_ROWS(Disk, DiskTest, {"WhatCannotBeMeasuredLimitsNothing", {}, ~0ULL / kGiB},
          {"DownToAFifth", Disk(100, 60), 40}, {"OneIsLeft", Disk(100, 21), 1},
          {"AboveTheThresholdNothing", Disk(100, 19), 0}, {"SmallDiskKeepsFiveGiB", Disk(10, 6), 1});

TEST(WithThreshold, TheLowerOneCounts) {
  DiskSpace half_full = Disk(100, 45);
  EXPECT_EQ(Usable(half_full, WithThreshold({}, 0)), 25 * kGiB) << "80 % where kubelet's is not known";
  EXPECT_EQ(Usable(half_full, WithThreshold({}, 50)), 0U);
  EXPECT_EQ(Usable(half_full, WithThreshold({}, 90)), 35 * kGiB);
  EXPECT_EQ(Usable(half_full, WithThreshold({.disk_high_percent = 50}, 90)), 0U);
  EXPECT_EQ(Usable(half_full, WithThreshold({.disk_high_percent = 90}, 50)), 0U);
  EXPECT_EQ(WithThreshold({}, 0), Limits{});
  EXPECT_EQ(WithThreshold({}, 1).disk_high_percent, 1);
  EXPECT_EQ(Usable(half_full, WithThreshold({}, 100)), 40 * kGiB) << "5 GiB stay free";
  EXPECT_EQ(Usable(half_full, WithThreshold({}, 101)), 40 * kGiB) << "no more than all of it";
}

}  // namespace
}  // namespace prefetch::plan::room_test
