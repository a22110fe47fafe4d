#include "screen/node_text.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "base/text.h"
#include "image/pod_coordinates.h"
#include "plan/image_readiness.h"
#include "screen/document_words.h"
#include "screen/text_layout.h"
#include "status/words.h"

namespace prefetch::screen {

namespace {

using status::kStateColumns;

bool IsNotWorthWaitingFor(const status::StatusImage* image) {
  return plan::KeepsFailing(image->settled, image->phase.value());
}

// Returns the required images that are missing, failures before slow pulls.
std::vector<const status::StatusImage*> MissingImages(const status::StatusDocument& document) {
  std::vector<const status::StatusImage*> missing;
  for (const status::StatusImage& image : document.images) {
    if (image.required && image.applies && !image.ready) missing.push_back(&image);
  }
  std::stable_partition(missing.begin(), missing.end(), [](const status::StatusImage* image) {
    return image->phase == plan::Phase::kFailing;
  });
  return missing;
}

std::string Ratio(const status::StatusDocument& document) {
  return std::to_string(document.required_ready) + " of " + std::to_string(document.required) + " ready";
}

// Returns the sum of all running pulls as one pull, which began with the first of them.
status::StatusPull SumOfPulls(const status::StatusDocument& document) {
  status::StatusPull sum;
  for (const status::StatusImage& image : document.images) {
    if (image.pull.state != plan::PullState::kPulling) continue;
    if (sum.state.empty() || (image.pull.started_at && image.pull.started_at < sum.started_at)) {
      sum.started_at = image.pull.started_at;
    }
    sum.state = image.pull.state;
    if (!image.pull.bytes_done) continue;
    sum.bytes_done = sum.bytes_done.value_or(0) + *image.pull.bytes_done;
    // A pull whose size is unknown adds what it has fetched and no total, so the sum stays an estimate.
    sum.bytes_total = sum.bytes_total.value_or(0) + image.pull.bytes_total.value_or(0);
    sum.bytes_per_second = sum.bytes_per_second.value_or(0) + image.pull.bytes_per_second.value_or(0);
  }
  return sum;
}

std::string ReasonText(const status::StatusImage& image, const status::StatusDocument& document) {
  std::string why = image.message;
  std::string progress =
      image.pull.state == plan::PullState::kPulling ? PullProgressText(image.pull, document.time) : "";
  if (!progress.empty()) why = progress;
  std::string retry = image.phase == plan::Phase::kFailing ? RetryText(image.pull, document.time) : "";
  if (!retry.empty()) why += (why.empty() ? "" : "; ") + retry;
  return why;
}

bool AwaitsWindow(const status::StatusImage& image) {
  return image.reason == plan::Reason::kOutsidePullWindow;
}

struct MissingTally {
  std::size_t pulling = 0, queued = 0, outside = 0, failing = 0, settled = 0;
  std::optional<base::WallTime> opens_at;              // the first pullWindow of `outside`; none: not known
  const status::StatusImage* first_failing = nullptr;  // a settled image, if there is one
};

MissingTally CountMissing(const status::StatusDocument& document) {
  MissingTally tally;
  for (const status::StatusImage* image : MissingImages(document)) {
    if (image->phase == plan::Phase::kFailing) {
      tally.failing++;
      if (tally.first_failing == nullptr) tally.first_failing = image;
      // A settled image is named before one that is still worth waiting for.
      if (!IsNotWorthWaitingFor(image)) continue;
      if (tally.settled++ == 0) tally.first_failing = image;
    } else if (image->pull.IsRunning()) {
      tally.pulling++;
    } else if (AwaitsWindow(*image)) {
      tally.outside++;
      const std::optional<base::WallTime>& opens = image->pull.next_attempt_at;
      if (opens && (!tally.opens_at || *opens < *tally.opens_at)) tally.opens_at = opens;
    } else {
      tally.queued++;
    }
  }
  return tally;
}

// "2 outside their pullWindow (opens in 5 h)".
std::string OutsideWindowText(const MissingTally& tally, const status::StatusDocument& document) {
  std::string words =
      std::to_string(tally.outside) + " outside " + (tally.outside == 1 ? "its" : "their") + " pullWindow";
  if (tally.opens_at && document.time) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(*tally.opens_at - *document.time);
    words += " (opens in " + base::HumanTime(std::max(left, std::chrono::seconds(0))) + ")";
  }
  return words;
}

}  // namespace

