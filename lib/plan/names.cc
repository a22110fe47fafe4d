// How the enums of this folder are spelled, everywhere.
#include <cstdlib>

#include "plan/desired.h"
#include "plan/reason.h"
#include "plan/snapshot.h"

namespace prefetch::plan {

std::string_view RefreshName(Refresh refresh) {
  switch (refresh) {
    case Refresh::kIfNotPresent:
      return "IfNotPresent";
    case Refresh::kIfDigestChanged:
      return "IfDigestChanged";
    case Refresh::kAlways:
      return "Always";
  }
  std::abort();
}

std::string_view OnFailureName(OnFailure directive) {
  switch (directive) {
    case OnFailure::kKeep:
      return "Keep";
    case OnFailure::kNotReady:
      return "NotReady";
  }
  std::abort();
}

std::string_view OpenName(Open open) {
  switch (open) {
    case Open::kAuto:
      return "Auto";
    case Open::kAlways:
      return "Always";
    case Open::kNever:
      return "Never";
  }
  std::abort();
}

std::string_view PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kReady:
      return "Ready";
    case Phase::kProgressing:
      return "Progressing";
    case Phase::kFailing:
      return "Failing";
  }
  std::abort();
}

std::string_view PullStateName(PullState state) {
  switch (state) {
    case PullState::kNone:
      return "None";
    case PullState::kQueued:
      return "Queued";
    case PullState::kPulling:
      return "Pulling";
    case PullState::kUnpacking:
      return "Unpacking";
    case PullState::kWaiting:
      return "Waiting";
    case PullState::kDone:
      return "Done";
    case PullState::kFailed:
      return "Failed";
  }
  std::abort();
}

std::string_view PulledWithName(PulledWith with) {
  switch (with) {
    case PulledWith::kUnknown:
      return "Unknown";
    case PulledWith::kAnonymous:
      return "Anonymous";
    case PulledWith::kProvider:
      return "Provider";
    case PulledWith::kDockerConfig:
      return "DockerConfig";
    case PulledWith::kPullSecret:
      return "PullSecret";
  }
  std::abort();
}

std::string_view ReasonName(Reason reason) {
  switch (reason) {
    case Reason::kPresent:
      return "Present";
    case Reason::kOpenToNode:
      return "OpenToNode";
    case Reason::kPreloaded:
      return "Preloaded";
    case Reason::kAllowlisted:
      return "Allowlisted";
    case Reason::kGateOff:
      return "GateOff";
    case Reason::kVerificationNever:
      return "VerificationNever";
    case Reason::kRecordedForPod:
      return "RecordedForPod";
    case Reason::kPolicyAlways:
      return "PolicyAlways";
    case Reason::kRecordedForOthers:
      return "RecordedForOthers";
    case Reason::kRecordedForNobody:
      return "RecordedForNobody";
    case Reason::kRecordedUnderOtherName:
      return "RecordedUnderOtherName";
    case Reason::kPullInterrupted:
      return "PullInterrupted";
    case Reason::kVerificationAlways:
      return "VerificationAlways";
    case Reason::kNotAllowlisted:
      return "NotAllowlisted";
    case Reason::kRecordUnreadable:
      return "RecordUnreadable";
    case Reason::kTouchIneffective:
      return "TouchIneffective";
    case Reason::kOtherPlatform:
      return "OtherPlatform";
    case Reason::kEmptyList:
      return "EmptyList";
    case Reason::kAllReady:
      return "AllReady";
    case Reason::kFactsUnknown:
      return "FactsUnknown";
    case Reason::kImageAbsent:
      return "ImageAbsent";
    case Reason::kQueued:
      return "Queued";
    case Reason::kPulling:
      return "Pulling";
    case Reason::kUnpacking:
      return "Unpacking";
    case Reason::kTouching:
      return "Touching";
    case Reason::kAccessDenied:
      return "AccessDenied";
    case Reason::kNotFound:
      return "NotFound";
    case Reason::kRateLimited:
      return "RateLimited";
    case Reason::kUnreachable:
      return "Unreachable";
    case Reason::kDnsFailure:
      return "DnsFailure";
    case Reason::kTlsError:
      return "TlsError";
    case Reason::kServerError:
      return "ServerError";
    case Reason::kContentMissing:
      return "ContentMissing";
    case Reason::kCorrupt:
      return "Corrupt";
    case Reason::kTimeout:
      return "Timeout";
    case Reason::kStalled:
      return "Stalled";
    case Reason::kDiskFull:
      return "DiskFull";
    case Reason::kDiskFault:
      return "DiskFault";
    case Reason::kDiskPressure:
      return "DiskPressure";
    case Reason::kSignatureRejected:
      return "SignatureRejected";
    case Reason::kPlatformMismatch:
      return "PlatformMismatch";
    case Reason::kWrongPlatform:
      return "WrongPlatform";
    case Reason::kUnsupportedImage:
      return "UnsupportedImage";
    case Reason::kInvalidReference:
      return "InvalidReference";
    case Reason::kUnpackFailed:
      return "UnpackFailed";
    case Reason::kBadCredentialFormat:
      return "BadCredentialFormat";
    case Reason::kRuntimeDown:
      return "RuntimeDown";
    case Reason::kRuntimeUnsupported:
      return "RuntimeUnsupported";
    case Reason::kRuntimeError:
      return "RuntimeError";
    case Reason::kUpToDate:
      return "UpToDate";
    case Reason::kPinnedByDigest:
      return "PinnedByDigest";
    case Reason::kNotChecked:
      return "NotChecked";
    case Reason::kCheckOverdue:
      return "CheckOverdue";
    case Reason::kTagMoved:
      return "TagMoved";
    case Reason::kLocalDigestUnknown:
      return "LocalDigestUnknown";
    case Reason::kMirrorLag:
      return "MirrorLag";
    case Reason::kTagMissing:
      return "TagMissing";
    case Reason::kTagMissingUnconfirmed:
      return "TagMissingUnconfirmed";
    case Reason::kIndeterminate:
      return "Indeterminate";
    case Reason::kCheckedByPull:
      return "CheckedByPull";
    case Reason::kStale:
      return "Stale";
    case Reason::kEvictedByKubelet:
      return "EvictedByKubelet";
    case Reason::kNotUnpacked:
      return "NotUnpacked";
    case Reason::kListInvalid:
      return "ListInvalid";
    case Reason::kListEmptyOfSources:
      return "ListEmptyOfSources";
    case Reason::kCredentialsInvalid:
      return "CredentialsInvalid";
    case Reason::kImagesNotReady:
      return "ImagesNotReady";
  }
  std::abort();
}

Reason ReasonFor(image::ErrorClass error_class) {
  using image::ErrorClass;
  switch (error_class) {
    case ErrorClass::kCancelled:
      return Reason::kTimeout;
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
    case VerdictReason::kFactsUnknown:
      return Reason::kFactsUnknown;
  }
  std::abort();
}

}  // namespace prefetch::plan
