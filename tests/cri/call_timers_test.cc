#include "cri/call_timers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cri/grpc_image_service.h"
#include "scripted_runtime.h"
#include "temp_dir.h"

namespace prefetch::cri::call_timers_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

std::vector<std::string> ThreadNames() {
  std::vector<std::string> names;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(thread.path() / "comm");
    std::string name;
    if (std::getline(file, name)) names.push_back(name);
  }
  return names;
}

class CallTimersTest : public testing::Test {
 protected:
  CallTimersTest() : service_(Endpoint{dir_ / "cri.sock"}) {
    server_ = std::make_unique<tests::ScriptedRuntime>(dir_ / "cri.sock",
                                                       std::vector<grpc::Service*>{&images_, &version_});
  }
  auto List(milliseconds limit) { return service_.ListImages(base::Call{}.Within(limit)); }

  tests::TempDir dir_;
  tests::ScriptedImages images_;
  tests::ScriptedVersion version_;
  GrpcImageService service_;
  std::unique_ptr<tests::ScriptedRuntime> server_;
};

TEST_F(CallTimersTest, NoThreadOfGrpcsWakesForTimers) {
  ASSERT_TRUE(List(seconds(20)));
  for (const std::string& name : ThreadNames()) {
    EXPECT_FALSE(name.starts_with("grpc_global_tim") || name.starts_with("timer_manager")) << name;
  }
}

TEST_F(CallTimersTest, ADeadlineIsKept) {
  images_.hang = true;
  for (milliseconds limit : {milliseconds(150), milliseconds(400)}) {
    const auto start = steady_clock::now();
    EXPECT_FALSE(List(limit));
    EXPECT_GE(steady_clock::now() - start, limit);
    EXPECT_LT(steady_clock::now() - start, limit + seconds(5));  // a machine may be busy
  }
}

// Also when the timers had been left alone for a while, and while another call goes on.
TEST_F(CallTimersTest, ADeadlineIsKeptBesideACallWithoutOne) {
  images_.hang = true;
  std::stop_source stop;
  std::thread endless([&] {
    auto failed = service_.PullImage({.stop = stop.get_token()}, {.image = "example.test/app:v1"});
    EXPECT_FALSE(failed);
  });
  const auto start = steady_clock::now();
  EXPECT_FALSE(List(milliseconds(200)));
  EXPECT_GE(steady_clock::now() - start, milliseconds(200));
  stop.request_stop();
  endless.join();
}

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
}  // namespace prefetch::cri::call_timers_test
