// Pulls that start only in the windows of their list.
#include <gtest/gtest.h>

#include <string>

#include "scenario/node.h"

namespace prefetch::tests::window_scenario_test {
namespace {

// The story begins at noon in Berlin.
void OpensAtOne(plan::DesiredImage& desired) {
  desired.pull_windows = {{.start = hours(13),
                           .end = hours(14),
                           .days = plan::kEveryDay,
                           .zone = *base::TimeZone::Find("Europe/Berlin")}};
}

class WindowScenario : public NodeTest {
 protected:
  // Requests a pull that has no room. Its window opens on the next morning.
  void RequestWithoutRoom(const std::string& name) {
    node.disk = {.known = true, .capacity_bytes = 100'000 * kMB, .available_bytes = kMB};
    node.runtime.Push(MakeImage(name, kMB));
    node.List({name}, [](plan::DesiredImage& desired) {
      desired.refresh = plan::Refresh::kIfDigestChanged;
      desired.refresh_interval = minutes(5);
      OpensAtOne(desired);
      desired.pull_windows[0].start = hours(8);
      desired.pull_windows[0].end = hours(9);
    });
    node.RunFor(seconds(30));
    node.Retry({name});
  }
};

TEST_F(WindowScenario, AnEmptyNodeWaitsForTheWindow) {
  node.PushAndList("r.io/a:v1", kMB, OpensAtOne);
  node.RunFor(minutes(49));
  const std::uint64_t turns = node.Turns();
  node.RunFor(minutes(10));
  EXPECT_LE(node.Turns() - turns, 200U) << "turns that bring no news: the wait costs nothing";
  EXPECT_EQ(node.runtime.counters().pull_calls, 0);
  EXPECT_FALSE(node.Ready());
  EXPECT_EQ(node.Snapshot()->readiness.phase, plan::Phase::kProgressing);
  const plan::ImageState image = node.Image("r.io/a:v1");
  EXPECT_EQ(image.reason, plan::Reason::kOutsidePullWindow);
  EXPECT_EQ(image.message,
            "waits for its pullWindow (13:00 to 14:00 Europe/Berlin), which opens at 2026-08-01T11:00:00Z");
  EXPECT_EQ(image.pull.state, plan::PullState::kNone) << "no retry waits: no alert";
  ASSERT_TRUE(image.pull.next_attempt_at);
  EXPECT_EQ(base::Rfc3339(*image.pull.next_attempt_at), "2026-08-01T11:00:00Z");
  // The loop wakes by itself.
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1) + seconds(3)));
}

TEST_F(WindowScenario, ARunningPullEndsAfterTheWindowAndNoOtherStarts) {
  node.runtime.SetBandwidth(kMB);
  node.PushAndList("r.io/large:v1", 300 * kMB, OpensAtOne);
  node.RunFor(minutes(119));  // it has been pulled since 13:00, and vanishes
  ASSERT_TRUE(node.Ready());
  node.runtime.Remove("r.io/large:v1");
  node.RunFor(minutes(3));  // the window has closed
  EXPECT_EQ(node.Image("r.io/large:v1").pull.state, plan::PullState::kPulling);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(10)));
  node.runtime.Remove("r.io/large:v1");
  node.RunFor(minutes(10));
  EXPECT_EQ(node.ReasonOf("r.io/large:v1"), plan::Reason::kOutsidePullWindow);
  EXPECT_EQ(node.runtime.counters().pull_calls, 2);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, hours(24)));
}

TEST_F(WindowScenario, ARequestDoesNotWait) {
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.runtime.Push(MakeImage("r.io/b:v1", kMB));
  node.runtime.Push(MakeImage("r.io/c:v1", kMB));
  node.List({"r.io/a:v1", "r.io/b:v1", "r.io/c:v1"}, OpensAtOne);
  node.RunFor(seconds(30));
  node.Retry({"r.io/a:v1"});
  EXPECT_TRUE(node.RunUntil([&] { return node.Image("r.io/a:v1").ready; }, seconds(5)));
  node.RequestPull("r.io/b:v1");
  EXPECT_TRUE(node.RunUntil([&] { return node.Image("r.io/b:v1").ready; }, seconds(5)));
  node.RunFor(minutes(2));
  EXPECT_EQ(node.runtime.counters().pull_calls, 2) << "nothing asked for the third";
  node.List({"r.io/c:v1"});
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(5))) << "a new list has no window";
}

// One try for a request; the failure is shown beside the wait.
TEST_F(WindowScenario, AFailureAndTheWindow) {
  node.List({"r.io/late:v1"}, OpensAtOne);
  node.RunFor(seconds(30));
  node.Retry({"r.io/late:v1"});
  node.RunFor(minutes(20));
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
  const plan::ImageState image = node.Image("r.io/late:v1");
  EXPECT_EQ(image.reason, plan::Reason::kNotFound);
  EXPECT_EQ(image.pull.state, plan::PullState::kWaiting);
  EXPECT_HAS(image.message, "; the next try waits for its pullWindow");
  node.runtime.Push(MakeImage("r.io/late:v1", kMB));
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(41)));
}

