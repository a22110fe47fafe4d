#include "agent/answers/inquiry_registry.h"

#include <cstdlib>
#include <optional>
#include <utility>

namespace prefetch::agent {
namespace {

using image::RegistryAnswer;
using image::RegistryAnswerKind;
using status::CheckAnswer;
using status::CheckQuestion;

std::string Said(const RegistryAnswer& said) {
  return said.message.empty() ? "" : ": " + said.message;
}

std::string Sentence(const plan::ImageState& image, const std::string& what) {
  return "imagePullPolicy Always contacts the registry at every start, and " + what +
         (image.present ? "; that the image is on the node does not help" : "");
}

// An answer that keeps a pod from pulling, in words that follow "…, and ".
struct Obstacle {
  std::string_view result;
  std::string what;
};

// nullopt: kSame and kMoved, which give access to a tag that is there.
std::optional<Obstacle> ObstacleOf(const CheckQuestion& question, const RegistryAnswer& said) {
  switch (said.kind) {
    case RegistryAnswerKind::kSame:
    case RegistryAnswerKind::kMoved:
      return std::nullopt;
    case RegistryAnswerKind::kTagMissing:
      return Obstacle{"Refused", "the registry has no " + question.image + Said(said)};
    case RegistryAnswerKind::kAccessDenied:
      if (question.identity == status::CheckIdentity{}) {
        return Obstacle{"Refused", "it denies access to this node's credentials" + Said(said)};
      }
      return Obstacle{"Unknown",
                      "it denies access to this node's credentials; whether the pod's own open it is not "
                      "known here" +
                          Said(said)};
    case RegistryAnswerKind::kRateLimited:
    case RegistryAnswerKind::kUnreachable:
    case RegistryAnswerKind::kServerError:
      return Obstacle{"Unknown", "it does not answer now" + Said(said)};
    case RegistryAnswerKind::kIndeterminate:
      return Obstacle{"Unknown", said.only_by_pull
                                     ? "this node's registries can only be asked by pulling"
                                     : "its answer cannot be compared with what is here" + Said(said)};
  }
  std::abort();
}

}  // namespace

CheckAnswer AlwaysByAnswer(CheckAnswer answer, const CheckQuestion& question, const plan::ImageState& image,
                           const RegistryAnswer& said) {
  if (auto obstacle = ObstacleOf(question, said)) {
    return Say(std::move(answer), obstacle->result, image::RegistryAnswerName(said.kind),
               Sentence(image, obstacle->what));
  }
  if (said.kind == RegistryAnswerKind::kMoved) {
    return Say(std::move(answer), "Pulls", image.present ? "TagMoved" : "ImageAbsent",
               image.present ? Sentence(image, "the tag has changed: the pod waits for a pull")
                             : Sentence(image, "it is not on the node: the pod waits for a pull"));
  }
  answer.ok = image.usable;
  if (!image.usable) {
    return Say(std::move(answer), "Pulls", plan::ReasonName(image.reason), image.message);
  }
  return Say(std::move(answer), "Pulls", "UpToDate",
             "imagePullPolicy Always contacts the registry at every start; asked just now, it gives access, "
             "and the tag points to what is on the node");
}

CheckAnswer PullByAnswer(CheckAnswer answer, const CheckQuestion& question, const RegistryAnswer& said) {
  const std::string why = answer.message;
  if (auto obstacle = ObstacleOf(question, said)) {
    return Say(std::move(answer), obstacle->result, image::RegistryAnswerName(said.kind),
               "the pod has to contact the registry, and " + obstacle->what + ". Why it has to: " + why);
  }
  answer.ok = true;
  answer.message =
      why + " Asked just now, the registry has it and gives this node access: the pod waits for a pull.";
  return answer;
}

bool IsSilence(const RegistryAnswer& said) {
  return said.kind == RegistryAnswerKind::kUnreachable || image::IsPassing(said);
}

RegistryAnswer NoTimeToAsk(const std::string& registry) {
  return {.kind = RegistryAnswerKind::kUnreachable,
          .detail = image::RegistryDetail::kTimeout,
          .message = "the time that was given was over before " + registry + " could be asked"};
}

RegistryAnswer NoCredentialsInTime(const std::string& registry, const credentials::Lookup& lookup) {
  std::string message = registry + " was not asked: the credentials for it were not found in time";
  for (const credentials::ProviderReport& provider : lookup.providers) {
    if (provider.outcome != credentials::ProviderOutcome::kError) continue;
    message += "; provider \"" + provider.name + "\" " + provider.error;
  }
  return {.kind = RegistryAnswerKind::kUnreachable,
          .detail = image::RegistryDetail::kCredentials,
          .message = std::move(message)};
}

CheckAnswer AlwaysByWhatIsKnown(CheckAnswer answer, const plan::ImageState& image, bool asks) {
  if (!asks) {
    return Say(
        std::move(answer), "Pulls", "PolicyAlways",
        "imagePullPolicy Always contacts the registry at every start, and this agent asks no registry");
  }
  if (!image.registry) {
    return Say(
        std::move(answer), "Pulls", "PolicyAlways",
        "imagePullPolicy Always contacts the registry at every start, and here only what is known is told: "
        "ask over the agent's socket, or give the entry readyFor: Always");
  }
  answer.ok = image.usable && image.registry->agrees;
  if (answer.ok) {
    return Say(
        std::move(answer), "Pulls", "UpToDate",
        "imagePullPolicy Always contacts the registry at every start; it agreed when the agent asked last");
  }
  return Say(
      std::move(answer), "Pulls", plan::ReasonName(image.registry->always_reason),
      "imagePullPolicy Always contacts the registry at every start: " + image.registry->always_message);
}

}  // namespace prefetch::agent
