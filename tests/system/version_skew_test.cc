// prefetchctl against agents of other versions: during a rollout, and from a desk that is older or newer than
// the nodes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "doc/json.h"
#include "doc/write.h"
#include "fakes/fake_api_server.h"
#include "http/server.h"
#include "rig/expect_ok.h"
#include "rig/process.h"
#include "status/check_document.h"
#include "status/kubelet_sample.h"
#include "status/status_json.h"
#include "temp_dir.h"

namespace prefetch::system::version_skew_test {
namespace {

using std::chrono::seconds;
using Words = std::vector<std::string>;

constexpr const char* kImage = "quay.io/acme/runner:v3";
constexpr const char* kFleetRights = R"yaml(
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: viewer}
rules:
- {apiGroups: [""], resources: [nodes, pods, events], verbs: [list]}
- {apiGroups: [""], resources: [pods/proxy], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: viewer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: viewer}
subjects: [{kind: User, name: viewer}]
)yaml";

std::string Status() {
  plan::Snapshot snapshot = sample::KubeletNode();
  snapshot.unlisted = sample::PeacefulNode().unlisted;
  return status::StatusJson(snapshot);
}
std::string Image() {
  plan::ImageState image = sample::ClosedByOthers();
  return status::ImageJson(
      sample::KubeletNodeOf({image}), image,
      sample::DetailOf(image, sample::Recorded("quay.io/acme/runner", sample::ForTwoSecrets())));
}
std::string Check() {
  status::CheckResult result{.node = "n1", .time = base::WallTime(), .ok = true};
  result.answers = {{.image = kImage,
                     .policy = "Never",
                     .ok = true,
                     .listed = true,
                     .result = "Starts",
                     .reason = "OpenToNode",
                     .rule = "7: open to the node",
                     .message = "open to the node"}};
  return status::CheckResultJson(result);
}

// A member that nobody knows in every object of it, as a newer agent may have.
void Extend(doc::Node& node) {
  for (doc::Member& member : node.members) Extend(member.value);
  for (doc::Node& item : node.items) Extend(item);
  if (node.kind != doc::Node::Kind::kMapping) return;
  doc::Node news = doc::Node::Mapping();
  news.Set("deeper", doc::Node::Sequence({doc::Node::Int(1), doc::Node::String("x")}));
  node.Set("somethingNew", std::move(news));
}
std::string Newer(const std::string& json) {
  doc::Problems problems("document");
  auto root = doc::ParseJson(json, problems);
  EXPECT_TRUE(root);
  if (!root) return "";
  Extend(*root);
  return doc::WriteJson(*root);
}

class VersionSkew : public testing::Test {
 protected:
  VersionSkew() {
    EXPECT_OK(api_.LoadRbac(kFleetRights));
    api_.Put("nodes/n1", R"({"metadata":{"labels":{"kubernetes.io/os":"linux"}}})");
    api_.Put("pods/prefetchd/a-n1",
             R"({"metadata":{"labels":{"app.kubernetes.io/name":"prefetchd"}},"spec":{"nodeName":"n1"},
                "status":{"phase":"Running"}})");
    dir_.Write("kubeconfig",
               "apiVersion: v1\nkind: Config\ncurrent-context: t\nclusters: [{name: c, cluster: " +
                   api_.KubeconfigCluster() + "}]\nusers: [{name: u, user: {token: " +
                   api_.AddToken("viewer") + "}}]\ncontexts: [{name: t, context: {cluster: c, user: u}}]\n");
    dir_.Write("images.txt", std::string(kImage) + "\n");
  }

  // An agent that answers so.
  void Serve(const std::string& status, const std::string& image, const std::string& check) {
    auto listener = http::Listener::Tcp("127.0.0.1:0");
    ASSERT_OK(listener);
    auto server = http::Server::Start(
        std::move(*listener), {},
        [status, image, check](const http::ServerRequest& request) -> http::HandlerResult {
          if (request.path == "/v1/status") return http::JsonResponse(200, status);
          if (request.path == "/v1/check") return http::JsonResponse(200, check);
          if (request.path.starts_with("/v1/images/")) return http::JsonResponse(200, image);
          return http::ErrorResponse(404, "no");
        });
    ASSERT_OK(server);
    agent_ = std::move(*server);
    api_.SetPodAnswer("prefetchd/a-n1:9477/v1/status", status);
  }

  rig::Ran Run(Words words) const {
    words.insert(words.begin(), std::getenv("PREFETCHCTL"));
    auto ran = rig::RunProgram({words,
                                {{"NO_COLOR", "1"},
                                 {"KUBECONFIG", dir_ / "kubeconfig"},
                                 {"PREFETCHD_AGENT", "http://127.0.0.1:" + std::to_string(agent_->port())}}},
                               seconds(30));
    EXPECT_OK(ran);
    return ran ? *ran : rig::Ran{};
  }
  std::vector<Words> Commands() const {
    return {{"status"},
            {"status", "-o", "wide"},
            {"wait", "--timeout", "1s"},
            {"audit"},
            {"explain", kImage},
            {"check", "--image", kImage, "--policy", "Never"},
            {"list", "diff", dir_ / "images.txt", "--node"},
            {"list", "check", "--agent", dir_ / "images.txt"},
            {"status", "--fleet", "-o", "wide"},
            {"status", "--fleet", "--results", "csv"},
            {"wait", "--fleet", "--timeout", "1s"},
            {"audit", "--fleet"}};
  }

  tests::TempDir dir_;
  base::SystemClock clock_;
  tests::FakeApiServer api_{clock_, tests::FakeApiServer::OverTls()};
  std::unique_ptr<http::Server> agent_;
};

