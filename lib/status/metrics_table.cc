#include "status/metrics_table.h"

namespace prefetch::status {
namespace {

using Id = MetricId;
using Kind = MetricKind;

constexpr MetricsTable kTable = {{
    {Id::kBuildInfo, "prefetchd_build_info", Kind::kGauge, "1, with the agent's version."},
    {Id::kReady, "prefetchd_ready", Kind::kGauge,
     "1 if every required entry of the list is ready, as /readyz says, else 0."},
    {Id::kReadinessInfo, "prefetchd_readiness_info", Kind::kGauge,
     "1, with the node's phase (Ready, Progressing, Failing) and the reason for it."},
    {Id::kTimeToReady, "prefetchd_time_to_ready_seconds", Kind::kGauge,
     "Time from the agent's start until the node was ready for the first time; absent before."},
    {Id::kEntries, "prefetchd_entries", Kind::kGauge,
     "Entries of the list by state (Ready, Progressing, Failing), reason, and whether readiness requires "
     "them."},
    {Id::kEntriesExposed, "prefetchd_entries_exposed", Kind::kGauge,
     "Entries whose image was pulled with a mounted pull secret, so that every pod of the node can use it."},
    {Id::kImageVerdicts, "prefetchd_image_verdicts", Kind::kGauge,
     "Entries by kubelet's verdict for a pod of this pull policy without a secret (Starts, Pulls, Refused, "
     "Unknown), and its reason. Absent without a kubelet; entries without a verdict do not count."},
    {Id::kPulls, "prefetchd_pulls_total", Kind::kCounter,
     "Pulls that ended, by result (succeeded, failed, cancelled) and error class; None where there is none."},
    {Id::kPullDuration, "prefetchd_pull_duration_seconds", Kind::kHistogram,
     "Time from the start of a pull to its end, by result."},
    {Id::kPullBytes, "prefetchd_pull_bytes", Kind::kHistogram,
     "Size of each image that was pulled, as the runtime reports it (containerd: compressed), with layers "
     "that "
     "were there before."},
    {Id::kFetchedBytes, "prefetchd_fetched_bytes_total", Kind::kCounter,
     "Bytes of blobs that the agent itself fetched from registries (setting fetch); 0 while the runtime "
     "fetches "
     "everything."},
    {Id::kPullsRunning, "prefetchd_pulls_running", Kind::kGauge,
     "Images that are being pulled now, those that a preflight asked for included."},
    {Id::kPullsQueued, "prefetchd_pulls_queued", Kind::kGauge,
     "Entries whose pull is due and waits for a free place."},
    {Id::kRetriesWaiting, "prefetchd_retries_waiting", Kind::kGauge,
     "Entries whose pull failed and waits for its next attempt."},
    {Id::kEntriesFresh, "prefetchd_entries_fresh", Kind::kGauge,
     "Entries whose registry is asked, by whether it agreed lately, and the reason; absent where none is "
     "asked."},
    {Id::kRegistryChecks, "prefetchd_registry_checks_total", Kind::kCounter,
     "Questions to registries by their answer (Same, Moved, TagMissing, AccessDenied, RateLimited, "
     "Unreachable, ServerError, Indeterminate); this and the next two are absent before the first."},
    {Id::kRegistryRequests, "prefetchd_registry_requests_total", Kind::kCounter,
     "HTTP requests that these questions took, tokens included."},
    {Id::kRegistryDuration, "prefetchd_registry_check_duration_seconds", Kind::kHistogram,
     "Time from a question to its answer."},
    {Id::kRegistriesUnreachable, "prefetchd_registries_away", Kind::kGauge,
     "Registries that did not answer when they were asked last; absent where none is asked."},
    {Id::kRegistryUnreachableSince, "prefetchd_registry_away_since_timestamp_seconds", Kind::kGauge,
     "Since when each of these does not answer; of twenty at most."},
    {Id::kRegistryAgreed, "prefetchd_registry_agreed_timestamp_seconds", Kind::kGauge,
     "When a registry agreed last, of the entry for which that is longest ago; absent where none has agreed "
     "since the start."},
    {Id::kCredentialLookups, "prefetchd_credential_lookups_total", Kind::kCounter,
     "Lookups of credentials for a pull, by source (provider, docker-config, pull-secret) and outcome (ok, "
     "empty, error, skipped)."},
    {Id::kPluginDuration, "prefetchd_credential_provider_duration_seconds", Kind::kHistogram,
     "Time that a credential provider plugin ran, by its name and the outcome; answers from the cache do not "
     "count."},
    {Id::kEntriesTouch, "prefetchd_entries_touch", Kind::kGauge,
     "Entries by the state of their touches (Due, Running, Waiting, Done, Ineffective) and the obstacle "
     "(None, NoNodeCredentials, Admission and so on). Entries without a touch, past or due, do not count."},
    {Id::kPreflightCallers, "prefetchd_preflight_callers_total", Kind::kCounter,
     "Preflights of pods that brought a token, by result: Admitted, or the reason for the rejection. Absent "
     "before the first."},
    {Id::kFleetCallers, "prefetchd_fleet_callers_total", Kind::kCounter,
     "Questions for the full status with a fleet token, by result: Admitted, or the reason for the "
     "rejection. Absent before the first."},
    {Id::kTouches, "prefetchd_touches_total", Kind::kCounter,
     "Images that were in a touch pod, by obstacle; None: kubelet recorded it for every pod of "
     "the node. Absent before the first."},
    {Id::kTouchPods, "prefetchd_touch_pods_total", Kind::kCounter,
     "Touch pods that ended, or could not be created, by obstacle; None: kubelet went through "
     "it. Absent before the first."},
    {Id::kRuntimeUp, "prefetchd_runtime_up", Kind::kGauge,
     "1 if the container runtime answered when it was asked last, else 0."},
    {Id::kRuntimeInfo, "prefetchd_runtime_info", Kind::kGauge,
     "1, with the container runtime's name and version; absent until it was reached."},
    {Id::kKubeletInfo, "prefetchd_kubelet_info", Kind::kGauge,
     "1, with the kubelet's version and verification policy, each unknown if it is not known; absent without "
     "a kubelet."},
    {Id::kKubeletNewer, "prefetchd_kubelet_newer", Kind::kGauge,
     "1 if kubelet is newer than the agent's rules, so that most verdicts are Unknown, and no other rules "
     "are declared; else 0. Absent without a kubelet, or while its version is not known."},
    {Id::kKubeletRecordsReadable, "prefetchd_kubelet_records_readable", Kind::kGauge,
     "1 if kubelet's records of pulls can be read, or there are none yet, else 0; absent before the first "
     "look and without a kubelet."},
    {Id::kKubeletContradictions, "prefetchd_kubelet_contradictions", Kind::kGauge,
     "Declarations about kubelet that the node contradicts; absent without a kubelet."},
    {Id::kProvidersMissing, "prefetchd_kubelet_providers_not_given", Kind::kGauge,
     "Credential providers that kubelet uses and the agent was not given; a configuration of kubelet's that "
     "the agent cannot read counts as one. Absent without a kubelet."},
    {Id::kListInfo, "prefetchd_list_info", Kind::kGauge, "1, with the hash of the list in force."},
    {Id::kSourceInfo, "prefetchd_list_source_info", Kind::kGauge,
     "1, with the hash of the version of this source that is in force."},
    {Id::kSourceEntries, "prefetchd_list_source_entries", Kind::kGauge,
     "Entries in the version of this source that is in force."},
    {Id::kSourceLoaded, "prefetchd_list_source_loaded_timestamp_seconds", Kind::kGauge,
     "When the version of this source that is in force was loaded, in seconds since the epoch."},
    {Id::kSourceInForce, "prefetchd_list_source_in_force", Kind::kGauge,
     "1 if some version of this source is in force, else 0."},
    {Id::kSourceError, "prefetchd_list_source_error", Kind::kGauge,
     "1 if the newest version of this source was refused, else 0."},
    {Id::kDiskCapacity, "prefetchd_disk_capacity_bytes", Kind::kGauge,
     "Size of the image filesystem; absent where it cannot be measured."},
    {Id::kDiskAvailable, "prefetchd_disk_available_bytes", Kind::kGauge,
     "Free bytes of the image filesystem; absent where it cannot be measured."},
    {Id::kDiskNeeded, "prefetchd_disk_needed_bytes", Kind::kGauge,
     "Bytes that the absent images will still take, as far as their sizes are known."},
    {Id::kDiskPressure, "prefetchd_disk_pressure", Kind::kGauge,
     "1 if the disk rule holds back a pull for want of room, else 0."},
    {Id::kUnlisted, "prefetchd_unlisted_images", Kind::kGauge,
     "Images that came to the node since the agent's start, are on no list, and are still there; absent "
     "before the first look."},
    {Id::kProblems, "prefetchd_problems", Kind::kGauge,
     "Problems that hurt no single image, such as a credential provider configuration that cannot be used."},
    {Id::kProcessCpu, "process_cpu_seconds_total", Kind::kCounter,
     "User and system CPU time that the agent spent."},
    {Id::kProcessStart, "process_start_time_seconds", Kind::kGauge,
     "When the agent was started, in seconds since the epoch."},
    {Id::kProcessResident, "process_resident_memory_bytes", Kind::kGauge,
     "Memory of the agent that is resident."},
    {Id::kProcessVirtual, "process_virtual_memory_bytes", Kind::kGauge, "Address space of the agent."},
    {Id::kProcessOpenFds, "process_open_fds", Kind::kGauge, "Open file descriptors of the agent."},
    {Id::kProcessMaxFds, "process_max_fds", Kind::kGauge, "File descriptors that the agent may have open."},
}};

// Families are found by the number of their id (agent/answers/metrics_text.cc), so the order is checked when
// this compiles.
constexpr bool TableIsInOrder() {
  for (std::size_t i = 0; i < kTable.size(); i++) {
    if (kTable[i].id != static_cast<Id>(i)) return false;
  }
  return true;
}
static_assert(TableIsInOrder(), "kTable has one row for each MetricId, in the order of MetricId");

}  // namespace

const MetricsTable& AllMetrics() {
  return kTable;
}

}  // namespace prefetch::status
