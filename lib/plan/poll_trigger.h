// PollTrigger: when the runtime is looked at since it has told that an image came, went or changed. The looks
// at fixed times go on beside it.
#pragma once

#include "base/clock.h"

namespace prefetch::plan {

// A value that the loop carries forward.
struct PollTrigger {
  base::TimePoint soon = base::TimePoint::max();
  base::TimePoint late = base::TimePoint::max();
  base::TimePoint started_at;  // the newest look
  base::Duration took{};
};

// The runtime has told.
PollTrigger AfterRuntimeEvent(PollTrigger alarm, base::TimePoint now);
PollTrigger AfterPollBegan(PollTrigger alarm, base::TimePoint now);
PollTrigger AfterPollEnded(PollTrigger alarm, base::TimePoint now);
// TimePoint::max(): it has told nothing since.
base::TimePoint NextPoll(const PollTrigger& alarm);

// The time of the next connection to the runtime's event stream, which has ended after `stood`. `failures`:
// streams in a row that did not stand for long, this one not counted. `unsupported`: this runtime has none.
base::Duration ReconnectDelay(base::Duration stood, int failures, bool unsupported);
// Did it stand for long?
bool WasStable(base::Duration stood);

}  // namespace prefetch::plan
