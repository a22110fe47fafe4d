#include "cri/call_timers.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace prefetch::cri::event_engine_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Closures that note their name when they run, and say when all that came before have run.
struct Notes {
  std::string order;
  absl::AnyInvocable<void()> Note(char name) {
    return [this, name] { order += name; };
  }
  static void Await(TimerEngine& engine) {
    std::promise<void> reached;
    engine.RunAfter(milliseconds(60), [&reached] { reached.set_value(); });
    ASSERT_EQ(reached.get_future().wait_for(seconds(20)), std::future_status::ready);
  }
};

TEST(TimerEngineTest, RunsInTheOrderOfTime) {
  Notes notes;
  TimerEngine engine;
  engine.RunAfter(milliseconds(40), notes.Note('d'));
  engine.RunAfter(milliseconds(20), notes.Note('c'));
  engine.Run(notes.Note('a'));
  engine.Run(notes.Note('b'));
  Notes::Await(engine);
  EXPECT_EQ(notes.order, "abcd");
}

TEST(TimerEngineTest, RunsNothingBeforeItsTime) {
  TimerEngine engine;
  const auto start = std::chrono::steady_clock::now();
  std::promise<std::chrono::steady_clock::time_point> ran;
  engine.RunAfter(milliseconds(30), [&ran] { ran.set_value(std::chrono::steady_clock::now()); });
  EXPECT_GE(ran.get_future().get() - start, milliseconds(30));
}

TEST(TimerEngineTest, AClosureThatComesSoonerIsNotHeldUpByALaterOne) {
  TimerEngine engine;
  engine.RunAfter(hours(1), [] {});
  Notes::Await(engine);
}

TEST(TimerEngineTest, ACancelledClosureIsDestroyedAndDoesNotRun) {
  Notes notes;
  TimerEngine engine;
  auto owned = std::make_shared<int>(1);
  auto handle = engine.RunAfter(milliseconds(20), [owned, note = notes.Note('x')]() mutable { note(); });
  EXPECT_EQ(owned.use_count(), 2);
  EXPECT_TRUE(engine.Cancel(handle));
  EXPECT_EQ(owned.use_count(), 1);
  EXPECT_FALSE(engine.Cancel(handle));
  Notes::Await(engine);
  EXPECT_EQ(notes.order, "");
}

TEST(TimerEngineTest, WhatHasRunCannotBeCancelled) {
  TimerEngine engine;
  auto handle = engine.RunAfter(milliseconds(0), [] {});
  Notes::Await(engine);
  EXPECT_FALSE(engine.Cancel(handle));
}

struct Counted final : TimerEngine::Closure {
  std::promise<void> ran;
  void Run() override { ran.set_value(); }
};

TEST(TimerEngineTest, AClosureOfTheCallerIsNotDeleted) {
  TimerEngine engine;
  Counted closure;
  engine.RunAfter(milliseconds(1), &closure);
  closure.ran.get_future().wait();
  Counted cancelled;
  EXPECT_TRUE(engine.Cancel(engine.RunAfter(hours(1), &cancelled)));
}

TEST(TimerEngineTest, AnEngineThatGoesDestroysWhatIsLeft) {
  auto owned = std::make_shared<int>(1);
  {
    TimerEngine engine;
    engine.RunAfter(hours(1), [owned] {});
    engine.RunAfter(std::chrono::nanoseconds::max(), [owned] {});
    EXPECT_EQ(owned.use_count(), 3);
  }
  EXPECT_EQ(owned.use_count(), 1);
}

TEST(TimerEngineTest, AClosureMayHoldTheLastReferenceToItsEngine) {
  auto engine = std::make_shared<TimerEngine>();
  std::weak_ptr<TimerEngine> watched = engine;
  std::promise<void> dropped;
  TimerEngine& raw = *engine;
  raw.Run([engine = std::move(engine), &dropped]() mutable {
    EXPECT_TRUE(engine->IsWorkerThread());
    engine.reset();
    dropped.set_value();
  });
  dropped.get_future().wait();
  EXPECT_TRUE(watched.expired());
}

TEST(TimerEngineTest, ItsThreadIsTheWorker) {
  TimerEngine engine;
  EXPECT_FALSE(engine.IsWorkerThread());
}

}  // namespace
}  // namespace prefetch::cri::event_engine_test
