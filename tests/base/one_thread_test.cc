#include "base/mutex.h"

#include <gtest/gtest.h>

#include <thread>

namespace prefetch::base::one_thread_test {
namespace {

TEST(OneThread, EndsTheProgramWhenAnotherThreadComes) {
  OneThread thread;
  thread.Check();
  thread.Check();
  EXPECT_DEATH(std::thread([&] { thread.Check(); }).join(), "");
}

TEST(OneThread, BelongsToNobodyAfterReleaseNorAsACopy) {
  OneThread thread;
  thread.Check();
  OneThread copy = thread;
  thread.Release();
  std::thread([&] {
    thread.Check();
    copy.Check();
  }).join();
  EXPECT_DEATH(thread.Check(), "");
}

TEST(OneAtATime, EndsTheProgramWhenTwoThreadsMeet) {
  OneAtATime object;
  EXPECT_DEATH(
      {
        const OneAtATime::Use use(object);
        std::thread([&] { const OneAtATime::Use other(object); }).join();
      },
      "");
}

TEST(OneAtATime, ThreadsMayFollowOneAnotherAndUsesMayNest) {
  OneAtATime object;
  for (int i = 0; i < 2; i++) {
    std::thread([&] {
      const OneAtATime::Use use(object);
      const OneAtATime::Use nested(object);
    }).join();
  }
  const OneAtATime::Use use(object);
  const OneAtATime copy = object;
  std::thread([&] { const OneAtATime::Use other(copy); }).join();
}

}  // namespace
}  // namespace prefetch::base::one_thread_test
