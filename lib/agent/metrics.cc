#include "agent/metrics.h"

#include <algorithm>
#include <chrono>

#include "base/enum_name.h"
#include "base/text.h"

namespace prefetch::agent {
namespace {

// From an image that shares all its layers to one that takes hours on a slow link.
constexpr double kPullSeconds[] = {0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200};
// From a static binary to a CUDA image: 1 MB to 32 GB.
constexpr double kPullBytes[] = {1e6, 4e6, 16e6, 64e6, 256e6, 1e9, 2e9, 4e9, 8e9, 16e9, 32e9};
// From a registry next door to one that is given up on.
constexpr double kRegistrySeconds[] = {0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
// A plugin has a minute.
constexpr double kPluginSeconds[] = {0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};

double Seconds(base::Duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

std::string PullResultName(PullResult result) {
  return base::ToLower(base::EnumName(result));
}

// Series that are known beforehand start at zero, so that rate() sees the first event too. Error classes and
// providers come as they occur: two dozen zeros for each node of a fleet would cost more than they tell.
Counts::Counts() : pull_bytes(kPullBytes), registry_seconds(kRegistrySeconds) {
  using credentials::ProviderOutcome;
  using credentials::Source;
  pulls[{PullResult::kSucceeded, std::nullopt}] = 0;
  pulls[{PullResult::kCancelled, std::nullopt}] = 0;
  for (PullResult result : {PullResult::kSucceeded, PullResult::kFailed, PullResult::kCancelled}) {
    pull_seconds.emplace(result, Histogram(kPullSeconds));
  }
  for (ProviderOutcome outcome :
       {ProviderOutcome::kOk, ProviderOutcome::kEmpty, ProviderOutcome::kError, ProviderOutcome::kSkipped}) {
    lookups[{Source::kProvider, outcome}] = 0;
  }
  for (Source source : {Source::kDockerConfig, Source::kPullSecret}) {
    for (ProviderOutcome outcome : {ProviderOutcome::kOk, ProviderOutcome::kEmpty})
      lookups[{source, outcome}] = 0;
  }
}

void Metrics::PullEnded(const PullEnd& end) {
  base::Lock lock(mutex_);
  counts_.pulls[{end.result, end.reason}]++;
  counts_.pull_seconds.at(end.result).Observe(Seconds(end.took));
  if (end.result == PullResult::kSucceeded) counts_.pull_bytes.Observe(static_cast<double>(end.image_bytes));
}

void Metrics::Fetched(std::uint64_t bytes) {
  base::Lock lock(mutex_);
  counts_.fetched_bytes += bytes;
}

void Metrics::RegistryChecked(const image::RegistryAnswer& answer, base::Duration took) {
  base::Lock lock(mutex_);
  counts_.registry_answers[answer.kind]++;
  counts_.registry_requests += static_cast<std::uint64_t>(std::max(answer.requests, 0));
  counts_.registry_seconds.Observe(Seconds(took));
}

void Metrics::ReadyAfter(base::Duration time) {
  base::Lock lock(mutex_);
  if (!counts_.time_to_ready) counts_.time_to_ready = time;
}

void Metrics::CredentialsFound(const credentials::Lookup& lookup) {
  using credentials::ProviderOutcome;
  using credentials::Source;
  base::Lock lock(mutex_);
  // A lookup reports all providers of the configuration: others were in an earlier one.
  std::erase_if(counts_.plugin_seconds, [&](const auto& one) {
    return std::ranges::none_of(lookup.providers,
                                [&](const auto& provider) { return provider.name == one.first.first; });
  });
  for (const credentials::ProviderReport& provider : lookup.providers) {
    if (!provider.matched) continue;
    counts_.lookups[{Source::kProvider, provider.outcome}]++;
    if (!provider.ran_for) continue;
    auto [seconds, added] =
        counts_.plugin_seconds.try_emplace({provider.name, provider.outcome}, Histogram(kPluginSeconds));
    seconds->second.Observe(Seconds(*provider.ran_for));
  }
  for (Source source : {Source::kDockerConfig, Source::kPullSecret}) {
    const auto found = std::ranges::count(lookup.credentials, source, &credentials::Credential::source);
    counts_.lookups[{source, found > 0 ? ProviderOutcome::kOk : ProviderOutcome::kEmpty}]++;
  }
}

void Metrics::Touched(plan::TouchObstacle obstacle) {
  base::Lock lock(mutex_);
  counts_.touches[obstacle]++;
}

void Metrics::CallerAdmitted(plan::CallerPurpose purpose) {
  CallerRejected(purpose, "Admitted");
}

void Metrics::CallerRejected(plan::CallerPurpose purpose, std::string_view why) {
  base::Lock lock(mutex_);
  counts_.callers[{purpose, std::string(why)}]++;
}

void Metrics::TouchPodEnded(plan::TouchObstacle obstacle) {
  base::Lock lock(mutex_);
  counts_.touch_pods[obstacle]++;
}

Counts Metrics::Copy() const {
  base::Lock lock(mutex_);
  return counts_;
}

}  // namespace prefetch::agent
