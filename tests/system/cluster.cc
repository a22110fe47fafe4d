#include "system/cluster.h"

#include <filesystem>

#include "doc/node.h"
#include "rig/expect_ok.h"
#include "serve.h"

namespace prefetch::system {
namespace {

// Runs the agent in a mount namespace that has the service account where every pod has it.
constexpr const char* kAsPod =
    "mount -t tmpfs tmpfs /run && mkdir -p /run/secrets/kubernetes.io/serviceaccount && "
    "mount --bind \"$1\" /run/secrets/kubernetes.io/serviceaccount && shift && exec \"$@\"";

std::string MadeFolder(const std::string& path) {
  std::filesystem::create_directories(path);
  return path;
}

}  // namespace

Cluster::Cluster(Node& node, const std::vector<std::string>& components)
    : folder_(MadeFolder(node.scratch() / "cluster")),
      authority_(folder_, "cluster"),
      certificate_(authority_.Server("server")),
      api_(clock_, {certificate_.certificate_file, certificate_.key_file, ""}),
      kubelet_front_({certificate_.certificate_file, certificate_.key_file, ""}) {
  EXPECT_OK(api_.LoadRbac(Manifests(node, components)));
  api_.Put("nodes/n1", R"({"metadata":{"uid":"uid-n1","labels":{"zone":"a"}},
      "status":{"nodeInfo":{"kubeletVersion":"v1.36.2"}}})");
  node.scratch().Write("cluster/account/token", api_.AddServiceAccountToken("prefetchd", "prefetchd"));
  node.scratch().Write("cluster/account/ca.crt", authority_.certificate());
  node.scratch().Write("cluster/account/namespace", "prefetchd");
  node.RunsAgentBy({"env", "KUBERNETES_SERVICE_HOST=127.0.0.1",
                    "KUBERNETES_SERVICE_PORT=" + std::to_string(api_.front().port()), "NODE_NAME=n1",
                    "NODE_IP=127.0.0.1", "unshare", "--mount", "sh", "-c", kAsPod, "pod",
                    folder_ + "/account"});
  kubelet_ = tests::Serve([this](const http::ServerRequest& request) { return Kubelet(request); });
  kubelet_front_.ForwardTo(kubelet_->port());
}

std::string Cluster::Manifests(Node& node, const std::vector<std::string>& components) const {
  node.scratch().Write("cluster/images.txt", "quay.io/acme/app:v1\n");
  std::vector<std::string> args = {
      "generate", "--platform", "generic", "--list", folder_ + "/images.txt", "--image", ""};
  for (const std::string& component : components) {
    args.insert(args.end(), {"--component", component});
  }
  rig::Ran ran = node.Ctl(args);
  EXPECT_TRUE(ran.exit == rig::Exit{}) << ran.err;
  return ran.out;
}

std::string Cluster::OfNode(doc::Path path) const {
  auto node = api_.Get("nodes/n1");
  return node ? doc::TextAt(*node, path) : "";
}

void Cluster::KubeletSays(const std::string& configz, const std::string& metrics) {
  base::Lock lock(mutex_);
  configz_ = configz;
  metrics_ = metrics;
}

std::vector<std::string> Cluster::KubeletFlags() const {
  return {"--kubelet-api", "--kubelet-address", "127.0.0.1:" + std::to_string(kubelet_front_.port())};
}

// The API server decides who may ask (KubeletFineGrainedAuthz, Kubernetes 1.33).
http::ServerResponse Cluster::Kubelet(const http::ServerRequest& request) {
  int allowed = api_.Review(request.headers.Get("Authorization").value_or(""), "get",
                            request.path == "/configz" ? "nodes/configz" : "nodes/metrics", "n1");
  if (allowed != 200) return {.status = allowed};
  base::Lock lock(mutex_);
  if (request.path == "/configz") return http::JsonResponse(200, "{\"kubeletconfig\":" + configz_ + "}");
  if (request.path == "/metrics") return {.body = metrics_};
  return {.status = 404};
}

}  // namespace prefetch::system
