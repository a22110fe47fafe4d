#include "plan/reason.h"

#include <cstdlib>
#include <utility>

namespace prefetch::plan {

namespace {

// Returns a text with the compiler's spelling of the enumerator: "…Reason::kPresent…". The compiler spells a
// number without an enumerator as a number, which shows where the enum ends.
template <Reason kValue>
constexpr std::string_view Spelled() {
  return __PRETTY_FUNCTION__;
}

constexpr std::string_view kPrefix = "Reason::k";

constexpr bool Spells(std::string_view function, std::string_view name) {
  std::size_t at = function.find(kPrefix);
  if (at == std::string_view::npos) return false;
  std::string_view rest = function.substr(at + kPrefix.size());
  return rest.starts_with(name) && (rest[name.size()] == ';' || rest[name.size()] == ']');
}

template <std::size_t... kIndex>
constexpr bool AreRowsRight(std::index_sequence<kIndex...>) {
  return ((static_cast<std::size_t>(kReasons[kIndex].reason) == kIndex &&
           Spells(Spelled<static_cast<Reason>(kIndex)>(), kReasons[kIndex].name)) &&
          ...);
}
// RetryFor and ReasonName use a Reason as an index into kReasons. A row in the wrong place would give another
// reason's name and retry rule, so the order is checked when the program is compiled.
static_assert(AreRowsRight(std::make_index_sequence<kReasons.size()>()),
              "a row of kReasons is out of order, or its name is not its enumerator's");
static_assert(Spelled<static_cast<Reason>(kReasons.size())>().find(kPrefix) == std::string_view::npos,
              "a Reason has no row in kReasons");

}  // namespace

// Several classes share a reason where users would act in the same way. The switches have no default, so a
// new class or verdict does not compile before its reason is chosen.
Reason ReasonFor(image::ErrorClass error_class) {
  using image::ErrorClass;
  switch (error_class) {
    case ErrorClass::kCancelled:
    case ErrorClass::kTimeout:
      return Reason::kTimeout;
    case ErrorClass::kRuntimeDown:
      return Reason::kRuntimeDown;
    case ErrorClass::kRuntimeUnsupported:
      return Reason::kRuntimeUnsupported;
    case ErrorClass::kRuntimeProgressTimeout:
      return Reason::kStalled;
    case ErrorClass::kRuntimeError:
      return Reason::kRuntimeError;
    case ErrorClass::kSignatureRejected:
      return Reason::kSignatureRejected;
    case ErrorClass::kDiskFull:
      return Reason::kDiskFull;
    case ErrorClass::kDiskFault:
      return Reason::kDiskFault;
    case ErrorClass::kRateLimited:
      return Reason::kRateLimited;
    case ErrorClass::kTlsError:
      return Reason::kTlsError;
    case ErrorClass::kDnsFailure:
      return Reason::kDnsFailure;
    case ErrorClass::kUnreachable:
      return Reason::kUnreachable;
    case ErrorClass::kAccessDenied:
      return Reason::kAccessDenied;
    case ErrorClass::kPlatformMismatch:
      return Reason::kPlatformMismatch;
    case ErrorClass::kUnsupportedImage:
      return Reason::kUnsupportedImage;
    case ErrorClass::kContentMissing:
      return Reason::kContentMissing;
    case ErrorClass::kNotFound:
      return Reason::kNotFound;
    case ErrorClass::kCorrupt:
      return Reason::kCorrupt;
    case ErrorClass::kServerError:
      return Reason::kServerError;
    case ErrorClass::kInvalidReference:
      return Reason::kInvalidReference;
    case ErrorClass::kUnpackFailed:
      return Reason::kUnpackFailed;
    case ErrorClass::kBadCredentialFormat:
      return Reason::kBadCredentialFormat;
    // An error that no text rule recognises (C14) is the runtime's: its message is shown as it is.
    case ErrorClass::kUnknown:
      return Reason::kRuntimeError;
  }
  std::abort();
}

Reason ReasonFor(kubelet::VerdictReason reason) {
  using kubelet::VerdictReason;
  switch (reason) {
    case VerdictReason::kInvalidImageName:
      return Reason::kInvalidReference;
    case VerdictReason::kPolicyAlways:
      return Reason::kPolicyAlways;
    case VerdictReason::kImageAbsent:
      return Reason::kImageAbsent;
    case VerdictReason::kGateOff:
      return Reason::kGateOff;
    case VerdictReason::kVerificationNever:
      return Reason::kVerificationNever;
    case VerdictReason::kPreloaded:
      return Reason::kPreloaded;
    case VerdictReason::kAllowlisted:
      return Reason::kAllowlisted;
    case VerdictReason::kOpenToNode:
      return Reason::kOpenToNode;
    case VerdictReason::kRecordedForPod:
      return Reason::kRecordedForPod;
    case VerdictReason::kAssumedForPod:
      return Reason::kAssumedForPod;
    case VerdictReason::kRecordedForOthers:
      return Reason::kRecordedForOthers;
    case VerdictReason::kRecordedForNobody:
      return Reason::kRecordedForNobody;
    case VerdictReason::kRecordedUnderOtherName:
      return Reason::kRecordedUnderOtherName;
    case VerdictReason::kPullInterrupted:
      return Reason::kPullInterrupted;
    case VerdictReason::kVerificationAlways:
      return Reason::kVerificationAlways;
    case VerdictReason::kNotAllowlisted:
      return Reason::kNotAllowlisted;
    case VerdictReason::kRecordUnreadable:
      return Reason::kRecordUnreadable;
    case VerdictReason::kKubeletNewer:
      return Reason::kKubeletNewer;
    case VerdictReason::kSecretAmbiguous:
      return Reason::kSecretAmbiguous;
    case VerdictReason::kFactsUnknown:
      return Reason::kFactsUnknown;
  }
  std::abort();
}

}  // namespace prefetch::plan
