// The built agent with --touch on real containerd and a registry that wants a login: a kubelet that keeps
// records, and runs the pods that the agent makes with the rights that are shipped, opens what it had closed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <thread>

#include "base/fs.h"
#include "cri/image_service.h"
#include "fakes/fake_pod_runner.h"
#include "rig/expect_ok.h"
#include "system/cluster.h"

namespace prefetch::system::touch_test {
namespace {

using kubelet::VerificationPolicy;

constexpr std::uint64_t kMegabyte = 1'000'000;
const rig::User kAnn{"ann", "s3cr3t-ann-touch"};

// kubelet's side of the node, on a thread of its own: pods are run, records are written.
class RunningKubelet {
 public:
  RunningKubelet(Node& node, Cluster& cluster, VerificationPolicy policy)
      : images_(cri::MakeImageService(*cri::ParseEndpoint(node.containerd().endpoint()))),
        kubelet_(node.scratch() / "kubelet", clock_),
        pods_(cluster.api(), kubelet_, clock_, "n1",
              {.id_of = [this](const std::string& image) { return IdOf(image); },
               .pull = [this](const std::string& image,
                              const image::AuthConfig* auth) { return Pull(image, auth); }}) {
    kubelet_.Start({.version = {1, 36}, .policy = policy});
    pods_.SetNodeCredential(image::AuthConfig{kAnn.name, base::Secret(kAnn.password)});
  }
  ~RunningKubelet() { thread_.request_stop(); }

  // A pod with a secret of its own makes it pull. Before Start.
  void PodPulls(const std::string& image) {
    kubelet_.BeginPull(image);
    kubelet_.EndPull(image, IdOf(image),
                     {.secret = kubelet::HashedSecret{{"u1", "team", "pull"}, base::Secret("h1")}});
  }
  void Start() {
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        pods_.Step();
        rig::Pause();
      }
    });
  }

 private:
  std::string IdOf(const std::string& image) {
    auto found = images_->ImageStatus(base::Call().Within(seconds(20)), image);
    return found && *found ? (*found)->image.id : "";
  }
  base::Result<std::string> Pull(const std::string& image, const image::AuthConfig* auth) {
    cri::PullRequest request{.image = image};
    if (auth != nullptr) request.auth = *auth;
    auto pulled = images_->PullImage(base::Call().Within(seconds(60)), request);
    if (!pulled) return base::PermissionDenied(pulled.error().message);
    return IdOf(image);
  }

  base::SystemClock clock_;
  std::unique_ptr<cri::ImageService> images_;
  tests::FakeKubelet kubelet_;
  tests::FakePodRunner pods_;
  std::jthread thread_;  // last: it uses what stands above
};

class TouchOnNode : public testing::Test {
 protected:
  void SetUp() override {
    host_ = node_.AddRegistry("acme.example.test:5000", kAnn);
    node_.HasPlugin("acme.example.test:5000", kAnn);
  }
  std::string Push(const std::string& repository) {
    return host_->Push(repository, "v1", {{std::hash<std::string>()(repository), kMegabyte}});
  }
  void HasKubelet(const std::string& policy) {
    node_.scratch().Write("kubelet.yaml", std::string(kKubeletConfig) +
                                              "imagePullCredentialsVerificationPolicy: " + policy + "\n");
    node_.HasKubelet({"--kubelet-version", "1.36", "--kubelet-config", node_.scratch() / "kubelet.yaml",
                      "--kubelet-root", node_.scratch() / "kubelet"});
  }
  // The cluster with the component, and the namespace that it needs.
  void HasCluster() {
    cluster_.emplace(node_, std::vector<std::string>{"touch"});
    auto rights = base::ReadFile(std::string(std::getenv("PREFETCH_DEPLOY")) + "/touch/rbac.yaml", 1 << 20);
    ASSERT_TRUE(rights);
    ASSERT_OK(cluster_->api().LoadRbac(*rights));
  }
  bool Says(const std::string& image, const std::string& reason, seconds limit) {
    return rig::Eventually(limit, [&] { return node_.StatusOf(image).reason.text() == reason; });
  }
  std::size_t PodsThere() {
    std::size_t count = 0;
    for (const std::string& path : cluster_->api().Paths()) count += path.starts_with("pods/") ? 1 : 0;
    return count;
  }

  Node node_;
  std::unique_ptr<Host> host_;
  std::optional<Cluster> cluster_;
};

TEST_F(TouchOnNode, WhatAPodsSecretHadClosedIsOpenAgainAndNoLayerMoves) {
  std::string image = Push("team/app");
  node_.HasList({image});
  HasKubelet("NeverVerifyPreloadedImages");
  HasCluster();
  RunningKubelet kubelet(node_, *cluster_, VerificationPolicy::kNeverVerifyPreloadedImages);
  node_.StartAgent({"--touch"});
  ASSERT_TRUE(Says(image, "Preloaded", seconds(60))) << node_.AgentLog();
  host_->proxy().Forget();
  kubelet.PodPulls(image);
  ASSERT_TRUE(rig::Eventually(seconds(10), [&] { return node_.Get("/readyz").status == 503; }));
  kubelet.Start();
  ASSERT_TRUE(Says(image, "OpenToNode", seconds(10))) << node_.AgentLog();
  EXPECT_EQ(node_.Get("/readyz").status, 200);
  EXPECT_EQ(host_->proxy().Count("GET", "/blobs/"), 0U);
  EXPECT_EQ(node_.StatusOf(image).touch.state.text(), "Done");
  EXPECT_TRUE(rig::Eventually(seconds(10), [&] { return PodsThere() == 0; })) << "taken away afterwards";
}

TEST_F(TouchOnNode, SigtermTakesTheTouchPodAwayAndTheNextAgentGoesOn) {
  std::string image = Push("team/app");
  node_.HasListFile("images.yaml", "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n- image: " +
                                       image + "\n  open: Always\n");
  HasKubelet("NeverVerifyPreloadedImages");
  HasCluster();
  RunningKubelet kubelet(node_, *cluster_, VerificationPolicy::kNeverVerifyPreloadedImages);
  node_.StartAgent({"--touch"});
  ASSERT_TRUE(rig::Eventually(seconds(60), [&] { return PodsThere() == 1; })) << node_.AgentLog();
  auto before = std::chrono::steady_clock::now();
  node_.agent().Signal(SIGTERM);
  EXPECT_TRUE(node_.agent().Wait(seconds(10)));
  EXPECT_LE(std::chrono::steady_clock::now() - before, milliseconds(1500));
  EXPECT_EQ(PodsThere(), 0U);
  kubelet.Start();
  node_.StartAgent({"--touch"});
  EXPECT_TRUE(Says(image, "OpenToNode", seconds(30))) << node_.AgentLog();
}

}  // namespace
}  // namespace prefetch::system::touch_test
