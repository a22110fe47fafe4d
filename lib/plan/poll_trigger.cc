#include "plan/poll_trigger.h"

#include <algorithm>
#include <chrono>

namespace prefetch::plan {

namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// One change causes several events.
constexpr milliseconds kSoon{100};
// containerd's CRI plugin learns of a change by the same events, and lists its old images until then.
// agent::ImageWatch may have reported the last event 250 ms before that event.
constexpr milliseconds kLate{850};
// The minimum time between the starts of two such looks, however many events come. kShareOfTime, in durations
// of the last look, is a second minimum: looks take a twentieth of the time at most, unless kLookFloorMost
// allows more.
constexpr milliseconds kLookFloor{500};
constexpr int kShareOfTime = 20;
// Looks of a node under load take long. Until the next one, a removed image counts as present.
constexpr seconds kLookFloorMost{2};
constexpr int kShareUnderLoad = 3;

constexpr seconds kWatchAgain{1};
// The pause grows to the interval of looks without events: a connection that is refused costs less than a
// look.
constexpr seconds kWatchAgainMost{8};
constexpr minutes kWatchUnsupported{10};
constexpr seconds kLongStream{10};

}  // namespace

PollTrigger AfterRuntimeEvent(PollTrigger alarm, base::TimePoint now) {
  alarm.soon = std::min<base::TimePoint>(alarm.soon, now + kSoon);
  // The early look finds most changes. The late one follows the newest event, and finds what the runtime's
  // list did not show yet at the early one.
  alarm.late = now + kLate;
  return alarm;
}

PollTrigger AfterPollBegan(PollTrigger alarm, base::TimePoint now) {
  // An alarm that is not due yet stays: this look began before the time at which the runtime's list shows the
  // change.
  if (alarm.soon <= now) alarm.soon = base::TimePoint::max();
  if (alarm.late <= now) alarm.late = base::TimePoint::max();
  alarm.started_at = now;
  return alarm;
}

PollTrigger AfterPollEnded(PollTrigger alarm, base::TimePoint now) {
  alarm.took = now - alarm.started_at;
  return alarm;
}

base::TimePoint NextPoll(const PollTrigger& alarm) {
  base::TimePoint due = std::min(alarm.soon, alarm.late);
  if (due == base::TimePoint::max()) return due;
  const base::Duration most = std::max<base::Duration>(kLookFloorMost, kShareUnderLoad * alarm.took);
  const base::Duration floor =
      std::max<base::Duration>(kLookFloor, std::min<base::Duration>(kShareOfTime * alarm.took, most));
  return std::max<base::TimePoint>(due, alarm.started_at + floor);
}

bool WasStable(base::Duration stood) {
  return stood >= kLongStream;
}

base::Duration ReconnectDelay(base::Duration stood, int failures, bool unsupported) {
  if (unsupported) return kWatchUnsupported;
  if (WasStable(stood)) return kWatchAgain;
  // The bound of the shift only keeps it defined: the limit is reached after three failures.
  return std::min<base::Duration>(kWatchAgain * (1 << std::min(failures, 6)), kWatchAgainMost);
}

namespace {

// No event reports a change of kubelet's configuration, or of kubelet itself. A restart takes it seconds, and
// then its new configuration counts.
constexpr std::chrono::seconds kGlanceInterval{2};
// This interval is for changes that no stat shows, such as a new rule of a security module.
constexpr std::chrono::seconds kFullInterval{8};

}  // namespace

PollDepth DueKubeletPoll(const KubeletPolls& looks, bool news, base::TimePoint now) {
  if (news || looks.full <= now) return PollDepth::kFull;
  return looks.glance <= now ? PollDepth::kGlance : PollDepth::kNone;
}

KubeletPolls AfterKubeletPollBegan(KubeletPolls looks, PollDepth look, base::TimePoint now) {
  if (look == PollDepth::kNone) return looks;
  // A full look includes what a glance would see.
  looks.glance = now + kGlanceInterval;
  if (look == PollDepth::kFull) looks.full = now + kFullInterval;
  return looks;
}

base::TimePoint NextKubeletPoll(const KubeletPolls& looks) {
  return std::min(looks.glance, looks.full);
}

}  // namespace prefetch::plan
