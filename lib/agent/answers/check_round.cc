#include "agent/answers/check_round.h"

#include <algorithm>
#include <utility>

#include "agent/answers/live_kubelet.h"

namespace prefetch::agent {
namespace {

using plan::CheckFacts;
using plan::CheckNeed;

// Any pod may ask, and a list of a thousand images is work for the runtime.
constexpr std::chrono::milliseconds kMaxAgeForAnonymous{500};

plan::CheckKubelet KubeletOf(const plan::Snapshot& snapshot) {
  if (!snapshot.kubelet) return plan::CheckKubelet::kNone;
  return KnowsKubelet(snapshot) ? plan::CheckKubelet::kKnown : plan::CheckKubelet::kNotKnown;
}

// The operator has named a registry by an image of the list.
bool NamesRegistry(const plan::Snapshot& snapshot, const image::Reference& reference) {
  return std::any_of(snapshot.images.begin(), snapshot.images.end(), [&](const plan::ImageState& image) {
    return image.want->reference.domain() == reference.domain();
  });
}

}  // namespace

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

// A pod that has asked in its own name always has an account; it is a credential where a provider takes it
// for one.
bool CheckRound::HasOwnCredentials(const status::CheckQuestion& question, const image::Reference* reference) {
  if (requester_.kind != Requester::Kind::kPod) return question.identity != status::CheckIdentity{};
  return !question.identity.secrets.empty() ||
         (reference != nullptr && !sources_.keyring.TokenProviderFor(*reference).empty());
}

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
