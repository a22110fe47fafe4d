#include "agent/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <sstream>

#include "base/fs.h"
#include "base/process_stat.h"
#include "image/reference.h"
#include "kubelet/verdict.h"

namespace prefetch::agent {
namespace {

using credentials::ProviderOutcome;
using credentials::Source;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using status::MetricKind;
using status::MetricNamed;
using status::MetricRow;

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

constexpr MetricNamed kPluginDuration = "prefetchd_credential_provider_duration_seconds";

}  // namespace

Sample& Samples::Histogram(MetricNamed metric, std::span<const double> bounds,
                           std::initializer_list<Label> labels) {
  Sample& sample = At(metric, labels);
  sample.bounds = bounds;
  sample.counts.resize(bounds.size() + 1);
  return sample;
}

void Samples::Observe(MetricNamed metric, std::span<const double> bounds, double value,
                      std::initializer_list<Label> labels) {
  Sample& sample = Histogram(metric, bounds, labels);
  sample.counts[static_cast<std::size_t>(std::ranges::lower_bound(bounds, value) - bounds.begin())]++;
  sample.value += value;
}

// Series that are known beforehand start at zero, so that rate() sees the first event too. Error classes and
// providers come as they occur: two dozen zeros for each node of a fleet would cost more than they tell.
Metrics::Metrics() {
  base::Lock lock(mutex_);
  for (PullResult result : {PullResult::kSucceeded, PullResult::kCancelled})
    samples_.Add("prefetchd_pulls_total", 0, {result, "None"});
  for (PullResult result : {PullResult::kSucceeded, PullResult::kFailed, PullResult::kCancelled})
    samples_.Histogram("prefetchd_pull_duration_seconds", kPullSeconds, {result});
  samples_.Histogram("prefetchd_pull_bytes", kPullBytes);
  samples_.Add("prefetchd_fetched_bytes_total", 0);
  for (ProviderOutcome outcome :
       {ProviderOutcome::kOk, ProviderOutcome::kEmpty, ProviderOutcome::kError, ProviderOutcome::kSkipped}) {
    samples_.Add("prefetchd_credential_lookups_total", 0, {Source::kProvider, outcome});
  }
  for (Source source : {Source::kDockerConfig, Source::kPullSecret}) {
    for (ProviderOutcome outcome : {ProviderOutcome::kOk, ProviderOutcome::kEmpty})
      samples_.Add("prefetchd_credential_lookups_total", 0, {source, outcome});
  }
}

void Metrics::PullEnded(const PullEnd& end) {
  base::Lock lock(mutex_);
  samples_.Add("prefetchd_pulls_total", 1, {end.result, end.reason});
  samples_.Observe("prefetchd_pull_duration_seconds", kPullSeconds, Seconds(end.took), {end.result});
  if (end.result == PullResult::kSucceeded)
    samples_.Observe("prefetchd_pull_bytes", kPullBytes, static_cast<double>(end.image_bytes));
}

void Metrics::RegistryChecked(const image::RegistryAnswer& answer, base::Duration took) {
  base::Lock lock(mutex_);
  samples_.Add("prefetchd_registry_checks_total", 1, {answer.kind});
  samples_.Add("prefetchd_registry_requests_total", std::max(answer.requests, 0));
  samples_.Observe("prefetchd_registry_check_duration_seconds", kRegistrySeconds, Seconds(took));
}

void Metrics::ReadyAfter(base::Duration time) {
  base::Lock lock(mutex_);
  const MetricNamed metric = "prefetchd_time_to_ready_seconds";
  samples_.all.try_emplace({metric.index, {}}, Sample{.value = Seconds(time), .bounds = {}, .counts = {}});
}

void Metrics::CredentialsFound(const credentials::Lookup& lookup) {
  base::Lock lock(mutex_);
  // A lookup reports all providers of the configuration: others were in an earlier one.
  std::erase_if(samples_.all, [&](const auto& one) {
    return one.first.first == kPluginDuration.index &&
           std::ranges::none_of(lookup.providers, [&](const credentials::ProviderReport& provider) {
             return provider.name == one.first.second.front().text;
           });
  });
  for (const credentials::ProviderReport& provider : lookup.providers) {
    if (!provider.matched) continue;
    samples_.Add("prefetchd_credential_lookups_total", 1, {Source::kProvider, provider.outcome});
    // Only executions are timed, not answers from a cache.
    if (provider.ran_for)
      samples_.Observe(kPluginDuration, kPluginSeconds, Seconds(*provider.ran_for),
                       {provider.name, provider.outcome});
  }
  for (Source source : {Source::kDockerConfig, Source::kPullSecret}) {
    const auto found = std::ranges::count(lookup.credentials, source, &credentials::Credential::source);
    samples_.Add("prefetchd_credential_lookups_total", 1,
                 {source, found > 0 ? ProviderOutcome::kOk : ProviderOutcome::kEmpty});
  }
}

void Metrics::CallerAnswered(plan::CallerPurpose purpose, std::string_view result) {
  Add(purpose == plan::CallerPurpose::kFleet ? MetricNamed("prefetchd_fleet_callers_total")
                                             : MetricNamed("prefetchd_preflight_callers_total"),
      1, {result});
}

namespace {

constexpr std::size_t kMostRegistriesAway = 20;  // shown by name; the count covers all
constexpr image::PullPolicy kPolicies[] = {image::PullPolicy::kNever, image::PullPolicy::kIfNotPresent,
                                           image::PullPolicy::kAlways};

MetricType TypeOf(MetricKind kind) {
  if (kind == MetricKind::kHistogram) return MetricType::Histogram;
  return kind == MetricKind::kCounter ? MetricType::Counter : MetricType::Gauge;
}

// Prometheus' buckets are cumulative; Sample's counts are not.
ClientMetric::Histogram HistogramOf(const Sample& sample) {
  ClientMetric::Histogram out{.sample_count = 0, .sample_sum = sample.value, .bucket = {}};
  for (std::size_t i = 0; i < sample.counts.size(); i++) {
    out.sample_count += sample.counts[i];
    const bool last = i == sample.bounds.size();
    out.bucket.push_back(
        {out.sample_count, last ? std::numeric_limits<double>::infinity() : sample.bounds[i]});
  }
  return out;
}

// A metric without a value is absent, with its name and help: that means "not known", which 0 would not.
std::string TextOf(const Samples& samples) {
  std::vector<MetricFamily> families;
  for (const auto& [key, sample] : samples.all) {
    const MetricRow& row = status::kMetrics[key.first];
    if (families.empty() || families.back().name != row.name)
      families.push_back({row.name, row.help, TypeOf(row.kind), {}});
    ClientMetric& metric = families.back().metric.emplace_back();
    const auto names = base::Split(row.labels, ' ');
    for (std::size_t i = 0; i < key.second.size(); i++) {
      // One byte that is not UTF-8 (in a file's name, say) would make Prometheus refuse the whole scrape.
      if (const auto& text = key.second[i].text)
        metric.label.push_back({std::string(names.at(i)), base::ToUtf8(*text)});
    }
    if (row.kind == MetricKind::kHistogram) {
      metric.histogram = HistogramOf(sample);
    } else {
      (row.kind == MetricKind::kCounter ? metric.counter.value : metric.gauge.value) = sample.value;
    }
  }
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families);
  return std::move(out).str();
}

void ShowReadiness(const plan::Readiness& readiness, Samples& out) {
  out.Add("prefetchd_ready", readiness.ready);
  out.Add("prefetchd_readiness_info", 1, {readiness.phase, readiness.reason});
}

void ShowEntries(const std::vector<plan::ImageState>& images, const std::vector<plan::ImageState>& requested,
                 Samples& out) {
  std::map<plan::PullState, int> pulls;
  out.Add("prefetchd_entries_exposed", 0);
  for (const plan::ImageState& image : images) {
    out.Add("prefetchd_entries", 1, {image.phase, image.reason, image.desired->required});
    out.Add("prefetchd_entries_exposed", image.origin.exposed);
    pulls[image.pull.state]++;
  }
  // Pulls for preflights count as pulls, but they are no entries of the list.
  for (const plan::ImageState& image : requested) pulls[image.pull.state]++;
  out.Add("prefetchd_pulls_running", pulls[plan::PullState::kPulling] + pulls[plan::PullState::kUnpacking]);
  out.Add("prefetchd_pulls_queued", pulls[plan::PullState::kQueued]);
  out.Add("prefetchd_retries_waiting", pulls[plan::PullState::kWaiting]);
}

void ShowTouches(const std::vector<plan::ImageState>& images, Samples& out) {
  for (const plan::ImageState& image : images) {
    if (image.touch->state != plan::TouchState::kNone)
      out.Add("prefetchd_entries_touch", 1, {image.touch->state, image.touch->obstacle});
  }
}

double UnixSeconds(base::WallTime time) {
  return Seconds(time.time_since_epoch());
}

// Registries that are away are bounded in number: their names become labels, and each label value is a time
// series of its own.
void ShowTimes(const plan::Snapshot& snapshot, Samples& out) {
  std::size_t away = 0;
  for (const plan::RegistryStatus& registry : snapshot.registries) {
    if (!registry.unreachable_since || away++ >= kMostRegistriesAway) continue;
    out.Add("prefetchd_registry_away_since_timestamp_seconds", UnixSeconds(*registry.unreachable_since),
            {registry.name});
  }
  std::optional<base::WallTime> longest_ago;
  for (const plan::ImageState& image : snapshot.images) {
    if (!image.registry || !image.registry->confirmed_at) continue;
    if (!longest_ago || *image.registry->confirmed_at < *longest_ago) {
      longest_ago = image.registry->confirmed_at;
    }
  }
  if (longest_ago) out.Add("prefetchd_registry_agreed_timestamp_seconds", UnixSeconds(*longest_ago));
}

void ShowFreshness(const plan::Snapshot& snapshot, Samples& out) {
  for (const plan::ImageState& image : snapshot.images) {
    if (image.registry)
      out.Add("prefetchd_entries_fresh", 1, {image.registry->fresh, image.registry->reason});
  }
  if (snapshot.registries.empty()) return;
  out.Add("prefetchd_registries_away",
          std::ranges::count_if(snapshot.registries, [](const plan::RegistryStatus& one) {
            return one.unreachable_since.has_value();
          }));
  ShowTimes(snapshot, out);
}

void ShowRuntime(const plan::RuntimeStatus& runtime, Samples& out) {
  out.Add("prefetchd_runtime_up", runtime.up);
  if (!runtime.name.empty()) out.Add("prefetchd_runtime_info", 1, {runtime.name, runtime.version});
}

std::string_view OrUnknown(const std::string& fact) {
  return fact.empty() ? "unknown" : std::string_view(fact);
}

void ShowKubelet(const plan::KubeletStatus& kubelet, Samples& out) {
  out.Add("prefetchd_kubelet_info", 1, {OrUnknown(kubelet.version), OrUnknown(kubelet.verification)});
  if (!kubelet.version.empty()) out.Add("prefetchd_kubelet_newer", kubelet.newer);
  if (kubelet.records_readable) out.Add("prefetchd_kubelet_records_readable", *kubelet.records_readable);
  out.Add("prefetchd_kubelet_contradictions", kubelet.contradictions.size());
}

void ShowVerdicts(const std::vector<plan::ImageState>& images, Samples& out) {
  for (const plan::ImageState& image : images) {
    if (!image.verdicts) continue;
    for (image::PullPolicy policy : kPolicies) {
      const kubelet::Verdict& verdict = image.verdicts->For(policy);
      out.Add("prefetchd_image_verdicts", 1, {policy, verdict.result, verdict.reason});
    }
  }
}

void ShowList(const plan::ImageList& list, Samples& out) {
  if (!list.hash.empty()) out.Add("prefetchd_list_info", 1, {list.hash});
  for (const plan::ListSource& source : list.sources) {
    if (source.loaded_at) {
      out.Add("prefetchd_list_source_info", 1, {source.name, source.hash});
      out.Add("prefetchd_list_source_loaded_timestamp_seconds", UnixSeconds(*source.loaded_at),
              {source.name});
    }
    out.Add("prefetchd_list_source_entries", source.entries, {source.name});
    out.Add("prefetchd_list_source_in_force", source.loaded_at.has_value(), {source.name});
    out.Add("prefetchd_list_source_error", !source.error.empty(), {source.name});
  }
}

void ShowDisk(const plan::DiskStatus& disk, bool is_known, Samples& out) {
  if (is_known) {
    out.Add("prefetchd_disk_capacity_bytes", disk.capacity_bytes);
    out.Add("prefetchd_disk_available_bytes", disk.available_bytes);
  }
  out.Add("prefetchd_disk_needed_bytes", disk.needed_bytes);
  out.Add("prefetchd_disk_pressure", disk.pressure);
}

// Shows the plugins of all providers together: a provider's name shows the owner of the node's credentials.
void HideProviders(Samples& out) {
  Samples together;
  for (const auto& [key, seconds] : out.all) {
    if (key.first != kPluginDuration.index) continue;
    Sample& sum = together.Histogram(kPluginDuration, seconds.bounds, {std::nullopt, key.second.at(1)});
    sum.value += seconds.value;
    for (std::size_t i = 0; i < seconds.counts.size(); i++) sum.counts[i] += seconds.counts[i];
  }
  std::erase_if(out.all, [](const auto& one) { return one.first.first == kPluginDuration.index; });
  out.all.merge(together.all);
}

}  // namespace

