#include "plan/fetch_order.h"

#include <gtest/gtest.h>

namespace prefetch::plan::fetch_order_test {
namespace {

using Progress = FetchOrder::Progress;
using Kind = FetchOrder::Step::Kind;

// "a" to open it, "a 0-5" for a range in units of kFetchRange, "-" for nothing.
std::string Next(FetchOrder& order, int busy = 0, bool alone = false) {
  auto step = order.Next(busy, alone);
  if (!step) return "-";
  if (step->kind == Kind::kOpen) return step->digest;
  return step->digest + " " + std::to_string(step->begin / kFetchRange) + "-" +
         std::to_string((step->end + kFetchRange - 1) / kFetchRange);
}

TEST(FetchOrderTest, ABlobWhoseStoreIsTheLimitLetsOthersGoOn) {
  FetchOrder order;
  order.Add(1, {{"a", 99 * kFetchRange}, {"b", kFetchRange}});
  Next(order);
  order.Opened("a", 0);
  for (int i = 0; i < kMostWaiting; i++) {
    EXPECT_EQ(Next(order).substr(0, 2), "a ");
    order.Waits("a");
  }
  EXPECT_EQ(Next(order), "b");
  EXPECT_EQ(Next(order), "-");
  order.WaitsNoLonger("a");
  EXPECT_EQ(Next(order), "a 12-13");
}

TEST(FetchOrderTest, EarlierImagesComeFirstAndLargerLayersOfEach) {
  FetchOrder order;
  order.Add(2, {{"d", 9 * kFetchRange}});
  order.Add(1, {{"a", 10}, {"b", 2 * kFetchRange}, {"c", kFetchRange}});
  EXPECT_EQ(Next(order), "b");
  EXPECT_EQ(Next(order), "c");
  EXPECT_EQ(Next(order), "a");
  EXPECT_EQ(Next(order), "d");
  EXPECT_EQ(Next(order), "-");
  order.Opened("b", 0);
  EXPECT_EQ(Next(order), "b 0-1");
  order.Opened("c", 0);
  EXPECT_EQ(Next(order), "b 1-2");
  EXPECT_EQ(Next(order), "c 0-1");
  EXPECT_EQ(Next(order), "-");
}

TEST(FetchOrderTest, ABlobGoesOnWhereItWasLeft) {
  FetchOrder order;
  order.Add(1, {{"a", kFetchRange + 10}});
  EXPECT_EQ(Next(order), "a");
  order.Opened("a", 5);
  auto step = order.Next(0, false);
  EXPECT_EQ(step->begin, 5U);
  EXPECT_EQ(step->end, 5 + kFetchRange);
  EXPECT_EQ(order.Next(1, false)->end, kFetchRange + 10);
}

TEST(FetchOrderTest, ASharedLayerIsFetchedOnceForAllItsImages) {
  FetchOrder order;
  order.Add(1, {{"shared", 10}});
  order.Add(2, {{"shared", 10}, {"own", 5}});
  EXPECT_EQ(Next(order), "shared");
  EXPECT_EQ(Next(order), "own");
  EXPECT_EQ(Next(order), "-");
  order.Done("shared");
  EXPECT_EQ(order.Of(1), Progress::kComplete);
  EXPECT_EQ(order.Of(2), Progress::kUnderWay);
  order.Done("own");
  EXPECT_EQ(order.Of(2), Progress::kComplete);
}

TEST(FetchOrderTest, AFailureIsThatOfTheImagesWhichNeedTheBlob) {
  FetchOrder order;
  order.Add(1, {{"shared", 10}});
  order.Add(2, {{"shared", 10}, {"own", 5}});
  order.Add(3, {{"other", 5}});
  order.Failed("shared");
  EXPECT_EQ(order.Of(1), Progress::kFailed);
  EXPECT_EQ(order.Of(2), Progress::kFailed);
  EXPECT_EQ(order.Of(3), Progress::kUnderWay);
}

TEST(FetchOrderTest, ImagesThatAreGivenUpTakeTheirBlobsAlong) {
  FetchOrder order;
  order.Add(1, {{"a", 10}, {"shared", 20}});
  order.Add(2, {{"shared", 20}});
  order.Remove(1);
  EXPECT_FALSE(order.Wants("a"));
  EXPECT_EQ(Next(order), "shared");
  EXPECT_EQ(order.Of(1), Progress::kFailed);
}

TEST(FetchOrderTest, WhatAnotherWriterHasIsTriedAgain) {
  FetchOrder order;
  order.Add(1, {{"a", 10}});
  EXPECT_EQ(Next(order), "a");
  order.Postponed("a");
  EXPECT_EQ(Next(order), "-");
  order.Retry();
  EXPECT_EQ(Next(order), "a");
}

TEST(FetchOrderTest, WhileOthersPullThereIsOneStream) {
  FetchOrder order;
  order.Add(1, {{"a", 3 * kFetchRange}});
  EXPECT_EQ(Next(order, 1, true), "-");
  EXPECT_EQ(Next(order, 0, true), "a");
  order.Opened("a", 0);
  EXPECT_EQ(Next(order, 0, true), "a 0-1");
  EXPECT_EQ(Next(order, 1, true), "-");
  EXPECT_EQ(Next(order, 1, false), "a 1-2");
}

}  // namespace
}  // namespace prefetch::plan::fetch_order_test
