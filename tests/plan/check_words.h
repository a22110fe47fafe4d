// A preflight's decision in three words: "yes Starts Present", "pending Unknown Queued".
#pragma once

#include <string>

#include "plan/check.h"

namespace prefetch::tests {

inline std::string Told(const plan::CheckDecision& decision) {
  return std::string(decision.pending ? "pending"
                     : decision.ok    ? "yes"
                                      : "no") +
         " " + std::string(base::EnumName(decision.result)) + " " +
         std::string(plan::CheckReasonName(decision.reason));
}

}  // namespace prefetch::tests
