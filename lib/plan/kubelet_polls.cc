#include "plan/kubelet_polls.h"

#include <algorithm>
#include <chrono>

namespace prefetch::plan {
namespace {

// No event reports a change of kubelet's configuration, or of kubelet itself. A restart takes it seconds, and
// then its new configuration counts.
constexpr std::chrono::seconds kGlanceInterval{2};
// For changes that no stat shows, such as a new rule of a security module.
constexpr std::chrono::seconds kFullInterval{8};

}  // namespace

PollDepth DueKubeletPoll(const KubeletPolls& looks, bool news, base::TimePoint now) {
  if (news || looks.full <= now) return PollDepth::kFull;
  return looks.glance <= now ? PollDepth::kGlance : PollDepth::kNone;
}

KubeletPolls AfterKubeletPollBegan(KubeletPolls looks, PollDepth look, base::TimePoint now) {
  if (look == PollDepth::kNone) return looks;
  looks.glance = now + kGlanceInterval;
  if (look == PollDepth::kFull) looks.full = now + kFullInterval;
  return looks;
}

base::TimePoint NextKubeletPoll(const KubeletPolls& looks) {
  return std::min(looks.glance, looks.full);
}

}  // namespace prefetch::plan
