// A job's own preflight: `prefetchctl check` with the token of a pod, over the network, of an agent that runs
// as a pod with the rights of the component that is shipped; on a real containerd.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "http/curl_client.h"
#include "http/server.h"
#include "rig/expect_has.h"
#include "rig/expect_ok.h"
#include "system/cluster.h"

namespace prefetch::system::preflight_test {
namespace {

constexpr std::uint64_t kMegabyte = 1'000'000;
const tests::PodToken kJob{"ci", "runner", "n1", "job-1"};

class PreflightTest : public testing::Test {
 protected:
  void SetUp() override {
    host_ = node_.AddRegistry("acme.example.test:5000", {});
    listed_ = host_->Push("team/app", "v1", {{1, kMegabyte}});
    unlisted_ = host_->Push("team/other", "v1", {{2, kMegabyte}});
    node_.HasList({listed_});
  }
  void Start(Cluster& cluster, const std::string& preflight) {
    node_.scratch().Write("agent.yaml",
                          "apiVersion: prefetchd.dev/v1alpha1\nkind: AgentConfiguration\n"
                          "limits: {diskHighPercent: 99, diskMinFreeBytes: 1000000}\n"
                          "preflight: " +
                              preflight + "\n");
    node_.StartAgent();
    ASSERT_TRUE(node_.BecomesReady(seconds(60))) << node_.AgentLog();
    Shows(cluster.api().AddPodToken(kJob, "prefetchd"));
  }
  void Shows(const std::string& token) { node_.scratch().Write("token", token + "\n"); }
  rig::Ran Check(const std::string& image, const std::string& policy, std::vector<std::string> more = {}) {
    std::vector<std::string> args = {
        "check",   "--agent", node_.NeighbourUrl(), "--token-file", node_.scratch() / "token",
        "--image", image,     "--policy",           policy};
    args.insert(args.end(), more.begin(), more.end());
    return node_.Ctl(args);
  }
  static bool Says(const rig::Ran& ran, int exit, const std::string& word) {
    return ran.exit == rig::Exit{exit, 0} && (ran.out + ran.err).find(word) != std::string::npos;
  }

