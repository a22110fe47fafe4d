#include "plan/fetch_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "must.h"
#include "rows.h"

namespace prefetch::plan::fetch_order_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

using Progress = FetchOrder::Progress;

// The blobs of `count` layers of one image: "NAME-0", "NAME-1"…
std::vector<BlobToFetch> Layers(const std::string& name, int count) {
  std::vector<BlobToFetch> blobs;
  for (int i = 0; i < count; i++) blobs.push_back({name + "-" + std::to_string(i), 1000});
  return blobs;
}

struct FetchOrderTest : testing::Test {
  // A free stream takes the next blob; "-": none.
  std::string Next() {
    auto step = order.Next(now);
    if (!step) return "-";
    busy.insert(step->key);
    return step->key;
  }
  // All streams that are free take one.
  void Fill() {
    while (busy.size() < kFetchStreams && Next() != "-") {
    }
  }
  // The stream that has to stop, and then does; "-": none.
  std::string Preemption() {
    auto yield = order.StreamToPreempt(now);
    if (!yield) return "-";
    busy.erase(yield->key);
    yield->too_slow ? order.Failed(yield->key) : order.Requeue(yield->key);
    return yield->key + (yield->too_slow ? " stalled" : "");
  }
  void Share() {
    for (Fill(); Preemption() != "-"; Fill()) {
    }
  }
  int StreamsOf(const std::string& name) const {
    return static_cast<int>(std::count_if(busy.begin(), busy.end(),
                                          [&](const std::string& blob) { return blob.starts_with(name); }));
  }
  // Each stream of a name gets this number of bytes a second, for `time` seconds.
  void Pass(int time, const std::map<std::string, std::uint64_t>& speeds) {
    for (int i = 0; i < time; i++) {
      now += seconds(1);
      for (const std::string& blob : busy) {
        for (const auto& [name, speed] : speeds) {
          if (blob.starts_with(name)) order.OnBytes(blob, speed, 0, now);
        }
      }
    }
  }

  base::TimePoint now{seconds(1000)};
  FetchOrder order;
  std::set<std::string> busy;
};

TEST_F(FetchOrderTest, OneImageHasAllStreamsAndLargerLayersFirst) {
  order.Add(1, "r", {{"a", 10}, {"b", 30}, {"c", 20}});
  EXPECT_EQ(Next(), "b");
  EXPECT_EQ(Next(), "c");
  EXPECT_EQ(Next(), "a");
  EXPECT_EQ(Next(), "-");
}

TEST_F(FetchOrderTest, EarlierImagesComeFirstAmongEquals) {
  order.Add(2, "r", {{"b", 90}});
  order.Add(1, "r", {{"a", 10}});
  EXPECT_EQ(Next(), "a");
  EXPECT_EQ(Next(), "b");
}

// The order of arrival and the number of layers do not matter.
TEST_F(FetchOrderTest, RegistriesShareEvenlyAndSoDoTheirImages) {
  order.Add(1, "r", Layers("r/a", 40));
  Share();
  EXPECT_EQ(StreamsOf("r/"), 16);
  order.Add(2, "r", Layers("r/b", 40));
  Share();
  EXPECT_EQ(StreamsOf("r/a"), 8);
  EXPECT_EQ(StreamsOf("r/b"), 8);
  order.Add(3, "s", Layers("s/a", 40));
  Share();
  EXPECT_EQ(StreamsOf("r/a"), 4);
  EXPECT_EQ(StreamsOf("r/b"), 4);
  EXPECT_EQ(StreamsOf("s/a"), 8);
  order.Add(4, "t", Layers("t/a", 1));
  Share();
  EXPECT_EQ(StreamsOf("t/a"), 1);
  EXPECT_EQ(StreamsOf("s/a"), 7);
  EXPECT_EQ(StreamsOf("r/"), 8);
  EXPECT_EQ(Preemption(), "-") << "no share is larger than another one by more than a stream";
}

TEST_F(FetchOrderTest, NoStreamStopsWhileOneIsFreeOrAnotherOneStops) {
  order.Add(1, "r", Layers("r", 20));
  Fill();
  order.Add(2, "s", Layers("s", 20));
  ASSERT_TRUE(order.StreamToPreempt(now));
  EXPECT_FALSE(order.StreamToPreempt(now));
}

