// The component `policy` on a real API server: what it denies, what it warns about, and what it leaves alone.
#include <gtest/gtest.h>

#include "cluster/real_node.h"
#include "rig/expect_ok.h"

namespace prefetch::cluster::policy_test {
namespace {

constexpr const char* kDenied = "Always contacts the registry at every start";

class Policy : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(SharedControlPlane(), nullptr);
    // One that has lost its last policy with parameters, by an earlier test, reads none again:
    // deploy/docs/policy.md.
    SharedControlPlane()->StopApiServer();
    ASSERT_OK(SharedControlPlane()->StartApiServer());
    node_.emplace(*SharedControlPlane());
    listed_ = node_->Push("team/app");
    unlisted_ = node_->Push("team/tool");
    for (const char* name : {"ci", "free"}) MakeNamespace(node_->api(), name);
    Label(R"("enforce")");
  }
  void TearDown() override {
    if (!node_) return;
    for (const char* name : {"ci", "free", "kube-system"}) Label("null", name);
    rig::Ran gone = Kubectl(
        {"delete", "--ignore-not-found", "--force", "--grace-period=0", "--timeout=90s", "-f", manifests_});
    EXPECT_TRUE(gone.exit == rig::Exit{}) << gone.err;
  }
  static rig::Ran Kubectl(const std::vector<std::string>& words) {
    return SharedControlPlane()->Kubectl(words);
  }
  void Label(const std::string& value, const std::string& space = "ci") {
    EXPECT_TRUE(node_->api()
                    .MergePatch("/api/v1/namespaces/" + space,
                                R"({"metadata":{"labels":{"prefetchd.dev/policy":)" + value + "}}}")
                    .ok());
  }
  // Installs the policy with this action, as the guide describes it.
  void Install(const std::string& action) {
    const rig::Scratch& scratch = node_->node().scratch();
    const std::string list =
        scratch.Write("policy/images.txt", listed_ + "\n" + std::string(kHost) + "/team/latest\n");
    rig::Ran made = node_->node().Ctl({"generate", "--platform", "generic", "--list", list, "--component",
                                       "policy", "--policy-action", action, "--image", ""});
    ASSERT_TRUE(made.exit == rig::Exit{}) << made.err;
    manifests_ = scratch.Write("policy/all.yaml", made.out);
    rig::Ran applied = Kubectl({"apply", "--server-side", "-f", manifests_});
    ASSERT_TRUE(applied.exit == rig::Exit{}) << applied.err;
  }
  // A container of a pod; without a policy the server fills one in.
  static std::string Container(const std::string& image, const std::string& policy = "") {
    return R"({"name":"app","image":")" + image + R"(","command":["/none"])" +
           (policy.empty() ? "" : R"(,"imagePullPolicy":")" + policy + "\"") + "}";
  }
  static std::string Pod(const std::string& container) {
    return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"nodeName":"n1","containers":[)" +
           container + "]}}";
  }
  static std::string Deployment(const std::string& container) {
    return R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":0,)"
           R"("selector":{"matchLabels":{"a":"d"}},"template":{"metadata":{"labels":{"a":"d"}},)"
           R"("spec":{"containers":[)" +
           container + "]}}}}";
  }
  ApiAnswer TryPod(const std::string& space, const std::string& container) {
    return node_->api().Post("/api/v1/namespaces/" + space + "/pods?dryRun=All", Pod(container));
  }
  // The server learns of policies a little later.
  bool Awaits(const std::function<bool()>& state) { return rig::Eventually(seconds(30), state); }
  // Returns kubectl's output for a user who applies this pod.
  rig::Ran Apply(const std::string& container) {
    return Kubectl({"apply", "--dry-run=server", "-n", "ci", "-f",
                    node_->node().scratch().Write("policy/pod.json", Pod(container))});
  }

  std::optional<RealNode> node_;
  std::string listed_, unlisted_, manifests_;
};

