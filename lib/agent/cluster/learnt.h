// What the threads beside the loop learn of this node's kubelet, for the KubeletObserver to read.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "base/latest.h"
#include "image/kubelet_version.h"
#include "kubelet/told_by_kubelet.h"

namespace prefetch::agent {

// kubelet's version as its Node object has it. The NodeGate fills it.
using LearntVersion = base::Latest<std::optional<image::KubeletVersion>>;

// What kubelet's own port has told last. The KubeletAsker fills it. The same pointer means that nothing has
// changed; null: kubelet has not answered for a while.
using LearntSettings = base::Latest<std::shared_ptr<const kubelet::ToldByKubelet>>;

// Who has not learnt anything so long after the start gives up: the node's readiness is then decided without
// it.
constexpr std::chrono::seconds kLearnLimit{60};

}  // namespace prefetch::agent
