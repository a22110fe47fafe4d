// Distance: how far away a registry is, judged by the pulls of this process. Pure.
//
// From a far registry, each pull waits for several round trips before its first layer moves. More pulls at a
// time keep the link busy meanwhile: Limits::parallel_pulls_far.
#pragma once

#include <chrono>

#include "base/clock.h"

namespace prefetch::plan {

enum class Distance {
  kUnknown,
  kFar,
  kNear,  // for good: what is slow at a near registry has other causes
};

// The manifest of a near registry is here so soon after its pull began.
constexpr std::chrono::milliseconds kNearManifest{250};
// A look at a pull is this late at most; one that comes later shows nothing.
constexpr std::chrono::milliseconds kLatePoll{150};

// After a look at a running pull that is `age` old. `knows_manifest`: the runtime has its manifest.
Distance AfterPollDuringPull(Distance past, bool knows_manifest, base::Duration age);
// After a pull that went well in `took`.
Distance AfterPull(Distance past, base::Duration took);

}  // namespace prefetch::plan
