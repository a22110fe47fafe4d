// Reason: why an image, or the node, is in the state it is in. One closed enum that is log field, metric
// label, status JSON and CLI text at once. A new one: an enumerator and a row here, and its words in
// status/words.cc; both tables are compared with the enum when they are compiled.
#pragma once

#include <array>
#include <cstddef>
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
  kAssumedForPod,  // recorded for one secret of the name that readyAs, or a pod, has without a UID
  kOtherPlatform,  // the entry's platforms do not name this node: nothing to do here
  kNotSelected,    // its nodeSelector does not name this node's labels: likewise
  kEmptyList,      // a valid list with nothing in it
  kAllReady,       // the node: every required entry is ready
  // On its way.
  kFactsUnknown,  // not looked at yet; or the verdict depends on unknown facts about kubelet
  kImageAbsent,   // not on the node; a pull is due
  kQueued,        // waits for a free slot among the pulls
  kPulling,
  kUnpacking,
  kOutsidePullWindow,  // its pull starts when the entry's pullWindow opens
  kTouching,           // on the node and closed; kubelet is being asked to record it for every pod
  // In the way. The first group are the classes of image::ErrorClass by name.
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
  kWrongPlatform,     // the image on the node is for another platform
  kUnsupportedImage,
  kNotAnImage,  // an OCI artifact, which the runtime pulls and keeps without a word
  kInvalidReference,
  kUnpackFailed,
  kBadCredentialFormat,
  kRuntimeDown,
  kRuntimeUnsupported,
  kRuntimeError,
  kRuntimeCrashed,  // it went away again and again while this image was pulled
  // On the node, and closed to pods: a verdict's reasons (kubelet/verdict.h) by name.
  kPolicyAlways,
  kRecordedForOthers,
  kSecretAmbiguous,  // recorded for several secrets of the name that readyAs, or a pod, has without a UID
  kRecordedForNobody,
  kRecordedUnderOtherName,
  kPullInterrupted,
  kVerificationAlways,
  kNotAllowlisted,
  kRecordUnreadable,
  kKubeletNewer,      // kubelet is newer than the rules that are known here
  kTouchIneffective,  // …and touching does not help; the message says what stands in the way
  // The registry's answers about a present image (plan/freshness.h).
  kUpToDate,               // it agreed lately
  kPinnedByDigest,         // a digest always names the same content: not asked about
  kNotChecked,             // not asked since the start, or since something changed
  kCheckOverdue,           // it agreed, but not within 2 x refreshInterval
  kTagMoved,               // the tag has changed: it points to another image than the local one
  kLocalDigestUnknown,     // the runtime does not know which digest it has: nothing can be compared
  kMirrorLag,              // a pull did not bring the registry's version
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

// Which part of the node a reason is about; the reference page of reasons has a section for each.
enum class ReasonGroup {
  kFine,
  kUnderWay,
  kPull,      // a pull failed, or cannot start
  kClosed,    // on the node, and kubelet keeps it from pods
  kRegistry,  // the registry's answers about a local image
  kNode,      // the list, the node, or kubelet's garbage collection
};

// When a pull that failed for this reason is tried again.
enum class Retry {
  kNone,       // no pull fails for it, or another rule decides (kDiskPressure: plan/disk_budget.h)
  kAtOnce,     // when the runtime is back: its outage is no failure of the image
  kTransient,  // first at once, then full jitter, doubling to minutes
  kSlow,       // 5 minutes, doubling to an hour: asking more often does not help, and locks accounts
  kHourly,
  kNever,  // only after the list has changed, or an operator has requested a retry
};

struct ReasonRow {
  Reason reason;
  std::string_view name;  // the enumerator without its k
  ReasonGroup group;
  Retry retry = Retry::kNone;
};

