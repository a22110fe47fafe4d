// The workloads of a cluster, read as manifests are.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/call.h"
#include "kube/api.h"
#include "manifest/read.h"

namespace prefetch::ctl {

// The source of every Pod that ReadWorkloads hands over.
inline constexpr const char* kClusterSource = "cluster";

// Hands over the images of every Deployment, StatefulSet, DaemonSet, CronJob, Job and Pod of `namespaces`
// (empty: of all), which the API server hands out in pages. An object whose controller was read before is
// left out, and so are kubelet's static pods. Nothing is handed over before all is read.
kube::Answer<kube::Done> ReadWorkloads(const base::Call& call, kube::Api& api,
                                       const std::vector<std::string>& namespaces,
                                       const manifest::ReadOptions& options, doc::Problems& problems,
                                       const std::function<void(manifest::Manifests)>& take);

}  // namespace prefetch::ctl
