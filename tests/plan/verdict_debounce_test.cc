#include "plan/verdict_debounce.h"

#include <gtest/gtest.h>

#include "plan/verdicts.h"

namespace prefetch::plan::verdict_debounce_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using tests::Closed;
using tests::Open;
using tests::Unknown;

const base::TimePoint kNow{seconds(100000)};

VerdictReadout Changed(VerdictsPtr verdicts, bool pull_under_way = false) {
  return {.verdicts = {std::move(verdicts)},
          .image_id = "a",
          .pull_under_way = pull_under_way,
          .files_changed = true};
}
DebouncedVerdict OpenSince(base::TimePoint time) {
  return AfterReading({}, {.verdicts = {Open()}, .image_id = "a"}, time);
}

TEST(VerdictHold, TheFirstReadingIsShownAtOnce) {
  DebouncedVerdict held = OpenSince(kNow);
  EXPECT_EQ(held.shown, held.newest);
  EXPECT_EQ(NextShowTime(held), base::TimePoint::max());
}

TEST(VerdictHold, ARecordThatClosesIsShownWhenTheFilesAreQuiet) {
  DebouncedVerdict held = OpenSince(kNow);
  held = AfterReading(held, Changed(Closed()), kNow);
  EXPECT_EQ(held.shown.worst->never.result, kubelet::VerdictResult::kStarts);
  EXPECT_EQ(NextShowTime(held), kNow + kFilesStableAfter);
  EXPECT_EQ(AfterTime(held, kNow + milliseconds(499)).shown, held.shown);
  held = AfterTime(held, kNow + kFilesStableAfter);
  EXPECT_EQ(held.shown.worst->never.result, kubelet::VerdictResult::kRefused);
  EXPECT_EQ(NextShowTime(held), base::TimePoint::max());
}

TEST(VerdictHold, APullOfKubeletsIsGivenThreeSeconds) {
  DebouncedVerdict held = AfterReading(OpenSince(kNow), Changed(Closed(), true), kNow);
  EXPECT_EQ(NextShowTime(held), kNow + kVerdictDebounce);
  held = AfterTime(held, kNow + milliseconds(2999));
  EXPECT_EQ(held.shown.worst->never.result, kubelet::VerdictResult::kStarts);
  // It ended well: nothing was ever said but Starts.
  held = AfterReading(held, Changed(Open(kubelet::VerdictReason::kOpenToNode)), kNow + milliseconds(2999));
  EXPECT_EQ(held.shown.worst->never.reason, kubelet::VerdictReason::kOpenToNode);
  EXPECT_EQ(NextShowTime(held), base::TimePoint::max());
}

TEST(VerdictHold, AnotherReasonForTheSameIsShownAtOnce) {
  DebouncedVerdict held =
      AfterReading(OpenSince(kNow), Changed(Open(kubelet::VerdictReason::kOpenToNode)), kNow);
  EXPECT_EQ(held.shown.worst->never.reason, kubelet::VerdictReason::kOpenToNode);
}

TEST(VerdictHold, AFirmVerdictIsNotGivenUpForAFileThatCannotBeReadJustNow) {
  DebouncedVerdict held = AfterReading(OpenSince(kNow), Changed(Unknown()), kNow);
  EXPECT_EQ(held.shown.worst->never.result, kubelet::VerdictResult::kStarts);
  held = AfterReading(held, Changed(Open()), kNow + milliseconds(100));
  EXPECT_FALSE(held.differs_since);
}

TEST(VerdictHold, WhatWasUnknownIsNotHeld) {
  DebouncedVerdict held = AfterReading({}, {.verdicts = {Unknown()}, .image_id = "a"}, kNow);
  EXPECT_EQ(AfterReading(held, Changed(Closed()), kNow).shown.worst->never.result,
            kubelet::VerdictResult::kRefused);
}

TEST(VerdictHold, AnotherImageOrOtherSettingsAreNotHeld) {
  VerdictReadout other = Changed(Closed());
  other.image_id = "b";
  EXPECT_EQ(AfterReading(OpenSince(kNow), other, kNow).shown.worst->never.result,
            kubelet::VerdictResult::kRefused);
  VerdictReadout settings = Changed(Closed());
  settings.files_changed = false;
  EXPECT_EQ(AfterReading(OpenSince(kNow), settings, kNow).shown.worst->never.result,
            kubelet::VerdictResult::kRefused);
}

TEST(VerdictHold, AHeldVerdictStaysHeldWhenNothingNewIsRead) {
  DebouncedVerdict held = AfterReading(OpenSince(kNow), Changed(Closed(), true), kNow);
  VerdictReadout again = {.verdicts = held.newest, .image_id = "a", .pull_under_way = true};
  held = AfterReading(held, again, kNow + seconds(1));
  EXPECT_EQ(held.shown.worst->never.result, kubelet::VerdictResult::kStarts);
  EXPECT_EQ(NextShowTime(held), kNow + kVerdictDebounce);
}

}  // namespace
}  // namespace prefetch::plan::verdict_debounce_test
