// Touches on a real kubelet, through the shipped rights, policies, quota and Pod Security level.
#include <gtest/gtest.h>

#include <sys/mount.h>

#include <functional>
#include <optional>

#include "cluster/as_pod.h"
#include "rig/expect_ok.h"

namespace prefetch::cluster::touch_test {
namespace {

constexpr const char* kTouchPods = "/api/v1/namespaces/prefetchd-touch/pods";

// A folder that nobody can write to, root included: in the mount namespace of the suite.
class ReadOnlyFolder {
 public:
  explicit ReadOnlyFolder(std::string path) : path_(std::move(path)) {
    mounted_ = ::mount(path_.c_str(), path_.c_str(), nullptr, MS_BIND, nullptr) == 0;
    EXPECT_TRUE(mounted_) << path_;
    EXPECT_EQ(::mount(nullptr, path_.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr), 0)
        << path_;
  }
  ~ReadOnlyFolder() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  ReadOnlyFolder(const ReadOnlyFolder&) = delete;
  ReadOnlyFolder& operator=(const ReadOnlyFolder&) = delete;

 private:
  const std::string path_;
  bool mounted_ = false;
};

// A node whose agent touches, and a team with a pull secret.
class RealTouch : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(SharedControlPlane(), nullptr); }
  // `list`: entries of the list file.
  void StartNode(const std::string& policy, const std::vector<std::string>& components = {"touch"}) {
    node_.emplace(*SharedControlPlane(), KubeletOptions{.policy = policy});
    as_pod_.emplace(*node_, components);
    MakeNamespace(node_->api(), "team-a");
    PutPullSecret(node_->api(), "team-a", "pull", kHost, kBob.name, kBob.password);
  }
  void CloseWithASecret(const std::string& image) {
    node_->pods().Ask(
        {.policy = "Always", .images = {image}, .namespace_name = "team-a", .secrets = {"pull"}});
  }
  bool IsReady(const std::string& image, seconds limit) {
    return rig::Eventually(limit, [&] { return node_->node().StatusOf(image).ready; });
  }
  bool IsPresent(const std::string& image) {
    return rig::Eventually(seconds(30), [&] { return node_->node().StatusOf(image).present; });
  }
  PodAnswer Never(const std::string& image) { return node_->pods().Ask({.images = {image}})[0].answer; }
  std::size_t TouchPods() { return doc::ItemsAt(node_->api().Get(kTouchPods).body, {"items"}).size(); }
  bool NoTouchPods() {
    return rig::Eventually(seconds(15), [&] { return TouchPods() == 0; });
  }
  bool Meets(const std::string& image, const std::string& obstacle) {
    return rig::Eventually(seconds(60),
                           [&] { return node_->node().StatusOf(image).touch.obstacle.text() == obstacle; });
  }

  std::optional<RealNode> node_;
  std::optional<AsPod> as_pod_;
};

TEST_F(RealTouch, WhatASecretClosedIsOpenAgainWithoutALayer) {
  StartNode("NeverVerifyPreloadedImages");
  const std::string image = node_->Push("team/app");
  node_->node().HasList({image});
  node_->StartAgent({"--touch"});
  ASSERT_TRUE(IsReady(image, seconds(30))) << node_->node().AgentLog();
  EXPECT_EQ(Never(image), PodAnswer::kStarts);
  node_->host().proxy().Forget();
  auto closed = std::chrono::steady_clock::now();
  CloseWithASecret(image);
  ASSERT_TRUE(rig::Eventually(seconds(20), [&] {
    return node_->node().StatusOf(image).touch.state.text() == "Done";
  })) << node_->node().AgentLog();
  ASSERT_TRUE(IsReady(image, seconds(10)));
  std::printf("closed and open again: %.1f s\n",
              std::chrono::duration<double>(std::chrono::steady_clock::now() - closed).count());
  EXPECT_EQ(Never(image), PodAnswer::kStarts);
  EXPECT_EQ(node_->VerdictOf(image).never.reason, "OpenToNode");
  EXPECT_EQ(node_->host().proxy().Count("GET", "/blobs/"), 0U);
  EXPECT_TRUE(NoTouchPods());
  CloseWithASecret(image);
  EXPECT_EQ(Never(image), PodAnswer::kStarts) << "what is open to the node no secret closes";
  EXPECT_EQ(node_->node().AgentLog().find("is forbidden"), std::string::npos);
}

TEST_F(RealTouch, EveryPolicyIsServed) {
  for (const char* policy : {"AlwaysVerify", "NeverVerifyAllowlistedImages", "NeverVerify"}) {
    SCOPED_TRACE(policy);
    as_pod_.reset();
    node_.reset();
    StartNode(policy);
    std::vector<std::string> images;
    for (int i = 0; i < 5; i++) images.push_back(node_->Push("team/app" + std::to_string(i)));
    node_->node().HasList(images);
    node_->StartAgent({"--touch"});
    ASSERT_TRUE(node_->node().BecomesReady(seconds(60))) << node_->node().AgentLog();
    for (const Answered& answered : node_->pods().Ask({.images = images}))
      EXPECT_EQ(answered.answer, PodAnswer::kStarts) << answered.text;
    EXPECT_TRUE(NoTouchPods());
  }
}

