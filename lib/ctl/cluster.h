// WithCluster: the connection to the API server, by a user's kubeconfig or a pod's account, for the commands
// that look at all nodes.
// EnvironmentProxies: the proxies that the environment names.
// ListAll and ForEachObject: every page of a collection.
// ReadWorkloads: the workloads of a cluster, read as manifests are.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "base/call.h"
#include "base/clock.h"
#include "base/result.h"
#include "config/settings.h"
#include "http/curl_client.h"
#include "kube/api.h"
#include "kube/cluster.h"
#include "manifest/read.h"

namespace prefetch::ctl {

struct ClusterOptions {
  std::string kubeconfig;  // this file alone; empty: KUBECONFIG, ~/.kube/config, then the pod's own account
  std::string context;     // empty: the current one
};

// The cluster's own proxy for every URL, else those of the environment.
http::CurlOptions ProxiesFor(const kube::Cluster& cluster, const config::GetEnv& get_env);

// Calls `use` with the API server, which any thread may ask meanwhile, and returns its exit code. If no
// cluster is known, prints the searched places to `err`, and returns the exit code for that.
int WithCluster(const ClusterOptions& options, std::ostream& err, const std::function<int(kube::Api&)>& use);

// Converts a failed call to the final message of a command: one sentence, which names the right that is
// missing if one is, and the file of deploy/examples that grants it.
base::Error ToUserError(const kube::Failure& failure, const std::string& example = "fleet-viewer.yaml");

// Returns the proxies that the environment names, as for other command-line tools: HTTP_PROXY, HTTPS_PROXY
// and NO_PROXY, which count before http_proxy, https_proxy and no_proxy, as in Go.
http::CurlOptions EnvironmentProxies(const config::GetEnv& get_env);

// Lists one page of a collection of the API server.
template <typename T>
using ListPage = std::function<kube::Answer<kube::Page<T>>(const kube::ListOptions&)>;

inline constexpr int kMostPages = 6000;  // of a list: 300,000 objects; Kubernetes supports 150,000 pods

inline constexpr std::chrono::minutes kListTimeout{5};  // however slowly its pages come

inline kube::Failure EndlessPages() {
  return {.kind = kube::ApiError::kMalformed,
          .message = "the API server announces ever more pages of a list"};
}

// Lists every page of a collection. Begins anew, twice at most, if the continue token has expired or the
// server is busy; then waits for its Retry-After, 5 s at most. Fails if the pages never end. `keep` gets each
// object as its page arrives; `restart` must discard them if the list begins anew.
template <typename T>
kube::Answer<kube::Done> ForEachObject(const base::Call& call, kube::ListOptions options,
                                       const ListPage<T>& list, const std::function<void()>& restart,
                                       const std::function<void(T)>& keep) {
  using std::chrono::seconds;
  constexpr int kMaxAttempts = 3;
  constexpr seconds kMaxRetryAfter{5};
  const base::TimePoint end = call.Within(kListTimeout).deadline;
  int pages = 0;
  for (int attempts = 1;;) {
    if (++pages > kMostPages || (pages > 1 && std::chrono::steady_clock::now() >= end)) return EndlessPages();
    auto page = list(options);
    if (!page) {
      kube::ApiError kind = page.failure().kind;
      bool transient = kind == kube::ApiError::kGone || kind == kube::ApiError::kTooManyRequests;
      if (!transient || attempts == kMaxAttempts) return std::move(page).failure();
      attempts++;
      base::Pause(call, std::min(page.failure().retry_after.value_or(seconds(0)), kMaxRetryAfter));
      restart();
      options.continue_token.clear();
      continue;
    }
    for (T& one : page->items) keep(std::move(one));
    options.continue_token = page->continue_token;
    if (options.continue_token.empty()) return kube::Done{};
  }
}

template <typename T>
kube::Answer<std::vector<T>> ListAll(const base::Call& call, const kube::ListOptions& options,
                                     const ListPage<T>& list) {
  std::vector<T> all;
  auto done = ForEachObject<T>(
      call, options, list, [&] { all.clear(); }, [&](T one) { all.push_back(std::move(one)); });
  if (!done) return std::move(done).failure();
  return all;
}

// The source of every Pod that ReadWorkloads hands over.
inline constexpr const char* kClusterSource = "cluster";

// Reads the workloads of a cluster as manifests are read. Hands over the images of every Deployment,
// StatefulSet, DaemonSet, CronJob, Job and Pod of `namespaces` (empty: of all), listed in pages. An object
// whose controller was read before is left out, and so are kubelet's static pods. Nothing is handed over
// before all is read.
kube::Answer<kube::Done> ReadWorkloads(const base::Call& call, kube::Api& api,
                                       const std::vector<std::string>& namespaces,
                                       const manifest::ReadOptions& options, doc::Problems& problems,
                                       const std::function<void(manifest::Manifests)>& take);

}  // namespace prefetch::ctl
