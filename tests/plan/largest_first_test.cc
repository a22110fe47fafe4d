#include "plan/schedule.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace prefetch::plan::largest_first_test {
namespace {

using Order = std::vector<std::size_t>;

PullCandidate Of(std::size_t entry, std::uint64_t bytes) {
  PullCandidate slot;
  slot.entry = entry;
  slot.bytes = bytes;
  return slot;
}

std::vector<PullCandidate> Sized(const std::vector<std::uint64_t>& sizes) {
  std::vector<PullCandidate> due;
  for (std::uint64_t bytes : sizes) due.push_back(Of(due.size(), bytes));
  return due;
}

Order Moved(std::vector<PullCandidate> due, int parallel = 4) {
  MoveLargestFirst(due, parallel);
  Order order;
  for (const PullCandidate& slot : due) order.push_back(slot.entry);
  return order;
}

struct Row {
  std::string name;
  std::vector<std::uint64_t> sizes;
  Order order;
  int parallel = 4;
};

class MovesLargest : public testing::TestWithParam<Row> {};

TEST_P(MovesLargest, AmongEquals) {
  EXPECT_EQ(Moved(Sized(GetParam().sizes), GetParam().parallel), GetParam().order);
}

INSTANTIATE_TEST_SUITE_P(
    Plan, MovesLargest,
    testing::Values(
        Row{"Nothing", {}, {}}, Row{"One", {5}, {0}}, Row{"NoSizeIsKnown", {0, 0, 0}, {0, 1, 2}},
        Row{"EqualSizes", {4, 4, 4, 4, 4, 4}, {0, 1, 2, 3, 4, 5}},
        // It would end last: 800 is more than a quarter of 824.
        Row{"OneLargeAtTheEnd", {4, 4, 4, 4, 4, 4, 800}, {6, 0, 1, 2, 3, 4, 5}},
        // 9 is less than a quarter of 49: the others fill the places beside it in any case.
        Row{"OneThatIsNoLargerThanItsShare",
            {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 9},
            {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
        Row{"ExactlyItsShare", {3, 3, 3, 3}, {0, 1, 2, 3}},
        Row{"ExactlyItsShareAtTheEnd", {3, 3, 2, 4}, {0, 1, 2, 3}, 3},
        Row{"OfOneByte", {0, 0, 0, 1}, {3, 0, 1, 2}, 5},
        Row{"TwoLarge", {2, 90, 2, 2, 2, 2, 2, 100}, {7, 1, 0, 2, 3, 4, 5, 6}},
        Row{"TheLastFewFromLargeToSmall", {1, 2, 3, 4}, {3, 2, 1, 0}},
        Row{"OfTheSameSizeTheEarlierFirst", {1, 1, 1, 1, 90, 90}, {4, 5, 0, 1, 2, 3}},
        // Seven of 6.75 on average: 12 is more than a quarter of that.
        Row{"UnknownSizesCountAsTheAverage", {5, 0, 0, 0, 5, 5, 12}, {6, 0, 1, 2, 3, 4, 5}},
        // Eleven of 7 on average.
        Row{"ManyUnknownSizes", {5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
        Row{"OneAtATime", {4, 4, 800}, {0, 1, 2}, 1}),
    [](const auto& row) { return row.param.name; });

TEST(LargestFirst, KeepsWithinItsEquals) {
  std::vector<PullCandidate> due = Sized({4, 4, 4, 4, 4, 800});
  due[0].priority = due[1].priority = 5;
  EXPECT_EQ(Moved(due), (Order{0, 1, 5, 2, 3, 4}));
  due = Sized({4, 4, 4, 4, 800});
  due[4].failures = 1;
  EXPECT_EQ(Moved(due), (Order{0, 1, 2, 3, 4}));
  due[4].failures = 0;
  due[4].update = true;
  EXPECT_EQ(Moved(due), (Order{0, 1, 2, 3, 4}));
  due[4].update = false;
  due[4].stalled = true;
  EXPECT_EQ(Moved(due), (Order{0, 1, 2, 3, 4}));
  due[4].stalled = false;
  due[0].requested = true;
  EXPECT_EQ(Moved(due), (Order{0, 4, 1, 2, 3}));
}

TEST(LargestFirst, LeavesFarOnesInPlace) {
  std::vector<PullCandidate> due = Sized({4, 4, 4, 4, 800});
  due[4].far = true;
  EXPECT_EQ(Moved(due), (Order{0, 1, 2, 3, 4}));
}

// An order by size would be another one for each image that ends.
TEST(LargestFirst, DoesNotSortWhatEndsInTimeAnyway) {
  std::vector<std::uint64_t> sizes(40, 10);
  for (std::size_t i = 0; i < sizes.size(); i++) sizes[i] += i;
  Order listed;
  for (std::size_t i = 0; i < sizes.size(); i++) listed.push_back(i);
  EXPECT_EQ(Moved(Sized(sizes)), listed);
}

TEST(LargestFirst, OnceHalfOfThemAreOver) {
  EXPECT_FALSE(MayReorder({.images = 29, .over = 14, .running = 4}));
  EXPECT_TRUE(MayReorder({.images = 29, .over = 15, .running = 4}));
  EXPECT_FALSE(NeedsSizes({.images = 29, .over = 10, .running = 4}));
  EXPECT_TRUE(NeedsSizes({.images = 29, .over = 11, .running = 4}));
  EXPECT_TRUE(MayReorder({.images = 28, .over = 14, .running = 4})) << "exactly half";
  EXPECT_TRUE(NeedsSizes({.images = 28, .over = 10, .running = 4})) << "exactly half";
  EXPECT_FALSE(MayReorder({.images = 1, .over = 0, .running = 0}));
}

}  // namespace
}  // namespace prefetch::plan::largest_first_test
