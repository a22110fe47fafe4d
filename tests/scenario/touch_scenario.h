// TouchScenario: a node that touches: the agent with a kubelet that runs its pods, an API server that knows
// its rights, and time that jumps.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenario/node.h"

namespace prefetch::tests {

inline const std::string kApp = "reg.example.test/team/app:v1";

inline image::AuthConfig Auth(const std::string& user) {
  return {.username = user, .password = base::Secret("pw-of-" + user)};
}

inline kubelet::HashedSecret SecretOf(const std::string& team) {
  return {{.uid = "u-" + team, .namespace_name = team, .name = "pull"}, base::Secret("hash-" + team)};
}

inline NodeOptions WithTouch(
    kubelet::VerificationPolicy policy = kubelet::VerificationPolicy::kNeverVerifyPreloadedImages) {
  NodeOptions options;
  options.kubelet = kubelet::KubeletDeclarations{.version = image::KubeletVersion{1, 36}, .policy = policy};
  options.touch = true;
  return options;
}

// The same kubelet, and no touch.
inline NodeOptions WithoutTouch(
    kubelet::VerificationPolicy policy = kubelet::VerificationPolicy::kNeverVerifyPreloadedImages) {
  NodeOptions options = WithTouch(policy);
  options.touch = false;
  return options;
}

inline void OpenAlways(plan::DesiredImage& desired) {
  desired.open = plan::Open::kAlways;
}

class TouchScenario : public testing::Test {
 protected:
  // A node whose kubelet runs, with these images in its registry, which is public.
  Node& Make(NodeOptions options, const std::vector<std::string>& images = {kApp},
             const std::function<void(plan::DesiredImage&)>& change = nullptr) {
    kubelet::KubeletSettings settings{.version = *options.kubelet->version};
    if (options.kubelet->policy) settings.policy = *options.kubelet->policy;
    node_.emplace(std::move(options));
    node_->Kubelet([&](FakeKubelet& kubelet) { kubelet.Start(settings); });
    for (const std::string& image : images) node_->runtime.Push(MakeImage(image, 10'000'000));
    node_->List(images, change);
    return *node_;
  }
  // The same, once the agent says that the node is ready.
  Node& MakeReady(NodeOptions options = WithTouch()) {
    Node& node = Make(std::move(options));
    EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
    return node;
  }
  // A pod with a secret of its own makes kubelet pull: the image is closed to everybody else.
  void PodPulls(const std::string& image, const PullCredential& credential) {
    node_->Kubelet([&](FakeKubelet& kubelet) {
      kubelet.BeginPull(image);
      kubelet.EndPull(image, node_->IdOf(image), credential);
    });
  }
  bool Opens(base::Duration limit, const std::string& image = kApp) {
    return node_->RunUntil([&] { return node_->ReasonOf(image) == plan::Reason::kOpenToNode; }, limit);
  }
  plan::TouchStatus TouchOf(const std::string& image = kApp) { return node_->Image(image).touch; }
  // Requests that made pods, dry runs apart.
  int PodsCreated() {
    int count = 0;
    for (const std::string& line : node_->Cluster().server.Requests()) {
      count += line == "POST /api/v1/namespaces/prefetchd-touch/pods" ? 1 : 0;
    }
    return count;
  }
  int PodsThere() {
    int count = 0;
    for (const std::string& path : node_->Cluster().server.Paths())
      count += path.starts_with("pods/") ? 1 : 0;
    return count;
  }

  std::optional<Node> node_;
};

}  // namespace prefetch::tests