TEST_F(Policy, DeniesAlwaysForImagesOfTheListAndNothingElse) {
  const std::string deployments = "/apis/apps/v1/namespaces/ci/deployments";
  // From before the policy.
  ASSERT_TRUE(node_->api().Post(deployments, Deployment(Container(listed_, "Always"))).ok());
  ASSERT_NO_FATAL_FAILURE(Install("Deny"));
  ApiAnswer refused;
  ASSERT_TRUE(Awaits([&] {
    refused = TryPod("ci", Container(listed_, "Always"));
    return !refused.ok();
  })) << "Always passes";
  EXPECT_EQ(refused.status, 422) << refused.text;
  for (const std::string& words : {std::string(kDenied), listed_ + " (container app)"})
    EXPECT_NE(refused.text.find(words), std::string::npos) << refused.text;
  // The tag latest, written or not, is Always unless somebody says otherwise.
  for (const char* tag : {"", ":latest"}) {
    const std::string image = std::string(kHost) + "/team/latest" + tag;
    EXPECT_EQ(TryPod("ci", Container(image)).status, 422) << image;
    EXPECT_TRUE(TryPod("ci", Container(image, "IfNotPresent")).ok()) << image;
  }
  EXPECT_TRUE(TryPod("ci", Container(listed_)).ok()) << "IfNotPresent is filled in";
  EXPECT_TRUE(TryPod("ci", Container(unlisted_, "Always")).ok()) << "not on the list";
  EXPECT_TRUE(TryPod("free", Container(listed_, "Always")).ok()) << "not a namespace with the label";
  // Templates too; what was there can be scaled and labelled, but gets no further use.
  const std::string job =
      R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{"template":)"
      R"({"spec":{"restartPolicy":"Never","containers":[)" +
      Container(listed_, "Always") + "]}}}}";
  EXPECT_EQ(node_->api().Post("/apis/batch/v1/namespaces/ci/jobs?dryRun=All", job).status, 422);
  EXPECT_TRUE(node_->api().MergePatch(deployments + "/d", R"({"metadata":{"labels":{"a":"b"}}})").ok());
  ApiAnswer added = node_->api().JsonPatch(
      deployments + "/d?dryRun=All",
      R"([{"op":"add","path":"/spec/template/spec/containers/-","value":{"name":"more","image":")" + listed_ +
          R"(","imagePullPolicy":"Always"}}])");
  EXPECT_EQ(added.status, 422) << added.text;
  EXPECT_NE(added.text.find("(container more)"), std::string::npos) << added.text;
  // Its pods are refused to the controller, as the page says.
  EXPECT_TRUE(node_->api().MergePatch(deployments + "/d", R"({"spec":{"replicas":1}})").ok());
  ApiAnswer events;
  EXPECT_TRUE(Awaits([&] {
    events = node_->api().Get("/api/v1/namespaces/ci/events?fieldSelector=reason%3DFailedCreate");
    return events.text.find(kDenied) != std::string::npos;
  })) << events.text;
  // Real pods that do what the message asks for: kubelet pulls once, and then needs no registry.
  Question question{.policy = "IfNotPresent", .images = {listed_}, .namespace_name = "ci"};
  EXPECT_EQ(node_->pods().Ask(question)[0].answer, PodAnswer::kPulls);
  question.policy = "Never";
  EXPECT_EQ(node_->pods().Ask(question)[0].answer, PodAnswer::kStarts);
  // The namespace's owner opts out.
  Label("null");
  EXPECT_TRUE(Awaits([&] { return TryPod("ci", Container(listed_, "Always")).ok(); }));
  EXPECT_TRUE(node_->api().Delete(deployments + "/d").ok());
}

TEST_F(Policy, DeniesNothingInKubeSystem) {
  ASSERT_NO_FATAL_FAILURE(Install("Deny"));
  // The server sees changes of namespaces in their order: it knows the first label when the second one
  // counts.
  Label(R"("enforce")", "kube-system");
  Label(R"("enforce")", "free");
  ASSERT_TRUE(Awaits([&] { return TryPod("free", Container(listed_, "Always")).status == 422; }));
  ApiAnswer answer = TryPod("kube-system", Container(listed_, "Always"));
  EXPECT_TRUE(answer.ok()) << answer.text;
}

TEST_F(Policy, WarnsAndLetsPass) {
  ASSERT_NO_FATAL_FAILURE(Install("Warn"));
  rig::Ran applied;
  EXPECT_TRUE(Awaits([&] {
    applied = Apply(Container(listed_, "Always"));
    return applied.err.find(kDenied) != std::string::npos;
  })) << applied.err;
  EXPECT_TRUE(applied.exit == rig::Exit{}) << applied.err;
  EXPECT_NE(applied.err.find("Warning: "), std::string::npos) << applied.err;
  EXPECT_NE(applied.err.find(listed_ + " (container app)"), std::string::npos) << applied.err;
  applied = Apply(Container(listed_, "IfNotPresent"));
  EXPECT_EQ(applied.err.find(kDenied), std::string::npos) << applied.err;
  EXPECT_EQ(node_->pods().Ask({.policy = "Always", .images = {listed_}, .namespace_name = "ci"})[0].answer,
            PodAnswer::kPulls);
  // A list that changes changes what is warned about.
  listed_ = unlisted_;
  ASSERT_NO_FATAL_FAILURE(Install("Warn"));
  EXPECT_TRUE(Awaits([&] {
    return Apply(Container(unlisted_, "Always")).err.find(unlisted_ + " (container app)") !=
           std::string::npos;
  }));
}

}  // namespace
}  // namespace prefetch::cluster::policy_test
