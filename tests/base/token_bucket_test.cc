#include "base/token_bucket.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace prefetch::base::token_bucket_test
