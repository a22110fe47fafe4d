// Where a node's containerd asks: mirrors of hosts.toml, tables of its own configuration; and what the agent
// learns of that by itself.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "rig/expect_has.h"
#include "rig/expect_ok.h"
#include "system/node.h"

namespace prefetch::system::mirror_test {
namespace {

constexpr std::uint64_t kMegabyte = 1'000'000;
constexpr const char* kHost = "registry.example.test";

class Mirror : public testing::Test {
 protected:
  void List() {
    node_.HasListFile("images.yaml",
                      "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n- image: " + image_ +
                          "\n  refresh: IfDigestChanged\n");
  }
  rig::Ran PullOnce(std::vector<std::string> flags = {}) {
    flags.insert(flags.end(), config_.begin(), config_.end());
    rig::Ran ran = node_.Once(flags);
    EXPECT_EQ(ran.exit, rig::Exit{}) << ran.out << ran.err;
    return ran;
  }
  std::size_t Requests() const { return origin_->proxy().Requests().size(); }
  // Counts the requests for the image's manifest since Forget().
  std::size_t Manifests(rig::Proxy& proxy) const { return proxy.Count("", "/manifests/"); }
  // Returns the source of containerd's registry configuration: containerd 1.x itself, else its file.
  std::string Source() {
    bool tells =
        node_.Get("/v1/status").body.find(R"("name":"containerd","version":"1.)") != std::string::npos;
    return tells ? "runtime" : "file";
  }
  // The digest of what containerd has under the tag.
  std::string Digest() {
    node_.StartAgent(config_);
    std::string digest;
    EXPECT_TRUE(rig::Eventually(seconds(20), [&] {
      digest = node_.StatusOf(image_).digest;
      return !digest.empty();
    }));
    EXPECT_TRUE(node_.agent().Stop(seconds(5)));
    return digest;
  }

  Node node_;
  std::unique_ptr<Host> origin_ = node_.AddRegistry(kHost, {});
  std::string image_ = origin_->Push("app", "v1", {{1, kMegabyte}});
  const std::vector<std::string> config_ = {"--registry-containerd-config", node_.containerd().config_file()};
};

TEST_F(Mirror, TheConfigPathIsLearntFromTheRuntimeOrItsFile) {
  List();
  PullOnce();
  std::size_t before = Requests();
  PullOnce();
  EXPECT_EQ(Requests() - before, 1U);  // one HEAD, by the way that hosts.toml says
  origin_->Push("app", "v1", {{2, kMegabyte}});
  rig::Ran ran = PullOnce();
  EXPECT_HAS(ran.err, "image replaced");
  node_.StartAgent(config_);
  ASSERT_TRUE(rig::Eventually(seconds(20), [&] { return node_.StatusOf(image_).ready; }));
  std::string folder = node_.containerd().hosts_dir();
  EXPECT_HAS(node_.Get("/v1/status").body, R"("registries":{"configPath":")" + folder +
                                               R"(","configPathSource":")" + Source() +
                                               R"(","byPull":[],"byPullSource":null,"notes":[]})")
      << node_.Get("/v1/status").body;
  rig::Ran explained = node_.Ctl({"explain", image_});
  EXPECT_HAS(explained.out, "containerd's config_path is");
}

// So short that no look falls into it: the connection is made anew without a word.
TEST_F(Mirror, AContainerdThatRestartsBetweenTwoLooksIsAskedWhoItIs) {
  List();
  node_.StartAgent(config_);
  ASSERT_TRUE(rig::Eventually(seconds(20), [&] { return node_.StatusOf(image_).ready; }));
  EXPECT_HAS(node_.Get("/v1/status").body, R"("byPull":[])");
  node_.containerd().RouteByTables(kHost, origin_->proxy().port());
  ASSERT_OK(node_.containerd().Stop());
  ASSERT_OK(node_.containerd().Start());
  EXPECT_TRUE(
      rig::Eventually(seconds(12),
                      [&] {
                        return node_.Get("/v1/status").body.find(R"("byPull":["registry.example.test"])") !=
                               std::string::npos;
                      }))
      << node_.Get("/v1/status").body << node_.AgentLog();
}

TEST_F(Mirror, AFolderThatTheRuntimeNamesAndTheAgentDoesNotSeeIsSaid) {
  List();
  PullOnce();
  std::filesystem::remove_all(node_.containerd().hosts_dir());
  node_.StartAgent(config_);
  ASSERT_TRUE(rig::Eventually(seconds(20), [&] { return node_.StatusOf(image_).ready; }));
  std::string note = node_.containerd().hosts_dir() + ", where containerd finds its mirrors, is not visible";
  EXPECT_HAS(node_.Get("/v1/status").body, note);
  EXPECT_HAS(node_.Get("/v1/images/" + image_).body, note);
}

