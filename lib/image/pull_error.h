// ErrorClass: what can go wrong with a pull, as a closed list. cri/ classifies, plan/ decides by it.
#pragma once

#include "base/enum_name.h"

namespace prefetch::image {

// Each becomes a plan::Reason (plan/reason.cc), whose retry rule is in plan/reason.h.
// Where each comes from: the table of runtime rule C14.
enum class ErrorClass {
  kCancelled,           // by us
  kTimeout,             // by our deadline, or a time limit of the runtime's own
  kRuntimeDown,         // socket gone, connection cut, or not initialised yet: in doubt, not failed
  kRuntimeUnsupported,  // no runtime.v1
  // "context canceled": the runtime gave up a pull that did not move. On CRI-O also the cancel of another
  // caller that shared the pull (C32).
  kRuntimeProgressTimeout,
  kRuntimeError,  // the runtime failed in a way that no rule knows, or broke its contract
  kSignatureRejected,
  kDiskFull,
  kDiskFault,
  kRateLimited,
  kTlsError,
  kDnsFailure,
  kUnreachable,
  kAccessDenied,
  kPlatformMismatch,
  kUnsupportedImage,
  kContentMissing,
  kNotFound,
  kCorrupt,
  kServerError,
  kRangeRefused,  // 416: the server does not send the rest of a blob
  kInvalidReference,
  kUnpackFailed,
  kBadCredentialFormat,
  kUnknown,
};

// Returns true if the registry has refused the credential that was sent, so that the next one may be tried.
bool IsCredentialRefusal(ErrorClass error_class);

}  // namespace prefetch::image
