// LookAlarm: when the runtime is looked at since it has told that an image came, went or changed. The looks
// at fixed times go on beside it.
#pragma once

#include "base/clock.h"

namespace prefetch::plan {

// A value that the loop carries forward.
struct LookAlarm {
  base::TimePoint soon = base::TimePoint::max();
  base::TimePoint late = base::TimePoint::max();
  base::TimePoint started_at;  // the newest look
  base::Duration took{};
};

// The runtime has told.
LookAlarm AfterTold(LookAlarm alarm, base::TimePoint now);
LookAlarm AfterLookBegan(LookAlarm alarm, base::TimePoint now);
LookAlarm AfterLookEnded(LookAlarm alarm, base::TimePoint now);
// TimePoint::max(): it has told nothing since.
base::TimePoint NextLook(const LookAlarm& alarm);

// The time of the next connection to the runtime's event stream, which has ended after `stood`. `failures`:
// streams in a row that did not stand for long, this one not counted. `unsupported`: this runtime has none.
base::Duration WatchAgainAfter(base::Duration stood, int failures, bool unsupported);
// Did it stand for long?
bool StoodForLong(base::Duration stood);

}  // namespace prefetch::plan