std::string MetricsText(const plan::Snapshot& snapshot, Samples counts, Samples process,
                        std::string_view version, status::View view) {
  Samples out = std::move(counts);
  if (view != status::View::kFull) HideProviders(out);
  out.all.merge(process.all);
  out.Add("prefetchd_build_info", 1, {version});
  ShowReadiness(snapshot.readiness, out);
  ShowEntries(snapshot.images, snapshot.requested, out);
  ShowTouches(snapshot.images, out);
  ShowFreshness(snapshot, out);
  ShowRuntime(snapshot.runtime, out);
  if (snapshot.kubelet) {
    ShowKubelet(*snapshot.kubelet, out);
    out.Add("prefetchd_kubelet_providers_not_given", snapshot.providers_not_given);
    ShowVerdicts(snapshot.images, out);
  }
  ShowList(snapshot.list, out);
  ShowDisk(snapshot.disk, snapshot.disk_known, out);
  if (snapshot.unlisted) {
    const auto& images = snapshot.unlisted->images;
    out.Add("prefetchd_unlisted_images", std::ranges::count_if(images, &plan::UnlistedImage::present));
  }
  out.Add("prefetchd_problems", snapshot.problems.size());
  return TextOf(out);
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
  return Seconds(started->time_since_epoch());
}

}  // namespace

