#include "plan/ready_question.h"

#include <algorithm>

#include "plan/image_readiness.h"

namespace prefetch::plan {
namespace {

const ListSource* FindSource(const ImageList& list, const std::string& name) {
  auto found = std::find_if(list.sources.begin(), list.sources.end(),
                            [&](const ListSource& source) { return source.name == name; });
  return found == list.sources.end() ? nullptr : &*found;
}

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

ReadyAnswer No(ReadyAnswer answer, std::string why, std::string public_why) {
  answer.ready = false;
  answer.message = std::move(why);
  answer.public_message = std::move(public_why);
  return answer;
}
// Every caller may hear such a reason: it names only what the caller wrote, and the agent's own terms.
ReadyAnswer No(ReadyAnswer answer, const std::string& why) {
  return No(std::move(answer), why, why);
}

}  // namespace

ReadyAnswer AskReady(const Snapshot& snapshot, const ReadyQuestion& query) {
  ReadyAnswer answer;
  for (const ImageState& image : snapshot.images) {
    if (query.source.empty() || Has(image.want->sources, query.source)) answer.entries.push_back(&image);
  }
  // The hash comes first: the caller has rolled out a new list, and any answer about the old one would
  // mislead it.
  if (!query.hash.empty() && query.hash != snapshot.list.hash) {
    return No(answer, "the list in force is " +
                          (snapshot.list.hash.empty() ? std::string("none") : snapshot.list.hash) + ", not " +
                          query.hash);
  }
  if (!query.source.empty()) {
    const ListSource* source = FindSource(snapshot.list, query.source);
    if (source == nullptr) return No(answer, "there is no source " + query.source + " in the list");
    const std::string unknown = "no valid version of " + query.source + " is known";
    if (!source->loaded_at) return No(answer, unknown + ": " + source->error, unknown);
  }
  // Problems of the whole node (the list, the runtime) come before any entry. An invalid list of another
  // source does not concern a question about one source.
  bool only_entries_missing = snapshot.readiness.ready ||
                              snapshot.readiness.reason == Reason::kImagesNotReady ||
                              (!query.source.empty() && snapshot.readiness.reason == Reason::kListInvalid);
  if (!only_entries_missing) {
    return No(answer, snapshot.readiness.message, std::string(ReasonName(snapshot.readiness.reason)));
  }
  if (!snapshot.readiness.node_problem.empty()) {
    return No(answer, snapshot.readiness.node_problem,
              std::string(ReasonName(snapshot.readiness.node_reason)));
  }
  std::size_t missing = 0;
  const ImageState* first = nullptr;
  for (const ImageState* image : answer.entries) {
    // A policy replaces the entry's readyFor. The registry's directives still count, since they hold for
    // every policy.
    bool met = query.policy && image->applies
                   ? IsReadyFor(*image, *query.policy, snapshot.kubelet.has_value()) &&
                         (!image->registry || image->registry->in_order)
                   : image->ready;
    if (met || !image->want->required) continue;
    if (missing++ == 0) first = image;
  }
  if (first != nullptr) {
    Reason reason = first->reason;
    if (query.policy == image::PullPolicy::kAlways && first->usable) {
      if (!first->registry) {
        return No(answer, "pods with Always contact the registry, and the agent does not ask it about " +
                              first->want->reference.written() +
                              ": give it readyFor: Always, or a refresh, in the list");
      }
      if (!first->registry->agrees) reason = first->registry->always_reason;
    }
    return No(answer, std::to_string(missing) +
                          (missing == 1 ? " required image is" : " required images are") +
                          " not ready: first " + first->want->reference.written() + " (" +
                          std::string(ReasonName(reason)) + ")");
  }
  answer.ready = true;
  answer.message =
      snapshot.readiness.ready ? snapshot.readiness.message : "every required image that was asked for is";
  answer.public_message = answer.message;
  return answer;
}

}  // namespace prefetch::plan