TEST_F(Mirror, TwoFoldersAreFollowedWherePullsAreLocal) {
  node_.containerd().LookInTwoFolders();
  ASSERT_OK(node_.containerd().Stop());
  ASSERT_OK(node_.containerd().Start());
  List();
  PullOnce();  // the registry is reached by hosts.toml alone
  std::size_t before = Requests();
  PullOnce();
  EXPECT_EQ(Requests() - before, 1U);
  node_.StartAgent(config_);
  ASSERT_TRUE(rig::Eventually(seconds(20), [&] { return node_.StatusOf(image_).ready; }));
  std::string folder = node_.containerd().hosts_dir();
  std::string status = node_.Get("/v1/status").body;
  EXPECT_HAS(status, R"("configPath":")" + folder + ":");
  EXPECT_HAS(status, R"("byPull":[])");
  EXPECT_HAS(node_.Get("/v1/images/" + image_).body, R"("source":")" + folder + "/" + kHost);
}

// The pull is the check: one manifest HEAD when nothing has changed.
TEST_F(Mirror, WhatOnlyTheRuntimesTablesKnowIsAskedByPullingWithoutBeingToldSo) {
  node_.containerd().RouteByTables(kHost, origin_->proxy().port());
  ASSERT_OK(node_.containerd().Stop());
  ASSERT_OK(node_.containerd().Start());
  List();
  PullOnce();
  std::size_t before = Requests();
  rig::Ran same = PullOnce();
  EXPECT_EQ(Requests() - before, 1U);
  EXPECT_LACKS(same.err, "image replaced");
  origin_->Push("app", "v1", {{2, kMegabyte}});
  rig::Ran moved = PullOnce();
  EXPECT_HAS(moved.err, "image replaced");
  EXPECT_HAS(moved.err, "registries are asked");
  node_.StartAgent(config_);
  ASSERT_TRUE(rig::Eventually(seconds(20), [&] { return node_.StatusOf(image_).ready; }));
  EXPECT_HAS(node_.Get("/v1/status").body,
             std::string(R"("byPull":[")") + kHost + R"("],"byPullSource":")" + Source() + "\"")
      << node_.Get("/v1/status").body;
  rig::Ran explained = node_.Ctl({"explain", image_});
  EXPECT_HAS(explained.out, "by pulling it again");
}

// A mirror between the node and the registry, which still has what the registry had.
class LaggingMirror : public Mirror {
 protected:
  void SetUp() override {
    mirror_ = node_.AddRegistry("mirror.example.test", {});
    mirror_->Push("app", "v1", {{1, kMegabyte}});
    // By its own address, so that its server is the registry itself and no mirror of it.
    std::string registry = origin_->proxy().address();
    ASSERT_OK(node_.containerd().RouteByMirror(registry, mirror_->proxy().port(), origin_->proxy().port()));
    image_ = registry + "/app:v1";
    List();
    PullOnce();
    old_ = Digest();
    origin_->Push("app", "v1", {{2, kMegabyte}});
  }
  void MirrorCatchesUp() { mirror_->Push("app", "v1", {{2, kMegabyte}}); }

  std::unique_ptr<Host> mirror_;
  std::string old_;
};

// The answer is what a pull would bring, and says who gave it.
TEST_F(LaggingMirror, IsTakenAtItsWordAsTheRuntimeTakesIt) {
  origin_->proxy().Forget();
  PullOnce();
  EXPECT_EQ(Manifests(origin_->proxy()), 0U);
  EXPECT_EQ(Digest(), old_);
  MirrorCatchesUp();
  rig::Ran ran = PullOnce();
  EXPECT_HAS(ran.err, "image replaced");
  EXPECT_NE(Digest(), old_);
}

// The registry itself is asked, and the pull brings what the mirror has: said, and not tried again and again.
TEST_F(LaggingMirror, IsFoundOutWhereTheRegistryItselfIsAsked) {
  mirror_->proxy().Forget();
  rig::Ran lagging = PullOnce({"--registry-skip-mirrors", "--fetch", "runtime"});
  EXPECT_HAS(lagging.err, "mirror lags behind the registry");
  EXPECT_HAS(lagging.out, "a mirror lags");
  EXPECT_LE(Manifests(mirror_->proxy()), 1U);  // one pull
  EXPECT_EQ(Digest(), old_);
  MirrorCatchesUp();
  rig::Ran caught_up = PullOnce({"--registry-skip-mirrors"});
  EXPECT_HAS(caught_up.err, "image replaced");
  EXPECT_NE(Digest(), old_);
}

}  // namespace
}  // namespace prefetch::system::mirror_test
