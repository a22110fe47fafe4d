#include "cluster/as_pod.h"

#include <gtest/gtest.h>

#include "cluster/world.h"
#include "rig/expect_ok.h"

namespace prefetch::cluster {
namespace {

// Runs the agent in a mount namespace that has the service account where every pod has it.
constexpr const char* kWithAccount =
    "mount -t tmpfs tmpfs /run && mkdir -p /run/secrets/kubernetes.io/serviceaccount && "
    "mount --bind \"$1\" /run/secrets/kubernetes.io/serviceaccount && shift && exec \"$@\"";

}  // namespace

AsPod::AsPod(RealNode& node, const std::vector<std::string>& components) : node_(node) {
  const rig::Scratch& scratch = node.node().scratch();
  scratch.Write("manifests/images.txt", "quay.io/acme/app:v1\n");
  std::vector<std::string> words = {
      "generate", "--platform", "generic", "--list", scratch / "manifests/images.txt", "--image", ""};
  for (const std::string& component : components) words.insert(words.end(), {"--component", component});
  rig::Ran generated = node.node().Ctl(words);
  EXPECT_TRUE(generated.exit == rig::Exit{}) << generated.err;
  manifests_ = scratch.Write("manifests/all.yaml", generated.out);
  rig::Ran applied = node.control_plane().Kubectl({"apply", "--server-side", "-f", manifests_});
  EXPECT_TRUE(applied.exit == rig::Exit{}) << applied.err;
  scratch.Write("account/token", Token("n1"));
  auto ca = base::ReadFile(node.control_plane().authority().certificate_file(), 1 << 20);
  EXPECT_OK(ca);
  scratch.Write("account/ca.crt", ca ? *ca : "");
  scratch.Write("account/namespace", "prefetchd");
  node.node().RunsAgentBy({"env", "KUBERNETES_SERVICE_HOST=127.0.0.1",
                           "KUBERNETES_SERVICE_PORT=" + std::to_string(node.control_plane().port()),
                           "NODE_NAME=n1", std::string("NODE_IP=") + kNodeAddress, "unshare", "--mount", "sh",
                           "-c", kWithAccount, "pod", scratch / "account"});
}

AsPod::~AsPod() {
  (void)node_.node().agent().Stop(std::chrono::seconds(5));
  for (const char* pod : {"on-n1", "on-n2"})
    (void)node_.api().Kill(std::string("/api/v1/namespaces/prefetchd/pods/") + pod);
  // Nothing else has these names; the next test's are the same, so they have to be gone.
  rig::Ran gone = node_.control_plane().Kubectl({"delete", "-f", manifests_, "--ignore-not-found", "--force",
                                                 "--grace-period=0", "--wait=true", "--timeout=60s"});
  EXPECT_TRUE(gone.exit == rig::Exit{}) << gone.err;
}

std::string AsPod::PodOn(const std::string& node) {
  const std::string pods = "/api/v1/namespaces/prefetchd/pods", name = "on-" + node;
  ApiAnswer pod = node_.api().Get(pods + "/" + name);
  if (!pod.ok()) {
    pod = node_.api().Post(pods, R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
                                     R"("},"spec":{"nodeName":")" + node +
                                     R"(","serviceAccountName":"prefetchd","hostNetwork":true,"containers":[)"
                                     R"({"name":"c","image":")" +
                                     node_.pause_image() + R"("}]}})");
  }
  EXPECT_TRUE(pod.ok()) << pod.text;
  return pod.At({"metadata", "uid"});
}

std::string AsPod::Token(const std::string& node) {
  std::string bound;
  if (!node.empty()) {
    bound = R"(,"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"on-)" + node + R"(","uid":")" +
            PodOn(node) + "\"}";
  }
  ApiAnswer token = node_.api().Post(
      "/api/v1/namespaces/prefetchd/serviceaccounts/prefetchd/token",
      R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"expirationSeconds":7200)" +
          bound + "}}");
  EXPECT_TRUE(token.ok()) << token.text;
  return token.At({"status", "token"});
}

void AsPod::WaitForPolicy(const std::string& message, const std::function<ApiAnswer()>& refused) {
  ApiAnswer answer;
  EXPECT_TRUE(rig::Eventually(std::chrono::seconds(30),
                              [&] {
                                answer = refused();
                                return answer.text.find(message) != std::string::npos;
                              }))
      << answer.status << " " << answer.text;
}

}  // namespace prefetch::cluster
