#include "agent/answers/live_registry.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "image/platform.h"

namespace prefetch::agent {
namespace {

// A preflight has seconds, not the minute that a check in the background may take.
constexpr std::chrono::seconds kAskNow{15};
// A pod's own has less: two hundred that ask together wait for one answer.
constexpr std::chrono::seconds kAskNowForPods = SharedAnswers::kPatience;
// Of these, so many for credentials: a plugin that hangs leaves time to ask for other images.
constexpr std::chrono::seconds kCredentialsNow{5};

// An answer that the same server would give to any question: the server is away, or another in front of it
// answers.
bool IsSilent(const image::RegistryAnswer& said) {
  return said.kind == image::RegistryAnswerKind::kUnreachable || image::IsTransient(said);
}

// The asker's time is over before this registry's turn came.
image::RegistryAnswer NoTimeToAsk(const std::string& registry) {
  return {.kind = image::RegistryAnswerKind::kUnreachable,
          .detail = image::RegistryDetail::kTimeout,
          .message = "the time that was given was over before " + registry + " could be asked"};
}

// The search for credentials took the time that there was.
image::RegistryAnswer NoCredentialsInTime(const std::string& registry, const credentials::Lookup& lookup,
                                          bool for_pods) {
  std::string message = registry + " was not asked: the credentials for it were not found in time";
  // A plugin's words are the node's business.
  if (for_pods) {
    return {.kind = image::RegistryAnswerKind::kUnreachable,
            .detail = image::RegistryDetail::kCredentials,
            .message = std::move(message)};
  }
  for (const credentials::ProviderReport& provider : lookup.providers) {
    if (provider.outcome != credentials::ProviderOutcome::kError) continue;
    message += "; provider \"" + provider.name + "\" " + provider.error;
  }
  return {.kind = image::RegistryAnswerKind::kUnreachable,
          .detail = image::RegistryDetail::kCredentials,
          .message = std::move(message)};
}

}  // namespace

image::RegistryAnswer LiveRegistry::AskAnew(const base::Call& call, const plan::RuntimeStatus& runtime,
                                            const plan::ImageState& image, bool known) const {
  const plan::DesiredImage& want = *image.want;
  const base::Call look = call.Within(kCredentialsNow);
  auto credentials = std::make_shared<const credentials::Lookup>(
      for_pods_ != nullptr ? keyring_.FindForAnyPod(look, want.reference)
                           : keyring_.Find(look, want.reference, want.sources));
  if (std::chrono::steady_clock::now() >= look.deadline) {
    return NoCredentialsInTime(want.reference.domain(), *credentials, for_pods_ != nullptr);
  }
  RegistryQueryJob job{.reference = want.reference,
                       .credentials = std::move(credentials),
                       .local = std::nullopt,
                       .runtime = {runtime.name, runtime.version, runtime.registries},
                       .by_stranger = for_pods_ != nullptr && !known};
  if (image.present) {
    job.local = plan::Local{.digest = image.digest, .other_digests = image.other_digests};
  }
  return AskRegistry(call, {asker_, nullptr, clock_, image::Platform::Host()}, job);
}

image::RegistryAnswer LiveRegistry::Ask(const base::Call& call, const plan::RuntimeStatus& runtime,
                                        const plan::ImageState& image, bool known) {
  const std::string& registry = image.want->reference.domain();
  if (auto silent = silent_.find(registry); silent != silent_.end()) return silent->second;
  const base::Duration left = until_ - std::chrono::steady_clock::now();
  const base::Duration limit = for_pods_ != nullptr ? kAskNowForPods : kAskNow;
  const base::Call within = call.Within(std::min<base::Duration>(limit, left));
  const auto late = [&] { return NoTimeToAsk(registry); };
  image::RegistryAnswer answer;
  if (left <= base::Duration::zero()) {
    answer = late();
  } else if (for_pods_ == nullptr) {
    answer = AskAnew(within, runtime, image, known);
  } else {
    const auto ask = [&]() -> SharedAnswers::Said {
      image::RegistryAnswer said = AskAnew(within, runtime, image, known);
      const bool cut_short =
          left < limit || call.Stopped() || std::chrono::steady_clock::now() >= call.deadline;
      return {said, !(cut_short && IsSilent(said))};
    };
    answer =
        for_pods_->Get(within, registry, image.want->reference.Normalized() + " " + image.digest, ask, late);
  }
  if (IsSilent(answer)) silent_.emplace(registry, answer);
  return answer;
}

}  // namespace prefetch::agent
