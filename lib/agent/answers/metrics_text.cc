#include "agent/answers/metrics_text.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <map>
#include <sstream>
#include <tuple>
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

using Labels = std::vector<std::pair<const char*, std::string_view>>;

// Collects the values of one scrape. Names and help texts come from status::kMetrics, from which the
// reference page is made, too.
class Families {
 public:
  Families() {
    for (const MetricRow& row : status::kMetrics)
      families_.push_back({row.name, row.help, TypeOf(row.kind), {}});
  }

  void Set(MetricNamed of, double value, const Labels& labels = {}) {
    ClientMetric& metric = Add(of, labels);
    if (Family(of).type == MetricType::Counter) {
      metric.counter.value = value;
    } else {
      metric.gauge.value = value;
    }
  }
  template <typename Number>
  void SetIfKnown(MetricNamed of, const std::optional<Number>& value) {
    if (value) Set(of, static_cast<double>(*value));
  }
  void Set(MetricNamed of, const Histogram& values, const Labels& labels = {}) {
    ClientMetric::Histogram& out = Add(of, labels).histogram;
    for (std::size_t i = 0; i < values.counts().size(); i++) {
      // Prometheus' buckets are cumulative; Histogram's counts are not.
      out.sample_count += values.counts()[i];
      bool last = i == values.bounds().size();
      out.bucket.push_back(
          {out.sample_count, last ? std::numeric_limits<double>::infinity() : values.bounds()[i]});
    }
    out.sample_sum = values.sum();
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
  ClientMetric& Add(MetricNamed of, const Labels& labels) {
    ClientMetric& metric = Family(of).metric.emplace_back();
    // One byte that is not UTF-8 (in a file's name, say) would make Prometheus refuse the whole scrape.
    for (const auto& [name, value] : labels) metric.label.push_back({name, base::ToUtf8(value)});
    return metric;
  }

  std::vector<MetricFamily> families_;
};

std::string_view YesOrNo(bool value) {
  return value ? "true" : "false";
}

void ShowReadiness(const plan::Readiness& readiness, Families& out) {
  out.Set("prefetchd_ready", readiness.ready);
  out.Set("prefetchd_readiness_info", 1,
          {{"phase", base::EnumName(readiness.phase)}, {"reason", base::EnumName(readiness.reason)}});
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
  for (const auto& [key, count] : entries) {
    const auto& [phase, reason, required] = key;
    out.Set("prefetchd_entries", count,
            {{"state", base::EnumName(phase)},
             {"reason", base::EnumName(reason)},
             {"required", YesOrNo(required)}});
  }
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
  for (const auto& [key, count] : entries) {
    out.Set("prefetchd_entries_touch", count,
            {{"state", base::EnumName(key.first)}, {"obstacle", base::EnumName(key.second)}});
  }
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
            {{"registry", registry.name}});
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
  for (const auto& [key, count] : entries) {
    out.Set("prefetchd_entries_fresh", count,
            {{"fresh", YesOrNo(key.first)}, {"reason", base::EnumName(key.second)}});
  }
  if (snapshot.registries.empty()) return;
  auto away =
      std::count_if(snapshot.registries.begin(), snapshot.registries.end(),
                    [](const plan::RegistryStatus& one) { return one.unreachable_since.has_value(); });
  out.Set("prefetchd_registries_away", static_cast<double>(away));
  ShowTimes(snapshot, out);
}

void ShowRuntime(const plan::RuntimeStatus& runtime, Families& out) {
  out.Set("prefetchd_runtime_up", runtime.up);
  if (runtime.name.empty()) return;
  out.Set("prefetchd_runtime_info", 1, {{"name", runtime.name}, {"version", runtime.version}});
}

std::string_view OrUnknown(const std::string& fact) {
  return fact.empty() ? "unknown" : std::string_view(fact);
}

