#include "base/redactor.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>

namespace prefetch::base::large_text_test {
namespace {

using std::chrono::milliseconds;

TEST(OneLargeText, TheNextWaitsForTheEndOfTheFirst) {
  std::future<void> other;
  {
    const LargeTextLock first(LargeTextLock::kLarge + 1);
    const LargeTextLock within(LargeTextLock::kLarge + 1);
    other = std::async(std::launch::async, [] {
      const LargeTextLock small(LargeTextLock::kLarge);
      const LargeTextLock next(LargeTextLock::kLarge + 1);
    });
    EXPECT_EQ(other.wait_for(milliseconds(50)), std::future_status::timeout);
  }
  other.get();
}

TEST(OneLargeText, TheApiServersAnswersWaitForNoStranger) {
  const LargeTextLock large(LargeTextLock::kLarge + 1);
  std::async(std::launch::async, [] {
    const LargeTextLock answer(LargeTextLock::kLarge + 1, LargeTextLock::kLarge,
                               LargeTextLock::Writer::kApiServer);
  }).get();
}

TEST(OneLargeText, ShorterTextsGoOnAtOnce) {
  const LargeTextLock large(LargeTextLock::kLarge + 1);
  std::async(std::launch::async, [] { const LargeTextLock small(LargeTextLock::kLarge); }).get();
}

}  // namespace
}  // namespace prefetch::base::large_text_test
