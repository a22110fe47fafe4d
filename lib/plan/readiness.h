// Readiness of the node, made of its entries' and of what concerns all of them. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "plan/snapshot.h"

namespace prefetch::plan {

// Images still count for this long after the runtime stopped answering.
constexpr std::chrono::minutes kRuntimeGrace{5};

struct NodeFacts {
  const ImageList& list;
  bool list_loaded = false;
  bool runtime_up = false;
  bool runtime_ever_up = false;
  std::optional<base::Duration> runtime_down_for;
  std::string runtime_error;
  bool has_kubelet = false;
  // A mistake of the credential provider configuration that makes kubelet exit; empty: none.
  std::string credentials_error;
};

// Completes `error`, of a runtime that does not answer, by the number of pulls that it may be ending: CRI-O
// finishes them before it stops (runtime rule C35).
std::string WithPullsUnderWay(std::string error, std::size_t pulls);

// The node's readiness from that of its entries.
Readiness Summarize(const NodeFacts& node, const std::vector<ImageState>& images);

}  // namespace prefetch::plan
