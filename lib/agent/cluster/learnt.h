// What the threads beside the loop learn of this node's kubelet, for the KubeletObserver to read, and what it
// wants of them.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "base/latest.h"
#include "kube/objects.h"
#include "kubelet/told_by_kubelet.h"
#include "plan/version_belief.h"

namespace prefetch::agent {

// What this Node's object has told last. The VersionReader fills it, and the NodeGate whenever it reads the
// Node for reasons of its own.
using LearntVersion = base::Latest<plan::NodeWord>;

// The newest process of kubelet's that took the place of another one: the KubeletObserver sees it, and the
// VersionReader asks until the Node has been written by it.
using SeenStart = base::Latest<std::optional<plan::KubeletStart>>;

// What kubelet's own port has told last. The KubeletAsker fills it. The same pointer means that nothing has
// changed; null: kubelet has not answered for a while.
using LearntSettings = base::Latest<std::shared_ptr<const kubelet::ToldByKubelet>>;

// Who has not learnt anything so long after the start gives up: the node's readiness is then decided without
// it.
constexpr std::chrono::seconds kLearnLimit{60};

plan::NodeWord WordOf(const kube::Node& node);

}  // namespace prefetch::agent
