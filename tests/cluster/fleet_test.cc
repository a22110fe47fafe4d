// Fleet tokens through a real API server: by the shipped rights, and through its own pods/proxy.
#include <gtest/gtest.h>

#include "base/mutex.h"
#include "cluster/as_pod.h"
#include "cluster/world.h"
#include "http/curl_client.h"
#include "rig/expect_ok.h"
#include "serve.h"

namespace prefetch::cluster::fleet_test {
namespace {

constexpr const char* kPod = "/api/v1/namespaces/prefetchd/pods/fleet-agent";

// A proxy at the pod's port, on the host's network: notes the headers, and passes requests on to the agent.
class Door {
 public:
  explicit Door(std::string agent) : agent_(std::move(agent)) {}

  int port() const { return server_->port(); }
  std::vector<http::Headers> Seen() {
    base::Lock lock(mutex_);
    return seen_;
  }

 private:
  http::HandlerResult Pass(const http::ServerRequest& request) {
    http::Request on{.url = agent_ + request.path};
    if (auto token = request.headers.Get("Prefetchd-Authorization")) {
      on.headers.Add("Prefetchd-Authorization", std::string(*token));
    }
    {
      base::Lock lock(mutex_);
      seen_.push_back(request.headers);
    }
    return http::Deferred([this, on](const base::Call& call) {
      auto answer = client_.Send(call, on);
      if (!answer) return http::ServerResponse{.status = 502, .body = answer.error().message()};
      return http::ServerResponse{.status = answer->status, .body = std::move(answer->body)};
    });
  }

  const std::string agent_;
  http::CurlClient client_;
  base::Mutex mutex_;
  std::vector<http::Headers> seen_ PREFETCH_GUARDED_BY(mutex_);
  std::unique_ptr<http::Server> server_ =
      tests::Serve([this](const http::ServerRequest& request) { return Pass(request); }, {},
                   std::string(kNodeAddress) + ":0");
};

// A pod of the agents on this node, whose port "http" is the door.
void MakeAgentPod(RealNode& node, int port) {
  const std::string number = std::to_string(port);
  const ApiAnswer made = node.api().Post(
      "/api/v1/namespaces/prefetchd/pods",
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"fleet-agent","labels":{"test":"fleet"}},"spec":)"
      R"({"nodeName":"n1","serviceAccountName":"prefetchd","hostNetwork":true,"containers":[{"name":"c",)"
      R"("image":"pause.example.test:5000/pause:v1","ports":[{"name":"http","containerPort":)" +
          number + R"(,"hostPort":)" + number + "}]}]}}");
  ASSERT_TRUE(made.ok()) << made.text;
  ASSERT_TRUE(rig::Eventually(seconds(60), [&] {
    return node.api().Get(kPod).At({"status", "podIP"}) == kNodeAddress;
  })) << node.api().Get(kPod).text;
}

TEST(FleetTokens, PassThroughTheProxyAndAuthorizationDoesNot) {
  ASSERT_NE(SharedControlPlane(), nullptr);
  RealNode node(*SharedControlPlane());
  AsPod as_pod(node, {"fleet"});
  const std::string image = node.Push("team/app"), tool = node.Push("team/tool");
  node.node().HasList({image});
  node.StartAgent({"--fleet-tokens"});
  ASSERT_TRUE(node.node().BecomesReady(seconds(60))) << node.node().AgentLog();
  // On no list.
  node.pods().Ask({.policy = "Always", .images = {tool}});
  ASSERT_TRUE(rig::Eventually(seconds(30), [&] { return !node.node().Status().Unlisted().empty(); }));

  Door door(node.node().NeighbourUrl());
  MakeAgentPod(node, door.port());
  auto ctl = [&](const std::string& user, const std::string& command) {
    return node.node().Ctl({command, "--fleet", "--selector", "test=fleet", "--kubeconfig",
                            node.control_plane().Kubeconfig(user)});
  };
  rig::Ran ran = ctl("fleet-viewer", "audit");
  EXPECT_EQ(ran.exit, (rig::Exit{1, 0})) << ran.out << ran.err << node.node().AgentLog();
  EXPECT_NE(ran.out.find(tool), std::string::npos) << ran.out << ran.err;
  ran = ctl("fleet-viewer", "status");
  EXPECT_EQ(ran.out.find("hidden from"), std::string::npos) << ran.out << ran.err;
  ASSERT_FALSE(door.Seen().empty());
  for (const http::Headers& headers : door.Seen()) {
    EXPECT_FALSE(headers.Has("Authorization")) << "the API server keeps what was for itself";
    EXPECT_TRUE(headers.Get("Prefetchd-Authorization").value_or("").starts_with("Bearer ey"));
  }
  EXPECT_EQ(node.node().AgentLog().find("is forbidden"), std::string::npos)
      << "the shipped rights are enough";

  // An administrator may mint tokens of other accounts, which open nothing.
  const ApiAnswer other = node.api().Post(
      "/api/v1/namespaces/prefetchd/serviceaccounts/prefetchd/token",
      R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"audiences":["prefetchd"]}})");
  ASSERT_TRUE(other.ok()) << other.text;
  http::CurlClient client;
  auto refused =
      client.Send(base::Call().Within(seconds(10)),
                  {.url = node.node().NeighbourUrl() + "/v1/status",
                   .headers = {{"Prefetchd-Authorization", "Bearer " + other.At({"status", "token"})}}});
  ASSERT_OK(refused);
  EXPECT_EQ(refused->status, 403) << refused->body;

  // Without the ServiceAccount the same user is shown what strangers are.
  ASSERT_TRUE(node.api().Delete("/api/v1/namespaces/prefetchd/serviceaccounts/prefetchd-fleet").ok());
  ran = ctl("fleet-viewer", "status");
  EXPECT_NE(ran.out.find("hidden from callers without a token"), std::string::npos) << ran.out << ran.err;
  ran = ctl("fleet-viewer", "audit");
  EXPECT_EQ(ran.exit, (rig::Exit{4, 0})) << ran.out << ran.err;
  EXPECT_EQ((ran.out + ran.err).find(tool), std::string::npos) << ran.out << ran.err;
  (void)node.api().Kill(kPod);
}

// The right to request tokens is for that one account.
TEST(FleetTokens, AreAllThatTheirUsersMayRequest) {
  ASSERT_NE(SharedControlPlane(), nullptr);
  RealNode node(*SharedControlPlane());
  AsPod as_pod(node, {"fleet"});
  const std::string kubeconfig = node.control_plane().Kubeconfig("fleet-viewer");
  auto may = [&](const std::vector<std::string>& words) {
    std::vector<std::string> all = {
        "auth", "can-i", "--as=fleet-viewer", "--as-group=prefetchd-fleet-viewers", "-n", "prefetchd"};
    all.insert(all.end(), words.begin(), words.end());
    return node.control_plane().Kubectl(all).out.starts_with("yes");
  };
  EXPECT_TRUE(may({"create", "serviceaccounts/prefetchd-fleet", "--subresource=token"}));
  EXPECT_FALSE(may({"create", "serviceaccounts/prefetchd", "--subresource=token"}));
  EXPECT_TRUE(may({"get", "pods", "--subresource=proxy"}));
  EXPECT_FALSE(may({"create", "pods", "--subresource=proxy"}));
  EXPECT_FALSE(may({"get", "secrets"}));
  EXPECT_FALSE(may({"get", "pods", "--subresource=log"}));
}

}  // namespace
}  // namespace prefetch::cluster::fleet_test
