// The metrics: name, kind and help text of each, as /metrics shows them, and labels and alert for the
// reference page. Constants.
#pragma once

#include <cstddef>
#include <string_view>

namespace prefetch::status {

enum class MetricKind { kGauge, kCounter, kHistogram };

struct MetricRow {
  const char* name;
  MetricKind kind;
  const char* help;
  const char* labels;  // with blanks between them
  const char* alert;   // when to alert on it, in Markdown; "nothing" if it needs none
};

// In the order in which they are shown.
inline constexpr MetricRow kMetrics[] = {
    {"prefetchd_build_info", MetricKind::kGauge, "1, with the agent's version.", "version",
     "`count(count by (version) (prefetchd_build_info)) > 1` for a day"},
    {"prefetchd_ready", MetricKind::kGauge,
     "1 if every required entry of the list is ready, as /readyz says, else 0.", "",
     "`prefetchd_ready == 0` for longer than a first start takes (30 min)"},
    {"prefetchd_readiness_info", MetricKind::kGauge,
     "1, with the node's phase (Ready, Progressing, Failing) and the reason for it.", "phase reason",
     "`prefetchd_readiness_info{phase=\"Failing\"}` for 10 min; `Progressing` is slow, not broken"},
    {"prefetchd_time_to_ready_seconds", MetricKind::kGauge,
     "Time from the agent's start until the node was ready for the first time; absent before.", "",
     "above what your rollout allows: `> 1200`"},
    {"prefetchd_entries", MetricKind::kGauge,
     "Entries of the list by state (Ready, Progressing, Failing), reason, and whether readiness requires "
     "them.",
     "state reason required",
     "`sum by (reason) (prefetchd_entries{state=\"Failing\",required=\"true\"}) > 0` for 15 min"},
    {"prefetchd_entries_exposed", MetricKind::kGauge,
     "Entries whose image was pulled with a mounted pull secret, so that every pod of the node can use it.",
     "", "`> 0` where no pull secret should be mounted"},
    {"prefetchd_image_verdicts", MetricKind::kGauge,
     "Entries by kubelet's verdict for a pod of this pull policy without a secret (Starts, Pulls, Refused, "
     "Unknown), and its reason. Absent without a kubelet; entries without a verdict do not count.",
     "policy result reason",
     "`sum by (reason) "
     "(prefetchd_image_verdicts{policy=\"Never\",result=\"Refused\",reason!=\"ImageAbsent\"}) > 0` for 5 "
     "min: present but closed images"},
    {"prefetchd_pulls_total", MetricKind::kCounter,
     "Pulls that ended, by result (succeeded, failed, cancelled) and error class; None where there is none.",
     "result class",
     "`sum by (class) (rate(prefetchd_pulls_total{result=\"failed\"}[15m])) > 0` on many nodes at once: the "
     "registry"},
    {"prefetchd_pull_duration_seconds", MetricKind::kHistogram,
     "Time from the start of a pull to its end, by result.", "result",
     "the 0.9 quantile of `result=\"succeeded\"` doubles from week to week"},
    {"prefetchd_pull_bytes", MetricKind::kHistogram,
     "Size of each image that was pulled, as the runtime reports it (containerd: compressed), with layers "
     "that "
     "were there before.",
     "", "nothing; for planning links and mirrors"},
    {"prefetchd_fetched_bytes_total", MetricKind::kCounter,
     "Bytes of blobs that the agent itself fetched from registries (setting fetch); 0 while the runtime "
     "fetches "
     "everything.",
     "", "nothing; shows how much the agent downloads by itself"},
    {"prefetchd_pulls_running", MetricKind::kGauge,
     "Images that are being pulled now, those that a preflight asked for included.", "", "nothing"},
    {"prefetchd_pulls_queued", MetricKind::kGauge, "Entries whose pull is due and waits for a free place.",
     "", "`> 0` for 2 h"},
    {"prefetchd_retries_waiting", MetricKind::kGauge,
     "Entries whose pull failed and waits for its next attempt.", "", "`> 0` for 1 h"},
    {"prefetchd_entries_fresh", MetricKind::kGauge,
     "Entries whose registry is asked, by whether it agreed lately, and the reason; absent where none is "
     "asked.",
     "fresh reason",
     "`sum(prefetchd_entries_fresh{fresh=\"false\",reason!=\"NotChecked\"}) > 0` for 3 h: images may not be "
     "current"},
    {"prefetchd_registry_checks_total", MetricKind::kCounter,
     "Questions to registries by their answer (Same, Moved, TagMissing, AccessDenied, RateLimited, "
     "Unreachable, ServerError, Indeterminate); this and the next two are absent before the first.",
     "answer",
     "`rate(prefetchd_registry_checks_total{answer=\"AccessDenied\"}[1h]) > 0`: a credential; "
     "`{answer=\"RateLimited\"}`: ask less often"},
    {"prefetchd_registry_requests_total", MetricKind::kCounter,
     "HTTP requests that these questions took, tokens included.", "",
     "above what the registry allows, summed over the fleet"},
    {"prefetchd_registry_check_duration_seconds", MetricKind::kHistogram,
     "Time from a question to its answer.", "", "the 0.9 quantile above 5 s"},
    {"prefetchd_registries_away", MetricKind::kGauge,
     "Registries that did not answer when they were asked last; absent where none is asked.", "",
     "`> 0` for 30 min"},
    {"prefetchd_registry_away_since_timestamp_seconds", MetricKind::kGauge,
     "Since when each of these does not answer; of twenty at most.", "registry",
     "`time() - prefetchd_registry_away_since_timestamp_seconds > 3600`"},
    {"prefetchd_registry_agreed_timestamp_seconds", MetricKind::kGauge,
     "When a registry agreed last, of the entry for which that is longest ago; absent where none has agreed "
     "since the start.",
     "", "older than the longest `maxAge`"},
    {"prefetchd_credential_lookups_total", MetricKind::kCounter,
     "Lookups of credentials for a pull, by source (provider, docker-config, pull-secret) and outcome (ok, "
     "empty, error, skipped).",
     "source outcome",
     "`rate(prefetchd_credential_lookups_total{source=\"provider\",outcome=\"error\"}[15m]) > 0`"},
    {"prefetchd_credential_provider_duration_seconds", MetricKind::kHistogram,
     "Time that a credential provider plugin ran, by its name and the outcome; answers from the cache do not "
     "count.",
     "provider outcome", "the 0.9 quantile above 10 s: at 60 s it is killed"},
    {"prefetchd_entries_touch", MetricKind::kGauge,
     "Entries by the state of their touches (Due, Running, Waiting, Done, Ineffective) and the obstacle "
     "(None, NoNodeCredentials, Admission and so on). Entries without a touch, past or due, do not count.",
     "state obstacle", "`sum by (obstacle) (prefetchd_entries_touch{state=\"Ineffective\"}) > 0` for 15 min"},
    {"prefetchd_preflight_callers_total", MetricKind::kCounter,
     "Preflights of pods that brought a token, by result: Admitted, or the reason for the rejection. Absent "
     "before the first.",
     "result", "`rate(prefetchd_preflight_callers_total{result=\"NotReviewed\"}[15m]) > 0` for 15 min"},
    {"prefetchd_fleet_callers_total", MetricKind::kCounter,
     "Questions for the full status with a fleet token, by result: Admitted, or the reason for the "
     "rejection. Absent before the first.",
     "result",
     "`rate(prefetchd_fleet_callers_total{result=\"Rejected\"}[15m]) > 0`: callers with a wrong token"},
    {"prefetchd_touches_total", MetricKind::kCounter,
     "Images that were in a touch pod, by obstacle; None: kubelet recorded it for every pod of "
     "the node. Absent before the first.",
     "obstacle", "nothing; what was granted, and how often"},
    {"prefetchd_touch_pods_total", MetricKind::kCounter,
     "Touch pods that ended, or could not be created, by obstacle; None: kubelet went through "
     "it. Absent before the first.",
     "obstacle",
     "`sum by (obstacle) (rate(prefetchd_touch_pods_total{obstacle!=\"None\"}[15m])) > 0` for 30 min"},
    {"prefetchd_runtime_up", MetricKind::kGauge,
     "1 if the container runtime answered when it was asked last, else 0.", "",
     "`== 0` for 5 min: then the node is not ready either"},
    {"prefetchd_runtime_info", MetricKind::kGauge,
     "1, with the container runtime's name and version; absent until it was reached.", "name version",
     "nothing; for finding nodes with an old one"},
    {"prefetchd_kubelet_info", MetricKind::kGauge,
     "1, with the kubelet's version and verification policy, each unknown if it is not known; absent without "
     "a kubelet.",
     "version verification",
     "`{version=\"unknown\"}` or `{verification=\"unknown\"}` where `FactsUnknown` shows up among the "
     "verdicts"},
    {"prefetchd_kubelet_newer", MetricKind::kGauge,
     "1 if kubelet is newer than the agent's rules, so that most verdicts are Unknown, and no other rules "
     "are declared; else 0. Absent without a kubelet, or while its version is not known.",
     "", "`== 1` for 15 min: update prefetchd"},
    {"prefetchd_kubelet_records_readable", MetricKind::kGauge,
     "1 if kubelet's records of pulls can be read, or there are none yet, else 0; absent before the first "
     "look and without a kubelet.",
     "", "`== 0` for 5 min: the mount, or the right to read it"},
    {"prefetchd_kubelet_contradictions", MetricKind::kGauge,
     "Declarations about kubelet that the node contradicts; absent without a kubelet.", "",
     "`> 0` for 10 min: a declaration is out of date"},
    {"prefetchd_kubelet_providers_not_given", MetricKind::kGauge,
     "Credential providers that kubelet uses and the agent was not given; a configuration of kubelet's that "
     "the agent cannot read counts as one. Absent without a kubelet.",
     "",
     "`> 0` for 10 min: mount and name them, see "
     "[Registries](../registries.md#credential-providers-of-kubelet)"},
    {"prefetchd_list_info", MetricKind::kGauge, "1, with the hash of the list in force.", "hash",
     "`count(count by (hash) (prefetchd_list_info)) > 1` for longer than a rollout takes"},
    {"prefetchd_list_source_info", MetricKind::kGauge,
     "1, with the hash of the version of this source that is in force.", "source hash",
     "nothing; shows which source differs between nodes"},
    {"prefetchd_list_source_entries", MetricKind::kGauge,
     "Entries in the version of this source that is in force.", "source", "`== 0`: probably a mistake"},
    {"prefetchd_list_source_loaded_timestamp_seconds", MetricKind::kGauge,
     "When the version of this source that is in force was loaded, in seconds since the epoch.", "source",
     "nothing by itself; after a change of the list: older than the change"},
    {"prefetchd_list_source_in_force", MetricKind::kGauge,
     "1 if some version of this source is in force, else 0.", "source",
     "`== 0`: the node is not ready until it is repaired"},
    {"prefetchd_list_source_error", MetricKind::kGauge,
     "1 if the newest version of this source was refused, else 0.", "source",
     "`== 1` at once: the newest version is not live"},
    {"prefetchd_disk_capacity_bytes", MetricKind::kGauge,
     "Size of the image filesystem; absent where it cannot be measured.", "", "nothing"},
    {"prefetchd_disk_available_bytes", MetricKind::kGauge,
     "Free bytes of the image filesystem; absent where it cannot be measured.", "",
     "`/ prefetchd_disk_capacity_bytes < 0.25`: kubelet begins to remove images at 0.15"},
    {"prefetchd_disk_needed_bytes", MetricKind::kGauge,
     "Bytes that the absent images will still take, as far as their sizes are known.", "",
     "`> prefetchd_disk_available_bytes`"},
    {"prefetchd_disk_pressure", MetricKind::kGauge,
     "1 if the disk rule holds back a pull for want of room, else 0.", "", "`== 1` for 10 min"},
    {"prefetchd_unlisted_images", MetricKind::kGauge,
     "Images that came to the node since the agent's start, are on no list, and are still there; absent "
     "before the first look.",
     "", "`> 0` where the list is meant to be complete: `prefetchctl audit --fleet` names them"},
    {"prefetchd_problems", MetricKind::kGauge,
     "Problems that hurt no single image, such as a credential provider configuration that cannot be used.",
     "", "`> 0` for 10 min"},
    {"process_cpu_seconds_total", MetricKind::kCounter, "User and system CPU time that the agent spent.", "",
     "nothing"},
    {"process_start_time_seconds", MetricKind::kGauge,
     "When the agent was started, in seconds since the epoch.", "", "nothing"},
    {"process_resident_memory_bytes", MetricKind::kGauge, "Memory of the agent that is resident.", "",
     "nothing"},
    {"process_virtual_memory_bytes", MetricKind::kGauge, "Address space of the agent.", "", "nothing"},
    {"process_open_fds", MetricKind::kGauge, "Open file descriptors of the agent.", "", "nothing"},
    {"process_max_fds", MetricKind::kGauge, "File descriptors that the agent may have open.", "", "nothing"},
};

// A metric by its name; the name of none does not compile.
struct MetricNamed {
  consteval MetricNamed(const char* name) {  // NOLINT: of a literal
    while (std::string_view(kMetrics[index].name) != name) index++;
  }
  std::size_t index = 0;  // in kMetrics
};

}  // namespace prefetch::status
