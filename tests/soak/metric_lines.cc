#include "soak/metric_lines.h"

#include <chrono>
#include <set>
#include <string>

#include "agent/metrics.h"
#include "base/text.h"
#include "image/pull_error.h"
#include "status/metrics_table.h"

namespace prefetch::tests::soak {
namespace {

using agent::PullResult;
using credentials::ProviderOutcome;
using image::ErrorClass;
using image::RegistryAnswerKind;
using plan::Reason;

// "# HELP name …", "name{label="…"} 1", "name_bucket{…} 1".
std::string_view FamilyOf(std::string_view line) {
  for (const char* comment : {"# HELP ", "# TYPE "}) {
    if (line.starts_with(comment)) line.remove_prefix(std::string_view(comment).size());
  }
  return line.substr(0, line.find_first_of(" {"));
}

bool IsCounted(std::string_view family) {
  for (const status::MetricRow& row : status::kMetrics) {
    const std::string_view name = row.name;
    if (row.kind == status::MetricKind::kGauge || !family.starts_with(name)) continue;
    const std::string_view rest = family.substr(name.size());
    if (rest.empty()) return true;
    if (row.kind != status::MetricKind::kHistogram) continue;
    if (rest == "_bucket" || rest == "_sum" || rest == "_count") return true;
  }
  return false;
}

std::set<Reason> ReasonsOfFailedPulls() {
  std::set<Reason> reasons = {Reason::kNotUnpacked, Reason::kTimeout, Reason::kStalled, Reason::kNotAnImage};
  for (int i = 0; i <= static_cast<int>(ErrorClass::kUnknown); i++)
    reasons.insert(plan::ReasonFor(static_cast<ErrorClass>(i)));
  return reasons;
}

void PullsEnd(agent::Metrics& metrics) {
  metrics.PullEnded({.result = PullResult::kSucceeded});
  metrics.PullEnded({.result = PullResult::kCancelled});
  for (Reason reason : {Reason::kDiskPressure, Reason::kStalled})
    metrics.PullEnded({.result = PullResult::kCancelled, .reason = reason});
  for (Reason reason : ReasonsOfFailedPulls())
    metrics.PullEnded({.result = PullResult::kFailed, .reason = reason});
}

// A lookup reports all providers of the configuration.
void ProvidersRun(std::size_t providers, agent::Metrics& metrics) {
  for (ProviderOutcome outcome : {ProviderOutcome::kOk, ProviderOutcome::kEmpty, ProviderOutcome::kError}) {
    credentials::Lookup lookup;
    for (std::size_t i = 0; i < providers; i++) {
      lookup.providers.push_back({.name = "provider" + std::to_string(i),
                                  .matched = true,
                                  .outcome = outcome,
                                  .ran_for = std::chrono::seconds(1)});
    }
    metrics.CredentialsFound(lookup);
  }
}

}  // namespace

MetricLines LinesOf(std::string_view metrics) {
  MetricLines lines;
  for (std::string_view line : base::Split(metrics, '\n')) {
    if (line.empty()) continue;
    (IsCounted(FamilyOf(line)) ? lines.counted : lines.present)++;
  }
  return lines;
}

std::size_t MostCounted(std::size_t providers) {
  agent::Metrics metrics;
  PullsEnd(metrics);
  ProvidersRun(providers, metrics);
  for (int i = 0; i <= static_cast<int>(RegistryAnswerKind::kIndeterminate); i++)
    metrics.RegistryChecked({.kind = static_cast<RegistryAnswerKind>(i)}, std::chrono::seconds(1));
  agent::Samples process;
  process.Add("process_cpu_seconds_total", 1);
  return LinesOf(agent::MetricsText({}, metrics.Copy(), process, "1.0", status::View::kFull)).counted;
}

}  // namespace prefetch::tests::soak
