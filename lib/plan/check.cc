#include "plan/check.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/enum_name.h"
#include "plan/history.h"
#include "plan/image_readiness.h"

namespace prefetch::plan {

namespace {

using image::PullPolicy;
using image::RegistryAnswer;
using image::RegistryAnswerKind;
using kubelet::VerdictReason;
using kubelet::VerdictResult;

// `ok` stays false here. Passes() alone sets it where there is no kubelet, so that no branch reports
// success by omission.
CheckDecision MakeDecision(const CheckFacts& facts, VerdictResult result, CheckReason reason,
                           std::string message) {
  return {.listed = facts.listed, .result = result, .reason = reason, .message = std::move(message)};
}

CheckDecision Passes(CheckDecision decision) {
  decision.ok = true;
  return decision;
}

CheckStep Need(CheckNeed need) {
  return {.need = need, .decision = {}};
}
CheckStep Decided(CheckDecision decision) {
  return {.need = CheckNeed::kNothing, .decision = std::move(decision)};
}

CheckDecision RuntimeDownDecision(const CheckFacts& facts, const std::string& error) {
  return MakeDecision(facts, VerdictResult::kUnknown, Reason::kRuntimeDown,
                      error.empty() ? "the container runtime has not answered yet"
                                    : "the container runtime could not be asked: " + error);
}

CheckDecision ByPresence(const CheckFacts& facts, const ImageState& image) {
  const PresenceVerdict node_verdict = VerdictWithoutKubelet(image, facts.policy);
  if (node_verdict.result == VerdictResult::kStarts) {
    return Passes(MakeDecision(facts, node_verdict.result, node_verdict.reason,
                               "on the node; there is no kubelet here that could refuse it"));
  }
  return MakeDecision(facts, node_verdict.result, node_verdict.reason, "not usable here: " + image.message);
}

// kubelet's verdict counts, unless the image itself cannot be used here.
CheckDecision ByKubelet(const CheckFacts& facts, const ImageState& image) {
  const kubelet::Verdict& node_verdict = *facts.verdict;
  CheckDecision decision =
      MakeDecision(facts, node_verdict.result, CheckReasonFor(node_verdict.reason), node_verdict.message);
  decision.rule = node_verdict.rule;
  // kubelet knows the image's name and record only. Whether the image is for this platform and unpacked is
  // the agent's own knowledge.
  decision.ok = node_verdict.result == VerdictResult::kStarts && image.usable;
  if (node_verdict.result == VerdictResult::kStarts && !image.usable) {
    // kubelet would use it, and the container would not run.
    decision.reason = image.reason;
    decision.message = image.message;
  } else if (node_verdict.reason == VerdictReason::kImageAbsent && facts.listed) {
    decision.message += " prefetchd: " + image.message;
  }
  return decision;
}

std::string AlwaysMessage(const std::string& rest) {
  return "imagePullPolicy Always contacts the registry at every start" + rest;
}
// "…, and WHAT", for a pod that fails or waits though the image may be here.
std::string BlockedMessage(const ImageState& image, const std::string& what) {
  return AlwaysMessage(", and " + what +
                       (image.present ? "; that the image is on the node does not help" : ""));
}

// An answer that keeps a pod from pulling, in words that follow "…, and ".
struct Obstacle {
  VerdictResult result;
  Reason reason;
  std::string what;
};

// nullopt: kSame and kMoved, which give access to a tag that is there.
std::optional<Obstacle> ObstacleOf(const CheckFacts& facts) {
  const RegistryAnswer& answer = *facts.registry;
  const std::string words = answer.message.empty() ? "" : ": " + answer.message;
  const std::string silent = "it does not answer now" + words;
  switch (answer.kind) {
    case RegistryAnswerKind::kSame:
    case RegistryAnswerKind::kMoved:
      return std::nullopt;
    case RegistryAnswerKind::kTagMissing:
      return Obstacle{VerdictResult::kRefused, Reason::kTagMissing,
                      "the registry has no " + facts.image + words};
    case RegistryAnswerKind::kAccessDenied:
      // The agent asks with this node's credentials. If the pod has its own, the denial proves nothing about
      // the pod.
      if (!facts.own_credentials) {
        return Obstacle{VerdictResult::kRefused, Reason::kAccessDenied,
                        "it denies access to this node's credentials" + words};
      }
      return Obstacle{
          VerdictResult::kUnknown, Reason::kAccessDenied,
          "it denies access to this node's credentials; the pod's own credentials are not tested" + words};
    // Silence and limits are facts about this moment, not about the pod: the result stays unknown.
    case RegistryAnswerKind::kRateLimited:
      return Obstacle{VerdictResult::kUnknown, Reason::kRateLimited, silent};
    case RegistryAnswerKind::kUnreachable:
      return Obstacle{VerdictResult::kUnknown, Reason::kUnreachable, silent};
    case RegistryAnswerKind::kServerError:
      return Obstacle{VerdictResult::kUnknown, Reason::kServerError, silent};
    case RegistryAnswerKind::kIndeterminate:
      return Obstacle{VerdictResult::kUnknown, Reason::kIndeterminate,
                      answer.only_by_pull ? "the registry can only be asked by pulling" + words
                                          : "its answer cannot be compared with the node's image" + words};
  }
  std::abort();
}

// kubelet pulls for the pod. The pod passes, with any policy, if the registry has the tag and gives access.
// `pulls` says why the pod has to wait for a pull.
CheckDecision PullByAnswer(const CheckFacts& facts, CheckDecision pulls) {
  if (auto obstacle = ObstacleOf(facts)) {
    pulls.result = obstacle->result;
    pulls.reason = obstacle->reason;
    pulls.message =
        "the pod must contact the registry, and " + obstacle->what + ". The reason: " + pulls.message;
    return pulls;
  }
  pulls.message +=
      " Asked just now, the registry has it and gives this node access: the pod waits for a pull.";
  return Passes(std::move(pulls));
}

// Judges a pod with Always by the registry's answer to this very question (K4).
CheckDecision AlwaysByAnswer(const CheckFacts& facts, const ImageState& image) {
  if (auto obstacle = ObstacleOf(facts)) {
    return MakeDecision(facts, obstacle->result, obstacle->reason, BlockedMessage(image, obstacle->what));
  }
  if (facts.registry->kind == RegistryAnswerKind::kMoved) {
    return PullByAnswer(
        facts,
        MakeDecision(facts, VerdictResult::kPulls, image.present ? Reason::kTagMoved : Reason::kImageAbsent,
                     AlwaysMessage(image.present ? "; the tag has changed since the node pulled it."
                                                 : "; it is not on the node.")));
  }
  if (!image.usable) return MakeDecision(facts, VerdictResult::kPulls, image.reason, image.message);
  return Passes(MakeDecision(facts, VerdictResult::kPulls, Reason::kUpToDate,
                             AlwaysMessage("; it gives access now, and the tag names the node's image")));
}

// Judges a pod with Always by the registry's last answer. This question sends no request: the caller may not
// cause one, or the agent asks no registry.
CheckDecision AlwaysByLastAnswer(const CheckFacts& facts, const ImageState& image) {
  if (!facts.asks_registries) {
    return MakeDecision(facts, VerdictResult::kPulls, Reason::kPolicyAlways,
                        AlwaysMessage(", and this agent asks no registry"));
  }
  if (!image.registry) {
    return MakeDecision(
        facts, VerdictResult::kPulls, Reason::kPolicyAlways,
        AlwaysMessage(", and the answer here has only known facts: ask over the agent's socket, or give "
                      "the entry readyFor: Always"));
  }
  // An answer that only one pod's credential could get says nothing about other pods.
  const bool restricted = image.registry->restricted || image.origin.exposed;
  if (image.usable && image.registry->agrees && restricted) {
    const std::string others = ", and the agent got its answer with a credential that not every pod has";
    if (!facts.own_credentials) {
      return MakeDecision(facts, VerdictResult::kPulls, Reason::kPolicyAlways, AlwaysMessage(others));
    }
    // The pod's credentials are known by the client's word only, and the agent cannot try them.
    return MakeDecision(facts, VerdictResult::kUnknown, Reason::kPolicyAlways,
                        AlwaysMessage(others + "; the pod's own credentials are not tested"));
  }
  if (image.usable && image.registry->agrees) {
    return Passes(MakeDecision(facts, VerdictResult::kPulls, Reason::kUpToDate,
                               AlwaysMessage("; it agreed at the agent's last question")));
  }
  return MakeDecision(facts, VerdictResult::kPulls, image.registry->always_reason,
                      AlwaysMessage(": " + image.registry->always_message));
}

CheckStep DecideAlways(const CheckFacts& facts, const ImageState& image) {
  // A question to the registry uses the node's credentials and counts against its limits, so it needs a
  // right.
  if (!facts.asks_registries || !facts.rights.registry) return Decided(AlwaysByLastAnswer(facts, image));
  return facts.registry ? Decided(AlwaysByAnswer(facts, image)) : Need(CheckNeed::kRegistry);
}

// Decides for Never and IfNotPresent. A pod with IfNotPresent may still need the registry, if kubelet pulls.
CheckStep DecideNonAlways(const CheckFacts& facts, const ImageState& image) {
  if (facts.kubelet == CheckKubelet::kNotKnown) {
    return Decided(MakeDecision(facts, VerdictResult::kUnknown, Reason::kFactsUnknown,
                                "kubelet's verdict is not known yet"));
  }
  const bool none = facts.kubelet == CheckKubelet::kNone;
  if (!none && !facts.verdict) return Need(CheckNeed::kVerdict);
  CheckDecision decision = none ? ByPresence(facts, image) : ByKubelet(facts, image);
  // An image that is present and not usable (another platform, an artifact) would be the same after kubelet's
  // pull, so the registry's answer would not change the decision.
  const bool pull_helps = decision.result == VerdictResult::kPulls && (image.usable || !image.present);
  if (!pull_helps || !facts.asks_registries || !facts.rights.registry) return Decided(std::move(decision));
  return facts.registry ? Decided(PullByAnswer(facts, std::move(decision))) : Need(CheckNeed::kRegistry);
}

// Returns true if a pod that pulls by itself would fare no better than this node's failed pull.
bool HoldsForPods(const CheckFacts& facts, const ImageState& image) {
  if (facts.policy == PullPolicy::kNever) return true;  // it does not pull
  if (image.pull.lacked_credential) return false;       // kubelet's own run of the plugin may succeed
  if (image.reason == Reason::kAccessDenied || image.reason == Reason::kBadCredentialFormat) {
    // Only the pod's own credentials could succeed where the node's were denied.
    return !facts.own_credentials;
  }
  return IsRetriedLate(image.reason);
}

CheckDecision Pending(const CheckFacts& facts, Reason reason, std::string message) {
  CheckDecision decision = MakeDecision(facts, VerdictResult::kUnknown, reason, std::move(message));
  decision.pending = true;
  return decision;
}

constexpr const char* kWaitsForItsTurn = "its pull waits for its turn";

CheckDecision PullIsPending(const CheckFacts& facts, const ImageState& image) {
  if (image.pull.state == PullState::kPulling || image.pull.state == PullState::kUnpacking) {
    CheckDecision decision = Pending(facts, image.reason, "it is being pulled");
    if (image.pull.bytes_known) decision.progress = image.pull;
    return decision;
  }
  if (image.pull.state == PullState::kWaiting) {
    return Pending(facts, image.reason, "pulling it has failed and is tried again: " + image.message);
  }
  if (image.reason == Reason::kQueued || image.reason == Reason::kOutsidePullWindow)
    return Pending(facts, image.reason, "its pull " + image.message);
  return Pending(facts, image.reason, kWaitsForItsTurn);
}

// Returns true if the message of an entry in this state is always the agent's own text. The list names what
// is safe, so a new Reason is hidden from pods until it is added.
bool IsOwnSentence(Reason reason) {
  using enum Reason;
  return base::IsOneOf(reason,
                       {kPresent, kQueued, kPulling, kUnpacking, kImageAbsent, kFactsUnknown, kNotUnpacked,
                        kNotAnImage, kDiskPressure, kEvictedByKubelet, kOutsidePullWindow});
}

std::string FixedSentence(Reason reason) {
  return "the agent reports " + std::string(base::EnumName(reason));
}

// Returns the same without texts of registries, runtimes, plugins and API servers. Such a text may repeat
// what the node sent, and a pod may read it.
ImageState RedactForPods(ImageState image) {
  if (!IsOwnSentence(image.reason)) image.message = FixedSentence(image.reason);
  // The view is shared with the Snapshot, so it is copied before the change.
  if (image.registry) {
    RegistryView view = *image.registry;
    view.always_message = FixedSentence(view.always_reason);
    image.registry = std::make_shared<const RegistryView>(std::move(view));
  }
  return image;
}
CheckFacts RedactForPods(CheckFacts facts) {
  constexpr const char* kSilent = "it does not answer";
  if (facts.registry) facts.registry->message.clear();
  if (!facts.runtime_error.empty()) facts.runtime_error = kSilent;
  if (!facts.runtime) return facts;
  if (facts.runtime->error) facts.runtime->error = kSilent;
  if (facts.runtime->image) facts.runtime->image = RedactForPods(*std::move(facts.runtime->image));
  return facts;
}

CheckStep Decide(const CheckFacts& facts) {
  if (!facts.reference) {
    // K3: kubelet refuses such a name for every policy, so no other fact is needed.
    return Decided(MakeDecision(facts, VerdictResult::kRefused, PodReason::kInvalidImageName,
                                "kubelet refuses the name (InvalidImageName): " + facts.name_error));
  }
  if (!facts.listed && !facts.rights.unlisted) {
    // This comes before any question to the runtime: a caller without the right must not learn whether an
    // unlisted image is on the node.
    return Decided(MakeDecision(facts, VerdictResult::kUnknown, PodReason::kNotListed,
                                "it is not on this node's list, so the agent does not keep it here"));
  }
  if (!facts.runtime) return Need(CheckNeed::kRuntime);
  if (!facts.runtime->image) return Decided(RuntimeDownDecision(facts, facts.runtime->error.value_or("")));
  const ImageState& image = *facts.runtime->image;
  // An entry for other platforms is not pulled here: the image could not run on this node.
  if (facts.rights.pull && !image.present && image.applies) return Need(CheckNeed::kPull);
  if (facts.runtime->error && IsUnreported(image, facts.runtime_down)) {
    // The last report does not count any more, or there was none. Guessing from it would call an image absent
    // that the runtime still has.
    return Decided(RuntimeDownDecision(facts, facts.runtime_error));
  }
  CheckStep step =
      facts.policy == PullPolicy::kAlways ? DecideAlways(facts, image) : DecideNonAlways(facts, image);
  if (facts.runtime->error && step.need == CheckNeed::kNothing) {
    // A runtime that restarts takes nothing away, but the caller should know.
    step.decision.message += " The runtime does not answer: this result is from the last look at its images.";
  }
  return step;
}

std::optional<CheckDecision> EvaluateRequestedPull(const CheckFacts& facts, const ImageState& image) {
  switch (StateOfRequested(image)) {
    case RequestedState::kPending:
      return PullIsPending(facts, image);
    case RequestedState::kPresent:
      return std::nullopt;
    case RequestedState::kFailed:
      return MakeDecision(
          facts, HoldsForPods(facts, image) ? VerdictResult::kRefused : VerdictResult::kUnknown, image.reason,
          "it is not on the node, and this node could not pull it" +
              (facts.redact_messages ? "" : ": " + image.message));
  }
  std::abort();
}

}  // namespace

std::vector<std::string> CheckReasonNames() {
  std::vector<std::string> names = base::NamesOf<Reason>();
  names.insert(names.end(), base::EnumNames<PodReason>::kNames.begin(),
               base::EnumNames<PodReason>::kNames.end());
  return names;
}

std::string_view CheckReasonName(CheckReason reason) {
  return std::visit([](auto one) { return base::EnumName(one); }, reason);
}

CheckReason CheckReasonFor(VerdictReason reason) {
  if (reason == VerdictReason::kInvalidImageName) return PodReason::kInvalidImageName;
  return ReasonFor(reason);
}

bool IsUnreported(const ImageState& image, bool runtime_down) {
  return runtime_down || (!image.present && IsUnknown(image.reason));
}

CheckStep DecideCheck(const CheckFacts& facts) {
  return facts.redact_messages ? Decide(RedactForPods(facts)) : Decide(facts);
}

std::optional<CheckDecision> DecisionForPull(const CheckFacts& facts, const ImageState* image) {
  if (image == nullptr) return Pending(facts, Reason::kQueued, kWaitsForItsTurn);
  return EvaluateRequestedPull(facts, facts.redact_messages ? RedactForPods(*image) : *image);
}

bool IsWorthAnotherCheck(RegistryAnswerKind kind) {
  using enum RegistryAnswerKind;
  return base::IsOneOf(kind, {kTagMissing, kAccessDenied, kRateLimited, kUnreachable, kServerError});
}

bool AwaitsRetry(const ImageState& image) {
  if (!image.applies) return false;
  const PullState state = image.pull.state;
  if (state == PullState::kWaiting || state == PullState::kFailed) return true;
  if (image.pull.next_attempt_at) return true;  // its pull waits for the window
  if (image.pull.held) return true;             // it may not have failed itself
  return image.registry && image.registry->answer && IsWorthAnotherCheck(*image.registry->answer);
}

Action DecideRequested(const Observation& seen, const History& past, base::TimePoint requested_until,
                       base::TimePoint now) {
  // Nobody waits any more, so nothing begins.
  if (now >= requested_until && !IsUsable(seen)) {
    return {.kind = ActionKind::kKeep, .reason = past.last_failure.value_or(Reason::kImageAbsent)};
  }
  return Decide(seen, past, now);
}

base::TimePoint ForgetRequestedAt(const History& past, base::TimePoint requested_until) {
  // `not_before` may be max() after a permanent failure, hence the limit.
  return std::max(requested_until,
                  std::min<base::TimePoint>(past.not_before, requested_until + kRequestMemory));
}

const ImageState* FindRequestedImage(const Snapshot& snapshot, const image::Reference& reference,
                                     base::TimePoint requested_at) {
  // An entry of the list is pulled anyway, so it answers for the request, too.
  if (const ImageState* listed = FindImage(snapshot, reference)) {
    // The request may end the back-off of an older failure.
    const bool is_old =
        StateOfRequested(*listed) == RequestedState::kFailed && listed->requested_at < requested_at;
    return is_old ? nullptr : listed;
  }
  auto found =
      std::find_if(snapshot.requested.begin(), snapshot.requested.end(), [&](const ImageState& image) {
        return image.desired->reference == reference && image.requested_at >= requested_at;
      });
  return found == snapshot.requested.end() ? nullptr : &*found;
}

RequestedState StateOfRequested(const ImageState& image) {
  if (image.usable) return RequestedState::kPresent;
  // A pull does not repair a present image that is unusable for these reasons.
  if (!image.applies || image.reason == Reason::kWrongPlatform) return RequestedState::kFailed;
  if (image.phase != Phase::kFailing) return RequestedState::kPending;
  // Room on the disk may come at any time or never. A client that waits should hear of it now.
  if (image.reason == Reason::kDiskPressure) return RequestedState::kFailed;
  // Its next try is due, so the last failure is not the last word.
  if (image.pull.state == PullState::kQueued || image.pull.held) return RequestedState::kPending;
  const bool retried_late = IsRetriedLate(image.reason) && !image.pull.lacked_credential;
  return retried_late || image.settled ? RequestedState::kFailed : RequestedState::kPending;
}

}  // namespace prefetch::plan
