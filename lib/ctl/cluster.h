// Cluster: the connection to the API server, by a user's kubeconfig or a pod's account, for the commands that
// look at all nodes.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "config/raw_config.h"
#include "http/curl_client.h"
#include "kube/http_api.h"
#include "kube/identity.h"

namespace prefetch::ctl {

struct ClusterOptions {
  std::string kubeconfig;  // this file alone; empty: KUBECONFIG, ~/.kube/config, then the pod's own account
  std::string context;     // empty: the current one
};

// The cluster's own proxy for every URL, else those of the environment.
http::CurlOptions ProxiesFor(const kube::Cluster& cluster, const config::GetEnv& get_env);

// Owned by the command. Any thread may use api().
class Cluster {
 public:
  // Errors name the searched places.
  static base::Result<std::unique_ptr<Cluster>> Open(const ClusterOptions& options);

  kube::Api& api() { return api_; }

 private:
  explicit Cluster(kube::Cluster cluster);

  base::SystemClock clock_;
  http::CurlClient client_;
  kube::Identity identity_;
  kube::HttpApi api_;
};

// A failed call as the last word of a command: one sentence, which names the right that is missing if one is,
// and the file of deploy/examples that grants it.
base::Error Explain(const kube::Failure& failure, const std::string& example = "fleet-viewer.yaml");

}  // namespace prefetch::ctl
