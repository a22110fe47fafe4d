#include "plan/readiness.h"

#include <optional>
#include <utility>

namespace prefetch::plan {
namespace {

Readiness NotReady(Readiness node, Phase phase, Reason reason, std::string message) {
  node.ready = false;
  node.phase = phase;
  node.reason = reason;
  node.message = std::move(message);
  return node;
}

// Returns the trouble of the runtime, or of the credentials; nullopt if there is none. For kRuntimeGrace
// after the runtime went away its images still count: a runtime that restarts takes nothing away.
std::optional<Readiness> NodeProblem(const NodeFacts& node, const Readiness& counts) {
  if (!node.runtime_ever_up || (node.runtime_down_for && *node.runtime_down_for >= kRuntimeGrace)) {
    bool starting = !node.runtime_ever_up && node.runtime_error.empty();
    return NotReady(counts, starting ? Phase::kProgressing : Phase::kFailing,
                    starting ? Reason::kFactsUnknown : Reason::kRuntimeDown,
                    starting ? "the container runtime has not answered yet" : node.runtime_error);
  }
  if (!node.credentials_error.empty()) {
    return NotReady(counts, Phase::kFailing, Reason::kCredentialsInvalid,
                    "the credential provider configuration cannot be used: " + node.credentials_error);
  }
  return std::nullopt;
}

std::string Count(std::size_t n, std::string_view singular, std::string_view plural) {
  return std::to_string(n) + " " + std::string(n == 1 ? singular : plural);
}

}  // namespace

std::string WithPullsUnderWay(std::string error, std::size_t pulls) {
  if (error.empty() || pulls == 0) return error;
  return std::move(error) + "; " + Count(pulls, "pull that it has begun", "pulls that it has begun") +
         " may still succeed: the agent starts no pull before the runtime lists its images";
}

Readiness Summarize(const NodeFacts& node, const std::vector<ImageState>& images) {
  Readiness out;
  std::size_t failing = 0;
  const ImageState* first_failing = nullptr;
  for (const ImageState& image : images) {
    if (!image.applies || !image.want->required) continue;
    out.required++;
    if (image.ready) out.required_ready++;
    if (image.phase == Phase::kFailing) {
      failing++;
      if (first_failing == nullptr) first_failing = &image;
    }
  }
  // The order is that of causes: without a list there are no entries, without a runtime none can be judged,
  // and an image that is missing may only be the consequence of either.
  if (!node.list_loaded) {
    return NotReady(out, Phase::kProgressing, Reason::kFactsUnknown, "the list has not been read yet");
  }
  // A missing mount looks like an empty folder, so a folder without a list file is not ready. A list file
  // without entries is valid.
  if (node.list.sources.empty()) {
    return NotReady(out, Phase::kFailing, Reason::kListEmptyOfSources,
                    "no list file (*.txt, *.yaml, *.yml, *.json) was found at the paths given with --list");
  }
  std::optional<Readiness> trouble = NodeProblem(node, out);
  for (const ListSource& source : node.list.sources) {
    // A source whose new version is invalid still has its last valid one in force, and holds nothing back.
    if (source.loaded_at) continue;
    // The invalid source is the reason, since it needs an operator. The node's trouble is kept beside it for
    // questions about the other sources (AskReady).
    if (trouble) {
      out.node_problem = std::move(trouble->message);
      out.node_reason = trouble->reason;
    }
    return NotReady(out, Phase::kFailing, Reason::kListInvalid,
                    "no valid version of " + source.name + " is known: " + source.error);
  }
  if (trouble) return *std::move(trouble);
  if (out.required_ready < out.required) {
    std::string message =
        Count(out.required - out.required_ready, "required image is", "required images are") + " not ready";
    if (first_failing != nullptr) {
      message += ", " + std::to_string(failing) + " failing: first " +
                 first_failing->want->reference.written() + " (" +
                 std::string(ReasonName(first_failing->reason)) + ")";
    }
    return NotReady(out, failing > 0 ? Phase::kFailing : Phase::kProgressing, Reason::kImagesNotReady,
                    message);
  }
  out.ready = true;
  out.phase = Phase::kReady;
  out.reason = images.empty() ? Reason::kEmptyList : Reason::kAllReady;
  out.message = images.empty()     ? "the list is empty"
                : node.has_kubelet ? "every required image is here, and kubelet lets pods use it"
                                   : "every required image is on the node";
  return out;
}

}  // namespace prefetch::plan
