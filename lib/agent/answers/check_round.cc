#include "agent/answers/check_round.h"

#include <algorithm>
#include <utility>

#include "agent/answers/live_kubelet.h"

namespace prefetch::agent {
namespace {

using plan::CheckFacts;
using plan::CheckNeed;

// Age up to which a list of images answers a pod. Any pod may ask, and a list of a thousand images is work
// for the runtime.
constexpr std::chrono::milliseconds kMaxAgeForAnonymous{500};

plan::CheckKubelet KubeletOf(const plan::Snapshot& snapshot) {
  if (!snapshot.kubelet) return plan::CheckKubelet::kNone;
  return KnowsKubelet(snapshot) ? plan::CheckKubelet::kKnown : plan::CheckKubelet::kNotKnown;
}

// Returns true if an image of the list is in this registry. The operator then trusts the registry, whichever
// image a pod names there.
bool NamesRegistry(const plan::Snapshot& snapshot, const image::Reference& reference) {
  return std::any_of(snapshot.images.begin(), snapshot.images.end(), [&](const plan::ImageState& image) {
    return image.want->reference.domain() == reference.domain();
  });
}

}  // namespace

// Lists the images once for all questions of the round, so that a preflight of many images is one call to the
// runtime.
plan::CheckRuntime CheckRound::AskRuntime(const base::Call& call, const image::Reference& reference,
                                          const plan::ImageState* listed) {
  LiveRuntime& runtime = sources_.runtime;
  const bool node = requester_.kind == Requester::Kind::kNode;
  if (here_ == nullptr) {
    observed_at_ = sources_.clock.Now();
    here_ = runtime.Ask(call.Within(LiveRuntime::Timeout(snapshot_.runtime)),
                        node || requester_.pull ? base::Duration::zero() : kMaxAgeForAnonymous);
  }
  plan::CheckRuntime found;
  if (!*here_) {
    found.error = here_->error().message;
    if (listed != nullptr) found.image = *listed;
  } else {
    found.image = listed != nullptr ? runtime.Entry(call, *listed, **here_, node)
                                    : runtime.Unlisted(call, reference, **here_, node);
  }
  return found;
}

// Returns true if the question has credentials that are not the node's. A pod that asks with its own token
// always has a service account, which counts as a credential only if a provider accepts it.
bool CheckRound::HasOwnCredentials(const status::CheckQuestion& question, const image::Reference* reference) {
  if (requester_.kind != Requester::Kind::kPod) return question.identity != status::CheckIdentity{};
  return !question.identity.secrets.empty() ||
         (reference != nullptr && !sources_.keyring.TokenProviderFor(*reference).empty());
}

// plan::DecideCheck names the next fact that it needs, and this loop fetches it. So a question that the
// Snapshot answers costs no call, and the registry is asked only if everything before it allows the pod to
// start.
CheckRound::Outcome CheckRound::Decide(const base::Call& call, const status::CheckQuestion& question,
                                       bool pull) {
  auto reference = image::Reference::Parse(question.image);
  const plan::ImageState* listed = reference ? plan::FindImage(snapshot_, *reference) : nullptr;
  CheckFacts facts{.image = question.image,
                   .policy = question.policy,
                   .own_credentials = HasOwnCredentials(question, reference ? &*reference : nullptr),
                   .rights = requester_.Rights(listed != nullptr),
                   .discreet = requester_.kind == Requester::Kind::kPod,
                   .listed = listed != nullptr,
                   .asks_registries = sources_.resolver != nullptr,
                   .runtime_down = snapshot_.readiness.reason == plan::Reason::kRuntimeDown,
                   .runtime_error = snapshot_.runtime.error,
                   .kubelet = KubeletOf(snapshot_)};
  facts.rights.pull = facts.rights.pull && pull;
  if (reference) {
    facts.reference = *reference;
  } else {
    facts.bad_name = reference.error().message();
  }
  while (true) {
    plan::CheckStep step = plan::DecideCheck(facts);
    switch (step.need) {
      case CheckNeed::kNothing:
      case CheckNeed::kPull:
        return {std::move(facts), std::move(step)};
      case CheckNeed::kRuntime:
        facts.runtime = AskRuntime(call, *reference, listed);
        break;
      case CheckNeed::kVerdict:
        facts.verdict = KubeletVerdict(snapshot_, facts.runtime->image->image_id, question);
        break;
      case CheckNeed::kRegistry:
        if (reach_ == Reach::kNode) return {std::move(facts), std::move(step)};
        facts.registry = registries_.Ask(call, snapshot_.runtime, *facts.runtime->image,
                                         listed != nullptr || NamesRegistry(snapshot_, *reference));
        break;
    }
  }
}

}  // namespace prefetch::agent