TEST_F(VersionSkew, WhatANewerAgentSaysBesidesChangesNothing) {
  for (const Words& words : Commands()) {
    SCOPED_TRACE(testing::PrintToString(words));
    Serve(Status(), Image(), Check());
    rig::Ran before = Run(words);
    EXPECT_NE(before.out, "");
    EXPECT_NE(before.exit, (rig::Exit{4, 0})) << before.err;
    Serve(Newer(Status()), Newer(Image()), Newer(Check()));
    rig::Ran after = Run(words);
    EXPECT_EQ(after.exit, before.exit) << after.err;
    EXPECT_EQ(after.out, before.out);
    EXPECT_EQ(after.err, before.err);
  }
}

// The very least that a version 1 document has. Nothing of it may be taken for ready.
TEST_F(VersionSkew, WhatAnOlderAgentDoesNotSayIsNotKnown) {
  const std::string frame = R"({"apiVersion":"prefetchd.dev/v1","node":"n1","kind":)";
  Serve(frame + R"("NodeStatus","images":[{"image":")" + kImage + "\"}]}",
        frame + R"("ImageStatus","image":")" + kImage + "\"}",
        frame + R"("CheckResult","results":[{"image":")" + kImage + "\"}]}");
  for (const Words& words : Commands()) {
    SCOPED_TRACE(testing::PrintToString(words));
    rig::Ran ran = Run(words);
    EXPECT_EQ(ran.exit.signal, 0) << ran.err;
    const bool judges = words[0] == "wait" || words[0] == "check";
    const bool differs = words[0] == "list" && words[1] == "diff";
    const bool audits = words[0] == "audit";  // nothing is known, and that is not clean
    EXPECT_EQ(ran.exit.code == 0, !judges && !differs && !audits) << ran.exit.code << ran.out << ran.err;
    EXPECT_EQ(ran.exit.code == 4, audits) << ran.err;
    EXPECT_EQ(ran.out.empty(), audits);
  }
}

// An agent takes no question for another one than it is: what it does not know in it, it refuses.
TEST_F(VersionSkew, AnOlderAgentThatDoesNotKnowAnOptionIsNamed) {
  auto listener = http::Listener::Tcp("127.0.0.1:0");
  ASSERT_OK(listener);
  auto server =
      http::Server::Start(std::move(*listener), {}, [](const http::ServerRequest&) -> http::HandlerResult {
        return http::ErrorResponse(400, "request: pull: unknown key");
      });
  ASSERT_OK(server);
  agent_ = std::move(*server);
  rig::Ran ran = Run({"check", "--image", kImage, "--pull"});
  EXPECT_EQ(ran.exit, (rig::Exit{2, 0})) << ran.out;
  EXPECT_EQ(ran.err,
            "prefetchctl: the agent refuses the question: request: pull: unknown key (is it as new as this "
            "prefetchctl?)\n");
}

}  // namespace
}  // namespace prefetch::system::version_skew_test
