#include "plan/fetch_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace prefetch::plan::fetch_order_test {
namespace {

using Progress = FetchOrder::Progress;
using std::chrono::milliseconds;
using std::chrono::seconds;

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
    busy.insert(step->digest);
    return step->digest;
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
    busy.erase(yield->digest);
    yield->stalled ? order.Failed(yield->digest) : order.Requeue(yield->digest);
    return yield->digest + (yield->stalled ? " stalled" : "");
  }
  void Share() {
    for (Fill(); Preemption() != "-"; Fill()) {
    }
  }
  int StreamsOf(const std::string& name) const {
    return static_cast<int>(std::count_if(busy.begin(), busy.end(),
                                          [&](const std::string& blob) { return blob.starts_with(name); }));
  }
  // Each stream brings so many bytes a second, from second to second.
  void Pass(int time, const std::map<std::string, std::uint64_t>& speeds) {
    for (int i = 0; i < time; i++) {
      now += seconds(1);
      for (const std::string& blob : busy) {
        for (const auto& [name, speed] : speeds) {
          if (blob.starts_with(name)) order.OnBytes(blob, speed, now);
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

// Whoever comes later, and however many layers the others have.
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

TEST_F(FetchOrderTest, ASharedLayerIsFetchedOnceForAllItsImages) {
  order.Add(1, "r", {{"shared", 10}});
  order.Add(2, "r", {{"shared", 10}, {"own", 5}});
  EXPECT_EQ(Next(), "shared");
  EXPECT_EQ(Next(), "own");
  EXPECT_EQ(Next(), "-");
  order.Done("shared");
  EXPECT_EQ(order.ProgressOf(1), Progress::kComplete);
  EXPECT_EQ(order.ProgressOf(2), Progress::kUnderWay);
  order.Done("own");
  EXPECT_EQ(order.ProgressOf(2), Progress::kComplete);
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

TEST_F(FetchOrderTest, WhatAnotherWriterHasIsTriedAgain) {
  order.Add(1, "r", {{"a", 10}});
  EXPECT_EQ(Next(), "a");
  order.Postponed("a");
  EXPECT_EQ(Next(), "-");
  order.Retry();
  EXPECT_EQ(Next(), "a");
}

}  // namespace
}  // namespace prefetch::plan::fetch_order_test
