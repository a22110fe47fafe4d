// How the enums of this folder are spelled, everywhere.
#include "plan/desired.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "plan/reason.h"
#include "plan/snapshot.h"

namespace prefetch::plan {

namespace {

// Returns a text with the compiler's spelling of the enumerator: "…Reason::kPresent…". The compiler spells a
// number without an enumerator as a number, which shows where the enum ends.
template <Reason kValue>
constexpr std::string_view Spelled() {
  return __PRETTY_FUNCTION__;
}

constexpr std::string_view kPrefix = "Reason::k";

constexpr bool Spells(std::string_view function, std::string_view name) {
  std::size_t at = function.find(kPrefix);
  if (at == std::string_view::npos) return false;
  std::string_view rest = function.substr(at + kPrefix.size());
  return rest.starts_with(name) && (rest[name.size()] == ';' || rest[name.size()] == ']');
}

template <std::size_t... kIndex>
constexpr bool AreRowsRight(std::index_sequence<kIndex...>) {
  return ((static_cast<std::size_t>(kReasons[kIndex].reason) == kIndex &&
           Spells(Spelled<static_cast<Reason>(kIndex)>(), kReasons[kIndex].name)) &&
          ...);
}
// RetryFor and ReasonName use a Reason as an index into kReasons. A row in the wrong place would give another
// reason's name and retry rule, so the order is checked when the program is compiled.
static_assert(AreRowsRight(std::make_index_sequence<kReasons.size()>()),
              "a row of kReasons is out of order, or its name is not its enumerator's");
static_assert(Spelled<static_cast<Reason>(kReasons.size())>().find(kPrefix) == std::string_view::npos,
              "a Reason has no row in kReasons");

}  // namespace

std::string_view RefreshName(Refresh refresh) {
  switch (refresh) {
    case Refresh::kIfNotPresent:
      return "IfNotPresent";
    case Refresh::kIfDigestChanged:
      return "IfDigestChanged";
    case Refresh::kAlways:
      return "Always";
  }
  std::abort();
}

std::string_view OnFailureName(OnFailure directive) {
  switch (directive) {
    case OnFailure::kKeep:
      return "Keep";
    case OnFailure::kNotReady:
      return "NotReady";
  }
  std::abort();
}

std::string_view OpenName(Open open) {
  switch (open) {
    case Open::kAuto:
      return "Auto";
    case Open::kAlways:
      return "Always";
    case Open::kNever:
      return "Never";
  }
  std::abort();
}

std::string_view PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kReady:
      return "Ready";
    case Phase::kProgressing:
      return "Progressing";
    case Phase::kFailing:
      return "Failing";
  }
  std::abort();
}

std::string_view PullStateName(PullState state) {
  switch (state) {
    case PullState::kNone:
      return "None";
    case PullState::kQueued:
      return "Queued";
    case PullState::kPulling:
      return "Pulling";
    case PullState::kUnpacking:
      return "Unpacking";
    case PullState::kWaiting:
      return "Waiting";
    case PullState::kDone:
      return "Done";
    case PullState::kFailed:
      return "Failed";
  }
  std::abort();
}

std::string_view PulledWithName(PulledWith with) {
  switch (with) {
    case PulledWith::kUnknown:
      return "Unknown";
    case PulledWith::kAnonymous:
      return "Anonymous";
    case PulledWith::kProvider:
      return "Provider";
    case PulledWith::kDockerConfig:
      return "DockerConfig";
    case PulledWith::kPullSecret:
      return "PullSecret";
  }
  std::abort();
}

