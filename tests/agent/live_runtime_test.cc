#include "agent/answers/check_round.h"

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/fake_image_service.h"

namespace prefetch::agent::runtime_now_test {
namespace {

// CRI-O lists what has lost its last name with a digest by which it finds nothing.
TEST(LiveRuntime, WhatNoNameFindsIsNotHere) {
  tests::FakeClock clock;
  tests::FakeImageService runtime(clock, tests::Persona::kCrio);
  LiveRuntime now(runtime, runtime, clock);
  const tests::FakeImage old = tests::MakeImage("r.io/a:v1", 1000);
  const auto digest = *image::Reference::Parse("r.io/a@" + old.digest);
  plan::ImageState listed;
  listed.desired = plan::DesiredImage{.reference = digest};
  runtime.Preload(old);
  LiveRuntime::Listing here = now.Ask({}, {});
  EXPECT_TRUE(now.Unlisted({}, digest, **here).present);
  EXPECT_TRUE(now.Entry({}, listed, **here, true).present);
  runtime.Preload(tests::MakeImage("r.io/a:v1", 2000));
  here = now.Ask({}, {});
  EXPECT_FALSE(now.Unlisted({}, digest, **here).present);
  EXPECT_FALSE(now.Entry({}, listed, **here, true).present);
}

// A runtime that was away at the last look makes no caller wait.
TEST(LiveRuntime, PatienceIsForARuntimeThatWasThere) {
  EXPECT_EQ(LiveRuntime::Timeout({.up = true}), std::chrono::seconds(10));
  EXPECT_EQ(LiveRuntime::Timeout({.up = false}), std::chrono::seconds(1));
}

}  // namespace
}  // namespace prefetch::agent::runtime_now_test
