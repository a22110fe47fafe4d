#include "base/token_bucket.h"

#include <gtest/gtest.h>

namespace prefetch::base::peer_rate_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

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

}  // namespace
}  // namespace prefetch::base::peer_rate_test
