#include "pulling/lease_manager.h"

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/fake_image_service.h"
#include "must.h"

namespace prefetch::pulling::lease_book_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using Names = std::vector<std::string>;

struct Rig {
  LeaseManager book;
  std::set<std::string> running;
  std::map<std::string, IdleLeaseUse> uses;  // by entry
  base::TimePoint now{seconds(1000)};

  std::optional<LeaseChanges> Next(bool may_list = false) {
    return book.Next(
        running, [this](const std::string& name, const std::string&) { return uses[name]; }, may_list, now);
  }
  Names Dropped() {
    auto work = Next();
    if (!work) return {};
    book.Handle({.dropped = work->drop, .renewed = work->renew}, now);
    return work->drop;
  }
};

struct LeaseManagerTest : testing::Test {
  Rig rig;
};

TEST_F(LeaseManagerTest, WhatIsLetGoWaitsForThePullThatStillEnds) {
  rig.book.Begin("l", "a", rig.now);
  rig.running = {"l"};
  rig.book.ReleaseLease("l");
  EXPECT_EQ(rig.Dropped(), Names{});
  rig.running.clear();
  EXPECT_EQ(rig.Dropped(), Names{"l"});
  EXPECT_EQ(rig.Dropped(), Names{});
}

// Each deletion makes the runtime collect its garbage, which holds up the pulls that still run.
TEST_F(LeaseManagerTest, WhatIsDueWaitsForOthersWhilePullsRun) {
  for (const char* lease : {"l1", "l2", "l3", "l4"}) rig.book.Begin(lease, lease, rig.now);
  rig.running = {"l3", "l4"};
  EXPECT_EQ(rig.Dropped(), Names{});
  EXPECT_EQ(rig.book.NextTurn(rig.now), rig.now + seconds(5));
  rig.now += seconds(4);
  rig.running = {"l4"};
  EXPECT_EQ(rig.Dropped(), Names{});
  rig.now += seconds(1);
  EXPECT_EQ(rig.Dropped(), (Names{"l1", "l2", "l3"}))
      << "all in one go, once the first has waited long enough";
  rig.book.Begin("l5", "l5", rig.now);
  EXPECT_EQ(rig.Dropped(), Names{});
  rig.running.clear();
  EXPECT_EQ(rig.Dropped(), (Names{"l4", "l5"})) << "no pull is held up";
}

TEST_F(LeaseManagerTest, WhoseBytesAreInTheWayWaitsForNoOther) {
  for (const char* lease : {"l1", "l2", "l3"}) rig.book.Begin(lease, lease, rig.now);
  rig.running = {"l3"};
  EXPECT_EQ(rig.Dropped(), Names{});
  rig.book.ReleaseLease("l2", cri::LeaseDeletion::kSync);
  EXPECT_EQ(rig.Dropped(), (Names{"l1", "l2"}));
}

// One that is due no more, and is due again, waits anew.
TEST_F(LeaseManagerTest, APullThatBeginsAgainStartsTheWaitAnew) {
  for (const char* lease : {"l1", "l2"}) rig.book.Begin(lease, lease, rig.now);
  rig.running = {"l2"};
  EXPECT_EQ(rig.Dropped(), Names{});
  rig.now += seconds(3);
  rig.uses["l1"] = IdleLeaseUse::kHoldsBytes;
  EXPECT_EQ(rig.Dropped(), Names{});
  rig.now += seconds(3);
  rig.uses["l1"] = IdleLeaseUse::kNone;
  EXPECT_EQ(rig.Dropped(), Names{});
  rig.now += seconds(5);
  EXPECT_EQ(rig.Dropped(), Names{"l1"});
}

// The loop must not turn all the time for it.
TEST_F(LeaseManagerTest, AFailedDropOfWhatWaitedIsNoTurnOfItsOwn) {
  for (const char* lease : {"l1", "l2"}) rig.book.Begin(lease, lease, rig.now);
  rig.running = {"l2"};
  EXPECT_EQ(rig.Dropped(), Names{});
  rig.now += seconds(5);
  ASSERT_TRUE(rig.Next());
  rig.book.Handle({.failed = true}, rig.now);
  EXPECT_EQ(rig.book.NextTurn(rig.now), base::TimePoint::max());
}

TEST_F(LeaseManagerTest, AFailedDropIsRepeatedLater) {
  rig.book.Begin("l", "a", rig.now);
  for (base::Duration wait : {seconds(1), seconds(2), seconds(4)}) {
    ASSERT_TRUE(rig.Next());
    EXPECT_TRUE(rig.book.IsBeingReleased("l"));
    EXPECT_FALSE(rig.Next());  // one at a time
    rig.book.Handle({.failed = true}, rig.now);
    EXPECT_FALSE(rig.book.IsBeingReleased("l"));
    EXPECT_FALSE(rig.Next());
    rig.now += wait;
  }
  EXPECT_EQ(rig.Dropped(), Names{"l"});
}

TEST_F(LeaseManagerTest, APullThatBeginsMeanwhileKeepsItInTheBook) {
  rig.book.Begin("l", "a", rig.now);
  auto work = tests::Must(rig.Next());
  rig.book.Begin("l", "a", rig.now);
  rig.book.Handle({.dropped = work->drop}, rig.now);
  EXPECT_EQ(rig.Dropped(), Names{"l"});
}

