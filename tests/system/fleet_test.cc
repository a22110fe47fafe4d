// `prefetchctl status --fleet`, `wait --fleet` and `audit --fleet` of agents that really run, each on a
// containerd of its own, behind the proxy of an API server.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/clock.h"
#include "fakes/fake_api_server.h"
#include "rig/expect_ok.h"
#include "system/node.h"

namespace prefetch::system::fleet_test {
namespace {

using std::chrono::seconds;
using Words = std::vector<std::string>;

const rig::User kAnn{"ann", "right-Passw0rd"};
const rig::User kStale{"ann", "stale-Passw0rd"};
constexpr const char* kOpen = "open.example.test";
constexpr const char* kPrivate = "private.example.test";

// One node of the fleet, with both registries.
struct Member {
  explicit Member(const std::string& name) {
    node.RunsAgentBy({"env", "NODE_NAME=" + name});
    app = open->Push("team/app", "v1", {{1, 100'000}});
    closed = locked->Push("team/private", "v2", {{2, 100'000}});
    node.HasDockerConfig(kPrivate, kStale);
  }

  Node node;
  std::unique_ptr<Host> open = node.AddRegistry(kOpen, {});
  std::unique_ptr<Host> locked = node.AddRegistry(kPrivate, kAnn);
  std::string app, closed;
};

class Fleet : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"fleet-viewer.yaml", "audit-viewer.yaml"}) {
      std::ifstream file(std::string(std::getenv("PREFETCH_EXAMPLES")) + "/" + name);
      EXPECT_OK(api_.LoadRbac(std::string(std::istreambuf_iterator<char>(file), {})));
    }
    one_.node.scratch().Write(
        "kubeconfig", "apiVersion: v1\nkind: Config\ncurrent-context: test\nclusters: [{name: c, cluster: " +
                          api_.KubeconfigCluster() + "}]\nusers: [{name: u, user: {token: " +
                          api_.AddToken("ci", {"prefetchd-fleet-viewers", "prefetchd-audit-viewers"}) +
                          "}}]\ncontexts: [{name: test, context: {cluster: c, user: u}}]\n");
    one_.node.HasList({one_.app});
    two_.node.HasList({two_.app, two_.closed});
    Join("n1", one_.node);
    Join("n2", two_.node);
    // Its agent was there once, and is dead.
    AddNode("n3", "b");
    api_.ForwardPod("prefetchd/agent-n3:9477", 1);
  }

  void AddNode(const std::string& name, const std::string& pool) {
    api_.Put("nodes/" + name, R"({"metadata":{"labels":{"kubernetes.io/os":"linux","pool":")" + pool +
                                  R"("}},"status":{"conditions":[{"type":"Ready","status":"True"}]}})");
    api_.Put("pods/prefetchd/agent-" + name,
             R"({"metadata":{"labels":{"app.kubernetes.io/name":"prefetchd"}},"spec":{"nodeName":")" + name +
                 R"("},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"False"}]}})");
  }
  void Join(const std::string& name, Node& node) {
    node.StartAgent();
    AddNode(name, "a");
    const std::string url = node.NeighbourUrl();
    api_.ForwardPod("prefetchd/agent-" + name + ":9477",
                    static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
  }
  rig::Ran Ctl(int exit, Words words) {
    words.insert(words.end(), {"--fleet", "--kubeconfig", one_.node.scratch() / "kubeconfig"});
    rig::Ran ran = one_.node.Ctl(words);
    EXPECT_EQ(ran.exit, (rig::Exit{exit, 0})) << ran.out << ran.err;
    return ran;
  }
  static void ExpectHas(const std::string& text, const Words& parts) {
    for (const std::string& part : parts) {
      EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
    }
  }
  std::string File(const std::string& name, const std::string& content) {
    one_.node.scratch().Write(name, content);
    return one_.node.scratch() / name;
  }

  base::SystemClock clock_;
  tests::FakeApiServer api_{clock_, tests::FakeApiServer::OverTls()};
  Member one_{"n1"}, two_{"n2"};
};

TEST_F(Fleet, OneIsReadyOneIsDeniedAnImageAndOneHasNoAgentAnyMore) {
  ASSERT_EQ(one_.node.Ctl({"wait", "--timeout", "60s"}).exit, rig::Exit{}) << one_.node.AgentLog();
  const std::string app = File("app.txt", one_.app + "\n");
  ASSERT_EQ(two_.node.Ctl({"wait", "--list", app, "--timeout", "60s"}).exit, rig::Exit{})
      << two_.node.AgentLog();
  ASSERT_EQ(two_.node.Ctl({"wait", "--fail-fast", "--timeout", "60s"}).exit, (rig::Exit{1, 0}))
      << two_.node.AgentLog();
  ExpectHas(Ctl(0, {"status"}).out,
            {"3 nodes   1 ready   1 failing   1 not heard\n", "denied       " + two_.closed,
             "on 1 of 3 nodes", "no detail    (the node itself)"});
  ExpectHas(Ctl(0, {"status", "-o", "json"}).out, {"\"node\": \"n1\"", "\"AccessDenied\""});

  // What both have is what is waited for; who is not heard does not count.
  ExpectHas(Ctl(0, {"wait", "--list", app, "--nodes", "pool=a", "--timeout", "30s"}).out,
            {"ready: 2 of 2 nodes ready"});
  ExpectHas(Ctl(0, {"wait", "--list", app, "--min-ready", "2", "--timeout", "30s"}).out, {"ready: 2 of 3"});
  ExpectHas(Ctl(3, {"wait", "--list", app, "--timeout", "2s"}).out,
            {"timed out after 2 s: 2 of 3 nodes ready, 1 with no detail", "not ready: n3"});
  const std::string closed = File("closed.txt", two_.closed + "\n");
  ExpectHas(Ctl(1, {"wait", "--list", closed, "--nodes", "pool=a", "--fail-fast", "--timeout", "30s"}).out,
            {"failed: 0 of 2 nodes ready", "denied", "not listed   " + two_.closed});

  // Its credentials come, and it is ready.
  two_.node.HasDockerConfig(kPrivate, kAnn);
  ASSERT_TRUE(rig::Eventually(seconds(60), [&] { return two_.node.Get("/readyz").status == 200; }));
  ExpectHas(Ctl(0, {"wait", "--nodes", "pool=a", "--timeout", "30s"}).out, {"ready: 2 of 2 nodes ready"});
}

TEST_F(Fleet, WithoutTheComponentNobodyIsToldOfImagesOnNoList) {
  ASSERT_EQ(one_.node.Ctl({"wait", "--timeout", "60s"}).exit, rig::Exit{}) << one_.node.AgentLog();
  ExpectHas(Ctl(4, {"audit"}).err, {"node n1", "callers with a token (component fleet)"});
  ExpectHas(Ctl(0, {"status"}).out, {"hidden from callers without a token", "on 2 nodes"});
}

}  // namespace
}  // namespace prefetch::system::fleet_test