// In the order of the enum.
inline constexpr std::array kReasons = {
    ReasonRow{Reason::kPresent, "Present", ReasonGroup::kFine},
    ReasonRow{Reason::kOpenToNode, "OpenToNode", ReasonGroup::kFine},
    ReasonRow{Reason::kPreloaded, "Preloaded", ReasonGroup::kFine},
    ReasonRow{Reason::kAllowlisted, "Allowlisted", ReasonGroup::kFine},
    ReasonRow{Reason::kGateOff, "GateOff", ReasonGroup::kFine},
    ReasonRow{Reason::kVerificationNever, "VerificationNever", ReasonGroup::kFine},
    ReasonRow{Reason::kRecordedForPod, "RecordedForPod", ReasonGroup::kFine},
    ReasonRow{Reason::kAssumedForPod, "AssumedForPod", ReasonGroup::kFine},
    ReasonRow{Reason::kOtherPlatform, "OtherPlatform", ReasonGroup::kFine},
    ReasonRow{Reason::kNotSelected, "NotSelected", ReasonGroup::kFine},
    ReasonRow{Reason::kEmptyList, "EmptyList", ReasonGroup::kFine},
    ReasonRow{Reason::kAllReady, "AllReady", ReasonGroup::kFine},
    ReasonRow{Reason::kFactsUnknown, "FactsUnknown", ReasonGroup::kUnderWay},
    ReasonRow{Reason::kImageAbsent, "ImageAbsent", ReasonGroup::kUnderWay},
    ReasonRow{Reason::kQueued, "Queued", ReasonGroup::kUnderWay},
    ReasonRow{Reason::kPulling, "Pulling", ReasonGroup::kUnderWay},
    ReasonRow{Reason::kUnpacking, "Unpacking", ReasonGroup::kUnderWay},
    ReasonRow{Reason::kOutsidePullWindow, "OutsidePullWindow", ReasonGroup::kUnderWay},
    ReasonRow{Reason::kTouching, "Touching", ReasonGroup::kUnderWay},
    ReasonRow{Reason::kAccessDenied, "AccessDenied", ReasonGroup::kPull, Retry::kSlow},
    ReasonRow{Reason::kNotFound, "NotFound", ReasonGroup::kPull, Retry::kSlow},
    ReasonRow{Reason::kRateLimited, "RateLimited", ReasonGroup::kPull, Retry::kTransient},
    ReasonRow{Reason::kUnreachable, "Unreachable", ReasonGroup::kPull, Retry::kTransient},
    ReasonRow{Reason::kDnsFailure, "DnsFailure", ReasonGroup::kPull, Retry::kTransient},
    ReasonRow{Reason::kTlsError, "TlsError", ReasonGroup::kPull, Retry::kTransient},
    ReasonRow{Reason::kServerError, "ServerError", ReasonGroup::kPull, Retry::kTransient},
    ReasonRow{Reason::kContentMissing, "ContentMissing", ReasonGroup::kPull, Retry::kTransient},
    ReasonRow{Reason::kCorrupt, "Corrupt", ReasonGroup::kPull, Retry::kTransient},
    ReasonRow{Reason::kTimeout, "Timeout", ReasonGroup::kPull, Retry::kTransient},
    ReasonRow{Reason::kStalled, "Stalled", ReasonGroup::kPull, Retry::kTransient},
    // A filesystem that the disk rule does not measure: each try costs a download.
    ReasonRow{Reason::kDiskFull, "DiskFull", ReasonGroup::kPull, Retry::kSlow},
    ReasonRow{Reason::kDiskFault, "DiskFault", ReasonGroup::kPull, Retry::kTransient},
    ReasonRow{Reason::kDiskPressure, "DiskPressure", ReasonGroup::kPull},
    ReasonRow{Reason::kSignatureRejected, "SignatureRejected", ReasonGroup::kPull, Retry::kHourly},
    ReasonRow{Reason::kPlatformMismatch, "PlatformMismatch", ReasonGroup::kPull, Retry::kNever},
    ReasonRow{Reason::kWrongPlatform, "WrongPlatform", ReasonGroup::kPull, Retry::kNever},
    ReasonRow{Reason::kUnsupportedImage, "UnsupportedImage", ReasonGroup::kPull, Retry::kHourly},
    ReasonRow{Reason::kNotAnImage, "NotAnImage", ReasonGroup::kPull, Retry::kHourly},
    ReasonRow{Reason::kInvalidReference, "InvalidReference", ReasonGroup::kPull, Retry::kNever},
    ReasonRow{Reason::kUnpackFailed, "UnpackFailed", ReasonGroup::kPull, Retry::kTransient},
    ReasonRow{Reason::kBadCredentialFormat, "BadCredentialFormat", ReasonGroup::kPull, Retry::kHourly},
    ReasonRow{Reason::kRuntimeDown, "RuntimeDown", ReasonGroup::kPull, Retry::kAtOnce},
    ReasonRow{Reason::kRuntimeUnsupported, "RuntimeUnsupported", ReasonGroup::kPull, Retry::kHourly},
    ReasonRow{Reason::kRuntimeError, "RuntimeError", ReasonGroup::kPull, Retry::kTransient},
    ReasonRow{Reason::kRuntimeCrashed, "RuntimeCrashed", ReasonGroup::kPull, Retry::kSlow},
    ReasonRow{Reason::kPolicyAlways, "PolicyAlways", ReasonGroup::kClosed},
    ReasonRow{Reason::kRecordedForOthers, "RecordedForOthers", ReasonGroup::kClosed},
    ReasonRow{Reason::kSecretAmbiguous, "SecretAmbiguous", ReasonGroup::kClosed},
    ReasonRow{Reason::kRecordedForNobody, "RecordedForNobody", ReasonGroup::kClosed},
    ReasonRow{Reason::kRecordedUnderOtherName, "RecordedUnderOtherName", ReasonGroup::kClosed},
    ReasonRow{Reason::kPullInterrupted, "PullInterrupted", ReasonGroup::kClosed},
    ReasonRow{Reason::kVerificationAlways, "VerificationAlways", ReasonGroup::kClosed},
    ReasonRow{Reason::kNotAllowlisted, "NotAllowlisted", ReasonGroup::kClosed},
    ReasonRow{Reason::kRecordUnreadable, "RecordUnreadable", ReasonGroup::kClosed},
    ReasonRow{Reason::kKubeletNewer, "KubeletNewer", ReasonGroup::kClosed},
    ReasonRow{Reason::kTouchIneffective, "TouchIneffective", ReasonGroup::kClosed},
    ReasonRow{Reason::kUpToDate, "UpToDate", ReasonGroup::kRegistry},
    ReasonRow{Reason::kPinnedByDigest, "PinnedByDigest", ReasonGroup::kRegistry},
    ReasonRow{Reason::kNotChecked, "NotChecked", ReasonGroup::kRegistry},
    ReasonRow{Reason::kCheckOverdue, "CheckOverdue", ReasonGroup::kRegistry},
    ReasonRow{Reason::kTagMoved, "TagMoved", ReasonGroup::kRegistry},
    ReasonRow{Reason::kLocalDigestUnknown, "LocalDigestUnknown", ReasonGroup::kRegistry},
    ReasonRow{Reason::kMirrorLag, "MirrorLag", ReasonGroup::kRegistry},
    ReasonRow{Reason::kTagMissing, "TagMissing", ReasonGroup::kRegistry},
    ReasonRow{Reason::kTagMissingUnconfirmed, "TagMissingUnconfirmed", ReasonGroup::kRegistry},
    ReasonRow{Reason::kIndeterminate, "Indeterminate", ReasonGroup::kRegistry},
    ReasonRow{Reason::kCheckedByPull, "CheckedByPull", ReasonGroup::kRegistry},
    ReasonRow{Reason::kStale, "Stale", ReasonGroup::kRegistry},
    ReasonRow{Reason::kEvictedByKubelet, "EvictedByKubelet", ReasonGroup::kNode},
    ReasonRow{Reason::kNotUnpacked, "NotUnpacked", ReasonGroup::kNode, Retry::kTransient},
    ReasonRow{Reason::kListInvalid, "ListInvalid", ReasonGroup::kNode},
    ReasonRow{Reason::kListEmptyOfSources, "ListEmptyOfSources", ReasonGroup::kNode},
    ReasonRow{Reason::kCredentialsInvalid, "CredentialsInvalid", ReasonGroup::kNode},
    ReasonRow{Reason::kImagesNotReady, "ImagesNotReady", ReasonGroup::kNode},
};

constexpr const ReasonRow& RowOf(Reason reason) {
  return kReasons[static_cast<std::size_t>(reason)];
}
constexpr std::string_view ReasonName(Reason reason) {
  return RowOf(reason).name;
}
constexpr Retry RetryFor(Reason reason) {
  return RowOf(reason).retry;
}
// Return the reason of a failed pull, and that of a verdict.
Reason ReasonFor(image::ErrorClass error_class);
Reason ReasonFor(kubelet::VerdictReason reason);

}  // namespace prefetch::plan
