// KubeletLooks: when the files of this node's kubelet are looked at. Most looks are a glance, at whether
// anything has moved; in full they are looked at when it has, and now and then.
#pragma once

#include "base/clock.h"

namespace prefetch::plan {

enum class LookDepth {
  kNone,
  kGlance,  // some stats; in full at once if they differ from those of the look before
  kFull,
};

// A value that the loop carries forward.
struct KubeletLooks {
  base::TimePoint glance;
  base::TimePoint full;
};

// `news`: something is known to have changed, so that no glance is needed.
LookDepth DueKubeletLook(const KubeletLooks& looks, bool news, base::TimePoint now);
KubeletLooks AfterKubeletLookBegan(KubeletLooks looks, LookDepth look, base::TimePoint now);
base::TimePoint NextKubeletLook(const KubeletLooks& looks);

}  // namespace prefetch::plan
