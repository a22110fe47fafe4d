// Tests refresh on containerd alone: the agent asks its registries itself, by names that containerd gives
// them.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "base/fs.h"
#include "faults/real/readiness_watch.h"
#include "rig/expect_ok.h"
#include "system/node.h"

namespace prefetch::system::refresh_on_containerd_test {
namespace {

using std::chrono::minutes;

constexpr const char* kHost = "registry.example.test";

// A name server that hears every question and answers none. Its address is one of loopback's many, since the
// port of a name server cannot be chosen.
class DeafResolver {
 public:
  static constexpr const char* kAddress = "127.53.53.53";

  DeafResolver() : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(53);
    ::inet_pton(AF_INET, kAddress, &address.sin_addr);
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    thread_ = std::thread([this] {
      char question[512];
      while (::recv(socket_.get(), question, sizeof question, 0) > 0) asked_++;
    });
  }
  ~DeafResolver() {
    ::shutdown(socket_.get(), SHUT_RDWR);
    thread_.join();
  }
  DeafResolver(const DeafResolver&) = delete;
  DeafResolver& operator=(const DeafResolver&) = delete;

  int asked() const { return asked_; }

 private:
  base::Fd socket_;
  std::atomic<int> asked_{0};
  std::thread thread_;
};

class RefreshOnContainerd : public testing::Test {
 protected:
  std::vector<std::string> AsksLikeContainerd() {
    return node_.runtime().RegistryFlags(registry_->proxy().port());
  }
  void PullOnce() {
    node_.HasDockerConfig(kHost, {"ci", "the-refresh-password"});
    rig::Ran ran = node_.Once(AsksLikeContainerd());
    ASSERT_EQ(ran.exit, rig::Exit{}) << ran.out << ran.err;
  }
  // The registry forgets the tag; its content stays.
  void DeleteTag() {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(node_.scratch().path())) {
      bool tag = entry.is_directory() && entry.path().filename() == "v1" &&
                 entry.path().parent_path().filename() == "tags";
      if (!tag) continue;
      std::filesystem::remove_all(entry.path());
      return;
    }
    FAIL() << "the registry's folder has no tag v1";
  }

  Node node_;
  std::unique_ptr<Host> registry_ = node_.AddRegistry(kHost, {"ci", "the-refresh-password"});
  std::string image_ = registry_->Push("app", "v1", {{1, 1'000'000}});
};

// The field story: a check passed on the cached image while the tag was gone, and the job hung.
TEST_F(RefreshOnContainerd, ATagThatIsGoneFailsThePreflightOfAlwaysAndPassesThatOfNever) {
  node_.HasList({image_});
  PullOnce();
  DeleteTag();
  node_.StartAgent(AsksLikeContainerd());
  ASSERT_TRUE(rig::Eventually(seconds(20), [&] { return node_.StatusOf(image_).ready; }));
  rig::Ran always = node_.Ctl({"check", "--image", image_, "--policy", "Always"}, seconds(5));
  EXPECT_EQ(always.exit, (rig::Exit{1, 0})) << always.out << always.err;
  EXPECT_NE(always.out.find("TagMissing"), std::string::npos) << always.out;
  EXPECT_NE(always.out.find("Always"), std::string::npos);
  EXPECT_NE(always.out.find(image_), std::string::npos);
  rig::Ran never = node_.Ctl({"check", "--image", image_, "--policy", "Never"}, seconds(5));
  EXPECT_EQ(never.exit, rig::Exit{}) << never.out << never.err;
}

TEST_F(RefreshOnContainerd, ATagThatIsThereAndTheSamePassesThePreflightOfAlways) {
  node_.HasList({image_});
  PullOnce();
  node_.StartAgent(AsksLikeContainerd());
  ASSERT_TRUE(rig::Eventually(seconds(20), [&] { return node_.StatusOf(image_).ready; }));
  rig::Ran always = node_.Ctl({"check", "--image", image_, "--policy", "Always"}, seconds(5));
  EXPECT_EQ(always.exit, rig::Exit{}) << always.out << always.err;
}

