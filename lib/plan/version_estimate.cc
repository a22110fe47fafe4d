#include "plan/version_estimate.h"

namespace prefetch::plan {
namespace {

std::string EffectiveVersionText(const VersionEstimate& estimate) {
  return estimate.last ? "the last known version of kubelet, " + estimate.last_text + ", counts"
                       : "kubelet's version is not known";
}

std::string RefusedWords(const VersionEstimate& estimate, const NodeReport& report) {
  return "the API server refuses to show this agent its Node (" + report.trouble +
         "): " + EffectiveVersionText(estimate) + "; grant get on nodes, or set --kubelet-version";
}

std::string UnreachableWords(const VersionEstimate& estimate, const NodeReport& report) {
  return std::string(estimate.unconfirmed ? "kubelet was started again, and the" : "the") +
         " API server does not show this Node (" + report.trouble + "): " + EffectiveVersionText(estimate);
}

std::string SilentWords(const VersionEstimate& estimate, const NodeReport& report) {
  return report.refused ? RefusedWords(estimate, report) : UnreachableWords(estimate, report);
}

std::string UnconfirmedWords(const VersionEstimate& estimate) {
  return "kubelet was started again and has not reported to its Node within a minute: " +
         EffectiveVersionText(estimate);
}

// No kubelet has been started since the Node was read, so the last version holds. A refusal is reported at
// once: it does not pass by itself. A short outage is not reported.
VersionInForce Settled(const VersionEstimate& estimate, const NodeReport& report, base::TimePoint now) {
  VersionInForce in_force{.version = estimate.last};
  if (!report.silent_since) return in_force;
  const base::TimePoint reported_at = *report.silent_since + kOutageReportedAfter;
  if (report.refused) {
    in_force.problem = RefusedWords(estimate, report);
  } else if (now >= reported_at) {
    in_force.problem = UnreachableWords(estimate, report);
  } else {
    in_force.until = reported_at;
  }
  return in_force;
}

VersionInForce Awaited(base::TimePoint seen_at) {
  return {.version = std::nullopt, .awaited = true, .problem = "", .until = seen_at + kConfirmationTimeout};
}

// The first kubelet that was seen may be a new one. There is no version to hold, and the Node may still show
// the version of the kubelet before, also while the API server is away.
VersionInForce FirstSeen(const VersionEstimate& estimate, const NodeReport& report, base::TimePoint now) {
  if (!report.version) return Settled(estimate, report, now);
  if (now < estimate.unconfirmed->seen_at + kConfirmationTimeout)
    return Awaited(estimate.unconfirmed->seen_at);
  VersionEstimate first = estimate;
  first.last = report.version;
  first.last_text = report.version_text;
  return {.version = report.version,
          .problem = report.silent_since ? SilentWords(first, report) : UnconfirmedWords(first)};
}

}  // namespace

bool Confirms(const NodeReport& report, const KubeletStart& start) {
  // Only a heartbeat after its start was written by this process.
  return report.version && report.heartbeat && *report.heartbeat > start.began_at;
}

VersionEstimate AfterStart(VersionEstimate past, const KubeletStart& start) {
  KubeletStart newest = start;
  // A kubelet that crashes at its start is started every few seconds: what is not known since the first of
  // these starts is not known again for each of them.
  if (past.unconfirmed && start.seen_at < past.unconfirmed->seen_at + kConfirmationTimeout)
    newest.seen_at = past.unconfirmed->seen_at;
  past.unconfirmed = newest;
  return past;
}

VersionEstimate AfterNodeReport(VersionEstimate past, const NodeReport& report) {
  if (!report.version) return past;
  // Another version than before can only be the new kubelet's.
  const bool another = past.last && report.version_text != past.last_text;
  const bool confirmed = !past.unconfirmed || Confirms(report, *past.unconfirmed) || another;
  if (!confirmed) return past;
  past.last = report.version;
  past.last_text = report.version_text;
  past.unconfirmed.reset();
  return past;
}

VersionInForce VersionAt(const VersionEstimate& estimate, const NodeReport& report, base::TimePoint now) {
  if (!estimate.unconfirmed) return Settled(estimate, report, now);
  if (!estimate.last) return FirstSeen(estimate, report, now);
  VersionInForce in_force{.version = estimate.last};
  // While the API server is silent, no new version can be learnt, and the last one is the best guess. The
  // problem tells operators that it is one.
  if (report.silent_since) {
    in_force.problem = SilentWords(estimate, report);
    return in_force;
  }
  const base::TimePoint seen_at = estimate.unconfirmed->seen_at;
  if (now < seen_at + kHoldVersion) {
    in_force.until = seen_at + kHoldVersion;
  } else if (now < seen_at + kConfirmationTimeout) {
    return Awaited(seen_at);
  } else {
    in_force.problem = UnconfirmedWords(estimate);
  }
  return in_force;
}

}  // namespace prefetch::plan
