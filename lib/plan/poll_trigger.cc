#include "plan/poll_trigger.h"

#include <algorithm>
#include <chrono>

#include "base/token_bucket.h"

namespace prefetch::plan {

namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// One change causes several events.
constexpr milliseconds kFirstPollDelay{100};
// containerd's CRI plugin learns of a change by the same events, and lists its old images until then.
// agent::ImageWatch may have reported the last event 250 ms before that event.
constexpr milliseconds kSecondPollDelay{850};
// The minimum time between the starts of two such polls, however many events come. kShareOfTime, in durations
// of the last poll, is a second minimum: polls take a twentieth of the time at most, unless
// kPollFloorUnderLoad allows more.
constexpr milliseconds kPollFloor{500};
constexpr int kShareOfTime = 20;
// Polls of a node under load take long. Until the next one, a removed image counts as present.
constexpr seconds kPollFloorUnderLoad{2};
constexpr int kShareUnderLoad = 3;

constexpr seconds kWatchAgain{1};
// The pause grows to the interval of polls without events: a connection that is refused costs less than a
// poll.
constexpr seconds kWatchAgainMost{8};
constexpr minutes kWatchUnsupported{10};
constexpr seconds kLongStream{10};

}  // namespace

PollTrigger AfterRuntimeEvent(PollTrigger trigger, base::TimePoint now) {
  trigger.first_poll_at = std::min<base::TimePoint>(trigger.first_poll_at, now + kFirstPollDelay);
  // The early poll finds most changes. The late one follows the newest event, and finds what the runtime's
  // list did not show yet at the early one.
  trigger.second_poll_at = now + kSecondPollDelay;
  return trigger;
}

PollTrigger AfterPollBegan(PollTrigger trigger, base::TimePoint now) {
  // A trigger that is not due yet stays: this poll began before the time at which the runtime's list shows
  // the change.
  if (trigger.first_poll_at <= now) trigger.first_poll_at = base::TimePoint::max();
  if (trigger.second_poll_at <= now) trigger.second_poll_at = base::TimePoint::max();
  trigger.started_at = now;
  return trigger;
}

PollTrigger AfterPollEnded(PollTrigger trigger, base::TimePoint now) {
  trigger.took = now - trigger.started_at;
  return trigger;
}

base::TimePoint NextPoll(const PollTrigger& trigger) {
  base::TimePoint due = std::min(trigger.first_poll_at, trigger.second_poll_at);
  if (due == base::TimePoint::max()) return due;
  const base::Duration most = std::max<base::Duration>(kPollFloorUnderLoad, kShareUnderLoad * trigger.took);
  const base::Duration floor =
      std::max<base::Duration>(kPollFloor, std::min<base::Duration>(kShareOfTime * trigger.took, most));
  return std::max<base::TimePoint>(due, trigger.started_at + floor);
}

bool WasStable(base::Duration connected_for) {
  return connected_for >= kLongStream;
}

base::Duration ReconnectDelay(base::Duration connected_for, int failures, bool unsupported) {
  if (unsupported) return kWatchUnsupported;
  if (WasStable(connected_for)) return kWatchAgain;
  return base::ExponentialBackoff(kWatchAgain, failures, kWatchAgainMost);
}

namespace {

// No event reports a change of kubelet's configuration, or of kubelet itself. A restart takes it seconds, and
// then its new configuration counts.
constexpr std::chrono::seconds kQuickPollInterval{2};
// This interval is for changes that no stat shows, such as a new rule of a security module.
constexpr std::chrono::seconds kFullInterval{8};

}  // namespace

PollDepth DueKubeletPoll(const KubeletPolls& polls, bool news, base::TimePoint now) {
  if (news || polls.next_full <= now) return PollDepth::kFull;
  return polls.next_quick <= now ? PollDepth::kQuick : PollDepth::kNone;
}

KubeletPolls AfterKubeletPollBegan(KubeletPolls polls, PollDepth depth, base::TimePoint now) {
  if (depth == PollDepth::kNone) return polls;
  // A full poll includes what a quick one would see.
  polls.next_quick = now + kQuickPollInterval;
  if (depth == PollDepth::kFull) polls.next_full = now + kFullInterval;
  return polls;
}

base::TimePoint NextKubeletPoll(const KubeletPolls& polls) {
  return std::min(polls.next_quick, polls.next_full);
}

}  // namespace prefetch::plan