// One outage of a whole minute for all that it is about.
TEST_F(RefreshOnContainerd, AnOutageChangesFreshNotReadyAndIsOverAtOnceForAPreflight) {
  node_.HasListFile("images.yaml", "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n- image: " +
                                       image_ + "\n  refresh: IfDigestChanged\n  refreshInterval: 1m\n");
  PullOnce();
  node_.StartAgent(AsksLikeContainerd());
  ASSERT_TRUE(node_.BecomesReady(seconds(20)));
  tests::real_faults::ReadinessWatch readiness(node_.scratch() / "agent.sock");
  ASSERT_TRUE(rig::Eventually(seconds(20), [&] { return readiness.IsReady(); }));
  auto went = std::chrono::steady_clock::now();
  registry_->registry().Kill();
  registry_->proxy().CutAll();
  std::vector<std::string> preflight = {"check", "--image", image_, "--policy", "Always"};
  for (int i = 0; i < 6; i++) {
    rig::Ran ran = node_.Ctl(preflight, seconds(30));
    EXPECT_EQ(ran.exit, (rig::Exit{1, 0})) << ran.out << ran.err;
    EXPECT_NE(ran.out.find("Unreachable"), std::string::npos) << ran.out;
  }
  // The agent's own first check comes within a minute.
  EXPECT_TRUE(rig::Eventually(minutes(2), [&] {
    if (std::chrono::steady_clock::now() - went < minutes(1)) return false;
    std::optional<status::StatusRegistry> registry = node_.StatusOf(image_).registry;
    return registry && registry->answer.text() == "Unreachable" && !registry->fresh;
  })) << node_.AgentLog();
  EXPECT_NE(node_.Get("/v1/status").body.find(R"("trouble":"Unreachable")"), std::string::npos);
  std::string table = node_.Ctl({"status"}).out;
  EXPECT_NE(table.find(std::string("! ") + std::string(kHost) + " has not answered for"), std::string::npos)
      << table;
  EXPECT_FALSE(readiness.TakeLoss()) << "no answer is a loss, too";
  EXPECT_TRUE(readiness.IsReady());
  ASSERT_OK(registry_->registry().Start());
  rig::Ran ran = node_.Ctl(preflight, seconds(30));
  EXPECT_EQ(ran.exit, rig::Exit{}) << ran.out << ran.err;
}

// 300 nodes had the images, and DNS was dead.
TEST_F(RefreshOnContainerd, WithoutDnsWhatIsHereServesAndNoNameIsLookedUp) {
  node_.HasList({image_});
  PullOnce();
  DeafResolver resolver;
  std::string config =
      node_.scratch().Write("resolv.conf", std::string("nameserver ") + DeafResolver::kAddress + "\n");
  node_.RunsAgentBy({"unshare", "--mount", "sh", "-c",
                     "mount --bind \"$1\" /etc/resolv.conf && shift && exec \"$@\"", "node", config});
  // Without containerd's hosts.toml the registry has to be found by its name.
  node_.StartAgent({"--registry-config-path", node_.scratch() / "no-hosts"});
  ASSERT_TRUE(node_.BecomesReady(seconds(20))) << node_.AgentLog();
  for (const char* policy : {"Never", "IfNotPresent"}) {
    rig::Ran ran = node_.Ctl({"check", "--image", image_, "--policy", policy}, seconds(5));
    EXPECT_EQ(ran.exit, rig::Exit{}) << policy << ran.out << ran.err;
  }
  EXPECT_EQ(resolver.asked(), 0);
  rig::Ran always = node_.Ctl({"check", "--image", image_, "--policy", "Always"}, seconds(60));
  EXPECT_EQ(always.exit, (rig::Exit{1, 0})) << always.out << always.err;
  EXPECT_GT(resolver.asked(), 0);
  EXPECT_EQ(node_.Get("/readyz").status, 200);
}

}  // namespace
}  // namespace prefetch::system::refresh_on_containerd_test
