// Metrics: what happened, counted (deploy/docs/reference/metrics.md explains each). MetricsText: that and the
// current state, as GET /metrics.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/enum_name.h"
#include "base/mutex.h"
#include "base/text.h"
#include "credentials/keyring.h"
#include "image/registry_answer.h"
#include "plan/caller.h"
#include "plan/reason.h"
#include "plan/snapshot.h"
#include "status/documents.h"
#include "status/metrics_table.h"

namespace prefetch::agent {

enum class PullResult {
  kSucceeded,  // the image is on the node, unpacked
  kFailed,
  kCancelled,  // we took it back: replaced, no room, not on the list any more, a stop
};

// One PullImage, from its start to its end.
struct PullEnd {
  PullResult result = PullResult::kSucceeded;
  std::optional<plan::Reason> reason;  // of a failure always; of a cancelling if it has one
  base::Duration took{};
  std::uint64_t image_bytes = 0;  // as the runtime reports the image that came; of a success
};

// The value of a metric's label, as texts show it. Labels sort by the order of their enumerators.
struct Label {
  // NOLINTBEGIN(google-explicit-constructor): a list of values is a list of labels
  Label(std::nullopt_t /*none*/) {}
  Label(bool value) : order(value ? 1 : 0), text(value ? "true" : "false") {}
  template <std::convertible_to<std::string_view> Text>
  Label(const Text& value) : text(std::string_view(value)) {}
  template <typename Enum>
  Label(Enum value) requires std::is_enum_v<Enum> : Label(value, base::EnumName(value)) {}
  Label(PullResult result) : Label(result, base::ToLower(base::EnumName(result))) {}
  Label(credentials::Source source) : Label(source, credentials::SourceName(source)) {}
  Label(credentials::ProviderOutcome outcome) : Label(outcome, credentials::ProviderOutcomeName(outcome)) {}
  Label(std::optional<plan::Reason> reason) : Label(reason ? Label(*reason) : Label("None")) {}
  // NOLINTEND(google-explicit-constructor)
  template <typename Enum>
  Label(Enum value, std::string_view name) : order(static_cast<int>(value)), text(name) {}
  friend auto operator<=>(const Label&, const Label&) = default;

  int order = 0;
  std::optional<std::string> text;  // none: this text leaves the label out
};

// One series.
struct Sample {
  double value = 0;  // a histogram's is the sum
  // A histogram has ascending bounds, a constant that outlives every copy. A value that equals a bound
  // belongs below it, as Prometheus has it.
  std::span<const double> bounds;
  // One for each bound, not cumulative, and one for values above the last.
  std::vector<std::uint64_t> counts;
};

// The series of all metrics in the order of status::kMetrics. A value.
struct Samples {
  // By the metric's index, and the values of its labels in the order of its row.
  std::map<std::pair<std::size_t, std::vector<Label>>, Sample> all;

  Sample& At(status::MetricNamed metric, std::initializer_list<Label> labels = {}) {
    return all[{metric.index, labels}];
  }
  template <typename Number>
  void Add(status::MetricNamed metric, Number value, std::initializer_list<Label> labels = {}) {
    At(metric, labels).value += static_cast<double>(value);
  }
  Sample& Histogram(status::MetricNamed metric, std::span<const double> bounds,
                    std::initializer_list<Label> labels = {});
  void Observe(status::MetricNamed metric, std::span<const double> bounds, double value,
               std::initializer_list<Label> labels = {});
};

// Counts events. A scrape reads the present state (entries, runtime, disk, list) from the newest Snapshot.
// Owned by the Agent. Any thread may call; nothing here waits for more than a few additions, but for a
// scrape's copy of some kilobytes.
class Metrics {
 public:
  Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // Counts what one metric alone tells.
  template <typename Number>
  void Add(status::MetricNamed metric, Number value, std::initializer_list<Label> labels = {})
      PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    samples_.Add(metric, value, labels);
  }
  // A pull has ended, with or without success.
  void PullEnded(const PullEnd& end) PREFETCH_EXCLUDES(mutex_);
  // A registry was asked, or had its answer held back.
  void RegistryChecked(const image::RegistryAnswer& answer, base::Duration took) PREFETCH_EXCLUDES(mutex_);
  // Notes the time from the agent's start until the node was ready. Only the first call counts.
  void ReadyAfter(base::Duration time) PREFETCH_EXCLUDES(mutex_);
  // One lookup: each provider that is for the image counts with its outcome; docker config and mounted pull
  // secrets count as "ok" if they had something for it, else "empty".
  void CredentialsFound(const credentials::Lookup& lookup) PREFETCH_EXCLUDES(mutex_);
  // One question of a caller with a token (agent/cluster/client_authenticator.h). `result`: "Admitted", or
  // the reason for the rejection, of a closed set.
  void CallerAnswered(plan::CallerPurpose purpose, std::string_view result) PREFETCH_EXCLUDES(mutex_);

  // Returns all counts at one moment.
  Samples Copy() const PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    return samples_;
  }

 private:
  mutable base::Mutex mutex_;
  Samples samples_ PREFETCH_GUARDED_BY(mutex_);
};

// Returns this process's use of the node, under the names that every Prometheus client uses. Figures that
// /proc lacks are left out. Reads /proc/self and /proc/stat, which costs no disk. Any thread may call.
Samples ReadProcessFacts();

// Prometheus' text format, version 0.0.4. Pure. Labels are closed sets, or names that the node's
// configuration bounds (list sources, credential providers); never an image's name. A public text does not
// name credential providers.
std::string MetricsText(const plan::Snapshot& snapshot, Samples counts, Samples process,
                        std::string_view version, status::View view);

}  // namespace prefetch::agent
