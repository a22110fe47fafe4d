// Reason: why an image, or the node, is in the state it is in. One closed enum that is log field, metric
// label, status JSON and CLI text at once; a switch over it has no default, so -Wswitch finds every place
// that must know a new one.
#pragma once

#include <string_view>

#include "image/pull_error.h"
#include "kubelet/verdict.h"

namespace prefetch::plan {

enum class Reason {
  // Fine.
  kPresent,      // on the node under its name, and (without a kubelet) that is all that is asked
  kOpenToNode,   // kubelet has recorded it for every pod of the node
  kPreloaded,    // kubelet has not pulled it: open until it does, with a pod's credentials
  kAllowlisted,  // kubelet's allowlist exempts the name
  kGateOff,      // this kubelet does not verify images
  kVerificationNever,
  kRecordedForPod,
  kOtherPlatform,  // the entry's platforms do not name this node: nothing to do here
  kEmptyList,      // a valid list with nothing in it
  kAllReady,       // the node: every required entry is ready
  // On its way.
  kFactsUnknown,  // not looked at yet; or the verdict depends on what is not known about kubelet
  kImageAbsent,   // not on the node; a pull is due
  kQueued,        // waits for a free place among the pulls
  kPulling,
  kUnpacking,
  kTouching,  // on the node and closed; kubelet is being asked to record it for every pod
  // In the way. The first group are CRI's error classes by name.
  kAccessDenied,
  kNotFound,
  kRateLimited,
  kUnreachable,
  kDnsFailure,
  kTlsError,
  kServerError,
  kContentMissing,
  kCorrupt,
  kTimeout,
  kStalled,   // the pull did not move for ten minutes
  kDiskFull,  // the runtime said: no space left
  kDiskFault,
  kDiskPressure,  // our own rule: there is not enough room for it
  kSignatureRejected,
  kPlatformMismatch,  // the registry has no image for this platform
  kWrongPlatform,     // what is on the node, under that name, is for another platform
  kUnsupportedImage,
  kInvalidReference,
  kUnpackFailed,
  kBadCredentialFormat,
  kRuntimeDown,
  kRuntimeUnsupported,
  kRuntimeError,
  // On the node, and closed to pods: a verdict's reasons (kubelet/verdict.h) by name.
  kPolicyAlways,
  kRecordedForOthers,
  kRecordedForNobody,
  kRecordedUnderOtherName,
  kPullInterrupted,
  kVerificationAlways,
  kNotAllowlisted,
  kRecordUnreadable,
  kTouchIneffective,  // …and touching does not help; the message says what stands in the way
  // What the registry has said about an image that is here (plan/refresh.h).
  kUpToDate,               // it agreed lately
  kPinnedByDigest,         // what a digest names cannot change: nobody is asked
  kNotChecked,             // not asked since the start, or since something changed
  kCheckOverdue,           // it agreed, but not within 2 x refreshInterval
  kTagMoved,               // the tag has changed: it points to something else than what is here
  kLocalDigestUnknown,     // the runtime does not know which digest it has: nothing can be compared
  kMirrorLag,              // a pull did not bring what the registry names
  kTagMissing,             // twice, a minute apart
  kTagMissingUnconfirmed,  // once
  kIndeterminate,          // its answer cannot be compared
  kCheckedByPull,          // this runtime's registries can only be asked by pulling
  kStale,                  // older than maxAge without an answer
  // The rest.
  kEvictedByKubelet,    // taken away again and again after it had been pulled
  kNotUnpacked,         // the runtime lists it, but its content is not unpacked
  kListInvalid,         // a source of the list has no version in force
  kListEmptyOfSources,  // no source was found at the paths given
  kCredentialsInvalid,  // the credential provider configuration cannot be used
  kImagesNotReady,      // the node: some required entries are not ready
};

std::string_view ReasonName(Reason reason);  // "ImageAbsent"
Reason ReasonFor(image::ErrorClass error_class);
Reason ReasonFor(kubelet::VerdictReason reason);

}  // namespace prefetch::plan
