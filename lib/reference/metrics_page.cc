// The page of metrics. Names and texts are those that /metrics itself shows; labels and alerts exist only
// here.
#include <array>
#include <string>

#include "base/text.h"
#include "reference/page_parts.h"
#include "status/metrics_table.h"

namespace prefetch::reference {
namespace {

using Id = status::MetricId;

struct AlertRow {
  Id id;
  const char* labels;  // with blanks between them
  const char* alert;
};

// A row for each MetricId, in its order: a new metric does not compile without an alert, or the word that it
// needs none.
constexpr std::array<AlertRow, static_cast<std::size_t>(Id::kCount)> kAlerts = {{
    {Id::kBuildInfo, "version", "`count(count by (version) (prefetchd_build_info)) > 1` for a day"},
    {Id::kReady, "", "`prefetchd_ready == 0` for longer than a first start takes (30 min)"},
    {Id::kReadinessInfo, "phase reason",
     "`prefetchd_readiness_info{phase=\"Failing\"}` for 10 min; `Progressing` is slow, not broken"},
    {Id::kTimeToReady, "", "above what your rollout allows: `> 1200`"},
    {Id::kEntries, "state reason required",
     "`sum by (reason) (prefetchd_entries{state=\"Failing\",required=\"true\"}) > 0` for 15 min"},
    {Id::kEntriesExposed, "", "`> 0` where no pull secret should be mounted"},
    {Id::kImageVerdicts, "policy result reason",
     "`sum by (reason) "
     "(prefetchd_image_verdicts{policy=\"Never\",result=\"Refused\",reason!=\"ImageAbsent\"}) > 0` for 5 "
     "min: present but closed images"},
    {Id::kPulls, "result class",
     "`sum by (class) (rate(prefetchd_pulls_total{result=\"failed\"}[15m])) > 0` on many nodes at once: the "
     "registry"},
    {Id::kPullDuration, "result", "the 0.9 quantile of `result=\"succeeded\"` doubles from week to week"},
    {Id::kPullBytes, "", "nothing; for planning links and mirrors"},
    {Id::kFetchedBytes, "", "nothing; shows how much the agent downloads by itself"},
    {Id::kPullsRunning, "", "nothing"},
    {Id::kPullsQueued, "", "`> 0` for 2 h"},
    {Id::kRetriesWaiting, "", "`> 0` for 1 h"},
    {Id::kEntriesFresh, "fresh reason",
     "`sum(prefetchd_entries_fresh{fresh=\"false\",reason!=\"NotChecked\"}) > 0` for 3 h: images may not be "
     "current"},
    {Id::kRegistryChecks, "answer",
     "`rate(prefetchd_registry_checks_total{answer=\"AccessDenied\"}[1h]) > 0`: a credential; "
     "`{answer=\"RateLimited\"}`: ask less often"},
    {Id::kRegistryRequests, "", "above what the registry allows, summed over the fleet"},
    {Id::kRegistryDuration, "", "the 0.9 quantile above 5 s"},
    {Id::kRegistriesUnreachable, "", "`> 0` for 30 min"},
    {Id::kRegistryUnreachableSince, "registry",
     "`time() - prefetchd_registry_away_since_timestamp_seconds > 3600`"},
    {Id::kRegistryAgreed, "", "older than the longest `maxAge`"},
    {Id::kCredentialLookups, "source outcome",
     "`rate(prefetchd_credential_lookups_total{source=\"provider\",outcome=\"error\"}[15m]) > 0`"},
    {Id::kPluginDuration, "provider outcome", "the 0.9 quantile above 10 s: at 60 s it is killed"},
    {Id::kEntriesTouch, "state obstacle",
     "`sum by (obstacle) (prefetchd_entries_touch{state=\"Ineffective\"}) > 0` for 15 min"},
    {Id::kPreflightCallers, "result",
     "`rate(prefetchd_preflight_callers_total{result=\"NotReviewed\"}[15m]) > 0` for 15 min"},
    {Id::kFleetCallers, "result",
     "`rate(prefetchd_fleet_callers_total{result=\"Rejected\"}[15m]) > 0`: callers with a wrong token"},
    {Id::kTouches, "obstacle", "nothing; what was granted, and how often"},
    {Id::kTouchPods, "obstacle",
     "`sum by (obstacle) (rate(prefetchd_touch_pods_total{obstacle!=\"None\"}[15m])) > 0` for 30 min"},
    {Id::kRuntimeUp, "", "`== 0` for 5 min: then the node is not ready either"},
    {Id::kRuntimeInfo, "name version", "nothing; for finding nodes with an old one"},
    {Id::kKubeletInfo, "version verification",
     "`{version=\"unknown\"}` or `{verification=\"unknown\"}` where `FactsUnknown` shows up among the "
     "verdicts"},
    {Id::kKubeletNewer, "", "`== 1` for 15 min: update prefetchd"},
    {Id::kKubeletRecordsReadable, "", "`== 0` for 5 min: the mount, or the right to read it"},
    {Id::kKubeletContradictions, "", "`> 0` for 10 min: a declaration is out of date"},
    {Id::kProvidersMissing, "",
     "`> 0` for 10 min: mount and name them, see "
     "[Registries](../registries.md#credential-providers-of-kubelet)"},
    {Id::kListInfo, "hash",
     "`count(count by (hash) (prefetchd_list_info)) > 1` for longer than a rollout takes"},
    {Id::kSourceInfo, "source hash", "nothing; shows which source differs between nodes"},
    {Id::kSourceEntries, "source", "`== 0`: probably a mistake"},
    {Id::kSourceLoaded, "source", "nothing by itself; after a change of the list: older than the change"},
    {Id::kSourceInForce, "source", "`== 0`: the node is not ready until it is repaired"},
    {Id::kSourceError, "source", "`== 1` at once: the newest version is not live"},
    {Id::kDiskCapacity, "", "nothing"},
    {Id::kDiskAvailable, "",
     "`/ prefetchd_disk_capacity_bytes < 0.25`: kubelet begins to remove images at 0.15"},
    {Id::kDiskNeeded, "", "`> prefetchd_disk_available_bytes`"},
    {Id::kDiskPressure, "", "`== 1` for 10 min"},
    {Id::kUnlisted, "",
     "`> 0` where the list is meant to be complete: `prefetchctl audit --fleet` names them"},
    {Id::kProblems, "", "`> 0` for 10 min"},
    {Id::kProcessCpu, "", "nothing"},
    {Id::kProcessStart, "", "nothing"},
    {Id::kProcessResident, "", "nothing"},
    {Id::kProcessVirtual, "", "nothing"},
    {Id::kProcessOpenFds, "", "nothing"},
    {Id::kProcessMaxFds, "", "nothing"},
}};

constexpr bool AlertsAreInOrder() {
  for (std::size_t i = 0; i < kAlerts.size(); i++) {
    if (kAlerts[i].id != static_cast<Id>(i)) return false;
  }
  return true;
}
static_assert(AlertsAreInOrder(), "kAlerts has one row for each MetricId, in the order of MetricId");

std::string KindOf(const status::MetricRow& row, const AlertRow& alert) {
  std::string kind = row.kind == status::MetricKind::kGauge     ? "gauge"
                     : row.kind == status::MetricKind::kCounter ? "counter"
                                                                : "histogram";
  if (*alert.labels == '\0') return kind;
  kind += ",";
  for (std::string_view label : base::Split(alert.labels, ' ')) kind += " `" + std::string(label) + "`";
  return kind;
}

}  // namespace

std::string MetricsPage() {
  std::string page =
      "# Metrics\n\n"
      "`GET /metrics` is in the text format of Prometheus. Labels are closed sets, or names that the node's\n"
      "configuration bounds (`source`, `registry`, `provider`). The label `provider` exists over the local "
      "socket "
      "only.\n"
      "`state` is `Ready`, `Progressing` or `Failing`. `reason` and `class` are [reasons](reasons.md).\n\n"
      "[Watch](../watch.md#metrics-and-alerts) has the metrics to begin with. The component `monitoring` "
      "alerts on "
      "most of\n"
      "these conditions. The series of a failed pull appears with the first failure of its class. Alert on\n"
      "`prefetchd_entries` where you must not miss one.\n\n";
  page += kGenerated;
  page += "\n| metric | type, labels | meaning | alert when |\n|---|---|---|---|\n";
  for (std::size_t i = 0; i < kAlerts.size(); i++) {
    const status::MetricRow& row = status::AllMetrics()[i];
    std::string help = row.help;
    // The texts of /metrics are sentences; cells of a table are phrases.
    if (help.ends_with('.')) help.pop_back();
    page += "| `" + std::string(row.name) + "` | " + KindOf(row, kAlerts[i]) + " | " + help + " | " +
            kAlerts[i].alert + " |\n";
  }
  return page;
}

}  // namespace prefetch::reference