std::string WaitLine(const status::StatusDocument& document, std::size_t width) {
  MissingTally tally = CountMissing(document);
  std::string line = Ratio(document);
  if (tally.pulling > 0) {
    std::string progress = PullProgressText(SumOfPulls(document), document.time);
    line +=
        ", " + std::to_string(tally.pulling) + " pulling" + (progress.empty() ? "" : " (" + progress + ")");
  }
  if (tally.queued > 0) line += ", " + std::to_string(tally.queued) + " queued";
  if (tally.outside > 0) line += ", " + OutsideWindowText(tally, document);
  if (tally.first_failing != nullptr) {
    line += ", " + std::to_string(tally.failing) + " failing" +
            (tally.settled == 0 ? ""
                                : " (" + std::to_string(tally.settled) +
                                      (tally.settled == 1 ? " keeps failing)" : " keep failing)")) +
            ": " + status::WordsFor(tally.first_failing->reason.text()).state + " " +
            ShortImage(tally.first_failing->image, 40);
  }
  if (!document.ready && document.reason != plan::Reason::kImagesNotReady && !document.message.empty()) {
    line += ", " + base::ReplaceAll(document.message, "\n", " ");
  }
  return CutEnd(line, width);
}

// Returns a text that changes when a log should get a new line.
std::string WaitKey(const status::StatusDocument& document) {
  MissingTally tally = CountMissing(document);
  // Bytes and times are left out: they change with every poll, and each new key is a line in a log.
  std::string key = Ratio(document) + " " + document.reason.text() + " " + std::to_string(tally.settled);
  if (tally.outside > 0) key += " outside " + std::to_string(tally.outside);
  for (const status::StatusImage* image : MissingImages(document)) {
    if (image->phase == plan::Phase::kFailing) key += " " + image->reason.text() + " " + image->image;
  }
  return key;
}

std::vector<std::string> WaitDetails(const status::StatusDocument& document, std::size_t width,
                                     std::size_t most) {
  std::vector<std::string> lines;
  std::vector<const status::StatusImage*> images = MissingImages(document);
  std::erase_if(images, [](const status::StatusImage* image) {
    return image->phase != plan::Phase::kFailing && !image->pull.IsRunning() && !AwaitsWindow(*image);
  });
  for (const status::StatusImage* image : images) {
    // The last line counts the rest.
    if (lines.size() + 1 == most && images.size() > most) {
      lines.push_back(CutEnd("  … " + std::to_string(images.size() - lines.size()) + " more", width));
      break;
    }
    std::string why = base::ReplaceAll(ReasonText(*image, document), "\n", " ");
    lines.push_back(CutEnd("  " + PadRight(status::WordsFor(image->reason.text()).state, kStateColumns) +
                               "  " + ShortImage(image->image, 40) + "  " + why,
                           width));
  }
  return lines;
}

std::string OutcomeText(WaitOutcome end, const std::string& ratio, std::chrono::seconds waited) {
  switch (end) {
    case WaitOutcome::kReady:
      return "ready: " + ratio + ", after " + base::HumanTime(waited) + "\n";
    case WaitOutcome::kFailedFast:
      return "failed: " + ratio + "; an image keeps failing\n";
    case WaitOutcome::kTimedOut:
      return "timed out after " + base::HumanTime(waited) + ": " + ratio + "\n";
  }
  std::abort();
}

std::string WaitResult(const status::StatusDocument& document, WaitOutcome end, std::chrono::seconds waited,
                       std::size_t width) {
  std::string text = OutcomeText(end, Ratio(document) + " on node " + document.node, waited);
  if (end == WaitOutcome::kReady) return text;
  // The window opens too late for this wait.
  const MissingTally tally = CountMissing(document);
  if (tally.outside > 0) {
    text += Paragraph(OutsideWindowText(tally, document) + ": prefetchctl retry pulls at once", "  ", "    ",
                      std::max(width, kLeastWidth));
  }
  if (document.reason != plan::Reason::kImagesNotReady && !document.ready)
    text += Paragraph(document.message, "  ", "    ",
                      std::string::npos);  // in one line, since logs are searched for it
  const std::size_t whole = std::max(width, kLeastWidth);
  const std::string margin(kStateColumns + 4, ' ');
  for (const status::StatusImage* image : MissingImages(document)) {
    text += "  " + PadRight(status::WordsFor(image->reason.text()).state, kStateColumns) + "  " +
            ShortImage(image->image, whole - margin.size()) + "\n" +
            WrapIndented(ReasonText(*image, document), margin, margin, whole);
  }
  return text;
}

