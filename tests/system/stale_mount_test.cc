// Mounts of the agent's container that no longer have what the node has: a file that was mounted by itself,
// and replaced on the node; and a filesystem that does not answer. Also a log that nobody reads.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "base/fs.h"
#include "rig/expect_ok.h"
#include "system/node.h"

namespace prefetch::system::stale_mount_test {
namespace {

// Runs the agent in a mount namespace where $2 is the file $1.
constexpr const char* kMountFile = "mount --bind \"$1\" \"$2\" && shift 2 && exec \"$@\"";

class StaleMount : public testing::Test {
 protected:
  void SetUp() override {
    of_node_ = node_.scratch().Write("node/config.json", R"({"auths":{}})");
    mounted_ = node_.scratch().Write("container/config.json", "");
    node_.scratch().Write("kubelet/image_manager/none", "");
    node_.HasKubelet({"--kubelet-version", "1.36", "--kubelet-verification", "NeverVerifyPreloadedImages",
                      "--kubelet-root", node_.scratch() / "kubelet", "--docker-config", mounted_});
  }
  // As who edits it: by rename.
  void ReplaceOnNode() {
    std::filesystem::rename(node_.scratch().Write("node/config.json.new", R"({"auths":{}})"), of_node_);
  }
  bool Told() {
    for (const std::string& problem : node_.Status().problems) {
      if (problem.find(mounted_ + " was replaced on the node") != std::string::npos) return true;
    }
    return false;
  }
  void StartAgent() {
    node_.RunsAgentBy({"unshare", "--mount", "sh", "-c", kMountFile, "pod", of_node_, mounted_});
    node_.StartAgent();
  }

  Node node_;
  std::string of_node_, mounted_;
};

TEST_F(StaleMount, OfAFileIsAProblemWhileTheAgentRuns) {
  StartAgent();
  ASSERT_TRUE(rig::Eventually(seconds(20), [&] { return !node_.Status().kubelet.version.empty(); }));
  EXPECT_FALSE(Told());
  ReplaceOnNode();
  EXPECT_TRUE(rig::Eventually(seconds(60), [&] { return Told(); })) << node_.AgentLog();
  const std::string readyz = node_.Get("/readyz?verbose").body;
  EXPECT_NE(readyz.find("was replaced on the node"), std::string::npos) << readyz;
}

// CA bundles, docker configs and lists go stale there just as well.
TEST_F(StaleMount, IsAlsoToldWhereNoKubeletRuns) {
  node_.HasKubelet({"--kubelet", "none", "--docker-config", mounted_});
  StartAgent();
  ReplaceOnNode();
  EXPECT_TRUE(rig::Eventually(seconds(60), [&] { return Told(); })) << node_.AgentLog();
}

// A pod that starts anew has the new file mounted.
TEST_F(StaleMount, EndsWithThePod) {
  ReplaceOnNode();
  StartAgent();
  ASSERT_TRUE(rig::Eventually(seconds(20), [&] { return !node_.Status().kubelet.version.empty(); }));
  EXPECT_FALSE(Told());
}

// The agent's pod has 5 s (terminationGracePeriodSeconds).
constexpr seconds kGracePeriod{4};

// A filesystem that nobody serves: its readers wait, as those of an NFS server that is gone.
class DeadMount {
 public:
  explicit DeadMount(std::string folder)
      : server_(::open("/dev/fuse", O_RDWR | O_CLOEXEC)), folder_(std::move(folder)) {
    const std::string options =
        "fd=" + std::to_string(server_.get()) + ",rootmode=40000,user_id=0,group_id=0";
    EXPECT_EQ(::mount("dead", folder_.c_str(), "fuse", 0, options.c_str()), 0) << std::strerror(errno);
  }
  // Its readers get an error.
  ~DeadMount() {
    server_ = base::Fd();
    ::umount2(folder_.c_str(), MNT_DETACH);
  }
  DeadMount(const DeadMount&) = delete;
  DeadMount& operator=(const DeadMount&) = delete;

