// Reads the answers of kubelet's own port: /configz and /metrics.

#include "fuzz/target.h"
#include "kube/kubelet_api.h"
#include "kubelet/node_facts.h"

FUZZ_TARGET(text) {
  namespace kubelet = prefetch::kubelet;
  kubelet::KubeletReport told{.config = {},
                              .gate = prefetch::kube::ParseKubeletMetrics(text).ensure_secret_pulled_images};
  if (auto config = kubelet::DecodeConfigz(text)) told.config = *std::move(config);
  kubelet::NodeFacts facts = kubelet::MakeNodeFacts({}, {}, {}, "", &told);
  // The facts describe a kubelet that could exist.
  if (!kubelet::PossibleSettings(facts.settings)) __builtin_trap();
}
