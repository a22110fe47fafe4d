#include "agent/answers/metrics_text.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/enum_name.h"
#include "base/fs.h"
#include "base/process_stat.h"
#include "base/text.h"
#include "image/reference.h"
#include "kubelet/verdict.h"
#include "status/metrics_table.h"

namespace prefetch::agent {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using status::MetricKind;
using status::MetricNamed;
using status::MetricRow;

constexpr std::size_t kMostRegistriesAway = 20;  // shown by name; the count covers all
constexpr image::PullPolicy kPolicies[] = {image::PullPolicy::kNever, image::PullPolicy::kIfNotPresent,
                                           image::PullPolicy::kAlways};

MetricType TypeOf(MetricKind kind) {
  switch (kind) {
    case MetricKind::kGauge:
      return MetricType::Gauge;
    case MetricKind::kCounter:
      return MetricType::Counter;
    case MetricKind::kHistogram:
      return MetricType::Histogram;
  }
  std::abort();
}

// Returns a label's value as texts show it.
std::string LabelOf(std::same_as<bool> auto value) {
  return value ? "true" : "false";
}
std::string LabelOf(std::string_view text) {
  return std::string(text);
}
std::string LabelOf(PullResult result) {
  return PullResultName(result);
}
std::string LabelOf(credentials::Source source) {
  return std::string(credentials::SourceName(source));
}
std::string LabelOf(credentials::ProviderOutcome outcome) {
  return credentials::ProviderOutcomeName(outcome);
}
template <typename Enum>
std::string LabelOf(Enum value) requires std::is_enum_v<Enum> {
  return std::string(base::EnumName(value));
}
std::string LabelOf(std::optional<plan::Reason> reason) {
  return reason ? LabelOf(*reason) : "None";
}
// This text leaves the label out.
std::optional<std::string> LabelOf(std::nullopt_t /*none*/) {
  return std::nullopt;
}

// Collects the values of one scrape. Names, help texts and labels come from status::kMetrics, from which
// the reference page is made, too.
class Families {
 public:
  Families() {
    for (const MetricRow& row : status::kMetrics)
      families_.push_back({row.name, row.help, TypeOf(row.kind), {}});
  }

  // `labels`: their values, in the order of the metric's row.
  template <typename Number, typename... Labels>
  void Set(MetricNamed of, Number value, const Labels&... labels) requires std::is_arithmetic_v<Number> {
    ClientMetric& metric = Add(of, {LabelOf(labels)...});
    const bool counts = Family(of).type == MetricType::Counter;
    (counts ? metric.counter.value : metric.gauge.value) = static_cast<double>(value);
  }
  template <typename Number>
  void SetIfKnown(MetricNamed of, const std::optional<Number>& value) {
    if (value) Set(of, *value);
  }
  template <typename... Labels>
  void Set(MetricNamed of, const Histogram& values, const Labels&... labels) {
    ClientMetric::Histogram& out = Add(of, {LabelOf(labels)...}).histogram;
    for (std::size_t i = 0; i < values.counts().size(); i++) {
      // Prometheus' buckets are cumulative; Histogram's counts are not.
      out.sample_count += values.counts()[i];
      bool last = i == values.bounds().size();
      out.bucket.push_back(
          {out.sample_count, last ? std::numeric_limits<double>::infinity() : values.bounds()[i]});
    }
    out.sample_sum = values.sum();
  }
  // A key is the value of the only label, or a tuple of the values of all.
  template <typename Key, typename Value>
  void SetEach(MetricNamed of, const std::map<Key, Value>& values) {
    for (const auto& one : values) {
      if constexpr (requires { std::tuple_size<Key>::value; }) {
        std::apply([&](const auto&... labels) { Set(of, one.second, labels...); }, one.first);
      } else {
        Set(of, one.second, one.first);
      }
    }
  }

  // Leaves out a metric without a value, with its name and help. An absent metric means "not known", which 0
  // would not.
  std::string Text() && {
    std::erase_if(families_, [](const MetricFamily& family) { return family.metric.empty(); });
    std::ostringstream out;
    prometheus::TextSerializer().Serialize(out, families_);
    return std::move(out).str();
  }

