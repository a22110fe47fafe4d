// Tags that move, vanish, and registries that go away, on a real runtime with a real registry.
#include <gtest/gtest.h>

#include <string>

#include "system/node.h"

namespace prefetch::system::refresh_test {
namespace {

constexpr std::uint64_t kMegabyte = 1'000'000;

class Refresh : public testing::Test {
 protected:
  void List(const std::string& fields) {
    node_.HasListFile(
        "images.yaml",
        "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n- image: " + image_ + "\n" + fields);
  }
  std::vector<std::string> AsksLikeTheRuntime() {
    return node_.runtime().RegistryFlags(registry_->proxy().port());
  }
  void PullOnce() {
    rig::Ran ran = node_.Once(AsksLikeTheRuntime());
    ASSERT_EQ(ran.exit, rig::Exit{}) << ran.out << ran.err;
  }
  void RegistryGoes() {
    registry_->registry().Kill();
    registry_->proxy().CutAll();
  }

  Node node_;
  std::unique_ptr<Host> registry_ =
      node_.AddRegistry("registry.example.test", {"ci", "the-refresh-password"});
  std::string image_ = registry_->Push("app", "v1", {{1, kMegabyte}});
};

TEST_F(Refresh, AMovedTagIsPulledWhileTheOldContentStays) {
  node_.HasDockerConfig(registry_->host(), {"ci", "the-refresh-password"});
  List("  refresh: IfDigestChanged\n  readyFor: Always\n");
  PullOnce();
  registry_->Push("app", "v1", {{1, kMegabyte}, {2, 8 * kMegabyte}});
  registry_->proxy().LimitBandwidth(4 * kMegabyte);
  node_.StartAgent(AsksLikeTheRuntime());
  std::string before = node_.StatusOf(image_).digest;
  bool was_there = true;
  EXPECT_TRUE(rig::Eventually(seconds(60), [&] {
    was_there = was_there && node_.Has(image_);
    status::StatusImage image = node_.StatusOf(image_);
    return image.present && image.digest != before && image.ready;
  })) << node_.AgentLog();
  EXPECT_TRUE(was_there);
  // Where it asks by pulling, the pull is the answer.
  EXPECT_EQ(node_.AgentLog().find("tag changed") != std::string::npos, node_.runtime().TellsItsRegistries());
  // A look may see the new image before the runtime says that the pull has ended.
  EXPECT_TRUE(rig::Eventually(seconds(10), [&] {
    return node_.AgentLog().find("image replaced") != std::string::npos;
  })) << node_.AgentLog();
  EXPECT_EQ(node_.AgentLog().find("the-refresh-password"), std::string::npos);
}

TEST_F(Refresh, OnceAsksAndPullsWhatHasChanged) {
  node_.HasDockerConfig(registry_->host(), {"ci", "the-refresh-password"});
  List("  refresh: IfDigestChanged\n");
  PullOnce();
  std::size_t requests = registry_->proxy().Requests().size();
  PullOnce();
  // One HEAD, and another one after the challenge; or a pull that finds all here.
  const std::size_t most = node_.runtime().TellsItsRegistries() ? 2 : 3;
  EXPECT_LE(registry_->proxy().Requests().size() - requests, most);
  registry_->Push("app", "v1", {{3, kMegabyte}});
  PullOnce();
  EXPECT_GT(registry_->proxy().Requests().size() - requests, 4U);
}

// The other field story: the registry out of reach, everything cached, and every job failed all the same.
TEST_F(Refresh, WithoutARegistryNeverAndIfNotPresentPassAndNobodyIsAsked) {
  node_.HasDockerConfig(registry_->host(), {"ci", "the-refresh-password"});
  node_.HasList({image_});
  PullOnce();
  RegistryGoes();
  std::size_t requests = registry_->proxy().Requests().size();
  node_.StartAgent(AsksLikeTheRuntime());
  ASSERT_TRUE(node_.BecomesReady(seconds(20)));
  for (const char* policy : {"Never", "IfNotPresent"}) {
    rig::Ran ran = node_.Ctl({"check", "--image", image_, "--policy", policy}, seconds(5));
    EXPECT_EQ(ran.exit, rig::Exit{}) << policy << ran.out << ran.err;
  }
  EXPECT_EQ(registry_->proxy().Requests().size(), requests);
  rig::Ran always = node_.Ctl({"check", "--image", image_, "--policy", "Always"}, seconds(30));
  EXPECT_EQ(always.exit, (rig::Exit{1, 0})) << always.out << always.err;
}

}  // namespace
}  // namespace prefetch::system::refresh_test
