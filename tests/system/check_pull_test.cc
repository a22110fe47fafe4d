// `prefetchctl check --pull` on a node with a real containerd and a private registry.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "rig/expect_has.h"
#include "rig/expect_ok.h"
#include "system/node.h"

namespace prefetch::system::check_pull_test {
namespace {

using Words = std::vector<std::string>;

const rig::User kAnn{"ann", "right-Passw0rd"};
const rig::User kStale{"ann", "stale-Passw0rd"};
constexpr const char* kHost = "registry.example.test";

// An agent whose list has one image, which is here; and another that is on no list.
class CheckPull : public testing::Test {
 protected:
  void Start(const Words& flags) {
    node_.HasList({listed_});
    node_.StartAgent(flags);
    ASSERT_EQ(node_.Ctl({"wait", "--timeout", "60s"}).exit, rig::Exit{}) << node_.AgentLog();
  }
  rig::Ran Check(const Words& more) {
    Words words = {"check", "--pull", "--image", unlisted_, "--policy", "Never"};
    words.insert(words.end(), more.begin(), more.end());
    rig::Ran ran = node_.Ctl(words);
    for (const rig::User& user : {kAnn, kStale}) {
      EXPECT_LACKS(ran.out + ran.err + node_.AgentLog(), user.password);
    }
    return ran;
  }
  std::size_t ManifestsAskedFor() const { return registry_->proxy().Count("", "/team/tool/manifests/"); }

