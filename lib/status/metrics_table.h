// The table of metrics: name, kind and help text of each, as /metrics shows them, and labels and alert for
// the reference page. A constant.
#pragma once

#include <array>
#include <cstddef>

namespace prefetch::status {

// Every metric, in the order in which they are shown.
enum class MetricId {
  kBuildInfo,
  kReady,
  kReadinessInfo,
  kTimeToReady,
  kEntries,
  kEntriesExposed,
  kImageVerdicts,
  kPulls,
  kPullDuration,
  kPullBytes,
  kFetchedBytes,
  kPullsRunning,
  kPullsQueued,
  kRetriesWaiting,
  kEntriesFresh,
  kRegistryChecks,
  kRegistryRequests,
  kRegistryDuration,
  kRegistriesUnreachable,
  kRegistryUnreachableSince,
  kRegistryAgreed,
  kCredentialLookups,
  kPluginDuration,
  kEntriesTouch,
  kPreflightCallers,
  kFleetCallers,
  kTouches,
  kTouchPods,
  kRuntimeUp,
  kRuntimeInfo,
  kKubeletInfo,
  kKubeletNewer,
  kKubeletRecordsReadable,
  kKubeletContradictions,
  kProvidersMissing,
  kListInfo,
  kSourceInfo,
  kSourceEntries,
  kSourceLoaded,
  kSourceInForce,
  kSourceError,
  kDiskCapacity,
  kDiskAvailable,
  kDiskNeeded,
  kDiskPressure,
  kUnlisted,
  kProblems,
  kProcessCpu,
  kProcessStart,
  kProcessResident,
  kProcessVirtual,
  kProcessOpenFds,
  kProcessMaxFds,
  kCount,  // not a metric: how many there are
};

enum class MetricKind { kGauge, kCounter, kHistogram };

struct MetricRow {
  MetricId id;
  const char* name;
  MetricKind kind;
  const char* help;
  const char* labels;  // with blanks between them
  const char* alert;   // when to alert on it, in Markdown; "nothing" if it needs none
};

// A row for each MetricId, in its order.
using MetricsTable = std::array<MetricRow, static_cast<std::size_t>(MetricId::kCount)>;
const MetricsTable& AllMetrics();

}  // namespace prefetch::status
