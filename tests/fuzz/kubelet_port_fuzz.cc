// Reads the answers of kubelet's own port: /configz and /metrics.
#include <cstdint>

#include "kube/kubelet_api.h"
#include "kubelet/node_facts.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace kubelet = prefetch::kubelet;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  kubelet::KubeletReport told{.config = {},
                              .gate = prefetch::kube::ParseKubeletMetrics(text).ensure_secret_pulled_images,
                              .remarks = {}};
  if (auto config = kubelet::DecodeConfigz(text)) told.config = *std::move(config);
  kubelet::NodeFacts facts = kubelet::MakeNodeFacts({}, {}, {}, "", &told);
  // The facts describe a kubelet that could exist.
  if (!kubelet::PossibleSettings(facts.settings)) __builtin_trap();
  return 0;
}
