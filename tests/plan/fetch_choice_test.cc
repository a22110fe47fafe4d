#include "plan/fetch_order.h"

#include <gtest/gtest.h>

namespace prefetch::plan::fetch_choice_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const base::TimePoint kNow = base::TimePoint{} + std::chrono::hours(5);

FetchFacts Good() {
  return {.runtime = "containerd",
          .version = "2.1.9",
          .snapshotter = "overlayfs",
          .followed = true,
          .health = {}};
}

template <typename Change>
FetchFacts But(Change change) {
  FetchFacts facts = Good();
  change(facts);
  return facts;
}

struct Row {
  std::string name;
  FetchFacts facts;
  FetchReason reason;
};

class FetchChoiceTest : public testing::TestWithParam<Row> {};

TEST_P(FetchChoiceTest, Row) {
  const FetchReason reason = GetParam().reason;
  const FetchBy by = reason == FetchReason::kFar ? FetchBy::kAgent : FetchBy::kRuntime;
  EXPECT_EQ(ChooseFetch(GetParam().facts, kNow), (FetchChoice{by, reason}));
}

Row Version(const std::string& name, const std::string& version, FetchReason reason) {
  return {"Version" + name, But([&](FetchFacts& facts) { facts.version = version; }), reason};
}

Row Trip(const std::string& name, base::Duration answer_time, base::Duration round_trip, FetchReason reason) {
  const FetchHealth health = AfterManifest({}, answer_time, round_trip, kNow);
  return {"RoundTrip" + name, But([&](FetchFacts& facts) { facts.health = health; }), reason};
}

INSTANTIATE_TEST_SUITE_P(
    Rows, FetchChoiceTest,
    testing::Values(
        Row{"AllIsWell", Good(), FetchReason::kFar},
        Row{"Crio", But([](FetchFacts& facts) { facts.runtime = "cri-o"; }), FetchReason::kRuntime},
        Version("Old", "1.7.24", FetchReason::kRuntime), Version("Before", "2.0.5", FetchReason::kRuntime),
        Version("First", "v2.1.0", FetchReason::kFar), Version("Debian", "2.3.4~ds1", FetchReason::kFar),
        Version("Ten", "2.10.0-rc.1", FetchReason::kFar), Version("Next", "3.0.0", FetchReason::kFar),
        Version("None", "", FetchReason::kRuntime), Version("Odd", "edge", FetchReason::kRuntime),
        Version("Short", "2", FetchReason::kRuntime),
        Row{"Stargz", But([](FetchFacts& facts) { facts.snapshotter = "stargz"; }),
            FetchReason::kSnapshotter},
        Row{"NoSnapshotter", But([](FetchFacts& facts) { facts.snapshotter = ""; }),
            FetchReason::kSnapshotter},
        Row{"Tables", But([](FetchFacts& facts) { facts.followed = false; }), FetchReason::kHosts},
        Row{"FailedJustNow", But([](FetchFacts& facts) { facts.health = AfterFetchFailed({}, kNow); }),
            FetchReason::kTrouble},
        Row{"FailedLongAgo",
            But([](FetchFacts& facts) { facts.health = AfterFetchFailed({}, kNow - kFetchOffFirst); }),
            FetchReason::kFar},
        Row{"Near",
            But([](FetchFacts& facts) { facts.health = AfterManifest({}, milliseconds(4), {}, kNow); }),
            FetchReason::kNear},
        Row{"NearTenMinutesAgo", But([](FetchFacts& facts) {
              facts.health = AfterManifest({}, milliseconds(4), {}, kNow - minutes(10));
            }),
            FetchReason::kFar},
        Row{"NotNear",
            But([](FetchFacts& facts) { facts.health = AfterManifest({}, milliseconds(5), {}, kNow); }),
            FetchReason::kFar},
        Row{"NearOnceAndBusyLater", But([](FetchFacts& facts) {
              facts.health =
                  AfterManifest(AfterManifest({}, milliseconds(1), {}, kNow), milliseconds(80), {}, kNow);
            }),
            FetchReason::kNear},
        Trip("ShortAndAnswerLate", milliseconds(24), microseconds(999), FetchReason::kNear),
        Trip("ShortAndAnswerMuchTooLate", milliseconds(25), microseconds(30), FetchReason::kFar),
        Trip("Longer", milliseconds(6), milliseconds(1), FetchReason::kFar),
        Trip("LongAndAnswerQuick", milliseconds(4), milliseconds(3), FetchReason::kNear)),
    [](const auto& row) { return row.param.name; });

