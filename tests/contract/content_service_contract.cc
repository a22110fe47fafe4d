// containerd's own API beside CRI.
#include <atomic>
#include <set>
#include <thread>

#include "contract/contract_fixture.h"
#include "plan/pins.h"
#include "rows.h"

namespace prefetch::tests::content_service_contract {
namespace {

using image::ErrorClass;

class ContentServiceContract : public ImageServiceContract {
 protected:
  // A slow pull of 10 MB under a lease that lasts for `lifetime`. It has more than `bytes` of them.
  struct LeasedPull {
    std::string name, lease;
    std::unique_ptr<RunningPull> pull;
  };
  LeasedPull PullSome(std::chrono::seconds lifetime, std::uint64_t bytes) {
    LeasedPull some{.name = world_->Push({"team/app", "v1", {{1, 9 * kMegabyte}, {2, kMegabyte}}}).name};
    some.lease = cri::LeaseFor("a", *image::Reference::Parse(some.name));
    EXPECT_TRUE(world_->content().EnsureLease(Soon(), some.lease, lifetime));
    world_->SetBandwidth(4 * kMegabyte);
    some.pull = std::make_unique<RunningPull>(*world_, cri::PullRequest{some.name, std::nullopt, some.lease});
    EXPECT_TRUE(world_->Until([&] { return ProgressOf(some.lease).bytes_done > bytes; }));
    return some;
  }
};

TEST_P(ContentServiceContract, LeasesAreMadeOnceAndListed) {
  cri::ContentService& content = world_->content();
  EXPECT_EQ(*content.EnsureLease(Soon(), "prefetchd-1", std::chrono::hours(1)), true);
  EXPECT_EQ(*content.EnsureLease(Soon(), "prefetchd-1", std::chrono::hours(1)), false);
  EXPECT_EQ(*content.EnsureLease(Soon(), "somebody-elses", std::chrono::hours(1)), true);
  EXPECT_EQ(*content.ListLeases(Soon()), std::vector<std::string>{"prefetchd-1"});
  EXPECT_EQ(*content.DeleteLease(Soon(), "prefetchd-1"), true);
  EXPECT_EQ(*content.DeleteLease(Soon(), "prefetchd-1"), false);
  EXPECT_EQ(*content.ListLeases(Soon()), std::vector<std::string>{});
}

// Any name of an image pins it. A pull of the name may remove the label, which can be set again.
TEST_P(ContentServiceContract, APinIsReportedAndFollowsItsName) {
  cri::ContentService& content = world_->content();
  const bool reports = plan::ReportsPins(world_->images().Connect(Soon())->version);
  auto app = world_->Push({"team/app", "v1", {{1, kMegabyte}}});
  ASSERT_TRUE(Pull(app.name));
  auto becomes = [&](bool pinned) {
    return world_->Until([&] {
      const image::LocalImageIndex images(*world_->images().ListImages(Soon()));
      const image::LocalImage* found = images.Find(*image::Reference::Parse(app.name));
      return found != nullptr && found->pinned == (pinned && reports);
    });
  };
  const std::set<std::string> pins = {app.name};
  EXPECT_EQ(*content.Pin(Soon(), app.name + "-none", "ours"), cri::PinResult::kAbsent);
  EXPECT_EQ(*content.Pin(Soon(), app.name, "ours"), cri::PinResult::kPinned);
  EXPECT_EQ(*content.Pin(Soon(), app.name, "ours"), cri::PinResult::kPinned);
  EXPECT_EQ(*content.Pin(Soon(), app.name, "theirs"), cri::PinResult::kForeign);
  EXPECT_EQ(*content.ListPins(Soon(), "ours"), pins);
  EXPECT_EQ(*content.ListPins(Soon(), "theirs"), std::set<std::string>());
  EXPECT_EQ(*content.ListPins(Soon(), ""), pins) << "of any owner";
  EXPECT_TRUE(becomes(true));
  EXPECT_EQ(*content.Unpin(Soon(), app.name, "theirs"), false);
  world_->Push({"team/app", "v1", {{2, kMegabyte}}});
  ASSERT_TRUE(Pull(app.name));
  EXPECT_EQ(*content.Pin(Soon(), app.name, "ours"), cri::PinResult::kPinned);
  EXPECT_EQ(*content.ListPins(Soon(), "ours"), pins);
  EXPECT_TRUE(becomes(true));
  EXPECT_EQ(*content.Unpin(Soon(), app.name, "ours"), true);
  EXPECT_EQ(*content.Unpin(Soon(), app.name, "ours"), false);
  EXPECT_EQ(*content.ListPins(Soon(), "ours"), std::set<std::string>());
  EXPECT_TRUE(becomes(false));
  EXPECT_EQ(*content.Pin(Soon(), app.name, "ours"), cri::PinResult::kPinned);
  EXPECT_EQ(*content.Unpin(Soon(), app.name, ""), true) << "of any owner";
  EXPECT_EQ(*content.Unpin(Soon(), app.name, ""), false);
  EXPECT_EQ(*content.ListPins(Soon(), ""), std::set<std::string>());
  EXPECT_EQ(*content.Pin(Soon(), app.name, "ours"), cri::PinResult::kPinned);
  world_->Remove(app.name);
  EXPECT_EQ(*content.ListPins(Soon(), "ours"), std::set<std::string>());
  EXPECT_EQ(*content.Unpin(Soon(), app.name, "ours"), false);
}

TEST_P(ContentServiceContract, APullUnderALeaseThatIsGoneFailsAndIsNotTakenForAMissingImage) {
  auto app = world_->Push({"team/app", "v1", {{1, kMegabyte}}});
  EXPECT_TRUE(Failed(Pull(app.name, std::nullopt, "prefetchd-none"), ErrorClass::kRuntimeError));
}

TEST_P(ContentServiceContract, ProgressMovesToItsTotal) {
  auto app = world_->Push({"team/app", "v1", {{1, 6 * kMegabyte}, {2, 2 * kMegabyte}}, true});
  const std::string lease = cri::LeaseFor("a", *image::Reference::Parse(app.name));
  ASSERT_TRUE(world_->content().EnsureLease(Soon(), lease, std::chrono::hours(1)));
  EXPECT_EQ(ProgressOf(lease).bytes_total, 0u);
  world_->SetBandwidth(4 * kMegabyte);
  RunningPull pull(*world_, {app.name, Credential(), lease});
  std::vector<image::PullProgress> seen;
  ASSERT_TRUE(world_->Until([&] {
    seen.push_back(ProgressOf(lease));
    return pull.done();
  }));
  EXPECT_TRUE(pull.Wait());
  int moved = 0;
  bool active = false;
  for (std::size_t i = 1; i < seen.size(); i++) {
    EXPECT_GE(seen[i].bytes_done, seen[i - 1].bytes_done);
    if (seen[i].bytes_done > seen[i - 1].bytes_done) {
      moved++;
      EXPECT_NE(seen[i].fingerprint, seen[i - 1].fingerprint);
    }
    active = active || seen[i].active;
  }
  EXPECT_GE(moved, 3);
  EXPECT_TRUE(active);
  image::PullProgress last = ProgressOf(lease);
  EXPECT_EQ(last.bytes_done, last.bytes_total);
  EXPECT_NEAR(static_cast<double>(last.bytes_total), 8e6, 1e5);
}

TEST_P(ContentServiceContract, ALeaseKeepsTheBytesOfAStoppedPull) {
  auto other = world_->Push({"team/other", "v1", {{3, kMegabyte}}});
  LeasedPull app = PullSome(std::chrono::hours(1), 6 * kMegabyte);
  app.pull->Stop();
  EXPECT_TRUE(Failed(app.pull->Wait(), ErrorClass::kCancelled));
  // The garbage collector has reason to run: an image comes and goes, a lease goes.
  world_->SetBandwidth(0);
  ASSERT_TRUE(Pull(other.name));
  world_->Remove(other.name);
  ASSERT_TRUE(world_->content().EnsureLease(Soon(), "prefetchd-2", std::chrono::hours(1)));
  ASSERT_TRUE(world_->content().DeleteLease(Soon(), "prefetchd-2"));
  EXPECT_GT(ProgressOf(app.lease).bytes_done, 6 * kMegabyte);

  EXPECT_EQ(*world_->content().EnsureLease(Soon(), app.lease, std::chrono::hours(1)), false);
  std::uint64_t before = world_->BytesServed();
  ASSERT_TRUE(Pull(app.name, std::nullopt, app.lease));
  EXPECT_LT(world_->BytesServed() - before, 4 * kMegabyte + kMegabyte / 2);
  EXPECT_TRUE(*world_->content().DeleteLease(Soon(), app.lease));
  EXPECT_TRUE(Present(app.name));
}

// containerd's collector rests between two runs, the longer the slower they are.
TEST_P(ContentServiceContract, BytesThatAreInTheWayAreGoneWhenTheCallReturns) {
  LeasedPull app = PullSome(std::chrono::hours(1), 6 * kMegabyte);
  app.pull->Stop();
  EXPECT_TRUE(Failed(app.pull->Wait(), ErrorClass::kCancelled));
  world_->SetBandwidth(0);
  EXPECT_TRUE(*world_->content().DeleteLease(Soon(), app.lease, cri::LeaseDeletion::kSync));
  EXPECT_EQ(*world_->content().EnsureLease(Soon(), app.lease, std::chrono::hours(1)), true);
  std::uint64_t before = world_->BytesServed();
  ASSERT_TRUE(Pull(app.name, std::nullopt, app.lease));
  EXPECT_GE(world_->BytesServed() - before, 10 * kMegabyte);
}

TEST_P(ContentServiceContract, ALeaseThatEndsSoonIsRenewedWithAllThatItHolds) {
  LeasedPull app = PullSome(std::chrono::minutes(5), 6 * kMegabyte);
  app.pull->Stop();
  EXPECT_TRUE(Failed(app.pull->Wait(), ErrorClass::kCancelled));
  EXPECT_EQ(*world_->content().EnsureLease(Soon(), app.lease, std::chrono::hours(24)), false);
  EXPECT_EQ(*world_->content().ListLeases(Soon()), std::vector<std::string>{app.lease});
  EXPECT_GT(ProgressOf(app.lease).bytes_done, 6 * kMegabyte);
}

// A pull may take longer than its lease lasts.
TEST_P(ContentServiceContract, ARenewalInMidPullDoesNotEndIt) {
  LeasedPull app = PullSome(std::chrono::minutes(5), 3 * kMegabyte);
  EXPECT_EQ(*world_->content().EnsureLease(Soon(), app.lease, std::chrono::hours(1)), false);
  EXPECT_EQ(*world_->content().ListLeases(Soon()), std::vector<std::string>{app.lease});
  EXPECT_GT(ProgressOf(app.lease).bytes_done, 3 * kMegabyte);
  ASSERT_TRUE(world_->Until([&] { return app.pull->done(); }));
  EXPECT_TRUE(app.pull->Wait());
  EXPECT_TRUE(Present(app.name));
}

// The connection of before is dead, and nobody has noticed.
TEST_P(ContentServiceContract, LeasesAreMadeAndDeletedRightAfterARestart) {
  ASSERT_TRUE(world_->content().EnsureLease(Soon(), "prefetchd-1", std::chrono::hours(1)));
  world_->KillRuntime();
  world_->StartRuntime();
  auto made = world_->content().EnsureLease(Soon(), "prefetchd-2", std::chrono::hours(1));
  EXPECT_TRUE(made) << made.error().message;
  world_->KillRuntime();
  world_->StartRuntime();
  auto deleted = world_->content().DeleteLease(Soon(), "prefetchd-1");
  EXPECT_TRUE(deleted) << deleted.error().message;
  EXPECT_EQ(*world_->content().ListLeases(Soon()), std::vector<std::string>{"prefetchd-2"});
}

TEST_P(ContentServiceContract, ChangesOfImagesAreToldUntilTheRuntimeGoes) {
  auto app = world_->Push({"team/app", "v1", {{1, kMegabyte}}});
  std::atomic<int> told = 0;
  std::atomic<bool> ended = false;
  cri::CallError error;
  std::jthread watch([&] {
    error = world_->content().WatchImages(base::Call{}, [&] { told++; });
    ended = true;
  });
  ASSERT_TRUE(world_->Until([&] { return told > 0; }));
  // The beginning is told before the runtime has it in force.
  ASSERT_TRUE(world_->Until([&] {
    EXPECT_TRUE(Pull(app.name));
    world_->Remove(app.name);
    return told > 1;
  }));
  EXPECT_FALSE(ended);
  world_->KillRuntime();
  EXPECT_TRUE(world_->Until([&] { return ended.load(); }));
  EXPECT_EQ(error.error_class, ErrorClass::kRuntimeDown) << error.message;
  world_->StartRuntime();
}

TEST_P(ContentServiceContract, AWatchEndsWhenItIsStopped) {
  std::atomic<bool> ended = false;
  cri::CallError error;
  std::jthread watch([&](const std::stop_token& stop) {
    error = world_->content().WatchImages({base::TimePoint::max(), stop}, [] {});
    ended = true;
  });
  watch.request_stop();
  EXPECT_TRUE(world_->Until([&] { return ended.load(); }));
  EXPECT_EQ(error.error_class, ErrorClass::kCancelled);
}

TEST_P(ContentServiceContract, WithoutTheLeaseTheBytesGo) {
  LeasedPull app = PullSome(std::chrono::hours(1), 4 * kMegabyte);
  app.pull->Stop();
  EXPECT_TRUE(Failed(app.pull->Wait(), ErrorClass::kCancelled));
  ASSERT_TRUE(world_->content().DeleteLease(Soon(), app.lease));
  ASSERT_TRUE(world_->Until([&] { return world_->StoreIsEmpty(); }));
  ASSERT_TRUE(world_->content().EnsureLease(Soon(), app.lease, std::chrono::hours(1)));
  EXPECT_EQ(ProgressOf(app.lease).bytes_done, 0u);
  world_->SetBandwidth(0);
  std::uint64_t before = world_->BytesServed();
  ASSERT_TRUE(Pull(app.name, std::nullopt, app.lease));
  EXPECT_GT(world_->BytesServed() - before, 10 * kMegabyte - kMegabyte / 10);
}

INSTANTIATE_TEST_SUITE_P(Contract, ContentServiceContract, testing::ValuesIn(Worlds(Runtime::kContainerd)),
                         tests::kRowName);

}  // namespace
}  // namespace prefetch::tests::content_service_contract