void ShowKubelet(const plan::KubeletStatus& kubelet, Families& out) {
  out.Set("prefetchd_kubelet_info", 1,
          {{"version", OrUnknown(kubelet.version)}, {"verification", OrUnknown(kubelet.verification)}});
  if (!kubelet.version.empty()) out.Set("prefetchd_kubelet_newer", kubelet.newer);
  out.SetIfKnown("prefetchd_kubelet_records_readable", kubelet.records_readable);
  out.Set("prefetchd_kubelet_contradictions", static_cast<double>(kubelet.contradictions.size()));
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
  for (const auto& [key, count] : entries) {
    const auto& [policy, result, reason] = key;
    out.Set("prefetchd_image_verdicts", count,
            {{"policy", base::EnumName(policy)},
             {"result", base::EnumName(result)},
             {"reason", base::EnumName(reason)}});
  }
}

void ShowList(const plan::ImageList& list, Families& out) {
  if (!list.hash.empty()) out.Set("prefetchd_list_info", 1, {{"hash", list.hash}});
  for (const plan::ListSource& source : list.sources) {
    Labels name = {{"source", source.name}};
    if (source.loaded_at) {
      std::chrono::duration<double> loaded = source.loaded_at->time_since_epoch();
      out.Set("prefetchd_list_source_info", 1, {{"source", source.name}, {"hash", source.hash}});
      out.Set("prefetchd_list_source_loaded_timestamp_seconds", loaded.count(), name);
    }
    out.Set("prefetchd_list_source_entries", static_cast<double>(source.entries), name);
    out.Set("prefetchd_list_source_in_force", source.loaded_at.has_value(), name);
    out.Set("prefetchd_list_source_error", !source.error.empty(), name);
  }
}

void ShowDisk(const plan::DiskStatus& disk, bool is_known, Families& out) {
  if (is_known) {
    out.Set("prefetchd_disk_capacity_bytes", static_cast<double>(disk.capacity_bytes));
    out.Set("prefetchd_disk_available_bytes", static_cast<double>(disk.available_bytes));
  }
  out.Set("prefetchd_disk_needed_bytes", static_cast<double>(disk.needed_bytes));
  out.Set("prefetchd_disk_pressure", disk.pressure);
}

// Shows plugins by provider; in the public view all providers together, since a provider's name shows the
// owner of the node's credentials.
void ShowPlugins(const Counts& counts, status::View view, Families& out) {
  std::map<credentials::ProviderOutcome, Histogram> together;
  for (const auto& [key, seconds] : counts.plugin_seconds) {
    const auto& [provider, outcome] = key;
    if (view == status::View::kFull) {
      out.Set("prefetchd_credential_provider_duration_seconds", seconds,
              {{"provider", provider}, {"outcome", credentials::ProviderOutcomeName(outcome)}});
      continue;
    }
    together.try_emplace(outcome, Histogram(seconds.bounds())).first->second.Add(seconds);
  }
  for (const auto& [outcome, seconds] : together) {
    out.Set("prefetchd_credential_provider_duration_seconds", seconds,
            {{"outcome", credentials::ProviderOutcomeName(outcome)}});
  }
}