  Node node_;
  std::unique_ptr<Host> registry_ = node_.AddRegistry(kHost, kAnn);
  std::unique_ptr<Host> open_ = node_.AddRegistry("open.example.test", {});
  std::string listed_ = open_->Push("team/app", "v1", {{1, 100'000}});
  std::string unlisted_ = registry_->Push("team/tool", "v1", {{2, 200'000}, {3, 3'000'000}});
};

TEST_F(CheckPull, AnImageOnNoListIsPulledWithTheNodesCredentialsAndStarts) {
  node_.HasPlugin(kHost, kAnn);
  node_.HasKubelet({"--kubelet-version", "1.36.2", "--kubelet-root", node_.scratch().path(),
                    "--kubelet-verification", "NeverVerifyPreloadedImages"});
  Start({"--check-pull"});
  rig::Ran without = node_.Ctl({"check", "--image", unlisted_, "--policy", "Never"});
  EXPECT_EQ(without.exit, (rig::Exit{1, 0})) << "nothing is pulled that nobody asks for";
  ASSERT_FALSE(node_.Has(unlisted_));
  rig::Ran ran = Check({"--image", listed_});
  EXPECT_EQ(ran.exit, rig::Exit{}) << ran.out << ran.err << node_.AgentLog();
  EXPECT_TRUE(node_.Has(unlisted_));
  EXPECT_HAS(ran.out, "(not on the list)");
  EXPECT_TRUE(ran.out.ends_with("all 2 images start on node " + node_.Status().node + "\n")) << ran.out;
  // It is here now, and the list is what it was.
  std::size_t manifests = ManifestsAskedFor();
  EXPECT_EQ(Check({}).exit, rig::Exit{});
  EXPECT_EQ(ManifestsAskedFor(), manifests);
  EXPECT_EQ(node_.Status().images.size(), 1U);
  EXPECT_TRUE(rig::Eventually(seconds(20), [&] { return node_.Status().Unlisted().size() == 1; }))
      << "nobody keeps it, and audit says so";
}

TEST_F(CheckPull, WhereItIsNotAllowedItIsRefused) {
  node_.HasPlugin(kHost, kAnn);
  Start({});
  rig::Ran ran = Check({});
  EXPECT_EQ(ran.exit, (rig::Exit{4, 0})) << ran.err;
  EXPECT_EQ(ran.out, "");
  EXPECT_HAS(ran.err, "start it with --check-pull to allow that");
  EXPECT_FALSE(node_.Has(unlisted_));
  EXPECT_EQ(ManifestsAskedFor(), 0U);
}

TEST_F(CheckPull, NeighboursAreRefused) {
  node_.HasPlugin(kHost, kAnn);
  Start({"--check-pull"});
  rig::Ran ran = Check({"--agent", node_.NeighbourUrl()});
  EXPECT_EQ(ran.exit, (rig::Exit{4, 0})) << ran.err;
  EXPECT_HAS(ran.err, "over the agent's local socket");
  EXPECT_FALSE(node_.Has(unlisted_));
  EXPECT_EQ(ManifestsAskedFor(), 0U);
}

TEST_F(CheckPull, WrongCredentialsAreANoWithTheReasonAndNotHammered) {
  node_.HasDockerConfig(kHost, kStale);
  Start({"--check-pull"});
  auto started = std::chrono::steady_clock::now();
  rig::Ran ran = Check({"--timeout", "50s"});
  EXPECT_LT(std::chrono::steady_clock::now() - started, seconds(20)) << "nobody waits for what is denied";
  EXPECT_EQ(ran.exit, (rig::Exit{1, 0})) << ran.out << ran.err;
  EXPECT_HAS(ran.out,
             "refused (AccessDenied) (not on the list): it is not on the node, and this node "
             "could not pull it: docker config ");
  EXPECT_HAS(ran.out, "prefetchctl credentials " + unlisted_);
  std::size_t refused = registry_->RequestsAs(kStale);
  EXPECT_GE(refused, 1U);
  EXPECT_EQ(Check({}).exit, (rig::Exit{1, 0}));
  EXPECT_EQ(registry_->RequestsAs(kStale), refused) << "what it was refused for is remembered";
}

TEST_F(CheckPull, APullThatTakesLongerGoesOnAndIsNotBegunAnew) {
  node_.HasPlugin(kHost, kAnn);
  Start({"--check-pull"});
  registry_->proxy().Forget();
  registry_->proxy().LimitBandwidth(400'000);
  auto started = std::chrono::steady_clock::now();
  rig::Ran ran = Check({"--timeout", "3s"});
  EXPECT_LT(std::chrono::steady_clock::now() - started, seconds(6));
  EXPECT_EQ(ran.exit, (rig::Exit{3, 0})) << ran.out << ran.err;
  EXPECT_HAS(ran.out, "not decided in time: it is being pulled");
  EXPECT_HAS(ran.err, "the time is over, and an image is not here yet; a pull that has begun goes on");
  registry_->proxy().LimitBandwidth(2'000'000);
  ran = Check({"--timeout", "60s"});
  EXPECT_EQ(ran.exit, rig::Exit{}) << ran.out << ran.err << node_.AgentLog();
  EXPECT_LT(registry_->proxy().BytesToClients(), 3'500'000U) << "every byte was fetched once";
}

TEST_F(CheckPull, AnAgentThatIsReplacedGoesOnWhereItsPredecessorWas) {
  node_.HasPlugin(kHost, kAnn);
  Start({"--check-pull"});
  registry_->proxy().Forget();
  registry_->proxy().LimitBandwidth(400'000);
  EXPECT_EQ(Check({"--timeout", "4s"}).exit, (rig::Exit{3, 0}));
  ASSERT_TRUE(rig::Eventually(seconds(10), [&] { return registry_->proxy().BytesToClients() > 1'500'000; }));
  node_.agent().Kill();
  node_.StartAgent({"--check-pull"});
  registry_->proxy().LimitBandwidth(0);
  rig::Ran ran = Check({"--timeout", "60s"});
  EXPECT_EQ(ran.exit, rig::Exit{}) << ran.out << ran.err << node_.AgentLog();
  EXPECT_LT(registry_->proxy().BytesToClients(), 4'500'000U) << "what had come was not fetched again";
}

// `prefetchctl check` of listed images on a node with a real containerd, on which somebody removes them.

TEST(CheckNow, AListedImageThatWasJustRemovedIsANoAtOnceAndEachTime) {
  Node node;
  auto registry = node.AddRegistry("registry.example.test", {});
  std::string image = registry->Push("app", "v1", {{1, 100'000}});
  node.HasList({image});
  node.StartAgent();
  ASSERT_EQ(node.Ctl({"wait", "--timeout", "60s"}).exit, rig::Exit{}) << node.AgentLog();
  ASSERT_EQ(node.Ctl({"check", "--image", image, "--policy", "Never"}).exit, rig::Exit{});

  ASSERT_OK(registry->proxy().Refuse(true));  // nobody brings it back
  ASSERT_OK(node.containerd().RemoveAll());
  for (int i = 0; i < 10; i++) {
    rig::Ran local = node.Ctl({"check", "--image", image, "--policy", "Never"});
    EXPECT_EQ(local.exit, (rig::Exit{1, 0})) << i << ": " << local.out << local.err;
    EXPECT_HAS(local.out, "ImageAbsent");
  }
  rig::Ran neighbour =
      node.Ctl({"check", "--agent", node.NeighbourUrl(), "--image", image, "--policy", "Never"});
  EXPECT_EQ(neighbour.exit, (rig::Exit{1, 0})) << neighbour.out << neighbour.err;

  ASSERT_OK(registry->proxy().Refuse(false));
  EXPECT_TRUE(rig::Eventually(seconds(60), [&] {
    return node.Ctl({"check", "--image", image, "--policy", "Never"}).exit == rig::Exit{};
  })) << node.AgentLog();
}

}  // namespace
}  // namespace prefetch::system::check_pull_test
