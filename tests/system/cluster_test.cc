// The built agent as a pod of a cluster, on real containerd: what it says on its Node, what it learns there
// and from its kubelet, with the rights of the manifests that are shipped and no others.
#include "system/cluster.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace prefetch::system::cluster_test {
namespace {

constexpr std::uint64_t kMegabyte = 1'000'000;
const rig::User kAnn{"ann", "s3cr3t-ann-cluster"};

class ClusterTest : public testing::Test {
 protected:
  void SetUp() override {
    host_ = node_.AddRegistry("acme.example.test:5000", kAnn);
    node_.HasPlugin("acme.example.test:5000", kAnn);
    image_ = host_->Push("team/app", "v1", {{1, kMegabyte}});
    node_.HasList({image_});
    std::filesystem::create_directories(node_.scratch() / "kubelet/image_manager/pulled");
    std::filesystem::create_directories(node_.scratch() / "kubelet/image_manager/pulling");
    node_.HasKubelet({"--kubelet-root", node_.scratch() / "kubelet"});
  }
  bool IsReady() { return node_.Get("/readyz").status == 200; }

  Node node_;
  std::unique_ptr<Host> host_;
  std::string image_;
};

TEST_F(ClusterTest, SaysOnItsNodeWhatIsReadyAndTakesTheStartupTaintAway) {
  node_.scratch().Write("kubelet/config.yaml", kKubeletConfig);
  node_.HasKubelet({"--kubelet-root", node_.scratch() / "kubelet", "--kubelet-config",
                    node_.scratch() / "kubelet/config.yaml"});
  Cluster cluster(node_, {"node-gate"});
  cluster.api().Put("nodes/n1", R"({"metadata":{"uid":"uid-n1","labels":{"zone":"a"}},
      "spec":{"taints":[{"key":"prefetchd.dev/not-ready","effect":"NoSchedule"},
                        {"key":"example.com/other","effect":"NoSchedule"}]},
      "status":{"nodeInfo":{"kubeletVersion":"v1.36.2"}}})");
  node_.StartAgent({"--node-label", "--node-condition", "--startup-taint"});
  ASSERT_TRUE(rig::Eventually(seconds(60), [&] {
    return cluster.OfNode({"metadata", "labels", "prefetchd.dev/prefetchd"}) == "ready";
  })) << node_.AgentLog();
  EXPECT_TRUE(IsReady());
  EXPECT_TRUE(node_.Has(image_));
  ASSERT_TRUE(rig::Eventually(seconds(60), [&] {
    auto node = cluster.api().Get("nodes/n1");
    const doc::Node* spec = node->Find("spec");
    return spec->Find("taints")->items.size() == 1;
  })) << node_.AgentLog();
  EXPECT_EQ(cluster.OfNode({"metadata", "labels", "zone"}), "a");
  // The version was told by the Node.
  EXPECT_EQ(node_.Status().kubelet.version, "1.36.2");
}

TEST_F(ClusterTest, KubeletsOwnWordDecidesTheVerdict) {
  Cluster cluster(node_, {"kubelet-api"});
  cluster.KubeletSays(
      R"({"imagePullCredentialsVerificationPolicy":"AlwaysVerify",
          "imageGCHighThresholdPercent":100,"imageGCLowThresholdPercent":99})",
      "kubernetes_feature_enabled{name=\"KubeletEnsureSecretPulledImages\",stage=\"BETA\"} 1\n");
  node_.StartAgent(cluster.KubeletFlags());
  ASSERT_TRUE(rig::Eventually(seconds(60), [&] {
    status::StatusDocument status = node_.Status();
    return status.kubelet.verification == "AlwaysVerify" && !status.images.empty() &&
           status.images[0].present && status.kubelet.version == "1.36.2";  // the version is the Node's
  })) << node_.AgentLog();
  ASSERT_TRUE(rig::Eventually(seconds(20),
                              [&] { return node_.StatusOf(image_).reason.text() == "VerificationAlways"; }));
  EXPECT_FALSE(IsReady());
  EXPECT_EQ(node_.Get("/v1/status").body.find("Bearer"), std::string::npos);
}

// The rights that deploy/docs/registries.md says to grant, and nothing more.
constexpr std::string_view kTokenRights = R"(
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: prefetchd-tokens, namespace: ci}
rules:
- {apiGroups: [""], resources: [serviceaccounts], resourceNames: [puller], verbs: [get]}
- {apiGroups: [""], resources: [serviceaccounts/token], resourceNames: [puller], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: prefetchd-tokens, namespace: ci}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: prefetchd-tokens}
subjects: [{kind: ServiceAccount, name: prefetchd, namespace: prefetchd}]
)";

TEST_F(ClusterTest, AProviderThatWantsATokenGetsTheOneOfTheAccountThatIsNamed) {
  Cluster cluster(node_, {});
  ASSERT_TRUE(cluster.api().LoadRbac(kTokenRights).ok());
  cluster.api().Put("serviceaccounts/ci/puller",
                    R"({"metadata":{"uid":"uid-puller","annotations":{"example.com/role":"reader"}}})");
  // Gives the login for a token and the annotation only, as a cloud's plugin would exchange them.
  const std::string answer =
      R"({"apiVersion":"credentialprovider.kubelet.k8s.io/v1","kind":"CredentialProviderResponse",)"
      R"("cacheKeyType":"Registry","auth":{"acme.example.test:5000":{"username":")" +
      kAnn.name + R"(","password":")" + kAnn.password + "\"}}}";
  node_.scratch().Write("plugins/login",
                        R"sh(#!/bin/sh
case "$(cat)" in
*'"serviceAccountToken":"eyJ'*'"example.com/role":"reader"'*) echo ')sh" +
                            answer + R"sh(' ;;
*) exit 1 ;;
esac
)sh",
                        0700);
  node_.scratch().Write("provider-config.yaml", R"(apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: login
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  matchImages: ["acme.example.test:5000"]
  defaultCacheDuration: 10m
  tokenAttributes:
    serviceAccountTokenAudience: registry.example.test
    cacheType: ServiceAccount
    requireServiceAccount: true
    requiredServiceAccountAnnotationKeys: [example.com/role]
)");
  node_.scratch().Write("agent.yaml", R"(apiVersion: prefetchd.dev/v1alpha1
kind: AgentConfiguration
limits: {diskHighPercent: 99, diskMinFreeBytes: 1000000}
providerServiceAccount: {namespace: ci, name: puller}
)");
  node_.HasKubelet({"--kubelet=none"});
  node_.StartAgent();
  ASSERT_TRUE(rig::Eventually(seconds(60), [&] { return IsReady(); })) << node_.AgentLog();
  // A poll may see the image before its pull has ended.
  EXPECT_TRUE(rig::Eventually(seconds(60), [&] { return node_.StatusOf(image_).origin.exposed; }));
  EXPECT_EQ(node_.AgentLog().find("eyJ"), std::string::npos);
}

}  // namespace
}  // namespace prefetch::system::cluster_test
