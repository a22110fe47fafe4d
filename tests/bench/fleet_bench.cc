// Fleet: `prefetchctl status --fleet` over two thousand nodes behind an API server that takes 20 ms for each
// answer.
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <string>

#include "base/clock.h"
#include "fakes/fake_api_server.h"
#include "fakes/rbac.h"
#include "rig/binary.h"
#include "rig/expect_ok.h"
#include "rig/process.h"
#include "status/sample.h"
#include "status/status_json.h"
#include "temp_dir.h"

namespace prefetch::bench {
namespace {

constexpr int kNodes = 2000;
constexpr int kImages = 40;

const std::string kRights = tests::ClusterRights("{kind: User, name: viewer}", R"([
 {apiGroups: [""], resources: [nodes, pods], verbs: [list]},
 {apiGroups: [""], resources: [pods/proxy], verbs: [get]}])");

void Fill(tests::FakeApiServer& server) {
  std::vector<plan::ImageState> images;
  for (int i = 0; i < kImages; i++)
    images.push_back(sample::Ready("ghcr.io/acme/service-" + std::to_string(i) + ":v1", 90'000'000));
  std::string status = status::StatusJson(sample::Node(images));
  for (int i = 0; i < kNodes; i++) {
    std::string node = "n" + std::to_string(i);
    server.Put("nodes/" + node, R"({"metadata":{"labels":{"kubernetes.io/os":"linux"}}})");
    server.Put("pods/prefetchd/a-" + node,
               R"({"metadata":{"labels":{"app.kubernetes.io/name":"prefetchd"}},"spec":{"nodeName":")" +
                   node + R"("},"status":{"phase":"Running"}})");
    server.SetPodAnswer("prefetchd/a-" + node + ":9477/v1/status", status);
  }
}

TEST(Fleet, TwoThousandNodes) {
  base::SystemClock clock;
  tests::FakeApiServer server(clock, tests::FakeApiServer::OverTls());
  tests::TempDir dir;
  EXPECT_OK(server.LoadRbac(kRights));
  Fill(server);
  server.SetLatency(std::chrono::milliseconds(20));
  dir.Write("kubeconfig", server.Kubeconfig(server.AddToken("viewer")));
  auto start = std::chrono::steady_clock::now();
  auto ran =
      rig::RunProgram({{rig::Prefetchctl(), "status", "--fleet", "--kubeconfig", dir / "kubeconfig"}, {}},
                      std::chrono::minutes(2));
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  ASSERT_OK(ran);
  EXPECT_EQ(ran->exit, (rig::Exit{0, 0})) << ran->err;
  EXPECT_NE(ran->out.find("2000 nodes   2000 ready\n"), std::string::npos) << ran->out;
  EXPECT_LE(server.most_at_once(), 32);
  std::cout << "status --fleet, " << kNodes << " nodes with " << kImages
            << " images, 20 ms an answer: " << took.count() << " s (target 3 s)\n";
}

}  // namespace
}  // namespace prefetch::bench