// Several classes share a reason where users would act in the same way. The switches have no default, so a
// new class or verdict does not compile before its reason is chosen.
Reason ReasonFor(image::ErrorClass error_class) {
  using image::ErrorClass;
  switch (error_class) {
    case ErrorClass::kCancelled:
    case ErrorClass::kTimeout:
      return Reason::kTimeout;
    case ErrorClass::kRuntimeDown:
      return Reason::kRuntimeDown;
    case ErrorClass::kRuntimeUnsupported:
      return Reason::kRuntimeUnsupported;
    case ErrorClass::kRuntimeProgressTimeout:
      return Reason::kStalled;
    case ErrorClass::kRuntimeError:
      return Reason::kRuntimeError;
    case ErrorClass::kSignatureRejected:
      return Reason::kSignatureRejected;
    case ErrorClass::kDiskFull:
      return Reason::kDiskFull;
    case ErrorClass::kDiskFault:
      return Reason::kDiskFault;
    case ErrorClass::kRateLimited:
      return Reason::kRateLimited;
    case ErrorClass::kTlsError:
      return Reason::kTlsError;
    case ErrorClass::kDnsFailure:
      return Reason::kDnsFailure;
    case ErrorClass::kUnreachable:
      return Reason::kUnreachable;
    case ErrorClass::kAccessDenied:
      return Reason::kAccessDenied;
    case ErrorClass::kPlatformMismatch:
      return Reason::kPlatformMismatch;
    case ErrorClass::kUnsupportedImage:
      return Reason::kUnsupportedImage;
    case ErrorClass::kContentMissing:
      return Reason::kContentMissing;
    case ErrorClass::kNotFound:
      return Reason::kNotFound;
    case ErrorClass::kCorrupt:
      return Reason::kCorrupt;
    case ErrorClass::kServerError:
      return Reason::kServerError;
    case ErrorClass::kInvalidReference:
      return Reason::kInvalidReference;
    case ErrorClass::kUnpackFailed:
      return Reason::kUnpackFailed;
    case ErrorClass::kBadCredentialFormat:
      return Reason::kBadCredentialFormat;
    // An error that no text rule recognises (C14) is the runtime's: its message is shown as it is.
    case ErrorClass::kUnknown:
      return Reason::kRuntimeError;
  }
  std::abort();
}

Reason ReasonFor(kubelet::VerdictReason reason) {
  using kubelet::VerdictReason;
  switch (reason) {
    case VerdictReason::kInvalidImageName:
      return Reason::kInvalidReference;
    case VerdictReason::kPolicyAlways:
      return Reason::kPolicyAlways;
    case VerdictReason::kImageAbsent:
      return Reason::kImageAbsent;
    case VerdictReason::kGateOff:
      return Reason::kGateOff;
    case VerdictReason::kVerificationNever:
      return Reason::kVerificationNever;
    case VerdictReason::kPreloaded:
      return Reason::kPreloaded;
    case VerdictReason::kAllowlisted:
      return Reason::kAllowlisted;
    case VerdictReason::kOpenToNode:
      return Reason::kOpenToNode;
    case VerdictReason::kRecordedForPod:
      return Reason::kRecordedForPod;
    case VerdictReason::kAssumedForPod:
      return Reason::kAssumedForPod;
    case VerdictReason::kRecordedForOthers:
      return Reason::kRecordedForOthers;
    case VerdictReason::kRecordedForNobody:
      return Reason::kRecordedForNobody;
    case VerdictReason::kRecordedUnderOtherName:
      return Reason::kRecordedUnderOtherName;
    case VerdictReason::kPullInterrupted:
      return Reason::kPullInterrupted;
    case VerdictReason::kVerificationAlways:
      return Reason::kVerificationAlways;
    case VerdictReason::kNotAllowlisted:
      return Reason::kNotAllowlisted;
    case VerdictReason::kRecordUnreadable:
      return Reason::kRecordUnreadable;
    case VerdictReason::kKubeletNewer:
      return Reason::kKubeletNewer;
    case VerdictReason::kSecretAmbiguous:
      return Reason::kSecretAmbiguous;
    case VerdictReason::kFactsUnknown:
      return Reason::kFactsUnknown;
  }
  std::abort();
}

namespace {

using std::chrono::days;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::sys_seconds;

constexpr minutes kDay{24 * 60};
// A window of one weekday may fall into an hour that summer time skips, and opens a week later.
constexpr int kDaysAhead = 16;
// Maximum number of changes of single windows between two changes of all together.
constexpr int kMostSteps = 100;

bool StartsOn(const PullWindow& window, sys_days day) {
  return (window.days >> (std::chrono::weekday(day).iso_encoding() - 1) & 1U) != 0;
}

bool IsOpen(const PullWindow& window, sys_seconds at) {
  const sys_seconds local = at + window.zone.OffsetAt(at);
  const sys_days today = std::chrono::floor<days>(local);
  const seconds of_day = local - today;
  if (window.start < window.end) {
    return of_day >= window.start && of_day < window.end && StartsOn(window, today);
  }
  return (of_day >= window.start && StartsOn(window, today)) ||
         (of_day < window.end && StartsOn(window, today - days(1)));
}

// Returns all instants near which the clock of the zone shows this time: one, two if the hour is repeated,
// and harmless others around a change.
void AddInstants(const PullWindow& window, sys_seconds local, std::set<sys_seconds>& instants) {
  for (days around : {days(-1), days(1)}) instants.insert(local - window.zone.OffsetAt(local + around));
}

}  // namespace

