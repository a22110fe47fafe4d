#include "agent/answers/live_registry.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "image/platform.h"

namespace prefetch::agent {
namespace {

// Time limit for one question of a preflight. A check in the background has a minute.
constexpr std::chrono::seconds kAskNow{15};
// Time limit for a question of a pod. Two hundred pods that ask together wait for one answer.
constexpr std::chrono::seconds kAskNowForPods = SharedAnswers::kMaxWait;
// The part of this time for credentials: a plugin that hangs leaves time to ask for other images.
constexpr std::chrono::seconds kCredentialsNow{5};

// Returns true if the server would answer any question like this: it is away, or another server in front of
// it answers.
bool IsSilent(const image::RegistryAnswer& reply) {
  return reply.kind == image::RegistryAnswerKind::kUnreachable || image::IsTransient(reply);
}

// The answer if the client's time was over before this registry's turn came.
image::RegistryAnswer NoTimeToAsk(const std::string& registry) {
  return {.kind = image::RegistryAnswerKind::kUnreachable,
          .detail = image::RegistryDetail::kTimeout,
          .message = "the time that was given was over before " + registry + " could be asked"};
}

// The answer if the search for credentials took all the time.
image::RegistryAnswer NoCredentialsInTime(const std::string& registry, const credentials::Lookup& lookup,
                                          bool for_pods) {
  std::string message = registry + " was not asked: the credentials for it were not found in time";
  // A plugin's error text may describe the node, so pods do not get it.
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
  const base::Call lookup_call = call.Within(kCredentialsNow);
  auto credentials = std::make_shared<const credentials::Lookup>(
      for_pods_ != nullptr ? keyring_.FindForAnyPod(lookup_call, want.reference)
                           : keyring_.Find(lookup_call, want.reference, want.sources));
  if (std::chrono::steady_clock::now() >= lookup_call.deadline) {
    return NoCredentialsInTime(want.reference.domain(), *credentials, for_pods_ != nullptr);
  }
  RegistryQueryJob job{.reference = want.reference,
                       .credentials = std::move(credentials),
                       .local = std::nullopt,
                       .runtime = {runtime.name, runtime.version, runtime.registries},
                       .untrusted_name = for_pods_ != nullptr && !known};
  if (image.present) {
    job.local = plan::Local{.digest = image.digest, .other_digests = image.other_digests};
  }
  // No refusals are counted: clients of preflights must not be able to hold back the node's credentials.
  return AskRegistry(call, {resolver_, nullptr, clock_, image::Platform::Host()}, job);
}

image::RegistryAnswer LiveRegistry::Ask(const base::Call& call, const plan::RuntimeStatus& runtime,
                                        const plan::ImageState& image, bool known) {
  const std::string& registry = image.want->reference.domain();
  // A request may name many images of one registry. If it is silent, the client waits for it once.
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
    const auto ask = [&]() -> SharedAnswers::Reply {
      // The turns of others may have taken part of the time.
      const bool hurried = within.IsHurried(limit);
      image::RegistryAnswer reply = AskAnew(within, runtime, image, known);
      // Silence that comes from this client's short time or departure must not be shared: another client may
      // have more time.
      const bool cut_short = hurried || call.Stopped();
      return {reply, !(cut_short && IsSilent(reply))};
    };
    answer = for_pods_->Get(
        within, {pod_namespace_, registry, image.want->reference.Normalized() + " " + image.digest}, ask,
        late);
  }
  if (IsSilent(answer)) silent_.emplace(registry, answer);
  return answer;
}

}  // namespace prefetch::agent
