#include "screen/wait_view.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "image/pod_coordinates.h"
#include "image/reference.h"
#include "plan/image_readiness.h"
#include "screen/status_spellings.h"

namespace prefetch::screen {
namespace {

constexpr const char* kReadyAsHidden =
    "the agent hides the pods (readyAs) for which it judged the image from callers without a token: whether "
    "other pods start is not known";

void No(StatusDocument& document, std::string reason, std::string message) {
  document.ready = false;
  document.phase = "Progressing";
  document.reason = std::move(reason);
  document.message = std::move(message);
}

StatusImage NotListed(const plan::DesiredImage& want) {
  StatusImage image;
  image.image = want.reference.written();
  image.required = want.required;
  image.phase = "Progressing";
  image.reason = "NotListed";
  image.message = "not on the agent's list (yet)";
  image.pull.state = "None";
  return image;
}

// May pods of this policy rely on it, by the agent's document?
bool IsReadyFor(const StatusImage& image, image::PullPolicy policy) {
  if (image.ready && image.ready_for == image::PullPolicyName(policy)) return true;
  // A pod that starts with Never also starts with IfNotPresent.
  if (image.ready && image.ready_for == "Never" && policy == image::PullPolicy::kIfNotPresent) return true;
  const StatusVerdict& verdict = policy == image::PullPolicy::kNever ? image.never : image.if_not_present;
  return plan::IsReadyFor(policy, {.usable = image.present && image.usable,
                                   .result = kubelet::VerdictResultOf(verdict.result),
                                   .agrees = image.registry && image.registry->agrees});
}

void NotReady(StatusImage& image, std::string reason, std::string message) {
  image.ready = false;
  image.settled = false;
  image.phase = "Progressing";
  image.reason = std::move(reason);
  image.message = std::move(message);
}

std::string WhyNotJudged(const PodKey& wanted, const PodKeys& judged) {
  const char* not_known = ": whether such pods start is not known";
  if (!WrittenAs(judged).contains(wanted.first)) {
    return "the agent's list does not write it as " + wanted.first + not_known;
  }
  return "the agent's list does not have it for pods " + image::WithWords(wanted.second) + not_known;
}

// kubelet judges pods by their spelling and by their credentials: another source's spelling, or its readyAs,
// is neither this list's trouble nor a word about it.
StatusImage AsWritten(StatusImage image, const plan::DesiredImage& want) {
  if (!SpellingCounts(image)) return image;
  if (image.ready_as_hidden) {
    if (image.ready && image.applies) NotReady(image, "WeakerDemand", kReadyAsHidden);
    return image;
  }
  const PodKeys judged = PodKeysOf(image);
  PodKeys telling;
  for (const PodKey& wanted : PodKeysOf(want)) {
    if (auto pod = JudgedFor(wanted, judged)) {
      telling.insert(*std::move(pod));
      continue;
    }
    if (image.ready && image.applies) NotReady(image, "WeakerDemand", WhyNotJudged(wanted, judged));
    return image;
  }
  return NarrowedTo(std::move(image), telling);
}

StatusImage AsWanted(StatusImage image, const plan::DesiredImage& want) {
  image = AsWritten(std::move(image), want);
  bool weaker = (want.required && !image.required) ||
                (image.ready && image.applies && !IsReadyFor(image, want.ready_for));
  image.required = want.required;
  if (weaker) NotReady(image, "WeakerDemand", "the agent's list asks less of it than the list waited for");
  return image;
}

void KeepOnlyWanted(StatusDocument& document, const plan::ImageList& list) {
  std::map<std::string, StatusImage> listed;
  for (StatusImage& image : document.images) {
    if (auto reference = image::Reference::Parse(image.image))
      listed.emplace(reference->Normalized(), std::move(image));
  }
  document.images.clear();
  for (const plan::DesiredImage& want : list.images) {
    auto found = listed.find(want.reference.Normalized());
    document.images.push_back(found == listed.end() ? NotListed(want)
                                                    : AsWanted(std::move(found->second), want));
  }
}

// Pods with Always need more than an image that is ready: their registry's word.
void NotReadyForAlways(StatusImage& image) {
  if (image.registry) {
    NotReady(image, image.registry->reason, image.registry->message);
  } else {
    NotReady(image, "PolicyAlways",
             "pods with Always contact the registry, and the agent does not ask it about this image: give it "
             "readyFor: Always, or a refresh, in the list");
  }
}

// By another policy than the entries' own.
void JudgeFor(StatusImage& image, image::PullPolicy policy) {
  if (!image.applies || image.reason == "NotListed" || image.reason == "WeakerDemand") return;
  bool met = IsReadyFor(image, policy);
  if (met == image.ready) return;
  if (!met && policy == image::PullPolicy::kAlways) {
    NotReadyForAlways(image);
    return;
  }
  if (!met) {
    NotReady(image, "NotForPolicy",
             "pods with " + std::string(image::PullPolicyName(policy)) + " cannot rely on it");
    return;
  }
  image.ready = true;
  image.phase = "Ready";
}

// Counts, phase and message, from the images that are left.
void Conclude(StatusDocument& document) {
  document.required = document.required_ready = 0;
  bool failing = false;
  for (const StatusImage& image : document.images) {
    if (!image.required || !image.applies) continue;
    document.required++;
    document.required_ready += image.ready ? 1 : 0;
    failing = failing || (!image.ready && image.phase == "Failing");
  }
  document.ready = document.required_ready == document.required;
  document.phase = document.ready ? "Ready" : failing ? "Failing" : "Progressing";
  document.reason = document.ready ? "AllReady" : "ImagesNotReady";
  document.message = document.ready ? "every image waited for is on the node" : "";
}

}  // namespace

StatusDocument NarrowTo(StatusDocument document, const WaitDemand& demand) {
  // Other people's entries and sources do not matter; the runtime does.
  bool about_images = document.ready || document.reason == "ImagesNotReady" ||
                      (demand.list && document.reason == "ListInvalid");
  if (demand.list) KeepOnlyWanted(document, *demand.list);
  if (demand.policy) {
    for (StatusImage& image : document.images) JudgeFor(image, *demand.policy);
  }
  if (about_images && (demand.list || demand.policy)) Conclude(document);
  if (!demand.hash.empty() && demand.hash != document.list_hash) {
    No(document, "OtherList",
       "the list in force is " + (document.list_hash.empty() ? std::string("none") : document.list_hash) +
           ", waiting for " + demand.hash);
  }
  return document;
}

}  // namespace prefetch::screen
