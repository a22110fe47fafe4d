#include "base/fair_queue.h"

#include <gtest/gtest.h>

namespace prefetch::base::fair_queue_test {
namespace {

TEST(FairQueue, ThePartyWithTheFewestAtWorkIsNext) {
  FairQueue<int> queue(10, 10);
  for (int i = 1; i <= 3; i++) EXPECT_TRUE(queue.Add("many", i));
  EXPECT_TRUE(queue.Add("few", 4));
  EXPECT_EQ(queue.Take()->value, 1) << "the oldest, while none is at work";
  EXPECT_EQ(queue.Take()->value, 4);
  EXPECT_EQ(queue.Take()->value, 2);
  queue.Done("few");
  EXPECT_TRUE(queue.Add("few", 5));
  EXPECT_EQ(queue.Take()->value, 5);
  EXPECT_EQ(queue.Take()->value, 3);
  EXPECT_FALSE(queue.Take());
}

TEST(FairQueue, OnePartyLeavesRoomToTheOthers) {
  FairQueue<int> queue(3, 2);
  EXPECT_TRUE(queue.Add("many", 1));
  EXPECT_TRUE(queue.Add("many", 2));
  EXPECT_FALSE(queue.Add("many", 3));
  EXPECT_TRUE(queue.Add("few", 4));
  EXPECT_FALSE(queue.Add("third", 5)) << "it is full";
}

}  // namespace
}  // namespace prefetch::base::fair_queue_test
