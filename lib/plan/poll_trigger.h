// PollTrigger: schedules the polls of the runtime that follow its report of an image that came, went or
// changed. The polls at fixed intervals go on beside it.
#pragma once

#include "base/clock.h"

namespace prefetch::plan {

// A value that the loop carries forward.
struct PollTrigger {
  base::TimePoint first_poll_at = base::TimePoint::max();
  base::TimePoint second_poll_at = base::TimePoint::max();
  base::TimePoint started_at;  // the newest poll
  base::Duration took{};
};

// The runtime has reported an image event.
PollTrigger AfterRuntimeEvent(PollTrigger trigger, base::TimePoint now);
PollTrigger AfterPollBegan(PollTrigger trigger, base::TimePoint now);
PollTrigger AfterPollEnded(PollTrigger trigger, base::TimePoint now);
// Returns the time of the next poll; max() if no report of the runtime waits for one.
base::TimePoint NextPoll(const PollTrigger& trigger);

// Returns the delay before the next connection to the runtime's event stream, which has ended after
// `connected_for`. `failures`: number of unstable streams in a row (WasStable), this one not counted.
// `unsupported`: this runtime has no such stream.
base::Duration ReconnectDelay(base::Duration connected_for, int failures, bool unsupported);
// Returns true if a stream that lasted for `connected_for` counts as stable.
bool WasStable(base::Duration connected_for);

// ---- KubeletPolls: schedules the polls of kubelet's files. A quick poll only checks whether a file has
// changed. A full poll follows a change, and comes every 8 s in any case.

enum class PollDepth {
  kNone,
  kQuick,  // some stats; in full at once if they differ from those of the poll before
  kFull,
};

// A value that the loop carries forward.
struct KubeletPolls {
  base::TimePoint next_quick;
  base::TimePoint next_full;
};

// `news`: something is known to have changed, so that no quick poll is needed.
PollDepth DueKubeletPoll(const KubeletPolls& polls, bool news, base::TimePoint now);
KubeletPolls AfterKubeletPollBegan(KubeletPolls polls, PollDepth depth, base::TimePoint now);
base::TimePoint NextKubeletPoll(const KubeletPolls& polls);

}  // namespace prefetch::plan
