#include "base/token_bucket.h"

#include <gtest/gtest.h>

#include "base/channel.h"

namespace prefetch::base::token_bucket_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A clock may begin at zero.
class TokenBucketTest : public testing::TestWithParam<TimePoint> {
 protected:
  const TimePoint start_ = GetParam();
};

TEST_P(TokenBucketTest, AFewAtOnceThenSoManyASecond) {
  TokenBucket bucket({.per_second = 5, .burst = 3});
  for (int i = 0; i < 3; i++) EXPECT_TRUE(bucket.TryTake(start_)) << i;
  EXPECT_FALSE(bucket.TryTake(start_));
  EXPECT_EQ(bucket.WaitAt(start_), milliseconds(200));
  EXPECT_FALSE(bucket.TryTake(start_ + milliseconds(199)));
  EXPECT_TRUE(bucket.TryTake(start_ + milliseconds(200)));
  EXPECT_FALSE(bucket.TryTake(start_ + milliseconds(200)));
}

TEST_P(TokenBucketTest, APauseFillsItToTheBurstAndNoFurther) {
  TokenBucket bucket({.per_second = 5, .burst = 3});
  bucket.Take(3, start_);
  EXPECT_EQ(bucket.At(start_ + seconds(3600)), 3);
  EXPECT_EQ(bucket.At(start_), 0) << "to look takes nothing";
}

TEST_P(TokenBucketTest, WhatWasTakenTooMuchIsWaitedFor) {
  TokenBucket bucket({.per_second = 5, .burst = 3});
  bucket.Take(8, start_);
  EXPECT_EQ(bucket.At(start_), -5);
  EXPECT_EQ(bucket.WaitAt(start_), milliseconds(1200));
  EXPECT_EQ(bucket.WaitAt(start_ + milliseconds(1200)), Duration::zero());
}

TEST_P(TokenBucketTest, WithoutALimitNobodyWaits) {
  TokenBucket bucket({});
  for (int i = 0; i < 1000; i++) ASSERT_TRUE(bucket.TryTake(start_));
}

INSTANTIATE_TEST_SUITE_P(Starts, TokenBucketTest, testing::Values(TimePoint(), TimePoint(seconds(1000))));

TEST(Circuit, OpensAfterSoManyFailuresAndEachTimeForLonger) {
  constexpr Circuit kCircuit{.failures = 3, .first = seconds(10), .longest = seconds(35)};
  EXPECT_FALSE(kCircuit.IsOpen(2));
  EXPECT_TRUE(kCircuit.IsOpen(3));
  const seconds pauses[] = {seconds(0),  seconds(0),  seconds(0), seconds(10),
                            seconds(20), seconds(35), seconds(35)};
  for (int failures = 0; failures < 7; failures++) {
    EXPECT_EQ(kCircuit.PauseAfter(failures), pauses[failures]) << failures;
  }
  EXPECT_EQ(kCircuit.PauseAfter(1'000'000'000), seconds(35));
}

TEST(Circuit, ItsPausesCountFromTheFirst) {
  constexpr Circuit kCircuit{.failures = 3, .first = seconds(10), .longest = seconds(35)};
  EXPECT_EQ(kCircuit.Pause(1), seconds(10));
  EXPECT_EQ(kCircuit.Pause(2), seconds(20));
  EXPECT_EQ(kCircuit.Pause(3), seconds(35));
}

const TimePoint kNow{seconds(1000)};

TEST(PeerRate, OneWhoAsksTooMuchLeavesTheRestToTheOthers) {
  PeerRateLimiter rate({.per_second = 4, .burst = 10}, {.per_second = 1, .burst = 6});
  for (int i = 0; i < 6; i++) EXPECT_EQ(rate.Take("a", kNow), std::nullopt);
  for (int i = 0; i < 100; i++) EXPECT_EQ(rate.Take("a", kNow), seconds(1));
  for (int i = 0; i < 4; i++) EXPECT_EQ(rate.Take("b", kNow), std::nullopt);
  EXPECT_EQ(rate.Take("b", kNow), milliseconds(250)) << "all have had what there is";
  EXPECT_EQ(rate.Take("b", kNow + milliseconds(250)), std::nullopt);
}

TEST(PeerRate, AFineIsThePeersOwnAndNeverADebt) {
  PeerRateLimiter rate({.per_second = 1, .burst = 10}, {.per_second = 1, .burst = 6});
  rate.Penalize("a", 5, kNow);
  EXPECT_EQ(rate.Take("a", kNow), std::nullopt) << "it has taken nothing";
  rate.Penalize("a", 3, kNow);
  EXPECT_EQ(rate.Take("a", kNow), std::nullopt);
  EXPECT_EQ(rate.Take("a", kNow), std::nullopt);
  EXPECT_EQ(rate.Take("a", kNow), seconds(1));
  rate.Penalize("a", 100, kNow);
  EXPECT_EQ(rate.Take("a", kNow), seconds(1));
  for (int i = 0; i < 6; i++) EXPECT_EQ(rate.Take("b", kNow), std::nullopt);
}

// Every address of a /64 asks once.
TEST(PeerRate, StrangersWhoDoNotComeBackAreForgotten) {
  PeerRateLimiter rate({.per_second = 1e6, .burst = 1e6}, {.per_second = 1, .burst = 1});
  for (int i = 0; i < 5000; i++)
    EXPECT_EQ(rate.Take(std::to_string(i), kNow + seconds(2 * (i / 500))), std::nullopt);
  EXPECT_LE(rate.known(), 1000U);
  EXPECT_NE(rate.Take("4999", kNow + seconds(18)), std::nullopt) << "not those who have just asked";
}

TEST(FairQueue, ThePartyWithTheFewestAtWorkIsNext) {
  FairQueue<int> queue(10);
  for (int i = 1; i <= 3; i++) EXPECT_FALSE(queue.Add("many", i));
  EXPECT_FALSE(queue.Add("few", 4));
  EXPECT_EQ(queue.Take()->value, 1) << "the oldest, while none is at work";
  EXPECT_EQ(queue.Take()->value, 4);
  EXPECT_EQ(queue.Take()->value, 2);
  queue.Done("few");
  EXPECT_FALSE(queue.Add("few", 5));
  EXPECT_EQ(queue.Take()->value, 5);
  EXPECT_EQ(queue.Take()->value, 3);
  EXPECT_FALSE(queue.Take());
}

TEST(FairQueue, WhenItIsFullTheNewestOfTheLargestPartyGoes) {
  FairQueue<int> queue(4);
  for (int i = 1; i <= 4; i++) EXPECT_FALSE(queue.Add("many", i));
  EXPECT_EQ(queue.Add("many", 5)->value, 5);
  EXPECT_EQ(queue.Add("few", 6)->value, 4);
  EXPECT_EQ(queue.Add("third", 7)->value, 3);
  for (int left : {1, 6, 7, 2}) EXPECT_EQ(queue.Take()->value, left);
}

}  // namespace
}  // namespace prefetch::base::token_bucket_test
