// What recovery has on containerd alone: leases, and events of images.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "rig/expect_ok.h"
#include "system/node.h"

namespace prefetch::system::recovery_on_containerd_test {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t kMegabyte = 1'000'000;

class RecoveryOnContainerd : public testing::Test {
 protected:
  Node node_;
  std::unique_ptr<Host> registry_ = node_.AddRegistry("registry.example.test", {});
  std::string image_ = registry_->Push("app", "v1", {{1, kMegabyte}});
};

TEST_F(RecoveryOnContainerd, NoLeaseIsLeftOfPullsThatAreOver) {
  std::string other = registry_->Push("other", "v1", {{3, kMegabyte}});
  node_.HasList({image_, other});
  rig::Ran once = node_.Once();
  EXPECT_EQ(once.exit, rig::Exit{}) << once.out << once.err;
  auto leases = node_.containerd().Ctr({"leases", "ls"});
  ASSERT_TRUE(leases) << leases.error().message();
  EXPECT_EQ(leases->find("prefetchd-"), std::string::npos) << *leases;
}

// Not at the next look, which would be 4 s away on average.
TEST_F(RecoveryOnContainerd, AnImageThatIsRemovedIsMissedWithinASecond) {
  node_.HasList({image_});
  node_.StartAgent();
  rig::Ran waited = node_.Ctl({"wait", "--timeout", "60s"}, seconds(90));
  ASSERT_EQ(waited.exit, rig::Exit{}) << waited.out << waited.err << node_.AgentLog();
  // Of several the quickest counts: what the machine does besides is not the agent's.
  constexpr int kTries = 4;
  auto least = std::chrono::steady_clock::duration::max();
  for (int i = 0; i < kTries && least > seconds(1); i++) {
    ASSERT_TRUE(rig::Eventually(seconds(60), [&] { return node_.Get("/readyz").status == 200; }));
    EXPECT_OK(registry_->proxy().Refuse(true));
    ASSERT_OK(node_.containerd().Ctr({"images", "rm", image_}));
    const auto removed = std::chrono::steady_clock::now();
    EXPECT_TRUE(rig::Eventually(seconds(10), [&] { return node_.Get("/readyz").status != 200; }));
    least = std::min(least, std::chrono::steady_clock::now() - removed);
    EXPECT_OK(registry_->proxy().Refuse(false));
  }
  RecordProperty("ms", std::to_string(least / std::chrono::milliseconds(1)));
  EXPECT_LE(least, seconds(1)) << least / std::chrono::milliseconds(1) << " ms; " << node_.AgentLog();
}

}  // namespace
}  // namespace prefetch::system::recovery_on_containerd_test
