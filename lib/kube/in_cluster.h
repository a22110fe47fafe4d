// How a pod finds the API server of its own cluster.
#pragma once

#include "base/result.h"
#include "kube/cluster.h"

namespace prefetch::kube {

// As every in-cluster client: KUBERNETES_SERVICE_HOST and _PORT (an IPv6 address gets its brackets), and
// token, ca.crt and namespace in `folder`, the mounted service account.
// NotFound: this is no pod, or none with a service account; InvalidArgument: the variables make no address.
base::Result<Cluster> InCluster(const GetEnv& get_env,
                                const std::string& folder = "/var/run/secrets/kubernetes.io/serviceaccount");

}  // namespace prefetch::kube