TEST_F(FetchOrderTest, TheNewestStreamStopsSinceItLosesTheLeast) {
  order.Add(1, "r", Layers("r", 16));
  Fill();
  order.Add(2, "s", Layers("s", 1));
  EXPECT_EQ(Preemption(), "r-15");
}

TEST_F(FetchOrderTest, AStreamThatTricklesGivesWayToAnotherImage) {
  for (int i = 0; i < kFetchStreams; i++) {
    const std::string name = "r" + std::to_string(i);
    order.Add(static_cast<FetchOrder::ImageId>(i), name, Layers(name + "/", 1));
  }
  Fill();
  order.Add(99, "s", Layers("s", 1));
  Pass(1, {{"r", 200}});
  EXPECT_EQ(Preemption(), "-") << "each has one; and it is too early to tell";
  Pass(2, {{"r", 200}, {"r7/", 2 * kFetchFloor}});
  const std::string stalled = Preemption();
  EXPECT_TRUE(stalled.ends_with(" stalled"));
  EXPECT_FALSE(stalled.starts_with("r7/"));
  EXPECT_EQ(Next(), "s-0");
  // Nobody waits any more.
  EXPECT_EQ(Preemption(), "-");
}

TEST_F(FetchOrderTest, AStreamFromWhichNoByteComesStalls) {
  order.Add(1, "r", Layers("r", 16));
  Fill();
  Pass(3, {});
  EXPECT_EQ(Preemption(), "-") << "nobody waits";
  order.Add(2, "r", Layers("r2", 1));
  EXPECT_TRUE(Preemption().ends_with(" stalled"));
}

TEST_F(FetchOrderTest, AStreamThatWasHeldBackHasNotStalled) {
  order.Add(1, "r", Layers("r", 16));
  Fill();
  Pass(3, {});
  for (const std::string& blob : busy) order.RestartSpeedWindow(blob, now);
  order.Add(2, "s", Layers("s", 1));
  EXPECT_FALSE(Preemption().ends_with(" stalled"));
}

TEST_F(FetchOrderTest, AStreamThatBeginsAgainIsJudgedAnew) {
  order.Add(1, "r", Layers("r", 16));
  Fill();
  Pass(3, {{"r", 200}});
  for (const std::string& blob : std::exchange(busy, {})) order.Requeue(blob);
  Fill();
  order.Add(2, "s", Layers("s", 1));
  EXPECT_EQ(Preemption(), "r-15") << "for its image has the most, and not for its speed";
}

// The rate that the agent keeps stretches the window, and does not begin it anew.
TEST_F(FetchOrderTest, AStreamThatWaitsALittleAtEachPartIsStillJudged) {
  order.Add(1, "r", Layers("r", 16));
  Fill();
  order.Add(2, "s", Layers("s", 1));
  Pass(3, {});
  for (const std::string& blob : busy) order.ShiftSpeedWindow(blob, seconds(2));
  EXPECT_FALSE(Preemption().ends_with(" stalled")) << "one second of its own";
  Pass(2, {});
  for (const std::string& blob : busy) order.ShiftSpeedWindow(blob, std::chrono::milliseconds(10));
  EXPECT_TRUE(Preemption().ends_with(" stalled"));
}

constexpr std::uint64_t kMiB = 1 << 20;

TEST_F(FetchOrderTest, ABlobIsSplitIfItIsLargeAndItsConnectionSlow) {
  const struct {
    std::uint64_t size, bytes_a_second;
    bool split;
  } rows[] = {
      {33 * kMiB, kMiB, true},       {32 * kMiB, kMiB, false},        {800 * kMiB, 7 * kMiB, true},
      {800 * kMiB, 8 * kMiB, false}, {800 * kMiB, kFetchFloor, true}, {800 * kMiB, kFetchFloor - 1, false},
      {800 * kMiB, 0, false},
  };
  for (const auto& row : rows) {
    FetchOrder split;
    split.Add(1, "r", {{"a", row.size}});
    split.Next(now);
    EXPECT_FALSE(split.OnBytes("a", row.bytes_a_second, row.bytes_a_second, now + seconds(1)))
        << "no whole window";
    EXPECT_FALSE(split.Next(now));
    const bool is_split = split.OnBytes("a", row.bytes_a_second, 2 * row.bytes_a_second, now + seconds(2));
    EXPECT_EQ(is_split, row.split) << row.size << " " << row.bytes_a_second;
    EXPECT_EQ(split.Next(now).has_value(), row.split);
  }
}