Samples ReadProcessFacts() {
  Samples facts;
  if (rusage usage{}; ::getrusage(RUSAGE_SELF, &usage) == 0) {
    facts.Add("process_cpu_seconds_total", Seconds(usage.ru_utime) + Seconds(usage.ru_stime));
  }
  // Once: on a node with many CPUs the kernel takes milliseconds to write /proc/stat.
  static const std::optional<double> kStarted = StartTime();
  if (kStarted) facts.Add("process_start_time_seconds", *kStarted);
  if (auto memory = base::ReadFile("/proc/self/statm", kMaxProcFile)) {
    const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
    if (auto pages = Field(*memory, 0))
      facts.Add("process_virtual_memory_bytes", static_cast<double>(*pages) * page);
    if (auto pages = Field(*memory, 1))
      facts.Add("process_resident_memory_bytes", static_cast<double>(*pages) * page);
  }
  // One of these is the descriptor that reads the folder.
  if (auto open = base::ListDirectory("/proc/self/fd", kMaxFds); open && !open->empty()) {
    facts.Add("process_open_fds", static_cast<double>(open->size() - 1));
  }
  if (rlimit limit{}; ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    facts.Add("process_max_fds", static_cast<double>(limit.rlim_cur));
  }
  return facts;
}

}  // namespace prefetch::agent
