// A node with two names of one image and a kubelet 1.36 that has pulled nothing yet.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/clock.h"
#include "fakes/fake_kubelet.h"
#include "rig/expect_ok.h"
#include "system/node.h"

namespace prefetch::system {

class TwoNames : public testing::Test {
 protected:
  void SetUp() override {
    image_ = Push("app");
    mirror_ = Push("mirror");
    node_.scratch().Write("kubelet.yaml", kKubeletConfig);
    node_.HasKubelet({"--kubelet-version", "1.36.2", "--kubelet-config", node_.scratch() / "kubelet.yaml",
                      "--kubelet-root", root_});
    kubelet_.Start({.version = {1, 36}});
  }

  std::string Push(const std::string& repository) {
    rig::Pusher pusher(registry_->registry().address());
    auto pushed =
        pusher.Push({.repository = repository, .tag = "v1", .layers = {{1, 100'000}}, .name = "one"});
    EXPECT_OK(pushed);
    if (pushed) id_ = pushed->config;
    return registry_->host() + "/" + repository + ":v1";
  }

  // kubelet pulls for a pod with its own secret, and for one without a secret where the node has credentials.
  void PodPulls(const std::string& image) {
    Pulls(image, {.secret = kubelet::HashedSecret{{.uid = "u1", .namespace_name = "team", .name = "pull"},
                                                  base::Secret("hash-of-a-secret")}});
  }
  void NodePulls(const std::string& image) { Pulls(image, {}); }
  void Pulls(const std::string& image, const tests::PullCredential& credential) {
    ASSERT_TRUE(kubelet_.BeginPull(image));
    kubelet_.EndPull(image, id_, credential);
  }

  Node node_;
  std::string root_ = node_.scratch() / "kubelet";
  base::SystemClock clock_;
  tests::FakeKubelet kubelet_{root_, clock_};
  std::unique_ptr<Host> registry_ = node_.AddRegistry("registry.example.test", {});
  std::string image_, mirror_, id_;
};

}  // namespace prefetch::system