// One large blob whose own stream has its first 2 MiB, and is slow.
struct SplitBlobTest : FetchOrderTest {
  SplitBlobTest() {
    order.Add(1, "r", {{"a", 61 * kMiB}});
    Next();
    now += seconds(2);
    EXPECT_TRUE(order.OnBytes("a", 2 * kMiB, 2 * kMiB, now));
  }
};

TEST_F(SplitBlobTest, FreeStreamsFetchThePartsBehindTheBytesThatCame) {
  const auto step = tests::Must(order.Next(now));
  EXPECT_EQ(step->digest, "a");
  EXPECT_EQ(step->image, 1U);
  EXPECT_TRUE(step->is_part);
  EXPECT_EQ(step->size, 61 * kMiB);
  EXPECT_EQ(step->begin, 10 * kMiB) << "the own stream has as much to fetch";
  EXPECT_EQ(step->end, 18 * kMiB);
  EXPECT_EQ(Next(), "-") << "its server may not know ranges";
  EXPECT_TRUE(order.OnBytes(step->key, 1, 10 * kMiB + 1, now));
  EXPECT_FALSE(order.OnBytes(step->key, 1, 10 * kMiB + 2, now));
  EXPECT_EQ(Next(), "a@18874368");
  EXPECT_EQ(Next(), "a@27262976");
  EXPECT_EQ(Next(), "a@35651584");
  EXPECT_EQ(Next(), "a@44040192");
  EXPECT_EQ(Next(), "-") << "each part takes memory";
  order.PartFetched(step->key, false);
  EXPECT_EQ(Next(), "-") << "until it is written";
  order.RemovePart(step->key);
  // 50 to 58 MiB are the own stream's.
  const auto last = tests::Must(order.Next(now));
  EXPECT_EQ(last->begin, 58 * kMiB);
  EXPECT_EQ(last->end, 61 * kMiB);
  order.RemovePart(last->key);
  EXPECT_EQ(Next(), "-") << "the rest is the own stream's";
  order.Done("a");
  EXPECT_FALSE(order.Wants("a@18874368"));
  EXPECT_EQ(order.ProgressOf(1), Progress::kComplete);
}

TEST_F(SplitBlobTest, PartsBeginBehindTheOwnStream) {
  order.OnBytes(Next(), 1, 10 * kMiB + 1, now);
  order.OnBytes("a", 1, 33 * kMiB, now);
  EXPECT_EQ(Next(), "a@42991616");
  EXPECT_EQ(Next(), "a@51380224");
}

TEST_F(SplitBlobTest, PartsShareAsBlobsDoButTakeNoStreamFromOthers) {
  order.OnBytes(Next(), 1, 1, now);
  order.Add(2, "r", Layers("b", 20));
  Fill();
  EXPECT_EQ(StreamsOf("a"), 1 + kMaxParts);
  order.Add(3, "r", Layers("c", 1));
  EXPECT_TRUE(Preemption().starts_with("b")) << "the largest share";
  EXPECT_EQ(Next(), "c-0");
  for (int i = 0; i < 20; i++) order.Done("b-" + std::to_string(i));
  EXPECT_EQ(Preemption(), "-");
}

// Images of two other registries have the blob, too. Both have a stream; one registry brings bytes.
struct PartsOfOthersTest : SplitBlobTest {
  PartsOfOthersTest() {
    order.Add(2, "trickles", {{"a", 61 * kMiB}, {"t", 1000}});
    order.Add(3, "quick", {{"a", 61 * kMiB}, {"q", 9 * kMiB}});
    for (int i = 0; i < 2; i++) Next();
    order.OnBytes("t", 500, 500, now);
    order.OnBytes("q", 8 * kMiB, 8 * kMiB, now);
  }
  FetchOrder::Step Part() { return order.Next(now).value_or(FetchOrder::Step()); }
  // The first part has come.
  void IsSplit() { order.OnBytes(Part().key, 1, 8 * kMiB + 1, now); }
};