bool AllMissingSettled(const status::StatusDocument& document) {
  const std::vector<const status::StatusImage*> missing = MissingImages(document);
  // One image that may still come is worth waiting for.
  return !missing.empty() && std::ranges::all_of(missing, IsNotWorthWaitingFor);
}

bool AnyMissingSettled(const status::StatusDocument& document) {
  return std::ranges::any_of(MissingImages(document), IsNotWorthWaitingFor);
}

namespace {

constexpr const char* kReadyAsHidden =
    "the agent hides the pods (readyAs) for which it judged the image from callers without a token: whether "
    "other pods start is not known";

// Reasons that no agent gives: of a wait for a list or a policy that the agent's own list does not have.
constexpr const char* kNotListed = "NotListed";
constexpr const char* kWeakerDemand = "WeakerDemand";

// `judged` is a document or an image.
template <typename T>
void SetNotReady(T& judged, status::ReasonText reason, std::string message) {
  judged.ready = false;
  judged.phase = plan::Phase::kProgressing;
  judged.reason = std::move(reason);
  judged.message = std::move(message);
}

status::StatusImage MissingEntry(const plan::DesiredImage& desired) {
  status::StatusImage image;
  image.image = desired.reference.written();
  image.required = desired.required;
  image.phase = plan::Phase::kProgressing;
  image.reason = kNotListed;
  image.message = "not on the agent's list (yet)";
  image.pull.state = plan::PullState::kNone;
  return image;
}

// Returns true if pods of this policy may rely on the image, by the agent's document.
bool IsReadyFor(const status::StatusImage& image, image::PullPolicy policy) {
  if (image.ready && image.ready_for == policy) return true;
  // A pod that starts with Never also starts with IfNotPresent.
  if (image.ready && image.ready_for == image::PullPolicy::kNever &&
      policy == image::PullPolicy::kIfNotPresent)
    return true;
  const status::StatusVerdict& verdict =
      policy == image::PullPolicy::kNever ? image.verdicts.never : image.verdicts.if_not_present;
  return plan::IsReadyFor(policy, {.usable = image.present && image.usable,
                                   .result = verdict.result.value(),
                                   .agrees = image.registry && image.registry->agrees});
}

void MarkNotReady(status::StatusImage& image, status::ReasonText reason, std::string message) {
  SetNotReady(image, std::move(reason), std::move(message));
  // The agent's `settled` was about its own demand.
  image.settled = false;
}

std::string NotJudgedReason(const PodKey& wanted, const PodKeys& judged) {
  const char* not_known = ": whether such pods start is not known";
  if (!SpellingsOf(judged).contains(wanted.first)) {
    return "the agent's list does not write it as " + wanted.first + not_known;
  }
  return "the agent's list does not have it for pods " + image::DescribeCredentials(wanted.second) +
         not_known;
}

// Judges the image for the pods of this list alone. kubelet judges pods by spelling and credentials, so the
// spelling or readyAs of another source is neither this list's problem nor an answer to it.
status::StatusImage NarrowToPods(status::StatusImage image, const plan::DesiredImage& desired) {
  // Without records of kubelet, all pods are equal.
  if (!SpellingMatters(image)) return image;
  if (image.ready_as_hidden) {
    if (image.ready && image.applies) MarkNotReady(image, kWeakerDemand, kReadyAsHidden);
    return image;
  }
  const PodKeys judged = PodKeysOf(image);
  PodKeys matching;
  for (const PodKey& wanted : PodKeysOf(desired)) {
    if (auto pod = MatchingProfile(wanted, judged)) {
      matching.insert(*std::move(pod));
      continue;
    }
    if (image.ready && image.applies) MarkNotReady(image, kWeakerDemand, NotJudgedReason(wanted, judged));
    return image;
  }
  return NarrowedTo(std::move(image), matching);
}

// Applies the demand of the list that is waited for. If the agent's own list demands less, its "ready" is no
// answer, and the image counts as not ready with the reason.
status::StatusImage ApplyDemand(status::StatusImage image, const plan::DesiredImage& desired) {
  image = NarrowToPods(std::move(image), desired);
  // The agent's list asks for less than this list, so its "ready" does not answer the question.
  bool weaker = (desired.required && !image.required) ||
                image.refresh.value().value_or(plan::Refresh::kIfNotPresent) < desired.refresh ||
                IsForOtherNodes(desired, image) ||
                (image.ready && image.applies && !IsReadyFor(image, desired.ready_for));
  image.required = desired.required;
  if (!weaker) return image;
  // This list is not in force yet, and may not leave the node out.
  image.applies = true;
  MarkNotReady(image, kWeakerDemand, "the agent's list asks less of it than the list waited for");
  return image;
}

void ApplyList(status::StatusDocument& document, const plan::ImageList& list) {
  std::map<std::string, status::StatusImage> listed;
  for (status::StatusImage& image : document.images) {
    if (auto reference = image::Reference::Parse(image.image))
      listed.emplace(reference->Normalized(), std::move(image));
  }
  document.images.clear();
  for (const plan::DesiredImage& desired : list.images) {
    auto found = listed.find(desired.reference.Normalized());
    // The agent may not have read the newest list yet, so a missing entry is no failure.
    document.images.push_back(found == listed.end() ? MissingEntry(desired)
                                                    : ApplyDemand(std::move(found->second), desired));
  }
}

// Marks an image as not ready for pods with Always, which need the registry's agreement, too.
void MarkNotReadyForAlways(status::StatusImage& image) {
  if (image.registry) {
    MarkNotReady(image, image.registry->reason, image.registry->message);
  } else {
    MarkNotReady(
        image, plan::Reason::kPolicyAlways,
        "pods with Always contact the registry, and the agent does not ask it about this image: give it "
        "readyFor: Always, or a refresh, in the list");
  }
}

// Judges an image by another policy than the entry's own.
void ApplyPolicy(status::StatusImage& image, image::PullPolicy policy) {
  // These have their answer already.
  if (!image.applies || image.reason.text() == kNotListed || image.reason.text() == kWeakerDemand) return;
  bool met = IsReadyFor(image, policy);
  if (met == image.ready) return;
  if (!met && policy == image::PullPolicy::kAlways) {
    MarkNotReadyForAlways(image);
    return;
  }
  if (!met) {
    MarkNotReady(image, "NotForPolicy",
                 "pods with " + std::string(base::EnumName(policy)) + " cannot rely on it");
    return;
  }
  image.ready = true;
  image.phase = plan::Phase::kReady;
}

// Sets counts, phase and message by the images that are left.
void RecomputeReadiness(status::StatusDocument& document) {
  document.required = document.required_ready = 0;
  bool failing = false;
  for (const status::StatusImage& image : document.images) {
    if (!image.required || !image.applies) continue;
    document.required++;
    document.required_ready += image.ready ? 1 : 0;
    failing = failing || (!image.ready && image.phase == plan::Phase::kFailing);
  }
  document.ready = document.required_ready == document.required;
  document.phase = document.ready ? plan::Phase::kReady
                   : failing      ? plan::Phase::kFailing
                                  : plan::Phase::kProgressing;
  document.reason = document.ready ? plan::Reason::kAllReady : plan::Reason::kImagesNotReady;
  document.message = document.ready ? "every image waited for is on the node" : "";
}

}  // namespace

// The order matters: the images of the wanted list, the policy of its pods, the counts, and at last the hash
// of the list, which outweighs all.
status::StatusDocument NarrowTo(status::StatusDocument document, const WaitDemand& demand) {
  // Entries and sources of others do not matter to this wait, but the runtime does.
  bool about_images = document.ready || document.reason == plan::Reason::kImagesNotReady ||
                      (demand.list && document.reason == plan::Reason::kListInvalid);
  if (demand.list) ApplyList(document, *demand.list);
  if (demand.policy) {
    for (status::StatusImage& image : document.images) ApplyPolicy(image, *demand.policy);
  }
  if (about_images && (demand.list || demand.policy)) RecomputeReadiness(document);
  // Last, because it outweighs everything: readiness of another list says nothing.
  if (!demand.hash.empty() && demand.hash != document.list.hash) {
    SetNotReady(document, "OtherList",
                "the list in force is " +
                    (document.list.hash.empty() ? std::string("none") : document.list.hash) +
                    ", waiting for " + demand.hash);
  }
  return document;
}

}  // namespace prefetch::screen