  Node node_;
  std::unique_ptr<Host> host_;
  std::string listed_, unlisted_;
};

TEST_F(PreflightTest, APodWithATokenIsToldWhatItsConfigurationAllows) {
  Cluster cluster(node_, {"preflight"});
  Start(cluster, "{namespaces: [ci], always: ask, unlisted: ask}");
  rig::Ran ran = Check(listed_, "Never");
  EXPECT_TRUE(Says(ran, 0, listed_)) << ran.out << ran.err;
  ran = Check(unlisted_, "Never");
  EXPECT_TRUE(Says(ran, 1, "ImageAbsent")) << ran.out << ran.err;
  ran = Check(unlisted_, "IfNotPresent");
  EXPECT_TRUE(Says(ran, 0, "")) << "the registry gives it to any pod of the node: " << ran.out << ran.err;
  ran = Check(listed_, "Never", {"--pull"});
  EXPECT_TRUE(Says(ran, 4, "preflight.pull")) << ran.out << ran.err;
  // Without the token the same questions get what any neighbour gets.
  ran = node_.Ctl({"check", "--agent", node_.NeighbourUrl(), "--image", unlisted_, "--policy", "Never"});
  EXPECT_TRUE(Says(ran, 1, "NotListed")) << ran.out << ran.err;
}

TEST_F(PreflightTest, APodMayHaveAnyImagePulledWhereThatIsAllowed) {
  Cluster cluster(node_, {"preflight"});
  Start(cluster, "{namespaces: [ci], unlisted: ask, pull: any}");
  rig::Ran ran = Check(unlisted_, "Never", {"--pull", "--timeout", "60s"});
  EXPECT_TRUE(Says(ran, 0, unlisted_)) << ran.out << ran.err << node_.AgentLog();
  EXPECT_TRUE(node_.Has(unlisted_));
  ran = node_.Ctl({"check", "--image", unlisted_, "--pull"});
  EXPECT_TRUE(Says(ran, 4, "--check-pull")) << "the local socket has a right of its own: " << ran.err;
}

// The agent was given its settings, and not the components that grant the rights for them.
TEST_F(PreflightTest, StatusNamesTheRightsThatAreMissing) {
  Cluster cluster(node_, {});
  Start(cluster, "{namespaces: [ci], always: ask}\nnodeLabel: true");
  const auto problem = [&](const std::string& words) {
    const std::vector<std::string> problems = node_.Status().problems;
    return std::any_of(problems.begin(), problems.end(),
                       [&](const std::string& one) { return one.find(words) != std::string::npos; });
  };
  EXPECT_TRUE(rig::Eventually(seconds(30), [&] { return problem("the Node's label is not written"); }))
      << node_.AgentLog();
  EXPECT_FALSE(problem("tokens")) << "nobody has asked";
  rig::Ran ran = Check(listed_, "Never", {"--timeout", "1s"});
  EXPECT_TRUE(Says(ran, 3, "component preflight grants")) << ran.out << ran.err;
  EXPECT_TRUE(rig::Eventually(seconds(10), [&] { return problem("component preflight grants"); }))
      << node_.AgentLog();
}

TEST_F(PreflightTest, OtherTokensLearnNothing) {
  Cluster cluster(node_, {"preflight"});
  Start(cluster, "{namespaces: [ci], always: ask, unlisted: ask}");
  http::CurlClient client;
  const auto turned_away = [&](const std::string& token, const std::string& why, int status) {
    http::Request request{.method = "POST",
                          .url = node_.NeighbourUrl() + "/v1/check",
                          .body = R"([{"image":")" + listed_ + R"(","policy":"Never"}])"};
    request.headers.Add("Authorization", "Bearer " + token);
    auto answer = client.Send(base::Call{}.Within(seconds(10)), request);
    ASSERT_TRUE(answer) << why;
    EXPECT_EQ(answer->status, status) << why << ": " << answer->body;
    EXPECT_LACKS(answer->body, listed_) << why << ": " << answer->body;
    Shows(token);
    rig::Ran ran = Check(listed_, "Never");
    EXPECT_TRUE(Says(ran, 4, why)) << why << ": " << ran.out << ran.err;
    EXPECT_LACKS(ran.err, token);
  };
  turned_away(cluster.api().AddPodToken({"ci", "runner", "n2", "job-1"}, "prefetchd"), "another node", 403);
  turned_away(cluster.api().AddPodToken(kJob, "vault"), "audience", 401);
  turned_away(cluster.api().AddPodToken(kJob, "prefetchd", seconds(-120)), "expired", 401);
  turned_away(cluster.api().AddPodToken({"other", "runner", "n1", "p"}, "prefetchd"), "does not admit", 403);
  turned_away("garbage", "ServiceAccount", 401);
  std::string revoked = cluster.api().AddPodToken(kJob, "prefetchd");
  cluster.api().Revoke(revoked);
  turned_away(revoked, "rejects", 401);
  std::string forged = cluster.api().AddPodToken(kJob, "prefetchd");
  forged.back() = forged.back() == '1' ? '2' : '1';
  turned_away(forged, "rejects", 401);
  const std::string metrics = node_.Get("/metrics").body;
  for (const char* why : {"OtherNode", "OtherAudience", "Expired", "NotAdmitted", "NotAToken", "Rejected"}) {
    EXPECT_HAS(metrics, "prefetchd_preflight_callers_total{result=\"" + std::string(why) + "\"}") << why;
  }
  EXPECT_LACKS(node_.AgentLog(), "eyJ") << "no token in the log";
}

TEST_F(PreflightTest, TwoHundredJobsThatStartAtOnceAreAnsweredWithinFiveSeconds) {
  Cluster cluster(node_, {"preflight"});
  Start(cluster, "{namespaces: [ci], always: ask}");
  const std::string body = R"([{"image":")" + listed_ + R"(","policy":"Always"}])";
  std::vector<std::string> tokens;
  for (int i = 0; i < 200; i++) {
    tokens.push_back(
        cluster.api().AddPodToken({"ci", "runner", "n1", "job-" + std::to_string(i)}, "prefetchd"));
  }
  const std::size_t before = host_->proxy().Requests().size();
  const auto began = std::chrono::steady_clock::now();
  std::atomic<int> good{0}, next{0};
  {
    std::vector<std::jthread> jobs;
    for (int thread = 0; thread < 50; thread++) {
      jobs.emplace_back([&] {
        http::CurlClient client;
        for (int i = next++; i < 200; i = next++) {
          http::Request request{.method = "POST", .url = node_.NeighbourUrl() + "/v1/check", .body = body};
          request.headers.Add("Authorization", "Bearer " + tokens[static_cast<std::size_t>(i)]);
          auto answer = client.Send(base::Call{}.Within(seconds(10)), request);
          if (answer && answer->status == 200 && answer->body.find("UpToDate") != std::string::npos) {
            good++;
          } else {
            ADD_FAILURE() << (answer ? answer->body : answer.error().message());
          }
        }
      });
    }
  }
  EXPECT_EQ(good, 200);
  EXPECT_LE(std::chrono::steady_clock::now() - began, seconds(5));
  EXPECT_LE(host_->proxy().Requests().size() - before, 4U) << "one question, of two requests at most";
}

// A network where all addresses of 192.0.2.0/24 lead to this machine, and only one is an interface's: as in a
// pod, no interface has the node's. This and later tests are in it.
void EnterANetworkLikeAPods() {
  ASSERT_EQ(::unshare(CLONE_NEWNET), 0) << std::strerror(errno);
  base::Fd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq up{};
  std::strcpy(up.ifr_name, "lo");
  up.ifr_flags = IFF_UP | IFF_RUNNING;
  ASSERT_EQ(::ioctl(fd.get(), SIOCSIFFLAGS, &up), 0) << std::strerror(errno);
  ifreq more{};
  std::strcpy(more.ifr_name, "lo:1");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  ::inet_pton(AF_INET, "192.0.2.1", &address.sin_addr);
  std::memcpy(&more.ifr_addr, &address, sizeof address);
  ASSERT_EQ(::ioctl(fd.get(), SIOCSIFADDR, &more), 0) << std::strerror(errno);
}

class OwnAddressTest : public PreflightTest {
 protected:
  static void SetUpTestSuite() { EnterANetworkLikeAPods(); }
  // Has a pod's question about an image of this address led to a connection?
  bool IsAsked(const http::Listener& there) {
    rig::Ran ran = Check(there.address() + "/app:v" + std::to_string(++questions_), "Always");
    EXPECT_HAS(ran.out, "Unreachable") << ran.out << ran.err;
    bool asked = false;
    pollfd came{there.fd(), POLLIN, 0};
    while (::poll(&came, 1, 0) == 1) {
      const base::Fd closed_at_once(::accept4(there.fd(), nullptr, nullptr, SOCK_CLOEXEC));
      asked = true;
    }
    return asked;
  }

 private:
  int questions_ = 0;
};

TEST_F(OwnAddressTest, ARegistryThatAPodNamesOnThisNodeIsNotAsked) {
  Cluster cluster(node_, {"preflight"});
  cluster.api().Put("nodes/n1", R"({"metadata":{"uid":"uid-n1"},"status":{"nodeInfo":{"kubeletVersion":
      "v1.36.2"},"addresses":[{"type":"InternalIP","address":"192.0.2.9"}]}})");
  auto own = http::Listener::Tcp("192.0.2.9:0"), other = http::Listener::Tcp("192.0.2.10:0");
  ASSERT_OK(own);
  ASSERT_OK(other);
  Start(cluster, "{namespaces: [ci], always: ask, unlisted: ask}");
  // The agent has read the Node soon after its start.
  EXPECT_TRUE(rig::Eventually(seconds(20), [&] { return !IsAsked(*own); }));
  EXPECT_FALSE(IsAsked(*own));
  EXPECT_TRUE(IsAsked(*other));
}

}  // namespace
}  // namespace prefetch::system::preflight_test