TEST_F(PartsOfOthersTest, PartsComeFromTheLeastBusyRegistryThatBringsBytes) {
  const FetchOrder::Step first = Part();
  EXPECT_EQ(first.image, 1U) << "nobody knows whether the blob's own server bears parts";
  order.OnBytes(first.key, 1, 8 * kMiB + 1, now);
  const FetchOrder::Step second = Part();
  EXPECT_EQ(second.begin, 18 * kMiB);
  EXPECT_EQ(second.image, 3U) << "one stream, and the blob's own registry has two";
  EXPECT_EQ(Part().image, 1U) << "two streams each";
  EXPECT_TRUE(order.RateLimited(second.key, now + seconds(9)));
  EXPECT_EQ(Part().image, 1U) << "the other one is held";
  EXPECT_TRUE(order.RateLimited(first.key, now)) << "it is the first limit of this image";
  order.Done("q");
  order.RemovePart(first.key);
  order.PartFetched(second.key, false);
  order.RemovePart(second.key);
  now += seconds(9);
  EXPECT_EQ(Part().image, 3U);
}

TEST_F(PartsOfOthersTest, ARegistryWhosePartFailsOrComesTooLateHasToProveItself) {
  IsSplit();
  FetchOrder::Step part = Part();
  ASSERT_EQ(part.image, 3U);
  order.PartFetched(part.key, true);
  order.RemovePart(part.key);
  EXPECT_EQ(Part().image, 1U) << "the blob's own server still bears parts";
  order.OnBytes("q", 8 * kMiB, 9 * kMiB, now);
  part = Part();
  ASSERT_EQ(part.image, 3U);
  order.RemovePart(part.key);
  EXPECT_EQ(Part().image, 1U);
}

TEST_F(PartsOfOthersTest, ABlobGoesOnAtTheRegistryOfTheImageThatIsLeft) {
  order.Requeue("a");
  order.Remove(1);
  order.Remove(2);
  EXPECT_EQ(Next(), "a");
  EXPECT_TRUE(order.RateLimited("a", now + seconds(5)));
  EXPECT_TRUE(order.RegistryIsHeld("q", now));
}

TEST_F(PartsOfOthersTest, ABlobWhoseImageGoesInTheMiddleOfItsStreamDoesSo) {
  order.Remove(1);
  order.Remove(2);
  order.Preempt("a");
  order.Add(4, "s", Layers("s", 1));
  EXPECT_FALSE(order.StreamToPreempt(now + seconds(3))) << "one at a time";
  order.Requeue("a");
  EXPECT_EQ(Next(), "s-0");
  EXPECT_EQ(Next(), "a");
  EXPECT_TRUE(order.RateLimited("a", now + seconds(5)));
  EXPECT_TRUE(order.RegistryIsHeld("q", now));
}

TEST_F(SplitBlobTest, APartWhoseStreamHasStoppedStaysInMemory) {
  const std::string part = Next();
  order.OnBytes(part, 1, 1, now);
  order.PartFetched(part, false);
  EXPECT_TRUE(order.Wants(part));
  EXPECT_EQ(Next(), "a@18874368");
}

TEST_F(SplitBlobTest, ASlowPartIsPreemptedAndItsImageGoesOn) {
  const std::string part = Next();
  order.OnBytes(part, 1, 8 * kMiB + 1, now);
  order.Add(2, "s", Layers("s", 1));
  now += seconds(3);
  order.OnBytes("a", 9 * kMiB, 11 * kMiB, now);
  const auto preemption = tests::Must(order.StreamToPreempt(now));
  EXPECT_EQ(preemption->key, part);
  EXPECT_FALSE(preemption->too_slow);
}

TEST_F(SplitBlobTest, AFailedPartIsTheLastOne) {
  order.PartFetched(Next(), true);
  EXPECT_EQ(Next(), "-");
  now += seconds(4);
  EXPECT_FALSE(order.OnBytes("a", kMiB, 3 * kMiB, now));
  EXPECT_EQ(order.ProgressOf(1), Progress::kUnderWay);
}

