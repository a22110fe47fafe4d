#include "ctl/cluster.h"

#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "ctl/environment_proxies.h"
#include "kube/cluster.h"
#include "kube/kubeconfig.h"

extern char** environ;

namespace prefetch::ctl {
namespace {

std::vector<std::string> Environment() {
  std::vector<std::string> all;
  for (char** one = environ; *one != nullptr; one++) all.emplace_back(*one);
  return all;
}

base::Result<kube::Cluster> Find(const ClusterOptions& options) {
  auto cluster = kube::FromKubeconfig(
      kube::ProcessEnv,
      {.file = options.kubeconfig, .context = options.context, .environment = Environment()});
  // The pod's own account is only a fallback. A file or context that the user named must not be replaced
  // silently by another cluster.
  bool asked_for = !options.kubeconfig.empty() || !options.context.empty();
  if (cluster || asked_for || cluster.error().code() != base::Code::kNotFound) return cluster;
  auto in_cluster = kube::InCluster(kube::ProcessEnv);
  if (in_cluster) return in_cluster;
  return base::NotFound("no cluster is known: " + cluster.error().message() + "; " +
                        in_cluster.error().message() + " (name a file with --kubeconfig)");
}

}  // namespace

http::CurlOptions ProxiesFor(const kube::Cluster& cluster, const config::GetEnv& get_env) {
  http::CurlOptions options = EnvironmentProxies(get_env);
  options.proxy = std::string(cluster.proxy.Reveal());
  return options;
}

Cluster::Cluster(kube::Cluster cluster)
    : client_(ProxiesFor(cluster, [](const char* name) { return std::getenv(name); })),
      identity_(std::move(cluster), clock_),
      api_(client_, identity_, clock_) {}

base::Result<std::unique_ptr<Cluster>> Cluster::Open(const ClusterOptions& options) {
  auto found = Find(options);
  if (!found) return std::move(found).error();
  return std::unique_ptr<Cluster>(new Cluster(*std::move(found)));
}

base::Error Explain(const kube::Failure& failure, const std::string& example) {
  if (failure.kind != kube::ApiError::kForbidden) return kube::ToError(failure);
  // The message begins with the attempted call, which says which right is missing; the server's own text
  // follows.
  std::string attempt = failure.message.substr(0, failure.message.find(": "));
  return base::PermissionDenied("a right is missing, " + attempt + " (deploy/examples/" + example +
                                " grants what is needed): " +
                                failure.message.substr(std::min(attempt.size() + 2, failure.message.size())));
}

}  // namespace prefetch::ctl
