#include "kube/cluster.h"

#include <cstdlib>

#include "base/fs.h"
#include "base/text.h"

namespace prefetch::kube {
namespace {

constexpr std::size_t kLongestNamespace = 253;

base::Result<std::string> ServerUrl(const std::string& host, const std::string& port) {
  auto number = base::ParseUint(port);
  if (!number || *number == 0 || *number > 65535) {
    return base::InvalidArgument("KUBERNETES_SERVICE_PORT is no port");
  }
  // Anything else would change the meaning of the URL that is built of it.
  constexpr std::string_view kHostCharacters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:";
  if (host.find_first_not_of(kHostCharacters) != std::string::npos) {
    return base::InvalidArgument("KUBERNETES_SERVICE_HOST is no address");
  }
  bool ipv6 = host.find(':') != std::string::npos;
  return "https://" + (ipv6 ? "[" + host + "]" : host) + ":" + port;
}

base::Status CheckExists(const std::string& file) {
  auto kind = base::KindOf(file);
  if (!kind) return std::move(kind).error().Wrap("the pod's service account");
  return {};
}

}  // namespace

std::optional<std::string> ProcessEnv(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

base::Result<Cluster> InCluster(const GetEnv& get_env, const std::string& folder) {
  auto host = get_env("KUBERNETES_SERVICE_HOST"), port = get_env("KUBERNETES_SERVICE_PORT");
  if (!host || host->empty() || !port || port->empty()) {
    return base::NotFound(
        "this is no pod of a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
  }
  auto server = ServerUrl(*host, *port);
  if (!server) return std::move(server).error();
  Cluster cluster{.server = *std::move(server), .source = "the pod's service account"};
  cluster.name_space.clear();  // which it is decides who may ask: no guess
  cluster.token_file = folder + "/token";
  cluster.ca_file = folder + "/ca.crt";
  // Both are checked here, so that a pod without a service account gets a clear error at its start, and not a
  // TLS failure later.
  for (const std::string& file : {cluster.token_file, cluster.ca_file}) {
    if (base::Status there = CheckExists(file); !there) return std::move(there).error();
  }
  // An unreadable file leaves the namespace empty. Callers that need one then fail with a clear error.
  auto name_space = base::ReadFile(folder + "/namespace", kLongestNamespace);
  if (name_space && !base::TrimSpace(*name_space).empty()) {
    cluster.name_space = base::TrimSpace(*name_space);
  }
  return cluster;
}

}  // namespace prefetch::kube