TEST_F(RealTouch, ImageVolumes) {
  StartNode("AlwaysVerify");
  std::vector<std::string> images = {node_->Push("team/app"), node_->Push("team/tool")};
  node_->node().HasList(images);
  node_->node().scratch().Write(
      "agent.yaml",
      "apiVersion: prefetchd.dev/v1alpha1\nkind: AgentConfiguration\n"
      "touchImageVolumes: true\nlimits: {diskHighPercent: 99, diskMinFreeBytes: 1000000}\n");
  node_->StartAgent({"--touch"});
  ASSERT_TRUE(node_->node().BecomesReady(seconds(60))) << node_->node().AgentLog();
  for (const Answered& answered : node_->pods().Ask({.images = images}))
    EXPECT_EQ(answered.answer, PodAnswer::kStarts) << answered.text;
}

TEST_F(RealTouch, AQuotaIsToldAndTriedAgain) {
  StartNode("AlwaysVerify");
  const std::string image = node_->Push("team/app");
  node_->node().HasList({image});
  const std::string quota = "/api/v1/namespaces/prefetchd-touch/resourcequotas/prefetchd-touch";
  ASSERT_TRUE(node_->api().MergePatch(quota, R"({"spec":{"hard":{"pods":"0"}}})").ok());
  as_pod_->WaitForPolicy("\"pods\":\"0\"", [&] {
    return ApiAnswer{.text = doc::TextAt(node_->api().Get(quota).body, {"status", "hard", "pods"}) == "0"
                                 ? "\"pods\":\"0\""
                                 : ""};
  });
  node_->StartAgent({"--touch"});
  EXPECT_TRUE(Meets(image, "Quota")) << node_->node().AgentLog();
  EXPECT_EQ(Never(image), PodAnswer::kRefused);
  EXPECT_EQ(node_->node().Get("/readyz").status, 503);
}

// kubelet pulls for the touch pod and cannot write its record: the pod alone proves nothing.
TEST_F(RealTouch, APodThatRanWithoutARecordIsNoSuccess) {
  StartNode("AlwaysVerify");
  const std::string image = node_->Push("team/app");
  node_->node().HasList({image});
  ReadOnlyFolder records(node_->kubelet().root() + "/image_manager/pulled");
  node_->StartAgent({"--touch"});
  EXPECT_TRUE(Meets(image, "NotRecorded")) << node_->node().AgentLog();
  EXPECT_TRUE(node_->kubelet().Records("pulled").empty());
  EXPECT_FALSE(node_->node().StatusOf(image).ready);
  EXPECT_EQ(Never(image), PodAnswer::kRefused);
}

TEST_F(RealTouch, AnApiServerThatIsAwayDelaysAndNothingElse) {
  StartNode("AlwaysVerify");
  const std::string image = node_->Push("team/app");
  node_->node().HasList({image});
  node_->control_plane().StopApiServer();
  node_->StartAgent({"--touch"});
  EXPECT_TRUE(IsPresent(image));
  EXPECT_TRUE(rig::Eventually(seconds(30), [&] {
    return !node_->node().StatusOf(image).touch.obstacle.empty() &&
           node_->node().StatusOf(image).touch.obstacle.text() != "None";
  })) << node_->node().AgentLog();
  EXPECT_EQ(node_->node().StatusOf(image).touch.obstacle.text(), "ApiServer");
  ASSERT_OK(node_->control_plane().StartApiServer());
  EXPECT_TRUE(IsReady(image, seconds(60))) << node_->node().AgentLog();
  EXPECT_EQ(Never(image), PodAnswer::kStarts);
}

// The pod is removed by whoever comes next, and the record is kubelet's: no step leaves anything half done.
TEST_F(RealTouch, AnAgentKilledAtAnyStepIsNoObstacleForTheNext) {
  StartNode("AlwaysVerify");
  std::vector<std::string> images;
  for (int i = 0; i < 3; i++) images.push_back(node_->Push("team/app" + std::to_string(i)));
  const std::vector<std::function<bool()>> steps = {
      [&] { return node_->node().StatusOf(images[0]).present; },    // pulled, not touched
      [&] { return TouchPods() == 1; },                             // the pod is made
      [&] { return !node_->kubelet().Records("pulled").empty(); },  // kubelet has recorded
  };
  for (std::size_t i = 0; i < steps.size(); i++) {
    SCOPED_TRACE(i);
    node_->node().HasList({images.begin(), images.begin() + static_cast<std::ptrdiff_t>(i) + 1});
    node_->StartAgent({"--touch"});
    EXPECT_TRUE(rig::Eventually(seconds(30), steps[i]));
    node_->node().agent().Kill();
  }
  node_->StartAgent({"--touch"});
  ASSERT_TRUE(node_->node().BecomesReady(seconds(60))) << node_->node().AgentLog();
  for (const Answered& answered : node_->pods().Ask({.images = images}))
    EXPECT_EQ(answered.answer, PodAnswer::kStarts) << answered.text;
  EXPECT_TRUE(NoTouchPods()) << node_->api().Get(kTouchPods).text;
}

