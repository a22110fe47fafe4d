// A preflight's verdict in three words: "yes Starts Present", "pending Unknown Queued".
#pragma once

#include <string>

#include "plan/check.h"

namespace prefetch::tests {

inline std::string Told(const plan::CheckVerdict& verdict) {
  return std::string(verdict.pending ? "pending"
                     : verdict.ok    ? "yes"
                                     : "no") +
         " " + std::string(kubelet::VerdictResultName(verdict.result)) + " " +
         std::string(plan::CheckReasonName(verdict.reason));
}

}  // namespace prefetch::tests