// The cure of an eviction is more room, which no window brings.
TEST_F(WindowScenario, AnEvictionIsShownBesideTheWindow) {
  node.PushAndList("r.io/a:v1", kMB, OpensAtOne);
  node.RunFor(minutes(61));
  ASSERT_TRUE(node.Ready());
  for (int i = 0; i < 58; i++) {
    if (node.Image("r.io/a:v1").present) node.runtime.Remove("r.io/a:v1");
    node.RunFor(minutes(1));
  }
  node.RunFor(hours(2));  // the window has closed, and the pause is over
  const plan::ImageState image = node.Image("r.io/a:v1");
  EXPECT_EQ(image.reason, plan::Reason::kEvictedByKubelet);
  EXPECT_EQ(image.phase, plan::Phase::kFailing);
  EXPECT_EQ(image.pull.state, plan::PullState::kWaiting);
  EXPECT_HAS(image.message, "shorten the list; the next try waits for its pullWindow");
}

// A request that another client has fulfilled waives no window for later updates.
TEST_F(WindowScenario, ARequestEndsWhenAnotherClientBringsTheImage) {
  const std::string name = "reg.example.test/a:v1";
  RequestWithoutRoom(name);
  node.RunFor(seconds(30));
  ASSERT_TRUE(node.Image(name).pull.retry_requested_at);
  ASSERT_EQ(node.runtime.counters().pull_calls, 0) << "there is no room";
  node.runtime.Preload(MakeImage(name, kMB));
  node.RunFor(minutes(1));
  ASSERT_TRUE(node.Ready());
  EXPECT_FALSE(node.Image(name).pull.retry_requested_at) << "another client has brought it";
  node.disk = {};
  node.RunFor(hours(2));
  node.runtime.Push(MakeImage(name, 2 * kMB));
  node.RunFor(minutes(30));
  EXPECT_EQ(node.runtime.counters().pull_calls, 0);
  EXPECT_HAS(node.Image(name).message, "; an update waits for its pullWindow");
}

TEST_F(WindowScenario, ARequestHoldsForAnHour) {
  RequestWithoutRoom("reg.example.test/a:v1");
  node.RunFor(minutes(61));
  node.disk = {};
  node.RunFor(minutes(5));
  EXPECT_EQ(node.runtime.counters().pull_calls, 0) << "there was no room while it held";
}

// A fleet must not ask its registry in the second in which the window opens.
TEST(WindowScenarioWithOptions, AFleetSpreadsItsPullsAfterTheOpening) {
  plan::Limits limits;
  limits.start_jitter = minutes(10);
  Node node({.limits = limits});
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.runtime.Push(MakeImage("r.io/b:v1", kMB));
  node.List({"r.io/a:v1"}, OpensAtOne);
  node.RunFor(minutes(30));
  const auto announced = node.Image("r.io/a:v1").pull.next_attempt_at;
  ASSERT_TRUE(announced);
  node.RunFor(minutes(30) + seconds(1));
  EXPECT_EQ(node.runtime.counters().pull_calls, 0);
  EXPECT_EQ(node.ReasonOf("r.io/a:v1"), plan::Reason::kOutsidePullWindow);
  EXPECT_EQ(node.Image("r.io/a:v1").pull.next_attempt_at, announced);
  const std::uint64_t turns = node.Turns();
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(10)));
  EXPECT_GE(node.clock.Wall(), *announced);
  EXPECT_LE(node.clock.Wall() - *announced, seconds(3));
  EXPECT_LE(node.Turns() - turns, 200U);
}

// An entry that is first seen in an open window has only the list's own jitter, as without a window.
TEST(WindowScenarioWithOptions, AnEntryThatComesInTheWindowIsNotSpread) {
  plan::Limits limits;
  limits.start_jitter = minutes(10);
  Node node({.limits = limits});
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.List({});
  node.RunFor(minutes(75));
  node.List({"r.io/a:v1"}, OpensAtOne);
  node.RunFor(seconds(2));
  EXPECT_NE(node.ReasonOf("r.io/a:v1"), plan::Reason::kOutsidePullWindow);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(10) + seconds(3)));
}

TEST_F(WindowScenario, AnUpdateWaitsAndTheImageStaysReady) {
  node.runtime.Push(MakeImage("reg.example.test/a:v1", kMB));
  auto refreshed = [](plan::DesiredImage& desired) {
    desired.refresh = plan::Refresh::kIfDigestChanged;
    desired.refresh_interval = minutes(5);
  };
  node.List({"reg.example.test/a:v1"}, refreshed);
  node.RunFor(minutes(1));
  ASSERT_TRUE(node.Ready());
  node.List({"reg.example.test/a:v1"}, [&](plan::DesiredImage& desired) {
    refreshed(desired);
    OpensAtOne(desired);
  });
  node.runtime.Push(MakeImage("reg.example.test/a:v1", 2 * kMB));
  node.RunFor(minutes(30));
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
  EXPECT_EQ(node.Image("reg.example.test/a:v1").pull.state, plan::PullState::kDone);
  EXPECT_HAS(node.Image("reg.example.test/a:v1").message, "; an update waits for its pullWindow");
  node.RunFor(minutes(45));
  EXPECT_EQ(node.runtime.counters().pull_calls, 2);
}

TEST(WindowScenarioWithOptions, OnceDoesNotWait) {
  Node node({.once = true});
  node.PushAndList("r.io/a:v1", kMB, OpensAtOne);
  EXPECT_TRUE(node.EndsByItself(seconds(20)));
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
}

}  // namespace
}  // namespace prefetch::tests::window_scenario_test