WindowState StateOf(const PullWindow& window, base::WallTime now) {
  const sys_seconds at = std::chrono::floor<seconds>(now);
  WindowState state{.open = IsOpen(window, at)};
  const sys_days today = std::chrono::floor<days>(at);
  std::set<sys_seconds> instants;
  for (int day = -2; day <= kDaysAhead; day++) {
    AddInstants(window, today + days(day) + window.start, instants);
    AddInstants(window, today + days(day) + window.end, instants);
  }
  // The clock also jumps into the window, or out of it.
  if (std::optional<sys_seconds> change = window.zone.NextChange(at)) instants.insert(*change);
  for (auto next = instants.upper_bound(at); next != instants.end(); ++next) {
    if (IsOpen(window, *next) == state.open) continue;
    state.changes_at = *next;
    break;
  }
  return state;
}

WindowState StateOf(const std::vector<PullWindow>& windows, base::WallTime now) {
  if (windows.empty()) return {};
  WindowState all{.open = false};
  base::WallTime at = now;
  for (int step = 0; step < kMostSteps; step++) {
    WindowState here{.open = false};
    for (const PullWindow& window : windows) {
      const WindowState one = StateOf(window, at);
      here.open = here.open || one.open;
      here.changes_at = std::min(here.changes_at, one.changes_at);
    }
    if (step == 0) all.open = here.open;
    if (here.open != all.open) break;
    at = all.changes_at = here.changes_at;
    if (at == base::WallTime::max()) break;
  }
  return all;
}

minutes LengthOf(const PullWindow& window) {
  return window.start < window.end ? window.end - window.start : window.end + kDay - window.start;
}

minutes LongestClosed(const std::vector<PullWindow>& windows) {
  constexpr minutes kWeek = 7 * kDay;
  const sys_seconds winter = sys_days(std::chrono::year(2026) / 1 / 1);
  std::vector<std::pair<minutes, minutes>> open;  // minutes of a week of UTC
  minutes until = minutes::min();
  for (const PullWindow& window : windows) {
    const auto offset = std::chrono::duration_cast<minutes>(window.zone.OffsetAt(winter));
    for (int day = 0; day < 7; day++) {
      if ((window.days >> day & 1U) == 0) continue;
      const minutes start = (day * kDay + window.start - offset + kWeek) % kWeek;
      open.emplace_back(start, start + LengthOf(window));
      until = std::max(until, open.back().second - kWeek);
    }
  }
  std::sort(open.begin(), open.end());
  minutes longest{0};
  for (const auto& [start, end] : open) {
    longest = std::max(longest, start - until);
    until = std::max(until, end);
  }
  return longest;
}

base::Duration DelayOfOpening(const std::vector<PullWindow>& windows, seconds jitter, double fraction) {
  // The spread is cut, and not the single delay: all delays that are cut to one value would be one second.
  seconds spread = jitter;
  for (const PullWindow& window : windows) spread = std::min<seconds>(spread, seconds(LengthOf(window)) / 2);
  return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(spread) * fraction);
}

std::string TimeOfDay(minutes of_day) {
  const auto hour = of_day.count() / 60, minute = of_day.count() % 60;
  std::string text = hour < 10 ? "0" : "";
  text += std::to_string(hour) + (minute < 10 ? ":0" : ":") + std::to_string(minute);
  return text;
}

std::string TextOf(const PullWindow& window) {
  std::string text = TimeOfDay(window.start) + " to " + TimeOfDay(window.end) + " ";
  text += window.zone.name();
  if (window.days == kEveryDay) return text;
  text += ",";
  for (unsigned bit = 0; bit < kDayNames.size(); bit++) {
    if ((window.days >> bit & 1U) != 0) text += " " + std::string(kDayNames[bit]);
  }
  return text;
}

const WindowStates::Known& WindowStates::At(const std::vector<PullWindow>& windows, base::TimePoint now,
                                            base::WallTime wall) {
  auto monotonic = [&](base::WallTime at) {
    return at == base::WallTime::max() ? base::TimePoint::max()
                                       : now + std::chrono::duration_cast<base::Duration>(at - wall);
  };
  auto [known, is_new] = known_.try_emplace(windows);
  Known& state = known->second;
  // The two clocks drift, so a time that is computed in each turn would be news in each turn. Only a clock
  // that was set, or a change that is due, moves it.
  const bool was_set = state.state.changes_at != base::WallTime::max() &&
                       std::chrono::abs(monotonic(state.state.changes_at) - state.changes_at) > seconds(1);
  if (is_new || was_set || now >= state.changes_at) {
    state.state = StateOf(windows, wall);
    state.changes_at = monotonic(state.state.changes_at);
  }
  return state;
}

}  // namespace prefetch::plan
