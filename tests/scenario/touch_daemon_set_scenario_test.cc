// The touch without any right for the agent: the DaemonSets that `prefetchctl generate touch-daemonset`
// prints, their pods run by kubelet, and an agent that only looks.
#include <gtest/gtest.h>

#include "deploy/generate.h"
#include "deploy/kustomization.h"
#include "doc/node.h"
#include "doc/write.h"
#include "scenario/node.h"

namespace prefetch::tests::touch_daemon_set_scenario_test {
namespace {

using kubelet::VerificationPolicy;
using plan::Reason;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

const std::string kApp = "reg.example.test/team/app:v1";

class TouchDaemonSetScenario : public testing::Test {
 protected:
  Node& Make(VerificationPolicy policy, const std::vector<std::string>& images = {kApp}) {
    NodeOptions options;
    options.kubelet = kubelet::KubeletDeclarations{.version = image::KubeletVersion{1, 36}, .policy = policy};
    options.runs_pods = true;
    node_.emplace(std::move(options));
    node_->Kubelet([&](FakeKubelet& kubelet) { kubelet.Start({.version = {1, 36}, .policy = policy}); });
    for (const std::string& image : images) node_->runtime.Push(MakeImage(image, 10'000'000));
    node_->List(images);
    node_->RunFor(minutes(1));
    return *node_;
  }

  // As the DaemonSet controller and the scheduler: a pod of each on this node, where the objects allow it.
  void ApplyDaemonSets(const std::vector<std::string>& images) {
    auto generated = deploy::GenerateTouchDaemonSets(deploy::EmbeddedFiles(), images);
    ASSERT_TRUE(generated) << generated.error().message();
    std::string manifests;
    for (const doc::Node& document : generated->documents) manifests += "---\n" + doc::WriteYaml(document);
    FakeApiServer& server = node_->Cluster().server;
    ASSERT_TRUE(server.Apply(manifests));
    for (const doc::Node& document : generated->documents) {
      if (document.Find("kind")->text != "DaemonSet") continue;
      doc::Node pod = *document.Find("spec")->Find("template");
      Put(Sub(pod, "spec"), "nodeName", doc::Node::String("n1"));
      std::string name = document.Find("metadata")->Find("name")->text;
      server.Put("pods/prefetchd-touch/" + name + "-x7k2p", doc::WriteJson(pod));
    }
  }
  // A pod with a secret of its own makes kubelet pull.
  void PodPulls(const std::string& image) {
    kubelet::HashedSecret secret{{.uid = "u", .namespace_name = "team", .name = "pull"},
                                 base::Secret("hash")};
    node_->Kubelet([&](FakeKubelet& kubelet) {
      kubelet.BeginPull(image);
      kubelet.EndPull(image, node_->IdOf(image), {.secret = secret});
    });
    node_->RunFor(seconds(5));
  }
  bool Opens(base::Duration limit, const std::string& image = kApp) {
    return node_->RunUntil([&] { return node_->ReasonOf(image) == Reason::kOpenToNode; }, limit);
  }

  std::optional<Node> node_;
};

TEST_F(TouchDaemonSetScenario, WhatKubeletVerifiesAlwaysIsOpenWithinSecondsTwentyImagesAPod) {
  std::vector<std::string> images;
  for (int i = 0; i < 45; i++) images.push_back("reg.example.test/a" + std::to_string(i) + ":v1");
  Node& node = Make(VerificationPolicy::kAlwaysVerify, images);
  ASSERT_FALSE(node.Ready());
  ApplyDaemonSets(images);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
  EXPECT_EQ(node.Cluster().pods.pods_taken_up(), 3);
  EXPECT_TRUE(node.Cluster().server.Requests().empty()) << "the agent asks for nothing";
}

TEST_F(TouchDaemonSetScenario, WhatAPodsSecretClosesIsOpenAgainWithinFiveMinutes) {
  Node& node = Make(VerificationPolicy::kNeverVerifyPreloadedImages);
  ApplyDaemonSets({kApp});
  node.RunFor(hours(1));
  EXPECT_EQ(node.ReasonOf(kApp), Reason::kPreloaded) << "what is merely preloaded is never touched";
  PodPulls(kApp);
  ASSERT_EQ(node.ReasonOf(kApp), Reason::kRecordedForOthers);
  EXPECT_TRUE(Opens(minutes(5) + seconds(1)));
  PodPulls(kApp);
  EXPECT_EQ(node.ReasonOf(kApp), Reason::kOpenToNode) << "for good";
}

TEST_F(TouchDaemonSetScenario, AnotherContentBehindTheTagIsTouchedAgain) {
  Node& node = Make(VerificationPolicy::kAlwaysVerify);
  ApplyDaemonSets({kApp});
  ASSERT_TRUE(Opens(seconds(10)));
  node.RunFor(hours(1));
  FakeImage next = MakeImage(kApp, 12'000'000);
  node.runtime.Push(next);
  node.runtime.Preload(next);
  ASSERT_TRUE(node.RunUntil([&] { return !node.Ready(); }, minutes(1)));
  EXPECT_TRUE(Opens(minutes(5) + seconds(1)));
}

TEST_F(TouchDaemonSetScenario, WithoutNodeCredentialsItOpensNothingAndHarmsNothing) {
  Node& node = Make(VerificationPolicy::kAlwaysVerify);
  FakeImage secret = MakeImage(kApp, 10'000'000);
  secret.username = "ada";
  node.runtime.Push(secret);
  ApplyDaemonSets({kApp});
  EXPECT_FALSE(Opens(hours(1)));
  EXPECT_TRUE(node.Image(kApp).present);
}

}  // namespace
}  // namespace prefetch::tests::touch_daemon_set_scenario_test
