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
    const OneLargeText first(OneLargeText::kLarge + 1);
    const OneLargeText within(OneLargeText::kLarge + 1);
    other = std::async(std::launch::async, [] {
      const OneLargeText small(OneLargeText::kLarge);
      const OneLargeText next(OneLargeText::kLarge + 1);
    });
    EXPECT_EQ(other.wait_for(milliseconds(50)), std::future_status::timeout);
  }
  other.get();
}

TEST(OneLargeText, TheApiServersAnswersWaitForNoStranger) {
  const OneLargeText large(OneLargeText::kLarge + 1);
  std::async(std::launch::async, [] {
    const OneLargeText answer(OneLargeText::kLarge + 1, OneLargeText::kLarge,
                              OneLargeText::Writer::kApiServer);
  }).get();
}

TEST(OneLargeText, ShorterTextsGoOnAtOnce) {
  const OneLargeText large(OneLargeText::kLarge + 1);
  std::async(std::launch::async, [] { const OneLargeText small(OneLargeText::kLarge); }).get();
}

}  // namespace
}  // namespace prefetch::base::large_text_test
