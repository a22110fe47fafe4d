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

// KubeletPolls: when the files of this node's kubelet are looked at. Most looks are a glance, at whether
// anything has moved; in full they are looked at when it has, and now and then.

enum class PollDepth {
  kNone,
  kGlance,  // some stats; in full at once if they differ from those of the look before
  kFull,
};

// A value that the loop carries forward.
struct KubeletPolls {
  base::TimePoint glance;
  base::TimePoint full;
};

// `news`: something is known to have changed, so that no glance is needed.
PollDepth DueKubeletPoll(const KubeletPolls& looks, bool news, base::TimePoint now);
KubeletPolls AfterKubeletPollBegan(KubeletPolls looks, PollDepth look, base::TimePoint now);
base::TimePoint NextKubeletPoll(const KubeletPolls& looks);

}  // namespace prefetch::plan