TEST_F(LeaseManagerTest, WhatKeepsBytesOrRunsIsRenewed) {
  rig.uses = {
      {"a", IdleLeaseUse::kHoldsBytes}, {"b", IdleLeaseUse::kNoBytesSeen}, {"c", IdleLeaseUse::kNoBytesSeen}};
  for (const char* name : {"a", "b", "c"}) rig.book.Begin(std::string("l") + name, name, rig.now);
  rig.running = {"lc"};
  rig.now += minutes(14);
  EXPECT_FALSE(rig.Next());
  rig.now += minutes(1);
  auto work = tests::Must(rig.Next());
  EXPECT_EQ(work->renew, (Names{"la", "lc"}));
  rig.book.Handle({.renewed = work->renew}, rig.now);
  EXPECT_FALSE(rig.Next());
}

// Others wait for the room of its bytes, and nobody for that of the other one.
TEST_F(LeaseManagerTest, BytesThatAreInTheWayGoAtOnce) {
  for (bool for_disk_space : {false, true, false}) {
    rig.book.Begin("l", "a", rig.now);
    rig.book.ReleaseLease("l", for_disk_space ? cri::LeaseDeletion::kSync : cri::LeaseDeletion::kAsync);
    auto work = tests::Must(rig.Next());
    EXPECT_EQ(work->drop, Names{"l"});
    EXPECT_EQ(work->for_disk_space, for_disk_space);
    rig.book.Handle({.dropped = work->drop}, rig.now);
  }
}

// The runtime still ends its part of a pull whose call was cancelled.
TEST_F(LeaseManagerTest, GoesNotBeforeItsTime) {
  rig.book.Begin("l", "a", rig.now);
  EXPECT_EQ(rig.book.NextTurn(rig.now), base::TimePoint::max());
  rig.book.ReleaseLease("l", cri::LeaseDeletion::kSync, rig.now + seconds(1));
  EXPECT_FALSE(rig.Next());
  EXPECT_TRUE(rig.book.IsBeingReleased("l")) << "a pull would take the room that others wait for";
  EXPECT_EQ(rig.book.NextTurn(rig.now), rig.now + seconds(1));
  rig.now += seconds(1);
  EXPECT_EQ(rig.book.NextTurn(rig.now), base::TimePoint::max()) << "the loop would turn all the time";
  EXPECT_EQ(rig.Dropped(), Names{"l"});
}

TEST(UpdateLeases, OneRunOfTheCollectorIsEnoughForAll) {
  tests::FakeClock clock;
  tests::FakeImageService runtime(clock, tests::Persona::kContainerd23);
  EXPECT_EQ(UpdateLeases({}, runtime, {.drop = {"a", "b"}}).dropped, (Names{"a", "b"}));
  EXPECT_EQ(runtime.counters().collections, 0);
  EXPECT_EQ(UpdateLeases({}, runtime, {.drop = {"a", "b"}, .for_disk_space = true}).dropped,
            (Names{"a", "b"}));
  EXPECT_EQ(runtime.counters().collections, 1);
}

TEST(UpdateLeases, CallsThatFailAreToBeRepeated) {
  for (tests::LeaseCall call :
       {tests::LeaseCall::kEnsure, tests::LeaseCall::kDelete, tests::LeaseCall::kList}) {
    tests::FakeClock clock;
    tests::FakeImageService runtime(clock, tests::Persona::kContainerd23);
    ASSERT_TRUE(runtime.EnsureLease({}, "old", minutes(60)));
    runtime.FailNext(call, 1);
    const LeaseChanges work{.drop = {"old"}, .renew = {"kept"}, .list = true};
    LeasesUpdated tended = UpdateLeases({}, runtime, work);
    EXPECT_TRUE(tended.failed);
    EXPECT_EQ(tended.renewed.empty(), call == tests::LeaseCall::kEnsure);
    EXPECT_EQ(tended.dropped.empty(), call == tests::LeaseCall::kDelete);
    EXPECT_EQ(tended.found.has_value(), call != tests::LeaseCall::kList);
    EXPECT_FALSE(UpdateLeases({}, runtime, work).failed);
  }
}

TEST_F(LeaseManagerTest, LeftoversAreSearchedForUntilThatWorked) {
  EXPECT_FALSE(rig.Next());
  auto work = rig.Next(true);
  ASSERT_TRUE(work && work->list);
  rig.book.Handle({.failed = true}, rig.now);
  rig.now += seconds(1);
  work = rig.Next(true);
  ASSERT_TRUE(work && work->list);
  rig.book.Handle({.found = Names{}}, rig.now);
  EXPECT_FALSE(rig.Next(true));
  rig.book.ListAgain();
  EXPECT_TRUE(rig.Next(true));
}

TEST_F(LeaseManagerTest, WithoutTheApiThereIsNothingToDo) {
  tests::FakeClock clock;
  tests::FakeImageService runtime(clock, tests::Persona::kCrio);
  rig.book.Begin("l", "a", rig.now);
  rig.book.Handle(UpdateLeases({}, runtime, *tests::Must(rig.Next())), rig.now);
  rig.now += minutes(60);
  EXPECT_FALSE(rig.Next(true));
  rig.book.Reconnected();
  EXPECT_TRUE(rig.Next(true));
}

}  // namespace
}  // namespace prefetch::pulling::lease_book_test