void ShowCounts(const Counts& counts, Families& out) {
  if (counts.time_to_ready)
    out.Set("prefetchd_time_to_ready_seconds", std::chrono::duration<double>(*counts.time_to_ready).count());
  for (const auto& [key, count] : counts.pulls) {
    const auto& [result, reason] = key;
    out.Set("prefetchd_pulls_total", static_cast<double>(count),
            {{"result", PullResultName(result)}, {"class", reason ? base::EnumName(*reason) : "None"}});
  }
  for (const auto& [result, seconds] : counts.pull_seconds) {
    out.Set("prefetchd_pull_duration_seconds", seconds, {{"result", PullResultName(result)}});
  }
  out.Set("prefetchd_pull_bytes", counts.pull_bytes);
  out.Set("prefetchd_fetched_bytes_total", static_cast<double>(counts.fetched_bytes));
  for (const auto& [answer, count] : counts.registry_answers) {
    out.Set("prefetchd_registry_checks_total", static_cast<double>(count),
            {{"answer", base::EnumName(answer)}});
  }
  // An agent that asks no registry has no series about it.
  if (!counts.registry_answers.empty()) {
    out.Set("prefetchd_registry_requests_total", static_cast<double>(counts.registry_requests));
    out.Set("prefetchd_registry_check_duration_seconds", counts.registry_seconds);
  }
  for (const auto& [key, count] : counts.lookups) {
    const auto& [source, outcome] = key;
    out.Set("prefetchd_credential_lookups_total", static_cast<double>(count),
            {{"source", credentials::SourceName(source)},
             {"outcome", credentials::ProviderOutcomeName(outcome)}});
  }
  for (const auto& [key, count] : counts.callers) {
    const auto& [purpose, result] = key;
    out.Set(purpose == plan::CallerPurpose::kFleet ? MetricNamed("prefetchd_fleet_callers_total")
                                                   : MetricNamed("prefetchd_preflight_callers_total"),
            static_cast<double>(count), {{"result", result}});
  }
  for (const auto& [obstacle, count] : counts.touches) {
    out.Set("prefetchd_touches_total", static_cast<double>(count), {{"obstacle", base::EnumName(obstacle)}});
  }
  for (const auto& [obstacle, count] : counts.touch_pods) {
    out.Set("prefetchd_touch_pods_total", static_cast<double>(count),
            {{"obstacle", base::EnumName(obstacle)}});
  }
}

void ShowProcess(const ProcessFacts& process, Families& out) {
  out.SetIfKnown("process_cpu_seconds_total", process.cpu_seconds);
  out.SetIfKnown("process_start_time_seconds", process.start_time_seconds);
  out.SetIfKnown("process_resident_memory_bytes", process.resident_bytes);
  out.SetIfKnown("process_virtual_memory_bytes", process.virtual_bytes);
  out.SetIfKnown("process_open_fds", process.open_fds);
  out.SetIfKnown("process_max_fds", process.max_fds);
}

}  // namespace

std::string MetricsText(const plan::Snapshot& snapshot, const Counts& counts, const ProcessFacts& process,
                        std::string_view version, status::View view) {
  Families out;
  out.Set("prefetchd_build_info", 1, {{"version", version}});
  ShowReadiness(snapshot.readiness, out);
  ShowEntries(snapshot.images, snapshot.requested, out);
  ShowTouches(snapshot.images, out);
  ShowFreshness(snapshot, out);
  ShowCounts(counts, out);
  ShowPlugins(counts, view, out);
  ShowRuntime(snapshot.runtime, out);
  if (snapshot.kubelet) {
    ShowKubelet(*snapshot.kubelet, out);
    out.Set("prefetchd_kubelet_providers_not_given", static_cast<double>(snapshot.providers_not_given));
    ShowVerdicts(snapshot.images, out);
  }
  ShowList(snapshot.list, out);
  ShowDisk(snapshot.disk, snapshot.disk_known, out);
  if (snapshot.unlisted) {
    const auto& images = snapshot.unlisted->images;
    auto present = std::count_if(images.begin(), images.end(),
                                 [](const plan::UnlistedImage& image) { return image.present; });
    out.Set("prefetchd_unlisted_images", static_cast<double>(present));
  }
  out.Set("prefetchd_problems", static_cast<double>(snapshot.problems.size()));
  ShowProcess(process, out);
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
    facts.cpu_seconds = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  }
  // Once: on a node with many CPUs the kernel takes milliseconds to write /proc/stat.
  static const std::optional<double> kStarted = StartTime();
  facts.start_time_seconds = kStarted;
  if (auto memory = base::ReadFile("/proc/self/statm", kMaxProcFile)) {
    auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    if (auto pages = Field(*memory, 0)) facts.virtual_bytes = *pages * page;
    if (auto pages = Field(*memory, 1)) facts.resident_bytes = *pages * page;
  }
  // One of these is the descriptor that reads the folder.
  if (auto open = base::ListDirectory("/proc/self/fd", kMaxFds); open && !open->empty()) {
    facts.open_fds = open->size() - 1;
  }
  if (rlimit limit{}; ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    facts.max_fds = limit.rlim_cur;
  }
  return facts;
}

}  // namespace prefetch::agent