TEST_F(SplitBlobTest, ALimitedPartHoldsTheRegistry) {
  const std::string part = Next();
  EXPECT_TRUE(order.RateLimited(part, now + seconds(5)));
  order.PartFetched(part, true);
  EXPECT_TRUE(order.RegistryIsHeld("a", now));
  EXPECT_FALSE(order.RegistryIsHeld("a", now + seconds(5)));
  EXPECT_FALSE(order.RegistryIsHeld("unknown", now));
}

TEST_F(SplitBlobTest, APartEndsWithTheLastImageThatWantsItsBlob) {
  const std::string part = Next();
  order.Add(2, "r", {{"a", 61 * kMiB}});
  order.Remove(1);
  EXPECT_TRUE(order.Wants(part));
  order.Remove(2);
  EXPECT_FALSE(order.Wants(part));
}

TEST_F(FetchOrderTest, ARefusalHalvesAndTheSecondOneEndsTheImage) {
  order.Add(1, "r", Layers("r", 40));
  order.Add(2, "s", Layers("s", 40));
  Share();
  ASSERT_EQ(StreamsOf("r"), 8);
  // Two answers of one wave.
  for (int i = 0; i < 2; i++) {
    const std::string blob = *busy.begin();
    EXPECT_TRUE(order.RateLimited(blob, now + seconds(5)));
    busy.erase(blob);
  }
  Fill();
  EXPECT_EQ(StreamsOf("s"), 10) << "r is not asked now";
  EXPECT_EQ(order.NextAt(now), now + seconds(5));
  while (StreamsOf("r") > 0) {
    const std::string blob = *busy.begin();
    order.Done(blob);
    busy.erase(blob);
  }
  now += seconds(5);
  EXPECT_EQ(order.NextAt(now), base::TimePoint::max());
  Share();
  EXPECT_EQ(StreamsOf("r"), 4);
  EXPECT_FALSE(order.RateLimited(*busy.begin(), now + seconds(5)));
}

TEST_F(FetchOrderTest, WithOneStreamThereIsNothingToHalve) {
  order.Add(1, "r", {{"a", 10}});
  ASSERT_EQ(Next(), "a");
  EXPECT_FALSE(order.RateLimited("a", now + seconds(5)));
}

TEST_F(FetchOrderTest, AFailureIsThatOfTheImagesWhichNeedTheBlob) {
  order.Add(1, "r", {{"shared", 10}});
  order.Add(2, "r", {{"shared", 10}, {"own", 5}});
  order.Add(3, "r", {{"other", 5}});
  order.Failed("shared");
  EXPECT_EQ(order.ProgressOf(1), Progress::kFailed);
  EXPECT_EQ(order.ProgressOf(2), Progress::kFailed);
  EXPECT_EQ(order.ProgressOf(3), Progress::kUnderWay);
}

TEST_F(FetchOrderTest, ImagesThatAreGivenUpTakeTheirBlobsAlong) {
  order.Add(1, "r", {{"a", 10}, {"shared", 20}});
  order.Add(2, "r", {{"shared", 20}});
  order.Remove(1);
  EXPECT_FALSE(order.Wants("a"));
  EXPECT_EQ(Next(), "shared");
  EXPECT_EQ(order.ProgressOf(1), Progress::kFailed);
}

const base::TimePoint kNow = base::TimePoint{} + std::chrono::hours(5);