TEST(MayAskSizeTest, OnlyNearRegistriesThatAreWell) {
  EXPECT_FALSE(MayQuerySize({}, kNow)) << "nothing is known of it";
  EXPECT_FALSE(MayQuerySize(AfterManifest({}, milliseconds(5), {}, kNow), kNow));
  const FetchHealth near = AfterManifest({}, milliseconds(4), {}, kNow);
  EXPECT_TRUE(MayQuerySize(near, kNow));
  EXPECT_TRUE(MayQuerySize(near, kNow + minutes(9)));
  EXPECT_FALSE(MayQuerySize(near, kNow + minutes(10)));
  EXPECT_FALSE(MayQuerySize(AfterFetchFailed(near, kNow), kNow + seconds(29)));
  EXPECT_FALSE(MayQuerySize(AfterSizeDenied(near, kNow), kNow + minutes(9)));
  const auto again_near = [](const FetchHealth& health) {
    return AfterManifest(health, milliseconds(1), {}, kNow + minutes(5));
  };
  EXPECT_FALSE(MayQuerySize(again_near(AfterSizeDenied({}, kNow)), kNow + minutes(9)));
  EXPECT_FALSE(MayQuerySize(again_near(AfterFetchFailed({}, kNow)), kNow + seconds(29)));
  EXPECT_TRUE(MayQuerySize(again_near(AfterFetchFailed({}, kNow)), kNow + seconds(30)));
  EXPECT_TRUE(MayQuerySize(again_near(AfterSizeDenied({}, kNow)), kNow + minutes(10)));
}

TEST(FetchHealthTest, FailuresInARowLeaveARegistryToTheRuntimeForLonger) {
  FetchHealth health = AfterFetchFailed({}, kNow);
  EXPECT_EQ(health.failed_until, kNow + seconds(30));
  health = AfterFetchFailed(health, kNow + seconds(2));
  EXPECT_EQ(health.failed_until, kNow + seconds(32)) << "images side by side: one failure";
  base::TimePoint now = health.failed_until;
  for (const seconds time :
       {seconds(60), seconds(120), seconds(240), seconds(480), seconds(600), seconds(600)}) {
    health = AfterFetchFailed(health, now);
    EXPECT_EQ(health.failed_until, now + time);
    now = health.failed_until;
  }
  EXPECT_FALSE(CanDiscard(health, now + minutes(9)));
  EXPECT_TRUE(CanDiscard(health, now + minutes(10)));
  health = AfterFetched(health);
  EXPECT_TRUE(CanDiscard(health, now));
  EXPECT_EQ(AfterFetchFailed(health, now).failed_until, now + seconds(30));
}

TEST(FetchReasonTest, EachHasAName) {
  EXPECT_EQ(FetchReasonName(FetchReason::kRuntime), "Runtime");
  EXPECT_EQ(FetchReasonName(FetchReason::kSnapshotter), "Snapshotter");
  EXPECT_EQ(FetchReasonName(FetchReason::kHosts), "Hosts");
  EXPECT_EQ(FetchReasonName(FetchReason::kTrouble), "Trouble");
  EXPECT_EQ(FetchReasonName(FetchReason::kNear), "Near");
  EXPECT_EQ(FetchReasonName(FetchReason::kFar), "Far");
}

}  // namespace
}  // namespace prefetch::plan::fetch_choice_test
