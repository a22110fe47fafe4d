// Tests a node whose parts die, restart and change while images are pulled.

#include <gtest/gtest.h>

#include <signal.h>

#include <chrono>
#include <string>

#include "rig/expect_ok.h"
#include "system/node.h"

namespace prefetch::system::recovery_test {
namespace {

constexpr std::uint64_t kMegabyte = 1'000'000;
constexpr std::uint64_t kImageBytes = 12 * kMegabyte;

// A node whose agent is in the middle of pulling one image of 12 MB at 6 MB/s.
class Recovery : public testing::Test {
 protected:
  void StartPulling() {
    node_.HasList({image_});
    registry_->proxy().LimitBandwidth(6 * kMegabyte);
    node_.StartAgent();
    ASSERT_TRUE(ServedMoreThan(4 * kMegabyte)) << node_.AgentLog();
  }

  bool ServedMoreThan(std::uint64_t bytes) {
    return rig::Eventually(seconds(30), [&] { return registry_->proxy().BytesToClients() > bytes; });
  }

  void ExpectReady(const std::string& timeout = "60s") {
    rig::Ran waited = node_.Ctl({"wait", "--timeout", timeout}, seconds(90));
    EXPECT_EQ(waited.exit, rig::Exit{}) << waited.out << waited.err << node_.AgentLog();
    EXPECT_EQ(node_.Get("/readyz").status, 200);
    EXPECT_TRUE(node_.Has(image_));
  }

  // Bytes in the kernel's buffers may come twice when the connection breaks. If the runtime drops the parts
  // of a broken pull, that pull starts over, once.
  void ExpectFewBytesTwice() {
    const std::uint64_t twice = node_.runtime().KeepsPartsOfPulls() ? 0 : kImageBytes;
    EXPECT_LE(registry_->proxy().BytesToClients(), kImageBytes + twice + 2 * kMegabyte);
  }

  Node node_;
  std::unique_ptr<Host> registry_ = node_.AddRegistry("registry.example.test", {});
  std::string image_ = registry_->Push("app", "v1", {{1, kImageBytes / 2}, {2, kImageBytes / 2}});
};

TEST_F(Recovery, ARegistryThatRestartsMidPull) {
  StartPulling();
  registry_->registry().Kill();
  registry_->proxy().CutAll();
  ASSERT_OK(registry_->registry().Start());
  ExpectReady();
}

TEST_F(Recovery, ARuntimeThatIsKilledAndRestartedMidPull) {
  StartPulling();
  node_.runtime().Kill();
  ASSERT_TRUE(rig::Eventually(seconds(10), [&] { return !node_.Status().runtime.up; }));
  EXPECT_EQ(node_.Get("/readyz").status, 503);
  ASSERT_OK(node_.runtime().Start());
  ExpectReady();
}

// Its sockets still take connections and requests; nothing answers them.
TEST_F(Recovery, ARuntimeThatIsFrozenMidPullIsSaidAndGoesOnWhereItWas) {
  StartPulling();
  ASSERT_EQ(::kill(node_.runtime().pid(), SIGSTOP), 0);
  // One that only takes its time has half a minute.
  ASSERT_TRUE(rig::Eventually(seconds(60), [&] { return !node_.Status().runtime.up; })) << node_.AgentLog();
  EXPECT_NE(node_.Ctl({"status"}).out.find("does not answer"), std::string::npos);
  EXPECT_EQ(node_.Get("/livez").status, 200);
  EXPECT_EQ(node_.Get("/readyz").status, 503);
  rig::Ran check = node_.Ctl(
      {"check", "--image", registry_->host() + "/other:v1", "--policy", "Never", "--timeout", "5s"});
  EXPECT_EQ(check.exit, (rig::Exit{1, 0})) << check.out << check.err;
  EXPECT_NE(check.out.find("RuntimeDown"), std::string::npos) << check.out;
  ASSERT_EQ(::kill(node_.runtime().pid(), SIGCONT), 0);
  ExpectReady();
  ExpectFewBytesTwice();
}

TEST_F(Recovery, AnAgentStopsWithinASecondThoughTheRuntimeIsFrozen) {
  StartPulling();
  ASSERT_EQ(::kill(node_.runtime().pid(), SIGSTOP), 0);
  EXPECT_EQ(node_.agent().Stop(seconds(1)), rig::Exit{}) << node_.AgentLog();
  ASSERT_EQ(::kill(node_.runtime().pid(), SIGCONT), 0);
  node_.StartAgent();
  ExpectReady();
  ExpectFewBytesTwice();
}

TEST_F(Recovery, AnAgentThatIsKilledMidPullLosesNoBytes) {
  StartPulling();
  node_.agent().Kill();
  node_.StartAgent();
  ExpectReady();
  ExpectFewBytesTwice();
}

TEST_F(Recovery, AnAgentThatIsToldToStopGoesWithinASecondAndLosesNoBytes) {
  StartPulling();
  EXPECT_EQ(node_.agent().Stop(seconds(1)), rig::Exit{}) << node_.AgentLog();
  node_.StartAgent();
  ExpectReady();
  ExpectFewBytesTwice();
}

TEST_F(Recovery, AnImageThatIsRemovedComesBackWithinTenSeconds) {
  node_.HasList({image_});
  node_.StartAgent();
  ExpectReady();
  ASSERT_OK(node_.runtime().Remove(image_));
  EXPECT_TRUE(rig::Eventually(seconds(12), [&] { return node_.Has(image_); })) << node_.AgentLog();
  ExpectReady();
}

TEST_F(Recovery, AListThatChangesMidPullIsFollowed) {
  std::string other = registry_->Push("other", "v1", {{3, kMegabyte}});
  StartPulling();
  node_.HasList({other});
  EXPECT_TRUE(node_.BecomesReady(seconds(20))) << node_.AgentLog();
  EXPECT_TRUE(node_.Has(other));
  EXPECT_EQ(node_.Status().images.size(), 1U);
  // The pull of the entry that went was ended with it.
  EXPECT_LT(registry_->proxy().BytesToClients(), kImageBytes);
}

}  // namespace
}  // namespace prefetch::system::recovery_test
