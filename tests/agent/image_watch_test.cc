#include "agent/observe.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "fakes/fake_clock.h"
#include "fakes/fake_image_service.h"

namespace prefetch::agent::image_watch_test {
namespace {

using tests::FakeClock;
using tests::FakeImageService;
using tests::Persona;

// In real time, but for the fake's own.
TEST(ImageWatch, AFloodIsToldFourTimesASecondAtMost) {
  FakeClock clock;
  FakeImageService runtime(clock, Persona::kContainerd23);
  std::atomic<int> told = 0;
  const auto started = std::chrono::steady_clock::now();
  ImageWatch watch(runtime, [&] { told++; });
  const auto patience = started + std::chrono::seconds(20);
  const tests::FakeImage image = tests::MakeImage("r.io/a:v1", 1000);
  while (told < 4 && std::chrono::steady_clock::now() < patience) runtime.Preload(image);
  EXPECT_GE(told, 4);
  EXPECT_GE(std::chrono::steady_clock::now() - started, std::chrono::milliseconds(750));
}

// It tells at its beginning too: nobody heard what happened while there was none.
TEST(ImageWatch, AStreamThatBreaksIsAskedForAgain) {
  FakeClock clock;
  FakeImageService runtime(clock, Persona::kContainerd16);
  std::atomic<int> told = 0;
  ImageWatch watch(runtime, [&] { told++; });
  const auto started = std::chrono::steady_clock::now();
  const auto patience = started + std::chrono::seconds(20);
  while (told < 1 && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
  runtime.SetRuntimeUp(false);
  runtime.SetRuntimeUp(true);
  while (told < 2 && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
  EXPECT_GE(told, 2);
  EXPECT_GE(std::chrono::steady_clock::now() - started, std::chrono::seconds(1));
}

TEST(ImageWatch, ItEndsAtOnceWhereNothingHappens) {
  FakeClock clock;
  for (Persona persona : {Persona::kContainerd23, Persona::kCrio}) {
    FakeImageService runtime(clock, persona);
    const auto started = std::chrono::steady_clock::now();
    {
      ImageWatch watch(runtime, [] {});
    }
    EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(5));
  }
}

}  // namespace
}  // namespace prefetch::agent::image_watch_test