 private:
  base::Fd server_;
  const std::string folder_;
};

class DeadMountTest : public testing::Test {
 protected:
  bool Told() {
    for (const std::string& problem : node_.Status().problems) {
      if (problem.starts_with("the credential files do not answer")) return true;
    }
    return false;
  }
  bool IsReady(const std::string& image) {
    return rig::Eventually(seconds(40), [&] { return node_.Has(image) && node_.StatusOf(image).ready; });
  }

  // With its docker config in the folder "nfs".
  void StartAgent() {
    const std::string config = node_.scratch().Write("nfs/config.json", R"({"auths":{}})");
    node_.HasKubelet({"--kubelet", "none", "--docker-config", config});
    node_.StartAgent();
  }

  Node node_;
};

TEST_F(DeadMountTest, OfCredentialFilesHoldsNoImage) {
  std::unique_ptr<Host> registry = node_.AddRegistry("registry.example.test", {});
  const std::string first = registry->Push("first", "v1", {{1, 1'000'000}});
  const std::string second = registry->Push("second", "v1", {{2, 1'000'000}});
  node_.HasList({first});
  StartAgent();
  ASSERT_TRUE(IsReady(first)) << node_.AgentLog();
  {
    DeadMount dead(node_.scratch() / "nfs");
    EXPECT_TRUE(rig::Eventually(seconds(40), [&] { return Told(); })) << node_.AgentLog();
    node_.HasList({first, second});
    EXPECT_TRUE(IsReady(second)) << node_.AgentLog();
    ASSERT_OK(node_.runtime().Remove(first));
    EXPECT_TRUE(IsReady(first)) << node_.AgentLog();
  }
  EXPECT_TRUE(rig::Eventually(seconds(40), [&] { return !Told(); })) << "it has ended";
}

// An agent that starts meanwhile has no credentials, and works without: what it is denied is tried again once
// the files answer.
TEST_F(DeadMountTest, OfCredentialFilesHoldsNoStart) {
  std::unique_ptr<Host> registry = node_.AddRegistry("registry.example.test", {});
  std::unique_ptr<Host> closed = node_.AddRegistry("closed.example.test", {"ci", "s3cr3t-dead-mount"});
  const std::string open_to_all = registry->Push("first", "v1", {{1, 1'000'000}});
  const std::string hidden = closed->Push("second", "v1", {{2, 1'000'000}});
  const std::string config = node_.scratch().Write(
      "nfs/config.json",
      R"({"auths":{"closed.example.test":{"username":"ci","password":"s3cr3t-dead-mount"}}})");
  node_.HasKubelet({"--kubelet", "none", "--docker-config", config});
  node_.HasList({open_to_all, hidden});
  {
    DeadMount dead(node_.scratch() / "nfs");
    node_.StartAgent();
    EXPECT_TRUE(IsReady(open_to_all)) << node_.AgentLog();
    EXPECT_TRUE(Told());
    EXPECT_TRUE(
        rig::Eventually(seconds(40), [&] { return node_.StatusOf(hidden).reason.text() == "AccessDenied"; }));
  }
  EXPECT_TRUE(IsReady(hidden)) << node_.AgentLog();
}

TEST_F(DeadMountTest, OfCredentialFilesHoldsNoEnd) {
  node_.HasList({});
  StartAgent();
  DeadMount dead(node_.scratch() / "nfs");
  ASSERT_TRUE(rig::Eventually(seconds(40), [&] { return Told(); })) << node_.AgentLog();
  EXPECT_EQ(node_.agent().Stop(seconds(1)), rig::Exit{}) << node_.AgentLog();
}

// A log that nobody reads is full some day.
TEST(FullLog, HoldsNoEnd) {
  Node node;
  const std::string log = node.scratch() / "log";
  ASSERT_EQ(::mkfifo(log.c_str(), 0600), 0);
  base::Fd pipe(::open(log.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  node.HasList({});
  node.RunsAgentBy({"sh", "-c", "log=$1 && shift && exec \"$@\" 2>\"$log\"", "sh", log});
  node.StartAgent();
  while (::write(pipe.get(), "x", 1) == 1) {
  }
  EXPECT_EQ(node.agent().Stop(kGracePeriod), (rig::Exit{.code = 128 + SIGTERM}));
}

}  // namespace
}  // namespace prefetch::system::stale_mount_test
