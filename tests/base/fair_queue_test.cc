#include "base/channel.h"

#include <gtest/gtest.h>

namespace prefetch::base::fair_queue_test {
namespace {

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
}  // namespace prefetch::base::fair_queue_test
