// Which version of kubelet counts, on a node whose kubelet may be upgraded at any time. The Node object has
// the version, but a kubelet that has just been started has not written there yet. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "image/kubelet_version.h"
#include "image/pod_coordinates.h"

namespace prefetch::plan {

// After a sign of a new kubelet, the version before stays in force for this long: most restarts are no
// upgrades, and a verdict must not flap.
constexpr std::chrono::seconds kHoldVersion{3};
// Then it is not known until the Node confirms it, but not for longer than this after the sign.
constexpr std::chrono::seconds kConfirmationTimeout{60};
// A shorter outage of the API server is not reported.
constexpr std::chrono::minutes kOutageReportedAfter{2};

// A process of kubelet's that took the place of another one, or the first one that is seen.
struct KubeletStart {
  base::TimePoint seen_at;
  base::WallTime began_at;  // of the process; when it was seen, if nothing tells

  friend bool operator==(const KubeletStart&, const KubeletStart&) = default;
};

// kubelet's version by the Node object.
struct NodeReport {
  std::optional<image::KubeletVersion> version;  // none: not read, or no version
  std::string version_text;                      // with the patch, which versions do not compare
  std::optional<base::WallTime> heartbeat;       // kubelet's newest
  std::optional<image::NodeLabels> labels;       // none: the Node was not read
  std::vector<std::string> addresses;            // of the Node
  // The newest question was not answered, and none since: the API server is away, or refuses. The name of the
  // failure, or the words of the refusal.
  std::optional<base::TimePoint> silent_since;
  bool refused = false;
  std::string trouble;

  friend bool operator==(const NodeReport&, const NodeReport&) = default;
};

// A value. Without `last`, the Node may still tell of the kubelet before the first one that was seen.
struct VersionEstimate {
  std::optional<image::KubeletVersion> last;  // the newest that the Node has confirmed
  std::string last_text;
  std::optional<KubeletStart> unconfirmed;  // the Node has not told of this kubelet yet
};

struct VersionInForce {
  std::optional<image::KubeletVersion> version;
  bool awaited = false;                            // not known: a new kubelet is to report to its Node
  std::string problem{};                           // a sentence; empty: none
  base::TimePoint until = base::TimePoint::max();  // time alone changes it then
};

// The Node was written by this kubelet: its heartbeat is younger than the process.
bool Confirms(const NodeReport& report, const KubeletStart& start);

// kubelet has started anew: its version is open until the Node confirms it.
VersionEstimate AfterStart(VersionEstimate past, const KubeletStart& start);
// The Node was read.
VersionEstimate AfterNodeReport(VersionEstimate past, const NodeReport& report);
// Returns the version that counts at this time, and the problem if it is a guess.
VersionInForce VersionAt(const VersionEstimate& estimate, const NodeReport& report, base::TimePoint now);

}  // namespace prefetch::plan