FetchFacts Good() {
  return {.runtime = "containerd", .version = "2.1.9", .snapshotter = "overlayfs", .hosts_known = true};
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

TEST_TABLE(FetchChoiceTest, Row, Row) {
  EXPECT_EQ(ChooseFetch(row.facts, kNow), row.reason);
}

Row Version(const std::string& name, const std::string& version, FetchReason reason) {
  return {"Version" + name, But([&](FetchFacts& facts) { facts.version = version; }), reason};
}

Row Trip(const std::string& name, base::Duration answer_time, base::Duration round_trip, FetchReason reason) {
  const FetchHealth health = AfterManifest({}, answer_time, round_trip, kNow);
  return {"RoundTrip" + name, But([&](FetchFacts& facts) { facts.health = health; }), reason};
}

TEST_ROWS(
    Rows, FetchChoiceTest, {"AllIsWell", Good(), FetchReason::kFar},
    {"Crio", But([](FetchFacts& facts) { facts.runtime = "cri-o"; }), FetchReason::kRuntime},
    Version("Old", "1.7.24", FetchReason::kRuntime), Version("Before", "2.0.5", FetchReason::kRuntime),
    Version("First", "v2.1.0", FetchReason::kFar), Version("Debian", "2.3.4~ds1", FetchReason::kFar),
    Version("Ten", "2.10.0-rc.1", FetchReason::kFar), Version("Next", "3.0.0", FetchReason::kFar),
    Version("None", "", FetchReason::kRuntime), Version("Odd", "edge", FetchReason::kRuntime),
    Version("Short", "2", FetchReason::kRuntime),
    {"Stargz", But([](FetchFacts& facts) { facts.snapshotter = "stargz"; }), FetchReason::kSnapshotter},
    {"NoSnapshotter", But([](FetchFacts& facts) { facts.snapshotter = ""; }), FetchReason::kSnapshotter},
    {"Tables", But([](FetchFacts& facts) { facts.hosts_known = false; }), FetchReason::kHosts},
    {"FailedJustNow", But([](FetchFacts& facts) { facts.health = AfterFetchFailed({}, kNow); }),
     FetchReason::kTrouble},
    {"FailedLongAgo",
     But([](FetchFacts& facts) { facts.health = AfterFetchFailed({}, kNow - kFetchFailedPeriod); }),
     FetchReason::kFar},
    {"Near", But([](FetchFacts& facts) { facts.health = AfterManifest({}, milliseconds(4), {}, kNow); }),
     FetchReason::kNear},
    {"NearTenMinutesAgo", But([](FetchFacts& facts) {
       facts.health = AfterManifest({}, milliseconds(4), {}, kNow - minutes(10));
     }),
     FetchReason::kFar},
    {"NotNear", But([](FetchFacts& facts) { facts.health = AfterManifest({}, milliseconds(5), {}, kNow); }),
     FetchReason::kFar},
    {"NearOnceAndBusyLater", But([](FetchFacts& facts) {
       facts.health = AfterManifest(AfterManifest({}, milliseconds(1), {}, kNow), milliseconds(80), {}, kNow);
     }),
     FetchReason::kNear},
    Trip("ShortAndAnswerLate", milliseconds(24), microseconds(999), FetchReason::kNear),
    Trip("ShortAndAnswerMuchTooLate", milliseconds(25), microseconds(30), FetchReason::kFar),
    Trip("Longer", milliseconds(6), milliseconds(1), FetchReason::kFar),
    Trip("LongAndAnswerQuick", milliseconds(4), milliseconds(3), FetchReason::kNear));

TEST(MayAskSizeTest, OnlyNearRegistriesThatAreWell) {
  EXPECT_FALSE(MayQuerySize({}, kNow)) << "nothing is known of it";
  EXPECT_FALSE(MayQuerySize(AfterManifest({}, milliseconds(5), {}, kNow), kNow));
  const FetchHealth near = AfterManifest({}, milliseconds(4), {}, kNow);
  EXPECT_TRUE(MayQuerySize(near, kNow));
  EXPECT_TRUE(MayQuerySize(near, kNow + minutes(9)));
  EXPECT_FALSE(MayQuerySize(near, kNow + minutes(10)));
  EXPECT_FALSE(MayQuerySize(AfterFetchFailed(near, kNow), kNow + seconds(59)));
  EXPECT_FALSE(MayQuerySize(AfterSizeDenied(near, kNow), kNow + minutes(9)));
  const auto again_near = [](const FetchHealth& health) {
    return AfterManifest(health, milliseconds(1), {}, kNow + minutes(5));
  };
  EXPECT_FALSE(MayQuerySize(again_near(AfterSizeDenied({}, kNow)), kNow + minutes(9)));
  EXPECT_FALSE(MayQuerySize(again_near(AfterFetchFailed({}, kNow)), kNow + seconds(59)));
  EXPECT_TRUE(MayQuerySize(again_near(AfterFetchFailed({}, kNow)), kNow + seconds(60)));
  EXPECT_TRUE(MayQuerySize(again_near(AfterSizeDenied({}, kNow)), kNow + minutes(10)));
}

TEST(FetchHealthTest, EachFailureLeavesARegistryToTheRuntimeForAMinute) {
  FetchHealth health = AfterFetchFailed({}, kNow);
  EXPECT_EQ(health.failed_until, kNow + seconds(60));
  health = AfterFetchFailed(health, kNow + seconds(59));
  EXPECT_EQ(health.failed_until, kNow + seconds(119)) << "no longer after the second one";
  EXPECT_FALSE(CanDiscard(health, kNow + seconds(118)));
  EXPECT_TRUE(CanDiscard(health, kNow + seconds(119)));
}

struct GivingWayTest : testing::Test {
  void Observe(std::map<std::string, std::uint64_t> ingests) { giving_way.Observe(std::move(ingests), now); }
  void Pass(base::Duration time) { now += time; }
  bool ShouldYield() const { return giving_way.ShouldYield(now); }

  base::TimePoint now{seconds(1000)};
  YieldPolicy giving_way;
};

TEST_F(GivingWayTest, ItIsDueWhileAnotherPullMovesAndAMomentLonger) {
  Observe({});
  EXPECT_FALSE(ShouldYield());
  Pass(kForeignPullPollInterval);
  Observe({{"layer-a", 0}});
  EXPECT_TRUE(ShouldYield());
  Pass(kForeignPullPollInterval);
  Observe({{"layer-a", 10}});
  Pass(kForeignPullIdleAfter - milliseconds(1));
  EXPECT_TRUE(ShouldYield());
  Observe({{"layer-a", 10}});
  Pass(milliseconds(1));
  EXPECT_FALSE(ShouldYield());
}

// containerd shows a download in steps of a MiB, which take seconds on a link that others share.
TEST_F(GivingWayTest, ASlowPullIsAPull) {
  Observe({});
  for (std::uint64_t step = 0; step < 5; step++) {
    for (int poll = 0; poll < 18; poll++) {
      Observe({{"layer-a", step << 20}});
      EXPECT_TRUE(ShouldYield()) << step << ", " << poll;
      Pass(kForeignPullPollInterval);
    }
  }
  for (base::Duration gone{}; gone < kForeignPullGoneAfter; gone += kForeignPullPollInterval) {
    Observe({});
    EXPECT_TRUE(ShouldYield()) << "its next layer may begin";
    Pass(kForeignPullPollInterval);
  }
  Observe({});
  EXPECT_FALSE(ShouldYield());
}

TEST_F(GivingWayTest, WhatLiesThereFromTheBeginningIsNoPull) {
  Observe({{"layer-old", 7}});
  EXPECT_FALSE(ShouldYield());
  Observe({{"layer-old", 7}});
  EXPECT_FALSE(ShouldYield());
  Observe({{"layer-old", 8}});
  EXPECT_TRUE(ShouldYield());
}

TEST_F(GivingWayTest, MeanwhileARangeComesNowAndThen) {
  EXPECT_LE(giving_way.NextBurst(now), now);
  giving_way.BurstEnded(now - seconds(2), now);
  EXPECT_LE(giving_way.NextBurst(now), now) << "nobody else pulls";
  Observe({});
  for (int i = 0; i < 3; i++) {
    Observe({{"layer-a", i}});
    EXPECT_GT(giving_way.NextBurst(now), now);
    Pass(milliseconds(500));
  }
  // The pause is over after four times two seconds, or when the other one moves no longer.
  EXPECT_EQ(giving_way.NextBurst(now), now + kForeignPullIdleAfter - milliseconds(500));
  for (int i = 10; i < 24; i++) {
    Observe({{"layer-a", i}});
    Pass(milliseconds(500));
  }
  EXPECT_TRUE(ShouldYield());
  EXPECT_LE(giving_way.NextBurst(now), now);
  // The next bytes were received in the pause, so they came in no time.
  giving_way.BurstEnded(now, now);
  Observe({{"layer-a", 24}});
  EXPECT_EQ(giving_way.NextBurst(now), now + seconds(4));
}

}  // namespace
}  // namespace prefetch::plan::fetch_order_test
