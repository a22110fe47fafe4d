// Summarize: readiness of the node, from that of its entries and the state of list, runtime and credentials.
// EvaluateReady: the answer of /readyz. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "image/reference.h"
#include "kubelet/records.h"
#include "plan/snapshot.h"

namespace prefetch::plan {

// Messages about kubelet and mounts that status, explain and readiness share.

// A file that was mounted by itself, and replaced on the node.
std::string StaleMountMessage(const std::string& file);

// The declared version of kubelet, and the one by its Node.
std::string VersionContradictionMessage(const std::string& declared, const std::string& by_node);

// Returns the text for KubeletStatus::records_note; empty if the records can be read. `gate_is_on`: the
// feature gate of each kubelet that may run here is on, so that it keeps records.
std::string RecordsNote(const std::string& root, kubelet::RecordsAccess access, bool gate_is_on);

// Images still count for this long after the runtime stopped answering.
constexpr std::chrono::minutes kRuntimeGrace{5};

struct NodeFacts {
  const ImageList& list;
  bool list_loaded = false;
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

// Returns the node's readiness. A node is ready if a list is loaded and has a source, each source has had a
// valid version, the runtime has answered within kRuntimeGrace, the credential provider configuration can be
// used, and all required entries are ready. The first condition that fails is the reason.
Readiness Summarize(const NodeFacts& node, const std::vector<ImageState>& images);

// ---- EvaluateReady: the answer of /readyz to a question with conditions.

struct ReadyQuestion {
  // For pods of this policy, instead of each entry's readyFor. The registry's directives (onStale and others)
  // count all the same.
  std::optional<image::PullPolicy> policy;
  // Only if the list in force has this hash ("sha256:…").
  std::string hash;
  // Only the entries of this source.
  std::string source;
};

struct ReadyAnswer {
  bool ready = false;
  std::string message;  // one sentence
  // The same for clients that the agent does not know: without texts from runtimes, registries and files.
  std::string public_message;
  // The entries that the question is about. They live as long as the Snapshot.
  std::vector<const ImageState*> entries;
};

// Answers a question about readiness, with the first obstacle as its message. Pure.
ReadyAnswer EvaluateReady(const Snapshot& snapshot, const ReadyQuestion& query);

}  // namespace prefetch::plan
