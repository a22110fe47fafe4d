// Verdicts for tests of what is made of them.
#pragma once

#include <memory>

#include "plan/verdict_debounce.h"

namespace prefetch::tests {

inline plan::VerdictsPtr Verdicts(kubelet::VerdictResult never, kubelet::VerdictResult if_not_present,
                                  kubelet::VerdictReason reason) {
  kubelet::Verdicts verdicts;
  verdicts.never = {never, reason, "rule", "what it means for Never."};
  verdicts.if_not_present = {if_not_present, reason, "rule", "what it means for IfNotPresent."};
  verdicts.always = {kubelet::VerdictResult::kPulls, kubelet::VerdictReason::kPolicyAlways, "rule", "asks."};
  return std::make_shared<const kubelet::Verdicts>(verdicts);
}
inline plan::VerdictsPtr Open(kubelet::VerdictReason reason = kubelet::VerdictReason::kPreloaded) {
  return Verdicts(kubelet::VerdictResult::kStarts, kubelet::VerdictResult::kStarts, reason);
}
inline plan::VerdictsPtr Closed(kubelet::VerdictReason reason = kubelet::VerdictReason::kRecordedForOthers) {
  return Verdicts(kubelet::VerdictResult::kRefused, kubelet::VerdictResult::kPulls, reason);
}
inline plan::VerdictsPtr Unknown(kubelet::VerdictReason reason = kubelet::VerdictReason::kFactsUnknown) {
  return Verdicts(kubelet::VerdictResult::kUnknown, kubelet::VerdictResult::kUnknown, reason);
}

}  // namespace prefetch::tests
