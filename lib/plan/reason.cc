#include "plan/reason.h"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <utility>

namespace prefetch::plan {

namespace {

constexpr auto& kNames = base::EnumNames<Reason>::kNames;
static_assert(kNames.size() == kReasons.size(), "a Reason has no row in kReasons");

// RowOf uses a Reason as an index into kReasons. A row in the wrong place would give another reason's retry
// rule.
constexpr bool AreInOrder() {
  for (std::size_t i = 0; i < kReasons.size(); i++) {
    if (static_cast<std::size_t>(kReasons[i].reason) != i) return false;
  }
  return true;
}
static_assert(AreInOrder(), "a row of kReasons is out of order");

// Returns the reason of each value of an enum: the one of the same name, or of `others`. A value without one
// does not compile.
template <typename E>
constexpr auto ReasonsOf(std::initializer_list<std::pair<E, Reason>> others) {
  std::array<Reason, base::EnumNames<E>::kCount> reasons{};
  for (std::size_t i = 0; i < reasons.size(); i++) {
    bool found = false;
    for (std::size_t reason = 0; reason < kNames.size(); reason++) {
      if (kNames[reason] != base::EnumNames<E>::kNames[i]) continue;
      reasons[i] = static_cast<Reason>(reason);
      found = true;
    }
    for (const auto& [value, reason] : others) {
      if (static_cast<std::size_t>(value) != i) continue;
      reasons[i] = reason;
      found = true;
    }
    if (!found) std::abort();
  }
  return reasons;
}

}  // namespace

Reason ReasonFor(image::ErrorClass error_class) {
  using image::ErrorClass;
  // Several classes share a reason where users would act in the same way.
  static constexpr auto kReasonOf = ReasonsOf<ErrorClass>({
      {ErrorClass::kCancelled, Reason::kTimeout},
      {ErrorClass::kRuntimeProgressTimeout, Reason::kStalled},
      {ErrorClass::kRangeRefused, Reason::kServerError},
      // An error that no text rule recognises (C14) is the runtime's: its message is shown as it is.
      {ErrorClass::kUnknown, Reason::kRuntimeError},
  });
  return kReasonOf[static_cast<std::size_t>(error_class)];
}

Reason ReasonFor(kubelet::VerdictReason reason) {
  using kubelet::VerdictReason;
  static constexpr auto kReasonOf =
      ReasonsOf<VerdictReason>({{VerdictReason::kInvalidImageName, Reason::kInvalidReference}});
  return kReasonOf[static_cast<std::size_t>(reason)];
}

}  // namespace prefetch::plan
