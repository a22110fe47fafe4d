// DesiredImage: one entry of the list, merged over all sources and with its defaults filled in
// (deploy/docs/reference/list.md). lib/list decodes the text of users, so nothing here can be wrong any more.
#pragma once

#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/shared.h"
#include "base/time_zone.h"
#include "image/platform.h"
#include "image/pod_coordinates.h"
#include "image/reference.h"

namespace prefetch::plan {

// ---- PullWindow: hours in which pulls of an entry may start. Pure.
//
// Operators know the form from kured: a start, an end, weekdays, a time zone. Cron lines with a duration
// (Argo CD's sync windows) say more than anybody asks of nights and weekends, and are easily misread.

inline constexpr std::array<const char*, 7> kDayNames = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
inline constexpr unsigned kEveryDay = 0x7f;

struct PullWindow {
  // On the zone's clock. An end before the start is on the next day. They differ.
  std::chrono::minutes start{0};
  std::chrono::minutes end{24 * 60};
  unsigned days = kEveryDay;  // on which it starts; bit 0 is Monday
  base::TimeZone zone;

  friend auto operator<=>(const PullWindow&, const PullWindow&) = default;
};

struct WindowState {
  bool open = true;
  base::WallTime changes_at = base::WallTime::max();  // it opens or closes; max(): never

  friend bool operator==(const WindowState&, const WindowState&) = default;
};

// The window is open while the clock of its zone shows a time in it. So an hour that summer time skips is not
// in it, and one that is repeated counts twice.
WindowState StateOf(const PullWindow& window, base::WallTime now);
// Several are open while one of them is. Without any, pulls may start at any time.
WindowState StateOf(const std::vector<PullWindow>& windows, base::WallTime now);

std::chrono::minutes LengthOf(const PullWindow& window);
// The longest time in a week in which none of `windows` is open, as the zones' clocks are in winter.
std::chrono::minutes LongestClosed(const std::vector<PullWindow>& windows);
// The part of `jitter` by which a node with this `fraction` (0 to 1) pulls after the windows open: a fleet
// must not ask its registry in one second. At most half of the shortest window is lost.
base::Duration DelayOfOpening(const std::vector<PullWindow>& windows, std::chrono::seconds jitter,
                              double fraction);

// "22:00 to 06:00 Europe/Berlin, Mon Tue Wed Thu Fri".
std::string TextOf(const PullWindow& window);
std::string TimeOfDay(std::chrono::minutes of_day);  // "22:00"

// The states of all windows of a list, computed anew only when one changes. Not thread-safe.
class WindowStates {
 public:
  struct Known {
    WindowState state;
    base::TimePoint changes_at;  // state.changes_at on the monotonic clock
  };
  // The reference is valid until the next call.
  const Known& At(const std::vector<PullWindow>& windows, base::TimePoint now, base::WallTime wall);
  void Forget() { known_.clear(); }

 private:
  std::map<std::vector<PullWindow>, Known> known_;
};

enum class Refresh { kIfNotPresent, kIfDigestChanged, kAlways };
enum class OnFailure { kKeep, kNotReady };
enum class Open { kAuto, kAlways, kNever };

// A pod that an entry is to be ready for: how it writes the image, and the credentials that it brings. The
// default of `ready_as` is any pod that brings none.
struct PodProfile {
  image::Reference reference;
  base::Shared<image::PodCredentialRefs> ready_as{};
};

// The nodes that an entry is for: those of any of these platforms, if they have all labels of the selector.
struct NodeScope {
  std::vector<image::Platform> platforms;  // empty: every platform
  image::NodeLabels node_selector;         // empty: whatever its labels

  friend bool operator==(const NodeScope&, const NodeScope&) = default;
};

// The labels of this Node, as far as the agent has read them.
struct ObservedLabels {
  std::optional<image::NodeLabels> labels;
  bool pending = false;  // there are none yet, and the API server may still tell them

  friend bool operator==(const ObservedLabels&, const ObservedLabels&) = default;
};

struct DesiredImage {
  image::Reference reference;
  base::Shared<image::PodCredentialRefs> ready_as;
  // Variants in further sources: the same name spelled otherwise, or for another pod; each pair once, in
  // their order. The runtime has one image for all of them. kubelet keeps its records and intents by the
  // pod's spelling and identity, so each has its own verdict (PodsOf in plan/spellings.h).
  std::vector<PodProfile> other_pods;
  bool required = true;
  image::PullPolicy ready_for = image::PullPolicy::kNever;
  // With kAlways: another source asks for Never, so that kubelet's verdict counts beside the registry's word.
  bool also_for_never = false;
  Refresh refresh = Refresh::kIfNotPresent;
  std::chrono::seconds refresh_interval{3600};
  std::optional<std::chrono::seconds> max_age;
  OnFailure on_unreachable = OnFailure::kKeep;
  OnFailure on_access_denied = OnFailure::kNotReady;
  OnFailure on_tag_missing = OnFailure::kKeep;
  OnFailure on_stale = OnFailure::kKeep;
  int priority = 0;
  Open open = Open::kAuto;
  std::chrono::seconds pull_timeout{3600};
  bool pin = false;  // kubelet's garbage collection must spare it (plan/pins.h)
  // Pulls start while one of them is open. Empty: at any time.
  std::vector<PullWindow> pull_windows;
  NodeScope nodes;
  // Scopes in further sources with another selector; the entry applies to a node of any scope.
  std::vector<NodeScope> other_nodes;
  // The places where it is written: "images.yaml:12", one for each source that has it. Used in messages.
  std::vector<std::string> from;
  // It is on no list, and pulled since a preflight has asked for it: only credentials count that kubelet
  // would use for any pod of the node.
  bool for_any_pod = false;
  // Names of the sources that have it (Source::name); for /readyz?source=.
  std::vector<std::string> sources;
};

// ---- ImageList: the merged sources of the list.

// One file of the list.
struct ListSource {
  std::string name;  // the file's name: "images.yaml"; unique among the sources
  std::string path;
  std::string hash;         // "sha256:…" over its canonical form; of the version in force; empty if none is
  std::size_t entries = 0;  // of the version in force
  std::optional<base::WallTime> loaded_at;  // when the version in force was loaded; none: none is in force
  // Why the newest version is not in force; empty if it is. All errors of the source, one a line.
  std::string error;

  friend bool operator==(const ListSource&, const ListSource&) = default;
};

// A value; immutable once published. lib/list builds it, and any thread may read it.
struct ImageList {
  std::string hash;                  // "sha256:…" over the sources' hashes
  std::vector<DesiredImage> images;  // highest priority first, then as listed; each normalised name once
  std::vector<ListSource> sources;
  std::vector<std::string> warnings;  // valid, but worth a word: an empty list
};

}  // namespace prefetch::plan
