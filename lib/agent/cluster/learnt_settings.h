// Facts about this node's kubelet from the threads beside the loop. The KubeletObserver reads them, and asks
// these threads for more.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "base/latest.h"
#include "kube/objects.h"
#include "kubelet/reported_by_kubelet.h"
#include "plan/version_estimate.h"

namespace prefetch::agent {

// The newest version from this Node's object. The VersionReader fills it, and the NodeGate whenever it reads
// the Node for reasons of its own.
using LearntVersion = base::Latest<plan::NodeReport>;

// The newest process of kubelet's that took the place of another one: the KubeletObserver sees it, and the
// VersionReader asks until the Node has been written by it.
using SeenStart = base::Latest<std::optional<plan::KubeletStart>>;

// The newest answer of kubelet's own port. The KubeletClient fills it. The same pointer means that nothing
// has changed; null: kubelet has not answered for a while.
using LearntSettings = base::Latest<std::shared_ptr<const kubelet::ReportedByKubelet>>;

// Time after the start at which a thread without an answer gives up; the agent then decides readiness without
// it.
constexpr std::chrono::seconds kLearnLimit{60};

plan::NodeReport NodeReportOf(const kube::Node& node);

}  // namespace prefetch::agent
