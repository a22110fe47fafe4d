#include "status/metrics_table.h"

namespace prefetch::status {
namespace {

using Id = MetricId;
using Kind = MetricKind;

constexpr MetricsTable kTable = {{
    {Id::kBuildInfo, "prefetchd_build_info", Kind::kGauge, "1, with the agent's version.", "version",
     "`count(count by (version) (prefetchd_build_info)) > 1` for a day"},
    {Id::kReady, "prefetchd_ready", Kind::kGauge,
     "1 if every required entry of the list is ready, as /readyz says, else 0.", "",
     "`prefetchd_ready == 0` for longer than a first start takes (30 min)"},
    {Id::kReadinessInfo, "prefetchd_readiness_info", Kind::kGauge,
     "1, with the node's phase (Ready, Progressing, Failing) and the reason for it.", "phase reason",
     "`prefetchd_readiness_info{phase=\"Failing\"}` for 10 min; `Progressing` is slow, not broken"},
    {Id::kTimeToReady, "prefetchd_time_to_ready_seconds", Kind::kGauge,
     "Time from the agent's start until the node was ready for the first time; absent before.", "",
     "above what your rollout allows: `> 1200`"},
    {Id::kEntries, "prefetchd_entries", Kind::kGauge,
     "Entries of the list by state (Ready, Progressing, Failing), reason, and whether readiness requires "
     "them.",
     "state reason required",
     "`sum by (reason) (prefetchd_entries{state=\"Failing\",required=\"true\"}) > 0` for 15 min"},
    {Id::kEntriesExposed, "prefetchd_entries_exposed", Kind::kGauge,
     "Entries whose image was pulled with a mounted pull secret, so that every pod of the node can use it.",
     "", "`> 0` where no pull secret should be mounted"},
    {Id::kImageVerdicts, "prefetchd_image_verdicts", Kind::kGauge,
     "Entries by kubelet's verdict for a pod of this pull policy without a secret (Starts, Pulls, Refused, "
     "Unknown), and its reason. Absent without a kubelet; entries without a verdict do not count.",
     "policy result reason",
     "`sum by (reason) "
     "(prefetchd_image_verdicts{policy=\"Never\",result=\"Refused\",reason!=\"ImageAbsent\"}) > 0` for 5 "
     "min: present but closed images"},
    {Id::kPulls, "prefetchd_pulls_total", Kind::kCounter,
     "Pulls that ended, by result (succeeded, failed, cancelled) and error class; None where there is none.",
     "result class",
     "`sum by (class) (rate(prefetchd_pulls_total{result=\"failed\"}[15m])) > 0` on many nodes at once: the "
     "registry"},
    {Id::kPullDuration, "prefetchd_pull_duration_seconds", Kind::kHistogram,
     "Time from the start of a pull to its end, by result.", "result",
     "the 0.9 quantile of `result=\"succeeded\"` doubles from week to week"},
    {Id::kPullBytes, "prefetchd_pull_bytes", Kind::kHistogram,
     "Size of each image that was pulled, as the runtime reports it (containerd: compressed), with layers "
     "that "
     "were there before.",
     "", "nothing; for planning links and mirrors"},
    {Id::kFetchedBytes, "prefetchd_fetched_bytes_total", Kind::kCounter,
     "Bytes of blobs that the agent itself fetched from registries (setting fetch); 0 while the runtime "
     "fetches "
     "everything.",
     "", "nothing; shows how much the agent downloads by itself"},
    {Id::kPullsRunning, "prefetchd_pulls_running", Kind::kGauge,
     "Images that are being pulled now, those that a preflight asked for included.", "", "nothing"},
    {Id::kPullsQueued, "prefetchd_pulls_queued", Kind::kGauge,
     "Entries whose pull is due and waits for a free place.", "", "`> 0` for 2 h"},
    {Id::kRetriesWaiting, "prefetchd_retries_waiting", Kind::kGauge,
     "Entries whose pull failed and waits for its next attempt.", "", "`> 0` for 1 h"},
    {Id::kEntriesFresh, "prefetchd_entries_fresh", Kind::kGauge,
     "Entries whose registry is asked, by whether it agreed lately, and the reason; absent where none is "
     "asked.",
     "fresh reason",
     "`sum(prefetchd_entries_fresh{fresh=\"false\",reason!=\"NotChecked\"}) > 0` for 3 h: images may not be "
     "current"},
    {Id::kRegistryChecks, "prefetchd_registry_checks_total", Kind::kCounter,
     "Questions to registries by their answer (Same, Moved, TagMissing, AccessDenied, RateLimited, "
     "Unreachable, ServerError, Indeterminate); this and the next two are absent before the first.",
     "answer",
     "`rate(prefetchd_registry_checks_total{answer=\"AccessDenied\"}[1h]) > 0`: a credential; "
     "`{answer=\"RateLimited\"}`: ask less often"},
    {Id::kRegistryRequests, "prefetchd_registry_requests_total", Kind::kCounter,
     "HTTP requests that these questions took, tokens included.", "",
     "above what the registry allows, summed over the fleet"},
    {Id::kRegistryDuration, "prefetchd_registry_check_duration_seconds", Kind::kHistogram,
     "Time from a question to its answer.", "", "the 0.9 quantile above 5 s"},
    {Id::kRegistriesUnreachable, "prefetchd_registries_away", Kind::kGauge,
     "Registries that did not answer when they were asked last; absent where none is asked.", "",
     "`> 0` for 30 min"},
    {Id::kRegistryUnreachableSince, "prefetchd_registry_away_since_timestamp_seconds", Kind::kGauge,
     "Since when each of these does not answer; of twenty at most.", "registry",
     "`time() - prefetchd_registry_away_since_timestamp_seconds > 3600`"},
    {Id::kRegistryAgreed, "prefetchd_registry_agreed_timestamp_seconds", Kind::kGauge,
     "When a registry agreed last, of the entry for which that is longest ago; absent where none has agreed "
     "since the start.",
     "", "older than the longest `maxAge`"},
    {Id::kCredentialLookups, "prefetchd_credential_lookups_total", Kind::kCounter,
     "Lookups of credentials for a pull, by source (provider, docker-config, pull-secret) and outcome (ok, "
     "empty, error, skipped).",
     "source outcome",
     "`rate(prefetchd_credential_lookups_total{source=\"provider\",outcome=\"error\"}[15m]) > 0`"},
    {Id::kPluginDuration, "prefetchd_credential_provider_duration_seconds", Kind::kHistogram,
     "Time that a credential provider plugin ran, by its name and the outcome; answers from the cache do not "
     "count.",
     "provider outcome", "the 0.9 quantile above 10 s: at 60 s it is killed"},
    {Id::kEntriesTouch, "prefetchd_entries_touch", Kind::kGauge,
     "Entries by the state of their touches (Due, Running, Waiting, Done, Ineffective) and the obstacle "
     "(None, NoNodeCredentials, Admission and so on). Entries without a touch, past or due, do not count.",
     "state obstacle", "`sum by (obstacle) (prefetchd_entries_touch{state=\"Ineffective\"}) > 0` for 15 min"},
    {Id::kPreflightCallers, "prefetchd_preflight_callers_total", Kind::kCounter,
     "Preflights of pods that brought a token, by result: Admitted, or the reason for the rejection. Absent "
     "before the first.",
     "result", "`rate(prefetchd_preflight_callers_total{result=\"NotReviewed\"}[15m]) > 0` for 15 min"},
    {Id::kFleetCallers, "prefetchd_fleet_callers_total", Kind::kCounter,
     "Questions for the full status with a fleet token, by result: Admitted, or the reason for the "
     "rejection. Absent before the first.",
     "result",
     "`rate(prefetchd_fleet_callers_total{result=\"Rejected\"}[15m]) > 0`: callers with a wrong token"},
    {Id::kTouches, "prefetchd_touches_total", Kind::kCounter,
     "Images that were in a touch pod, by obstacle; None: kubelet recorded it for every pod of "
     "the node. Absent before the first.",
     "obstacle", "nothing; what was granted, and how often"},
    {Id::kTouchPods, "prefetchd_touch_pods_total", Kind::kCounter,
     "Touch pods that ended, or could not be created, by obstacle; None: kubelet went through "
     "it. Absent before the first.",
     "obstacle",
     "`sum by (obstacle) (rate(prefetchd_touch_pods_total{obstacle!=\"None\"}[15m])) > 0` for 30 min"},
    {Id::kRuntimeUp, "prefetchd_runtime_up", Kind::kGauge,
     "1 if the container runtime answered when it was asked last, else 0.", "",
     "`== 0` for 5 min: then the node is not ready either"},
    {Id::kRuntimeInfo, "prefetchd_runtime_info", Kind::kGauge,
     "1, with the container runtime's name and version; absent until it was reached.", "name version",
     "nothing; for finding nodes with an old one"},
    {Id::kKubeletInfo, "prefetchd_kubelet_info", Kind::kGauge,
     "1, with the kubelet's version and verification policy, each unknown if it is not known; absent without "
     "a kubelet.",
     "version verification",
     "`{version=\"unknown\"}` or `{verification=\"unknown\"}` where `FactsUnknown` shows up among the "
     "verdicts"},
    {Id::kKubeletNewer, "prefetchd_kubelet_newer", Kind::kGauge,
     "1 if kubelet is newer than the agent's rules, so that most verdicts are Unknown, and no other rules "
     "are declared; else 0. Absent without a kubelet, or while its version is not known.",
     "", "`== 1` for 15 min: update prefetchd"},
    {Id::kKubeletRecordsReadable, "prefetchd_kubelet_records_readable", Kind::kGauge,
     "1 if kubelet's records of pulls can be read, or there are none yet, else 0; absent before the first "
     "look and without a kubelet.",
     "", "`== 0` for 5 min: the mount, or the right to read it"},
    {Id::kKubeletContradictions, "prefetchd_kubelet_contradictions", Kind::kGauge,
     "Declarations about kubelet that the node contradicts; absent without a kubelet.", "",
     "`> 0` for 10 min: a declaration is out of date"},
    {Id::kProvidersMissing, "prefetchd_kubelet_providers_not_given", Kind::kGauge,
     "Credential providers that kubelet uses and the agent was not given; a configuration of kubelet's that "
     "the agent cannot read counts as one. Absent without a kubelet.",
     "",
     "`> 0` for 10 min: mount and name them, see "
     "[Registries](../registries.md#credential-providers-of-kubelet)"},
    {Id::kListInfo, "prefetchd_list_info", Kind::kGauge, "1, with the hash of the list in force.", "hash",
     "`count(count by (hash) (prefetchd_list_info)) > 1` for longer than a rollout takes"},
    {Id::kSourceInfo, "prefetchd_list_source_info", Kind::kGauge,
     "1, with the hash of the version of this source that is in force.", "source hash",
     "nothing; shows which source differs between nodes"},
    {Id::kSourceEntries, "prefetchd_list_source_entries", Kind::kGauge,
     "Entries in the version of this source that is in force.", "source", "`== 0`: probably a mistake"},
    {Id::kSourceLoaded, "prefetchd_list_source_loaded_timestamp_seconds", Kind::kGauge,
     "When the version of this source that is in force was loaded, in seconds since the epoch.", "source",
     "nothing by itself; after a change of the list: older than the change"},
    {Id::kSourceInForce, "prefetchd_list_source_in_force", Kind::kGauge,
     "1 if some version of this source is in force, else 0.", "source",
     "`== 0`: the node is not ready until it is repaired"},
    {Id::kSourceError, "prefetchd_list_source_error", Kind::kGauge,
     "1 if the newest version of this source was refused, else 0.", "source",
     "`== 1` at once: the newest version is not live"},
    {Id::kDiskCapacity, "prefetchd_disk_capacity_bytes", Kind::kGauge,
     "Size of the image filesystem; absent where it cannot be measured.", "", "nothing"},
    {Id::kDiskAvailable, "prefetchd_disk_available_bytes", Kind::kGauge,
     "Free bytes of the image filesystem; absent where it cannot be measured.", "",
     "`/ prefetchd_disk_capacity_bytes < 0.25`: kubelet begins to remove images at 0.15"},
    {Id::kDiskNeeded, "prefetchd_disk_needed_bytes", Kind::kGauge,
     "Bytes that the absent images will still take, as far as their sizes are known.", "",
     "`> prefetchd_disk_available_bytes`"},
    {Id::kDiskPressure, "prefetchd_disk_pressure", Kind::kGauge,
     "1 if the disk rule holds back a pull for want of room, else 0.", "", "`== 1` for 10 min"},
    {Id::kUnlisted, "prefetchd_unlisted_images", Kind::kGauge,
     "Images that came to the node since the agent's start, are on no list, and are still there; absent "
     "before the first look.",
     "", "`> 0` where the list is meant to be complete: `prefetchctl audit --fleet` names them"},
    {Id::kProblems, "prefetchd_problems", Kind::kGauge,
     "Problems that hurt no single image, such as a credential provider configuration that cannot be used.",
     "", "`> 0` for 10 min"},
    {Id::kProcessCpu, "process_cpu_seconds_total", Kind::kCounter,
     "User and system CPU time that the agent spent.", "", "nothing"},
    {Id::kProcessStart, "process_start_time_seconds", Kind::kGauge,
     "When the agent was started, in seconds since the epoch.", "", "nothing"},
    {Id::kProcessResident, "process_resident_memory_bytes", Kind::kGauge,
     "Memory of the agent that is resident.", "", "nothing"},
    {Id::kProcessVirtual, "process_virtual_memory_bytes", Kind::kGauge, "Address space of the agent.", "",
     "nothing"},
    {Id::kProcessOpenFds, "process_open_fds", Kind::kGauge, "Open file descriptors of the agent.", "",
     "nothing"},
    {Id::kProcessMaxFds, "process_max_fds", Kind::kGauge, "File descriptors that the agent may have open.",
     "", "nothing"},
}};

// Families are found by the number of their id (agent/answers/metrics_text.cc), so the order is checked when
// this compiles.
constexpr bool TableIsComplete() {
  for (std::size_t i = 0; i < kTable.size(); i++) {
    if (kTable[i].id != static_cast<Id>(i) || kTable[i].alert == nullptr) return false;
  }
  return true;
}
static_assert(TableIsComplete(), "kTable has one row for each MetricId, in its order, with an alert");

}  // namespace

const MetricsTable& AllMetrics() {
  return kTable;
}

}  // namespace prefetch::status
