#include "base/mutex.h"

#include <gtest/gtest.h>

#include <thread>

namespace prefetch::base::one_thread_test {
namespace {

TEST(OneThread, EndsTheProgramWhenAnotherThreadComes) {
  ThreadChecker thread;
  thread.Check();
  thread.Check();
  EXPECT_DEATH(std::thread([&] { thread.Check(); }).join(), "");
}

TEST(OneThread, BelongsToNobodyAfterReleaseNorAsACopy) {
  ThreadChecker thread;
  thread.Check();
  ThreadChecker copy = thread;
  thread.Release();
  std::thread([&] {
    thread.Check();
    copy.Check();
  }).join();
  EXPECT_DEATH(thread.Check(), "");
}

TEST(OneAtATime, EndsTheProgramWhenTwoThreadsMeet) {
  SequenceChecker object;
  EXPECT_DEATH(
      {
        const SequenceChecker::Use use(object);
        std::thread([&] { const SequenceChecker::Use other(object); }).join();
      },
      "");
}

TEST(OneAtATime, ThreadsMayFollowOneAnotherAndUsesMayNest) {
  SequenceChecker object;
  for (int i = 0; i < 2; i++) {
    std::thread([&] {
      const SequenceChecker::Use use(object);
      const SequenceChecker::Use nested(object);
    }).join();
  }
  const SequenceChecker::Use use(object);
  const SequenceChecker copy = object;
  std::thread([&] { const SequenceChecker::Use other(copy); }).join();
}

}  // namespace
}  // namespace prefetch::base::one_thread_test
