#include "base/timed_reader.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

namespace prefetch::base::apart_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

TEST(TimedReader, AJobThatEndsInTimeIsDone) {
  TimedReader apart;
  for (int i = 0; i < 3; i++) {
    int result = 0;
    ASSERT_TRUE(apart.Run([&] { result = i + 1; }, minutes(1)));
    EXPECT_EQ(result, i + 1);
  }
  EXPECT_FALSE(apart.Hangs(Duration::zero()));
}

TEST(TimedReader, AJobThatHangsHoldsNobodyAndNoOtherBegins) {
  std::promise<void> end;
  TimedReader apart;
  EXPECT_FALSE(apart.Run([&] { end.get_future().wait(); }, milliseconds(1)));
  EXPECT_TRUE(apart.Hangs(milliseconds(1)));
  EXPECT_FALSE(apart.Hangs(minutes(1)));
  bool began = false;
  EXPECT_FALSE(apart.Run([&] { began = true; }, milliseconds(1)));
  end.set_value();
  while (apart.Hangs(Duration::zero())) std::this_thread::yield();
  EXPECT_FALSE(began);
  EXPECT_TRUE(apart.Run([&] { began = true; }, minutes(1)));
  EXPECT_TRUE(began);
}

// A caller that comes while a job runs waits for its end.
TEST(TimedReader, ASecondCallerWaitsForTheJobOfTheFirst) {
  std::promise<void> end;
  TimedReader apart;
  bool done = false;
  EXPECT_FALSE(apart.Run(
      [&] {
        end.get_future().wait();
        done = true;
      },
      milliseconds(1)));
  auto second = std::async(std::launch::async, [&] { return apart.Run([] {}, minutes(1)); });
  end.set_value();
  second.get();
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace prefetch::base::apart_test
