#include "plan/readiness.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "plan/image_readiness.h"

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

}  // namespace

std::string WithPullsUnderWay(std::string error, std::size_t pulls) {
  if (error.empty() || pulls == 0) return error;
  return std::move(error) + "; " + base::Plural(pulls, "pull that it has begun", "pulls that it has begun") +
         " may still succeed: the agent starts no pull before the runtime lists its images";
}

Readiness Summarize(const NodeFacts& node, const std::vector<ImageState>& images) {
  Readiness out;
  std::size_t failing = 0;
  const ImageState* first_failing = nullptr;
  for (const ImageState& image : images) {
    if (!image.applies || !image.desired->required) continue;
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
    // questions about the other sources (EvaluateReady).
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
        base::Plural(out.required - out.required_ready, "required image is", "required images are") +
        " not ready";
    if (first_failing != nullptr) {
      message += ", " + std::to_string(failing) + " failing: first " +
                 first_failing->desired->reference.written() + " (" +
                 std::string(base::EnumName(first_failing->reason)) + ")";
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

std::string StaleMountMessage(const std::string& file) {
  return file +
         " was replaced on the node, and the agent still has the old file mounted: restart the agent's pod, "
         "and mount the folder instead of the file";
}

std::string VersionContradictionMessage(const std::string& declared, const std::string& by_node) {
  return "declared version " + declared + ", but the Node says " + by_node;
}

std::string RecordsNote(const std::string& root, kubelet::RecordsAccess access, bool gate_is_on) {
  switch (access) {
    case kubelet::RecordsAccess::kReadable:
      return "";
    case kubelet::RecordsAccess::kNoFolder:
      if (!gate_is_on) return "";
      return root +
             "/image_manager is not there, so kubelet has recorded nothing yet, or its root directory is "
             "another one: name it with --kubelet-root";
    case kubelet::RecordsAccess::kNoRoot:
      return "kubelet's root directory " + root +
             " is not there: mount it, name it with --kubelet-root, or declare --kubelet=none where no "
             "kubelet runs";
    case kubelet::RecordsAccess::kForbidden:
      return "kubelet's records in " + root +
             "/image_manager may not be read by this process: it needs to run as root";
    case kubelet::RecordsAccess::kReplaced:
      return root +
             "/image_manager was deleted while it was mounted here, so kubelet's records cannot be seen: the "
             "agent ends, and reads the new folder after its restart";
  }
  return "";
}

namespace {

const ListSource* FindSource(const ImageList& list, const std::string& name) {
  auto found = std::find_if(list.sources.begin(), list.sources.end(),
                            [&](const ListSource& source) { return source.name == name; });
  return found == list.sources.end() ? nullptr : &*found;
}

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

ReadyAnswer NotReadyAnswer(ReadyAnswer answer, std::string why, std::string public_why) {
  answer.ready = false;
  answer.message = std::move(why);
  answer.public_message = std::move(public_why);
  return answer;
}
// Every caller may hear such a reason: it names only what the caller wrote, and the agent's own terms.
ReadyAnswer NotReadyAnswer(ReadyAnswer answer, const std::string& why) {
  return NotReadyAnswer(std::move(answer), why, why);
}

// Names the first of `missing` images that are not ready.
std::string MissingMessage(const ImageState& first, std::size_t missing, const ReadyQuestion& query) {
  Reason reason = first.reason;
  if (query.policy == image::PullPolicy::kAlways && first.usable) {
    if (!first.registry) {
      return "pods with Always contact the registry, and the agent does not ask it about " +
             first.desired->reference.written() + ": give it readyFor: Always, or a refresh, in the list";
    }
    if (!first.registry->agrees) reason = first.registry->always_reason;
  }
  return base::Plural(missing, "required image is", "required images are") + " not ready: first " +
         first.desired->reference.written() + " (" + std::string(base::EnumName(reason)) + ")";
}

}  // namespace

ReadyAnswer EvaluateReady(const Snapshot& snapshot, const ReadyQuestion& query) {
  ReadyAnswer answer;
  for (const ImageState& image : snapshot.images) {
    if (query.source.empty() || Has(image.desired->sources, query.source)) answer.entries.push_back(&image);
  }
  // The hash comes first: the caller has rolled out a new list, and any answer about the old one would
  // mislead it.
  if (!query.hash.empty() && query.hash != snapshot.list.hash) {
    return NotReadyAnswer(
        answer, "the list in force is " +
                    (snapshot.list.hash.empty() ? std::string("none") : snapshot.list.hash) + ", not " +
                    query.hash);
  }
  if (!query.source.empty()) {
    const ListSource* source = FindSource(snapshot.list, query.source);
    if (source == nullptr)
      return NotReadyAnswer(answer, "there is no source " + query.source + " in the list");
    const std::string unknown = "no valid version of " + query.source + " is known";
    if (!source->loaded_at) return NotReadyAnswer(answer, unknown + ": " + source->error, unknown);
  }
  // Problems of the whole node (the list, the runtime) come before any entry. An invalid list of another
  // source does not concern a question about one source.
  bool only_entries_missing = snapshot.readiness.ready ||
                              snapshot.readiness.reason == Reason::kImagesNotReady ||
                              (!query.source.empty() && snapshot.readiness.reason == Reason::kListInvalid);
  if (!only_entries_missing) {
    return NotReadyAnswer(answer, snapshot.readiness.message,
                          std::string(base::EnumName(snapshot.readiness.reason)));
  }
  if (!snapshot.readiness.node_problem.empty()) {
    return NotReadyAnswer(answer, snapshot.readiness.node_problem,
                          std::string(base::EnumName(snapshot.readiness.node_reason)));
  }
  std::size_t missing = 0;
  const ImageState* first = nullptr;
  for (const ImageState* image : answer.entries) {
    // A policy replaces the entry's readyFor. The registry's directives still count, since they hold for
    // every policy.
    bool met = query.policy && image->applies
                   ? IsReadyFor(*image, *query.policy, snapshot.kubelet.has_value()) &&
                         (!image->registry || image->registry->acceptable)
                   : image->ready;
    if (met || !image->desired->required) continue;
    if (missing++ == 0) first = image;
  }
  if (first != nullptr) return NotReadyAnswer(answer, MissingMessage(*first, missing, query));
  answer.ready = true;
  answer.message =
      snapshot.readiness.ready ? snapshot.readiness.message : "every required image that was asked for is";
  answer.public_message = answer.message;
  return answer;
}

}  // namespace prefetch::plan
