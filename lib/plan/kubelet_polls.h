// KubeletPolls: when the files of this node's kubelet are looked at. Most looks are a glance, at whether
// anything has moved; in full they are looked at when it has, and now and then.
#pragma once

#include "base/clock.h"

namespace prefetch::plan {

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
