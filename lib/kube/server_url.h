// The URLs of a kubeconfig, as client-go reads them. Pure. Internal to kube/.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace prefetch::kube {

// "HTTPS://api.test:6443/k8s/" → "https://api.test:6443/k8s": the URL that paths of requests are added to.
// Without a scheme it is http, as for client-go, and then has no path. The query is dropped.
// InvalidArgument, with a phrase such as "must be a URL without user", for all that client-go refuses, and
// for hosts and paths that no API server has.
base::Result<std::string> ReadServerUrl(std::string_view text);

// A proxy's URL in the form that plugins get from client-go: with its scheme in small letters, and user and
// password encoded anew.
std::string ProxyForPlugins(std::string_view text);

// Refuses proxies that client-go refuses, and such without a host.
base::Status CheckProxyUrl(std::string_view text);

}  // namespace prefetch::kube
