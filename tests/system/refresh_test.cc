// Tags that move, vanish, and registries that go away, on a real containerd with a real registry.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "base/fs.h"
#include "rig/expect_ok.h"
#include "system/node.h"
#include "system/readiness_poller.h"

namespace prefetch::system::refresh_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::uint64_t kMegabyte = 1'000'000;
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

class Refresh : public testing::Test {
 protected:
  void List(const std::string& fields) {
    node_.HasListFile(
        "images.yaml",
        "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n- image: " + image_ + "\n" + fields);
  }
  std::vector<std::string> AsksLikeContainerd() const {
    return {"--registry-config-path", node_.scratch() / "containerd/certs.d", "--registry-trusted-mirror",
            "127.0.0.1:" + std::to_string(registry_->proxy().port())};
  }
  void PullOnce() {
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
  void RegistryGoes() {
    registry_->registry().Kill();
    registry_->proxy().CutAll();
  }

  Node node_;
  std::unique_ptr<Host> registry_ = node_.AddRegistry(kHost, {"ci", "the-refresh-password"});
  std::string image_ = registry_->Push("app", "v1", {{1, kMegabyte}});
};

TEST_F(Refresh, AMovedTagIsPulledWhileTheOldContentStays) {
  node_.HasDockerConfig(kHost, {"ci", "the-refresh-password"});
  List("  refresh: IfDigestChanged\n  readyFor: Always\n");
  PullOnce();
  registry_->Push("app", "v1", {{1, kMegabyte}, {2, 8 * kMegabyte}});
  registry_->proxy().LimitBandwidth(4 * kMegabyte);
  node_.StartAgent(AsksLikeContainerd());
  std::string before = node_.StatusOf(image_).digest;
  bool was_there = true;
  EXPECT_TRUE(rig::Eventually(seconds(60), [&] {
    was_there = was_there && node_.Has(image_);
    screen::StatusImage image = node_.StatusOf(image_);
    return image.present && image.digest != before && image.ready;
  })) << node_.AgentLog();
  EXPECT_TRUE(was_there);
  EXPECT_NE(node_.AgentLog().find("tag changed"), std::string::npos);
  EXPECT_NE(node_.AgentLog().find("image replaced"), std::string::npos);
  EXPECT_EQ(node_.AgentLog().find("the-refresh-password"), std::string::npos);
}

TEST_F(Refresh, OnceAsksAndPullsWhatHasChanged) {
  node_.HasDockerConfig(kHost, {"ci", "the-refresh-password"});
  List("  refresh: IfDigestChanged\n");
  PullOnce();
  std::size_t requests = registry_->proxy().Requests().size();
  PullOnce();
  // One HEAD, and another one after the challenge.
  EXPECT_LE(registry_->proxy().Requests().size() - requests, 2U);
  registry_->Push("app", "v1", {{3, kMegabyte}});
  PullOnce();
  EXPECT_GT(registry_->proxy().Requests().size() - requests, 4U);
}

// The field story: a check passed on the cached image while the tag was gone, and the job hung.
TEST_F(Refresh, ATagThatIsGoneFailsThePreflightOfAlwaysAndPassesThatOfNever) {
  node_.HasDockerConfig(kHost, {"ci", "the-refresh-password"});
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

TEST_F(Refresh, ATagThatIsThereAndTheSamePassesThePreflightOfAlways) {
  node_.HasDockerConfig(kHost, {"ci", "the-refresh-password"});
  node_.HasList({image_});
  PullOnce();
  node_.StartAgent(AsksLikeContainerd());
  ASSERT_TRUE(rig::Eventually(seconds(20), [&] { return node_.StatusOf(image_).ready; }));
  rig::Ran always = node_.Ctl({"check", "--image", image_, "--policy", "Always"}, seconds(5));
  EXPECT_EQ(always.exit, rig::Exit{}) << always.out << always.err;
}

// The other field story: the registry out of reach, everything cached, and every job failed all the same.
TEST_F(Refresh, WithoutARegistryNeverAndIfNotPresentPassAndNobodyIsAsked) {
  node_.HasDockerConfig(kHost, {"ci", "the-refresh-password"});
  node_.HasList({image_});
  PullOnce();
  RegistryGoes();
  std::size_t requests = registry_->proxy().Requests().size();
  node_.StartAgent(AsksLikeContainerd());
  ASSERT_TRUE(rig::Eventually(seconds(20), [&] { return node_.Get("/readyz").status == 200; }));
  for (const char* policy : {"Never", "IfNotPresent"}) {
    rig::Ran ran = node_.Ctl({"check", "--image", image_, "--policy", policy}, seconds(5));
    EXPECT_EQ(ran.exit, rig::Exit{}) << policy << ran.out << ran.err;
  }
  EXPECT_EQ(registry_->proxy().Requests().size(), requests);
  rig::Ran always = node_.Ctl({"check", "--image", image_, "--policy", "Always"}, seconds(30));
  EXPECT_EQ(always.exit, (rig::Exit{1, 0})) << always.out << always.err;
}

// 300 nodes had the images, and DNS was dead.
TEST_F(Refresh, WithoutDnsWhatIsHereServesAndNoNameIsLookedUp) {
  node_.HasDockerConfig(kHost, {"ci", "the-refresh-password"});
  node_.HasList({image_});
  PullOnce();
  DeafResolver resolver;
  std::string config =
      node_.scratch().Write("resolv.conf", std::string("nameserver ") + DeafResolver::kAddress + "\n");
  node_.RunsAgentBy({"unshare", "--mount", "sh", "-c",
                     "mount --bind \"$1\" /etc/resolv.conf && shift && exec \"$@\"", "node", config});
  // Without containerd's hosts.toml the registry has to be found by its name.
  node_.StartAgent({"--registry-config-path", node_.scratch() / "no-hosts"});
  ASSERT_TRUE(rig::Eventually(seconds(20), [&] { return node_.Get("/readyz").status == 200; }))
      << node_.AgentLog();
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

// One outage of a whole minute for all that it is about.
TEST_F(Refresh, AnOutageChangesFreshNotReadyAndIsOverAtOnceForAPreflight) {
  node_.HasDockerConfig(kHost, {"ci", "the-refresh-password"});
  List("  refresh: IfDigestChanged\n  refreshInterval: 1m\n");
  PullOnce();
  node_.StartAgent(AsksLikeContainerd());
  ASSERT_TRUE(rig::Eventually(seconds(20), [&] { return node_.Get("/readyz").status == 200; }));
  ReadinessPoller readiness(node_.scratch() / "agent.sock");
  auto went = std::chrono::steady_clock::now();
  RegistryGoes();
  std::vector<std::string> preflight = {"check", "--image", image_, "--policy", "Always"};
  for (int i = 0; i < 6; i++) {
    rig::Ran ran = node_.Ctl(preflight, seconds(30));
    EXPECT_EQ(ran.exit, (rig::Exit{1, 0})) << ran.out << ran.err;
    EXPECT_NE(ran.out.find("Unreachable"), std::string::npos) << ran.out;
  }
  // The agent's own first check comes within a minute.
  EXPECT_TRUE(rig::Eventually(minutes(2), [&] {
    if (std::chrono::steady_clock::now() - went < minutes(1)) return false;
    std::optional<screen::StatusRegistry> registry = node_.StatusOf(image_).registry;
    return registry && registry->answer == "Unreachable" && !registry->fresh;
  })) << node_.AgentLog();
  EXPECT_NE(node_.Get("/v1/status").body.find(R"("trouble":"Unreachable")"), std::string::npos);
  std::string table = node_.Ctl({"status"}).out;
  EXPECT_NE(table.find(std::string("! ") + kHost + " has not answered for"), std::string::npos) << table;
  ReadinessPoller::Counts counts = readiness.Stop();
  EXPECT_EQ(counts.unready, 0);
  EXPECT_EQ(counts.unanswered, 0);
  EXPECT_GE(counts.ready, 600);
  ASSERT_OK(registry_->registry().Start());
  rig::Ran ran = node_.Ctl(preflight, seconds(30));
  EXPECT_EQ(ran.exit, rig::Exit{}) << ran.out << ran.err;
}

}  // namespace
}  // namespace prefetch::system::refresh_test