// The shipped policy has to refuse these requests with an agent's token, on a real server.
TEST_F(RealTouch, TheServerTakesOneShapeOfPodsOnly) {
  StartNode("AlwaysVerify");
  const std::string image = node_->Push("team/app");
  node_->node().HasList({image});
  // The pod that the agent itself makes is the shape; kubelet must not end it before it was seen.
  node_->host().proxy().Freeze(true);
  node_->kubelet().Kill();
  node_->host().proxy().Freeze(false);
  node_->StartAgent({"--touch"});
  ASSERT_TRUE(rig::Eventually(seconds(30), [&] { return TouchPods() == 1; })) << node_->node().AgentLog();
  doc::Node pod = doc::ItemsAt(node_->api().Get(kTouchPods).body, {"items"})[0];
  const std::string owner = doc::TextAt(doc::ItemsAt(pod, {"metadata", "ownerReferences"})[0], {"uid"});
  (void)node_->node().agent().Stop(seconds(10));
  auto body = [&](const std::string& more_spec, const std::string& more_container, const std::string& where) {
    return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"shape","ownerReferences":[{"apiVersion":"v1",)"
           R"("kind":"Node","name":"n1","uid":")" +
           owner + R"("}]},"spec":{"nodeName":")" + where +
           R"(","restartPolicy":"Never","activeDeadlineSeconds":300,"terminationGracePeriodSeconds":0,)"
           R"("serviceAccountName":"prefetchd-touch","automountServiceAccountToken":false,"enableServiceLinks":false,)"
           R"("tolerations":[{"operator":"Exists"}],)"
           R"("securityContext":{"runAsNonRoot":true,"runAsUser":65532,"seccompProfile":{"type":"RuntimeDefault"}},)" +
           more_spec +
           R"("containers":[{"name":"image-0","image":"a.test/b:v1","command":["/prefetchd/none"],)" +
           more_container +
           R"("resources":{"requests":{"cpu":"1m","memory":"1Mi"},"limits":{"cpu":"10m","memory":"16Mi"}},)"
           R"("securityContext":{"allowPrivilegeEscalation":false,"privileged":false,"capabilities":{"drop":["ALL"]}}}]}})";
  };
  Api agent = as_pod_->Agent();
  const std::string dry = std::string(kTouchPods) + "?dryRun=All";
  as_pod_->WaitForPolicy("denied request",
                         [&] { return agent.Post(dry, body("", R"("args":["x"],)", "n1")); });
  ApiAnswer good = agent.Post(dry, body("", "", "n1"));
  EXPECT_TRUE(good.ok()) << good.text;
  struct Bad {
    const char* spec;
    const char* container;
    const char* where;
  };
  for (const Bad& bad :
       {Bad{"", "", "n2"}, Bad{R"("hostNetwork":true,)", "", "n1"},
        Bad{R"("imagePullSecrets":[{"name":"x"}],)", "", "n1"},
        Bad{R"("volumes":[{"name":"v","emptyDir":{}}],)", "", "n1"},
        Bad{R"("volumes":[{"name":"v","hostPath":{"path":"/"}}],)", "", "n1"},
        Bad{R"("priorityClassName":"system-node-critical",)", "", "n1"},
        Bad{"", R"("env":[{"name":"A","value":"b"}],)", "n1"}, Bad{"", R"("args":["x"],)", "n1"}}) {
    SCOPED_TRACE(std::string(bad.spec) + bad.container + bad.where);
    ApiAnswer refused = agent.Post(dry, body(bad.spec, bad.container, bad.where));
    EXPECT_TRUE(refused.status == 403 || refused.status == 422) << refused.status << refused.text;
  }
  // The policy accepts only the cluster's default priority class, which the server fills in.
  Api admin = node_->control_plane().Admin();
  auto make_class = [&](const std::string& name, const std::string& is_default) {
    return admin.Post("/apis/scheduling.k8s.io/v1/priorityclasses",
                      R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":")" +
                          name + R"("},"value":1000,"globalDefault":)" + is_default + "}");
  };
  EXPECT_TRUE(make_class("important", "false").ok());
  as_pod_->WaitForPolicy("no priority class but the cluster's default one", [&] {
    return agent.Post(dry, body(R"("priorityClassName":"important",)", "", "n1"));
  });
  EXPECT_TRUE(make_class("usual", "true").ok());
  EXPECT_TRUE(rig::Eventually(seconds(10), [&] {
    ApiAnswer defaulted = agent.Post(dry, body("", "", "n1"));
    return defaulted.ok() && defaulted.text.find(R"("priorityClassName":"usual")") != std::string::npos;
  }));
  ApiAnswer elsewhere = agent.Post("/api/v1/namespaces/default/pods?dryRun=All", body("", "", "n1"));
  EXPECT_EQ(elsewhere.status, 403) << elsewhere.text;
}

}  // namespace
}  // namespace prefetch::cluster::touch_test
