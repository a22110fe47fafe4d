// Metrics: what happened, counted (deploy/docs/reference/metrics.md explains each). Histogram: one of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "credentials/keyring.h"
#include "image/registry_answer.h"
#include "plan/caller.h"
#include "plan/reason.h"
#include "plan/touch.h"

namespace prefetch::agent {

// Counts of values per bucket. Copyable, so that a scrape can take a copy.
class Histogram {
 public:
  // `bounds` are ascending; a value that equals a bound belongs below it, as Prometheus has it. They are a
  // constant of the caller's and outlive every copy.
  explicit Histogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}

  void Observe(double value) {
    std::size_t i = 0;
    while (i < bounds_.size() && value > bounds_[i]) i++;
    counts_[i]++;
    sum_ += value;
  }

  // `other` has the same bounds.
  void Add(const Histogram& other) {
    for (std::size_t i = 0; i < counts_.size(); i++) counts_[i] += other.counts_[i];
    sum_ += other.sum_;
  }

  std::span<const double> bounds() const { return bounds_; }
  // Returns one count for each bound, not cumulative, and one for values above the last.
  const std::vector<std::uint64_t>& counts() const { return counts_; }
  double sum() const { return sum_; }

 private:
  std::span<const double> bounds_;
  std::vector<std::uint64_t> counts_;
  double sum_ = 0;
};

// A scrape reads the present state (entries, runtime, disk, list) from the newest Snapshot (metrics_text.h).
// Names and help texts stand in status/metrics_table.h.

enum class PullResult {
  kSucceeded,  // the image is on the node, unpacked
  kFailed,
  kCancelled,  // we took it back: replaced, no room, not on the list any more, a stop
};
std::string PullResultName(PullResult result);  // "succeeded"

// One PullImage, from its start to its end.
struct PullEnd {
  PullResult result = PullResult::kSucceeded;
  std::optional<plan::Reason> reason;  // of a failure always; of a cancelling if it has one
  base::Duration took{};
  std::uint64_t image_bytes = 0;  // as the runtime reports the image that came; of a success
};

// A copy of the counters.
struct Counts {
  Counts();

  std::map<std::pair<PullResult, std::optional<plan::Reason>>, std::uint64_t> pulls;
  std::map<PullResult, Histogram> pull_seconds;
  Histogram pull_bytes;
  std::uint64_t fetched_bytes = 0;  // by the agent itself
  std::optional<base::Duration> time_to_ready;
  std::map<image::RegistryAnswerKind, std::uint64_t> registry_answers;
  std::uint64_t registry_requests = 0;
  Histogram registry_seconds;
  std::map<std::pair<credentials::Source, credentials::ProviderOutcome>, std::uint64_t> lookups;
  // By the provider's name; only executions, not answers from a cache.
  std::map<std::pair<std::string, credentials::ProviderOutcome>, Histogram> plugin_seconds;
  // Questions of callers with a token, by outcome: "Admitted", or the reason for the rejection.
  std::map<std::pair<plan::CallerPurpose, std::string>, std::uint64_t> callers;
  std::map<plan::TouchObstacle, std::uint64_t> touches;     // images
  std::map<plan::TouchObstacle, std::uint64_t> touch_pods;  // those that came to an end, or not to be
};

// Owned by the Agent. Any thread may call; nothing here waits for more than a few additions, but for a
// scrape's copy of some kilobytes.
class Metrics {
 public:
  Metrics() = default;
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // A pull has ended, with or without success.
  void PullEnded(const PullEnd& end) PREFETCH_EXCLUDES(mutex_);
  // Bytes of blobs have come from a registry to the agent itself.
  void Fetched(std::uint64_t bytes) PREFETCH_EXCLUDES(mutex_);
  // A registry was asked, or had its answer held back.
  void RegistryChecked(const image::RegistryAnswer& answer, base::Duration took) PREFETCH_EXCLUDES(mutex_);
  // Notes the time from the agent's start until the node was ready. Only the first call counts.
  void ReadyAfter(base::Duration time) PREFETCH_EXCLUDES(mutex_);
  // One lookup: each provider that is for the image counts with its outcome; docker config and mounted pull
  // secrets count as "ok" if they had something for it, else "empty".
  void CredentialsFound(const credentials::Lookup& lookup) PREFETCH_EXCLUDES(mutex_);

  // One question of a caller with a token (agent/cluster/client_authenticator.h). `why`: of a closed set.
  void CallerAdmitted(plan::CallerPurpose purpose) PREFETCH_EXCLUDES(mutex_);
  void CallerRejected(plan::CallerPurpose purpose, std::string_view why) PREFETCH_EXCLUDES(mutex_);

  // One image of a touch; kNone: it is open now.
  void Touched(plan::TouchObstacle obstacle) PREFETCH_EXCLUDES(mutex_);
  // One touch pod; kNone: kubelet went through it.
  void TouchPodEnded(plan::TouchObstacle obstacle) PREFETCH_EXCLUDES(mutex_);

  // Returns all counts at one moment.
  Counts Copy() const PREFETCH_EXCLUDES(mutex_);

 private:
  mutable base::Mutex mutex_;
  Counts counts_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace prefetch::agent
