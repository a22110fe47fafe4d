#include "plan/kubelet_looks.h"

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

LookDepth DueKubeletLook(const KubeletLooks& looks, bool news, base::TimePoint now) {
  if (news || looks.full <= now) return LookDepth::kFull;
  return looks.glance <= now ? LookDepth::kGlance : LookDepth::kNone;
}

KubeletLooks AfterKubeletLookBegan(KubeletLooks looks, LookDepth look, base::TimePoint now) {
  if (look == LookDepth::kNone) return looks;
  looks.glance = now + kGlanceInterval;
  if (look == LookDepth::kFull) looks.full = now + kFullInterval;
  return looks;
}

base::TimePoint NextKubeletLook(const KubeletLooks& looks) {
  return std::min(looks.glance, looks.full);
}

}  // namespace prefetch::plan