 private:
  MetricFamily& Family(MetricNamed of) { return families_[of.index]; }
  ClientMetric& Add(MetricNamed of, const std::vector<std::optional<std::string>>& labels) {
    ClientMetric& metric = Family(of).metric.emplace_back();
    const auto names = base::Split(status::kMetrics[of.index].labels, ' ');
    for (std::size_t i = 0; i < labels.size(); i++) {
      // One byte that is not UTF-8 (in a file's name, say) would make Prometheus refuse the whole scrape.
      if (labels[i]) metric.label.push_back({std::string(names.at(i)), base::ToUtf8(*labels[i])});
    }
    return metric;
  }

  std::vector<MetricFamily> families_;
};

void ShowReadiness(const plan::Readiness& readiness, Families& out) {
  out.Set("prefetchd_ready", readiness.ready);
  out.Set("prefetchd_readiness_info", 1, readiness.phase, readiness.reason);
}

void ShowEntries(const std::vector<plan::ImageState>& images, const std::vector<plan::ImageState>& requested,
                 Families& out) {
  std::map<std::tuple<plan::Phase, plan::Reason, bool>, int> entries;
  std::map<plan::PullState, int> pulls;
  int exposed = 0;
  for (const plan::ImageState& image : images) {
    entries[{image.phase, image.reason, image.desired->required}]++;
    pulls[image.pull.state]++;
    exposed += image.origin.exposed ? 1 : 0;
  }
  // Pulls for preflights count as pulls, but they are no entries of the list.
  for (const plan::ImageState& image : requested) pulls[image.pull.state]++;
  out.SetEach("prefetchd_entries", entries);
  out.Set("prefetchd_entries_exposed", exposed);
  out.Set("prefetchd_pulls_running", pulls[plan::PullState::kPulling] + pulls[plan::PullState::kUnpacking]);
  out.Set("prefetchd_pulls_queued", pulls[plan::PullState::kQueued]);
  out.Set("prefetchd_retries_waiting", pulls[plan::PullState::kWaiting]);
}

void ShowTouches(const std::vector<plan::ImageState>& images, Families& out) {
  std::map<std::pair<plan::TouchState, plan::TouchObstacle>, int> entries;
  for (const plan::ImageState& image : images) {
    if (image.touch->state != plan::TouchState::kNone) entries[{image.touch->state, image.touch->obstacle}]++;
  }
  out.SetEach("prefetchd_entries_touch", entries);
}

double UnixSeconds(base::WallTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

// Registries that are away are bounded in number: their names become labels, and each label value is a time
// series of its own.
void ShowTimes(const plan::Snapshot& snapshot, Families& out) {
  std::size_t away = 0;
  for (const plan::RegistryStatus& registry : snapshot.registries) {
    if (!registry.unreachable_since || away++ >= kMostRegistriesAway) continue;
    out.Set("prefetchd_registry_away_since_timestamp_seconds", UnixSeconds(*registry.unreachable_since),
            registry.name);
  }
  std::optional<base::WallTime> longest_ago;
  for (const plan::ImageState& image : snapshot.images) {
    if (!image.registry || !image.registry->confirmed_at) continue;
    if (!longest_ago || *image.registry->confirmed_at < *longest_ago) {
      longest_ago = image.registry->confirmed_at;
    }
  }
  if (longest_ago) out.Set("prefetchd_registry_agreed_timestamp_seconds", UnixSeconds(*longest_ago));
}

void ShowFreshness(const plan::Snapshot& snapshot, Families& out) {
  std::map<std::pair<bool, plan::Reason>, int> entries;
  for (const plan::ImageState& image : snapshot.images) {
    if (image.registry) entries[{image.registry->fresh, image.registry->reason}]++;
  }
  out.SetEach("prefetchd_entries_fresh", entries);
  if (snapshot.registries.empty()) return;
  out.Set("prefetchd_registries_away",
          std::ranges::count_if(snapshot.registries, [](const plan::RegistryStatus& one) {
            return one.unreachable_since.has_value();
          }));
  ShowTimes(snapshot, out);
}

void ShowRuntime(const plan::RuntimeStatus& runtime, Families& out) {
  out.Set("prefetchd_runtime_up", runtime.up);
  if (!runtime.name.empty()) out.Set("prefetchd_runtime_info", 1, runtime.name, runtime.version);
}

std::string_view OrUnknown(const std::string& fact) {
  return fact.empty() ? "unknown" : std::string_view(fact);
}

void ShowKubelet(const plan::KubeletStatus& kubelet, Families& out) {
  out.Set("prefetchd_kubelet_info", 1, OrUnknown(kubelet.version), OrUnknown(kubelet.verification));
  if (!kubelet.version.empty()) out.Set("prefetchd_kubelet_newer", kubelet.newer);
  out.SetIfKnown("prefetchd_kubelet_records_readable", kubelet.records_readable);
  out.Set("prefetchd_kubelet_contradictions", kubelet.contradictions.size());
}

void ShowVerdicts(const std::vector<plan::ImageState>& images, Families& out) {
  std::map<std::tuple<image::PullPolicy, kubelet::VerdictResult, kubelet::VerdictReason>, int> entries;
  for (const plan::ImageState& image : images) {
    if (!image.verdicts) continue;
    for (image::PullPolicy policy : kPolicies) {
      const kubelet::Verdict& verdict = image.verdicts->For(policy);
      entries[{policy, verdict.result, verdict.reason}]++;
    }
  }
  out.SetEach("prefetchd_image_verdicts", entries);
}

void ShowList(const plan::ImageList& list, Families& out) {
  if (!list.hash.empty()) out.Set("prefetchd_list_info", 1, list.hash);
  for (const plan::ListSource& source : list.sources) {
    if (source.loaded_at) {
      out.Set("prefetchd_list_source_info", 1, source.name, source.hash);
      out.Set("prefetchd_list_source_loaded_timestamp_seconds", UnixSeconds(*source.loaded_at), source.name);
    }
    out.Set("prefetchd_list_source_entries", source.entries, source.name);
    out.Set("prefetchd_list_source_in_force", source.loaded_at.has_value(), source.name);
    out.Set("prefetchd_list_source_error", !source.error.empty(), source.name);
  }
}

void ShowDisk(const plan::DiskStatus& disk, bool is_known, Families& out) {
  if (is_known) {
    out.Set("prefetchd_disk_capacity_bytes", disk.capacity_bytes);
    out.Set("prefetchd_disk_available_bytes", disk.available_bytes);
  }
  out.Set("prefetchd_disk_needed_bytes", disk.needed_bytes);
  out.Set("prefetchd_disk_pressure", disk.pressure);
}

// Shows plugins by provider; in the public view all providers together, since a provider's name shows the
// owner of the node's credentials.
void ShowPlugins(const Counts& counts, status::View view, Families& out) {
  if (view == status::View::kFull)
    return out.SetEach("prefetchd_credential_provider_duration_seconds", counts.plugin_seconds);
  std::map<credentials::ProviderOutcome, Histogram> together;
  for (const auto& [key, seconds] : counts.plugin_seconds) {
    together.try_emplace(key.second, Histogram(seconds.bounds())).first->second.Add(seconds);
  }
  for (const auto& [outcome, seconds] : together)
    out.Set("prefetchd_credential_provider_duration_seconds", seconds, std::nullopt, outcome);
}

void ShowCounts(const Counts& counts, Families& out) {
  if (counts.time_to_ready)
    out.Set("prefetchd_time_to_ready_seconds", std::chrono::duration<double>(*counts.time_to_ready).count());
  out.SetEach("prefetchd_pulls_total", counts.pulls);
  out.SetEach("prefetchd_pull_duration_seconds", counts.pull_seconds);
  out.Set("prefetchd_pull_bytes", counts.pull_bytes);
  out.Set("prefetchd_fetched_bytes_total", counts.fetched_bytes);
  out.SetEach("prefetchd_registry_checks_total", counts.registry_answers);
  // An agent that asks no registry has no series about it.
  if (!counts.registry_answers.empty()) {
    out.Set("prefetchd_registry_requests_total", counts.registry_requests);
    out.Set("prefetchd_registry_check_duration_seconds", counts.registry_seconds);
  }
  out.SetEach("prefetchd_credential_lookups_total", counts.lookups);
  for (const auto& [key, count] : counts.callers) {
    const auto& [purpose, result] = key;
    const bool fleet = purpose == plan::CallerPurpose::kFleet;
    out.Set(fleet ? MetricNamed("prefetchd_fleet_callers_total")
                  : MetricNamed("prefetchd_preflight_callers_total"),
            count, result);
  }
  out.SetEach("prefetchd_touches_total", counts.touches);
  out.SetEach("prefetchd_touch_pods_total", counts.touch_pods);
}

}  // namespace

std::string MetricsText(const plan::Snapshot& snapshot, const Counts& counts, const ProcessFacts& process,
                        std::string_view version, status::View view) {
  Families out;
  out.Set("prefetchd_build_info", 1, version);
  ShowReadiness(snapshot.readiness, out);
  ShowEntries(snapshot.images, snapshot.requested, out);
  ShowTouches(snapshot.images, out);
  ShowFreshness(snapshot, out);
  ShowCounts(counts, out);
  ShowPlugins(counts, view, out);
  ShowRuntime(snapshot.runtime, out);
  if (snapshot.kubelet) {
    ShowKubelet(*snapshot.kubelet, out);
    out.Set("prefetchd_kubelet_providers_not_given", snapshot.providers_not_given);
    ShowVerdicts(snapshot.images, out);
  }
  ShowList(snapshot.list, out);
  ShowDisk(snapshot.disk, snapshot.disk_known, out);
  if (snapshot.unlisted) {
    const auto& images = snapshot.unlisted->images;
    out.Set("prefetchd_unlisted_images", std::ranges::count_if(images, &plan::UnlistedImage::present));
  }
  out.Set("prefetchd_problems", snapshot.problems.size());
  for (const ProcessFact& fact : process) out.Set(fact.metric, fact.value);
  return std::move(out).Text();
}

namespace {

// /proc/stat has a long line for all interrupts; no node is known that exceeds this.
constexpr std::size_t kMaxProcFile = 1 << 20;
constexpr std::size_t kMaxFds = 1 << 16;

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// The number in field `index` of `text`, where single spaces separate fields.
std::optional<std::uint64_t> Field(std::string_view text, std::size_t index) {
  std::vector<std::string_view> fields = base::Split(base::TrimSpace(text), ' ');
  return index < fields.size() ? base::ParseUint(fields[index]) : std::nullopt;
}

std::optional<double> StartTime() {
  auto self = base::ReadFile("/proc/self/stat", kMaxProcFile);
  auto machine = base::ReadFile("/proc/stat", kMaxProcFile);
  auto stat = self ? base::ParseProcessStat(*self) : std::nullopt;
  auto started = stat && machine ? base::StartOf(stat->started, *machine) : std::nullopt;
  if (!started) return std::nullopt;
  return std::chrono::duration<double>(started->time_since_epoch()).count();
}

}  // namespace

ProcessFacts ReadProcessFacts() {
  ProcessFacts facts;
  if (rusage usage{}; ::getrusage(RUSAGE_SELF, &usage) == 0) {
    facts.push_back({"process_cpu_seconds_total", Seconds(usage.ru_utime) + Seconds(usage.ru_stime)});
  }
  // Once: on a node with many CPUs the kernel takes milliseconds to write /proc/stat.
  static const std::optional<double> kStarted = StartTime();
  if (kStarted) facts.push_back({"process_start_time_seconds", *kStarted});
  if (auto memory = base::ReadFile("/proc/self/statm", kMaxProcFile)) {
    const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
    if (auto pages = Field(*memory, 0))
      facts.push_back({"process_virtual_memory_bytes", static_cast<double>(*pages) * page});
    if (auto pages = Field(*memory, 1))
      facts.push_back({"process_resident_memory_bytes", static_cast<double>(*pages) * page});
  }
  // One of these is the descriptor that reads the folder.
  if (auto open = base::ListDirectory("/proc/self/fd", kMaxFds); open && !open->empty()) {
    facts.push_back({"process_open_fds", static_cast<double>(open->size() - 1)});
  }
  if (rlimit limit{}; ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    facts.push_back({"process_max_fds", static_cast<double>(limit.rlim_cur)});
  }
  return facts;
}

}  // namespace prefetch::agent
