// How a verdict's enums are spelled, everywhere.
#include "kubelet/verdict.h"

namespace prefetch::kubelet {

std::string_view VerdictResultName(VerdictResult result) {
  switch (result) {
    case VerdictResult::kStarts:
      return "Starts";
    case VerdictResult::kPulls:
      return "Pulls";
    case VerdictResult::kRefused:
      return "Refused";
    case VerdictResult::kUnknown:
      return "Unknown";
  }
  return "";
}

std::optional<VerdictResult> VerdictResultOf(std::string_view name) {
  for (VerdictResult result :
       {VerdictResult::kStarts, VerdictResult::kPulls, VerdictResult::kRefused, VerdictResult::kUnknown}) {
    if (VerdictResultName(result) == name) return result;
  }
  return std::nullopt;
}

std::string_view VerdictReasonName(VerdictReason reason) {
  switch (reason) {
    case VerdictReason::kInvalidImageName:
      return "InvalidImageName";
    case VerdictReason::kPolicyAlways:
      return "PolicyAlways";
    case VerdictReason::kImageAbsent:
      return "ImageAbsent";
    case VerdictReason::kGateOff:
      return "GateOff";
    case VerdictReason::kVerificationNever:
      return "VerificationNever";
    case VerdictReason::kPreloaded:
      return "Preloaded";
    case VerdictReason::kAllowlisted:
      return "Allowlisted";
    case VerdictReason::kOpenToNode:
      return "OpenToNode";
    case VerdictReason::kRecordedForPod:
      return "RecordedForPod";
    case VerdictReason::kAssumedForPod:
      return "AssumedForPod";
    case VerdictReason::kSecretAmbiguous:
      return "SecretAmbiguous";
    case VerdictReason::kRecordedForOthers:
      return "RecordedForOthers";
    case VerdictReason::kRecordedForNobody:
      return "RecordedForNobody";
    case VerdictReason::kRecordedUnderOtherName:
      return "RecordedUnderOtherName";
    case VerdictReason::kPullInterrupted:
      return "PullInterrupted";
    case VerdictReason::kVerificationAlways:
      return "VerificationAlways";
    case VerdictReason::kNotAllowlisted:
      return "NotAllowlisted";
    case VerdictReason::kRecordUnreadable:
      return "RecordUnreadable";
    case VerdictReason::kKubeletNewer:
      return "KubeletNewer";
    case VerdictReason::kFactsUnknown:
      return "FactsUnknown";
  }
  return "";
}

}  // namespace prefetch::kubelet
