// Reason: why an image, or the node, is in the state it is in. One closed enum that is log field, metric
// label, status JSON and CLI text at once. A new one is an enumerator and a row here; the table is compared
// with the enum when it is compiled.
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
  kNodeLabelsUnknown,   // the entry has a nodeSelector, and the agent cannot read the labels of its Node
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
  kNoRetryRule,  // no pull fails for it, or another rule decides (kDiskPressure, kEvictedByKubelet)
  kAtOnce,       // when the runtime is back: its outage is no failure of the image
  kTransient,    // first at once, then full jitter, doubling to minutes
  kSlow,         // 5 minutes, doubling to an hour: asking more often does not help, and locks accounts
  kHourly,
  kNever,  // after a new list (not kWrongPlatform), or a requested retry (`retry`, `check --pull`)
};

struct ReasonRow {
  Reason reason;
  std::string_view name;  // the enumerator without its k
  ReasonGroup group;
  Retry retry;
  std::string_view state;        // for a table: at most 11 columns
  std::string_view advice = {};  // empty: nothing needs to be done, or the message says it already
};

// In the order of the enum.
inline constexpr std::array kReasons = {
    ReasonRow{Reason::kPresent, "Present", ReasonGroup::kFine, Retry::kNoRetryRule, "present"},
    ReasonRow{Reason::kOpenToNode, "OpenToNode", ReasonGroup::kFine, Retry::kNoRetryRule, "open"},
    ReasonRow{Reason::kPreloaded, "Preloaded", ReasonGroup::kFine, Retry::kNoRetryRule, "preloaded"},
    ReasonRow{Reason::kAllowlisted, "Allowlisted", ReasonGroup::kFine, Retry::kNoRetryRule, "allowlisted"},
    ReasonRow{Reason::kGateOff, "GateOff", ReasonGroup::kFine, Retry::kNoRetryRule, "unverified"},
    ReasonRow{Reason::kVerificationNever, "VerificationNever", ReasonGroup::kFine, Retry::kNoRetryRule,
              "unverified"},
    ReasonRow{Reason::kRecordedForPod, "RecordedForPod", ReasonGroup::kFine, Retry::kNoRetryRule, "recorded"},
    ReasonRow{Reason::kAssumedForPod, "AssumedForPod", ReasonGroup::kFine, Retry::kNoRetryRule, "assumed"},
    ReasonRow{Reason::kOtherPlatform, "OtherPlatform", ReasonGroup::kFine, Retry::kNoRetryRule, "not here"},
    ReasonRow{Reason::kNotSelected, "NotSelected", ReasonGroup::kFine, Retry::kNoRetryRule, "not here"},
    ReasonRow{Reason::kEmptyList, "EmptyList", ReasonGroup::kFine, Retry::kNoRetryRule, "empty list",
              "put images into the list"},
    ReasonRow{Reason::kAllReady, "AllReady", ReasonGroup::kFine, Retry::kNoRetryRule, "ready"},
    ReasonRow{Reason::kFactsUnknown, "FactsUnknown", ReasonGroup::kUnderWay, Retry::kNoRetryRule, "unknown"},
    ReasonRow{Reason::kImageAbsent, "ImageAbsent", ReasonGroup::kUnderWay, Retry::kNoRetryRule, "absent"},
    ReasonRow{Reason::kQueued, "Queued", ReasonGroup::kUnderWay, Retry::kNoRetryRule, "queued"},
    ReasonRow{Reason::kPulling, "Pulling", ReasonGroup::kUnderWay, Retry::kNoRetryRule, "pulling"},
    ReasonRow{Reason::kUnpacking, "Unpacking", ReasonGroup::kUnderWay, Retry::kNoRetryRule, "unpacking"},
    ReasonRow{Reason::kOutsidePullWindow, "OutsidePullWindow", ReasonGroup::kUnderWay, Retry::kNoRetryRule,
              "scheduled", "the agent pulls when the window opens; prefetchctl retry pulls at once"},
    ReasonRow{Reason::kTouching, "Touching", ReasonGroup::kUnderWay, Retry::kNoRetryRule, "touching"},
    ReasonRow{Reason::kAccessDenied, "AccessDenied", ReasonGroup::kPull, Retry::kSlow, "denied",
              "give this node a credential for the registry, or check the name: many registries deny access "
              "to absent images too"},
    ReasonRow{Reason::kNotFound, "NotFound", ReasonGroup::kPull, Retry::kSlow, "not found",
              "check name and tag, or push the image; the agent tries again later"},
    ReasonRow{Reason::kRateLimited, "RateLimited", ReasonGroup::kPull, Retry::kTransient, "rate limit",
              "the agent goes on by itself; a credential or a mirror raises the registry's limit"},
    ReasonRow{Reason::kUnreachable, "Unreachable", ReasonGroup::kPull, Retry::kTransient, "unreachable",
              "check network and proxy between this node and the registry"},
    ReasonRow{Reason::kDnsFailure, "DnsFailure", ReasonGroup::kPull, Retry::kTransient, "no DNS",
              "check the registry's name and this node's DNS"},
    ReasonRow{Reason::kTlsError, "TlsError", ReasonGroup::kPull, Retry::kTransient, "TLS error",
              "check the registry's certificate and the runtime's certificate settings (hosts.toml)"},
    ReasonRow{Reason::kServerError, "ServerError", ReasonGroup::kPull, Retry::kTransient, "server down",
              "the registry itself fails; the agent tries again"},
    ReasonRow{Reason::kContentMissing, "ContentMissing", ReasonGroup::kPull, Retry::kTransient, "incomplete",
              "the registry lacks a part of this image: push it again"},
    ReasonRow{Reason::kCorrupt, "Corrupt", ReasonGroup::kPull, Retry::kTransient, "corrupt",
              "the registry's bytes do not match their digest: push the image again, check proxies"},
    ReasonRow{Reason::kTimeout, "Timeout", ReasonGroup::kPull, Retry::kTransient, "timed out",
              "give it longer (pullTimeout), or look at the registry's speed"},
    ReasonRow{Reason::kStalled, "Stalled", ReasonGroup::kPull, Retry::kTransient, "stalled",
              "no byte came for ten minutes: check the network to the registry"},
    // A filesystem that the disk rule does not measure: each try costs a download.
    ReasonRow{Reason::kDiskFull, "DiskFull", ReasonGroup::kPull, Retry::kSlow, "disk full",
              "make room on the image filesystem"},
    ReasonRow{Reason::kDiskFault, "DiskFault", ReasonGroup::kPull, Retry::kTransient, "disk fault",
              "look at the image filesystem: the runtime cannot write to it"},
    ReasonRow{Reason::kDiskPressure, "DiskPressure", ReasonGroup::kPull, Retry::kNoRetryRule, "no room",
              "make room on the image filesystem, or shorten the list"},
    ReasonRow{
        Reason::kSignatureRejected, "SignatureRejected", ReasonGroup::kPull, Retry::kHourly, "unsigned",
        "the runtime's policy rejects this image's signature: sign it, or change the policy (CRI-O: "
        "/etc/containers/policy.json, and sigstore or lookaside settings in /etc/containers/registries.d)"},
    ReasonRow{Reason::kPlatformMismatch, "PlatformMismatch", ReasonGroup::kPull, Retry::kNever, "no platform",
              "push it for this node's platform, or restrict the entry with platforms"},
    ReasonRow{Reason::kWrongPlatform, "WrongPlatform", ReasonGroup::kPull, Retry::kNever, "wrong arch"},
    ReasonRow{Reason::kUnsupportedImage, "UnsupportedImage", ReasonGroup::kPull, Retry::kHourly,
              "unsupported", "the runtime cannot use this image's format: build it as an OCI image"},
    ReasonRow{
        Reason::kNotAnImage, "NotAnImage", ReasonGroup::kPull, Retry::kHourly, "not image",
        "take it off the list, or list the image itself: this is an OCI artifact, such as a Helm chart"},
    ReasonRow{Reason::kInvalidReference, "InvalidReference", ReasonGroup::kPull, Retry::kNever, "invalid",
              "correct the name in the list"},
    ReasonRow{Reason::kUnpackFailed, "UnpackFailed", ReasonGroup::kPull, Retry::kTransient, "no unpack",
              "the runtime cannot unpack it: see the runtime's log"},
    ReasonRow{Reason::kBadCredentialFormat, "BadCredentialFormat", ReasonGroup::kPull, Retry::kHourly,
              "credential", "correct the credential: the runtime cannot read it"},
    ReasonRow{Reason::kRuntimeDown, "RuntimeDown", ReasonGroup::kPull, Retry::kAtOnce, "no runtime",
              "start the container runtime, or name its socket with --runtime-endpoint"},
    ReasonRow{Reason::kRuntimeUnsupported, "RuntimeUnsupported", ReasonGroup::kPull, Retry::kHourly,
              "old runtime", "the runtime does not speak CRI v1: update it"},
    ReasonRow{Reason::kRuntimeError, "RuntimeError", ReasonGroup::kPull, Retry::kTransient, "runtime",
              "see the runtime's log"},
    ReasonRow{Reason::kRuntimeCrashed, "RuntimeCrashed", ReasonGroup::kPull, Retry::kSlow, "suspect",
              "look in the runtime's log for a crash while it pulled this image; take the image off the list "
              "until then"},
    ReasonRow{Reason::kPolicyAlways, "PolicyAlways", ReasonGroup::kClosed, Retry::kNoRetryRule, "present"},
    ReasonRow{Reason::kRecordedForOthers, "RecordedForOthers", ReasonGroup::kClosed, Retry::kNoRetryRule,
              "closed", "see kubelet's record and ways to open the image: prefetchctl explain IMAGE"},
    ReasonRow{Reason::kSecretAmbiguous, "SecretAmbiguous", ReasonGroup::kClosed, Retry::kNoRetryRule,
              "ambiguous", "name the UID in readyAs, or let the agent touch it"},
    ReasonRow{Reason::kRecordedForNobody, "RecordedForNobody", ReasonGroup::kClosed, Retry::kNoRetryRule,
              "closed", "see kubelet's record and ways to open the image: prefetchctl explain IMAGE"},
    ReasonRow{Reason::kRecordedUnderOtherName, "RecordedUnderOtherName", ReasonGroup::kClosed,
              Retry::kNoRetryRule, "closed",
              "see kubelet's record and ways to open the image: prefetchctl explain IMAGE"},
    ReasonRow{Reason::kPullInterrupted, "PullInterrupted", ReasonGroup::kClosed, Retry::kNoRetryRule,
              "interrupted"},
    ReasonRow{Reason::kVerificationAlways, "VerificationAlways", ReasonGroup::kClosed, Retry::kNoRetryRule,
              "unrecorded",
              "exempt it with kubelet's allowlist: prefetchctl list export --for kubelet prints one"},
    ReasonRow{Reason::kNotAllowlisted, "NotAllowlisted", ReasonGroup::kClosed, Retry::kNoRetryRule,
              "unrecorded",
              "exempt it with kubelet's allowlist: prefetchctl list export --for kubelet prints one"},
    ReasonRow{Reason::kRecordUnreadable, "RecordUnreadable", ReasonGroup::kClosed, Retry::kNoRetryRule,
              "unreadable"},
    ReasonRow{Reason::kKubeletNewer, "KubeletNewer", ReasonGroup::kClosed, Retry::kNoRetryRule, "unknown",
              "update prefetchd, or set --kubelet-rules to the newest version whose rules it knows"},
    ReasonRow{Reason::kTouchIneffective, "TouchIneffective", ReasonGroup::kClosed, Retry::kNoRetryRule,
              "closed", "see the obstacle to a touch: prefetchctl explain IMAGE"},
    ReasonRow{Reason::kUpToDate, "UpToDate", ReasonGroup::kRegistry, Retry::kNoRetryRule, "current"},
    ReasonRow{Reason::kPinnedByDigest, "PinnedByDigest", ReasonGroup::kRegistry, Retry::kNoRetryRule,
              "current"},
    ReasonRow{Reason::kNotChecked, "NotChecked", ReasonGroup::kRegistry, Retry::kNoRetryRule, "unchecked"},
    ReasonRow{Reason::kCheckOverdue, "CheckOverdue", ReasonGroup::kRegistry, Retry::kNoRetryRule, "overdue",
              "see the registry's answers: prefetchctl explain IMAGE"},
    ReasonRow{Reason::kTagMoved, "TagMoved", ReasonGroup::kRegistry, Retry::kNoRetryRule, "changed"},
    ReasonRow{Reason::kLocalDigestUnknown, "LocalDigestUnknown", ReasonGroup::kRegistry, Retry::kNoRetryRule,
              "changed"},
    ReasonRow{Reason::kMirrorLag, "MirrorLag", ReasonGroup::kRegistry, Retry::kNoRetryRule, "mirror lags",
              "the mirror that the runtime pulls from has an older or another content"},
    ReasonRow{Reason::kTagMissing, "TagMissing", ReasonGroup::kRegistry, Retry::kNoRetryRule, "tag gone",
              "push the tag again, or take the entry off the list"},
    ReasonRow{Reason::kTagMissingUnconfirmed, "TagMissingUnconfirmed", ReasonGroup::kRegistry,
              Retry::kNoRetryRule, "tag gone?"},
    ReasonRow{Reason::kIndeterminate, "Indeterminate", ReasonGroup::kRegistry, Retry::kNoRetryRule, "unclear",
              "see the registry's answer: prefetchctl explain IMAGE"},
    ReasonRow{Reason::kCheckedByPull, "CheckedByPull", ReasonGroup::kRegistry, Retry::kNoRetryRule,
              "by pull"},
    ReasonRow{Reason::kStale, "Stale", ReasonGroup::kRegistry, Retry::kNoRetryRule, "stale",
              "see the registry's answers: prefetchctl explain IMAGE"},
    ReasonRow{Reason::kEvictedByKubelet, "EvictedByKubelet", ReasonGroup::kNode, Retry::kNoRetryRule,
              "evicted"},
    ReasonRow{Reason::kNotUnpacked, "NotUnpacked", ReasonGroup::kNode, Retry::kTransient, "unusable"},
    ReasonRow{Reason::kListInvalid, "ListInvalid", ReasonGroup::kNode, Retry::kNoRetryRule, "bad list",
              "correct the list: prefetchctl list check FILE names each mistake"},
    ReasonRow{Reason::kListEmptyOfSources, "ListEmptyOfSources", ReasonGroup::kNode, Retry::kNoRetryRule,
              "no list", "put a list file where --list looks for it"},
    ReasonRow{Reason::kCredentialsInvalid, "CredentialsInvalid", ReasonGroup::kNode, Retry::kNoRetryRule,
              "credentials", "correct the credential provider configuration"},
    ReasonRow{Reason::kNodeLabelsUnknown, "NodeLabelsUnknown", ReasonGroup::kNode, Retry::kNoRetryRule,
              "no labels"},
    ReasonRow{Reason::kImagesNotReady, "ImagesNotReady", ReasonGroup::kNode, Retry::kNoRetryRule,
              "not ready"},
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
// Returns true if it says nothing about the image: nobody has looked, or a fact is missing.
constexpr bool IsUnknown(Reason reason) {
  return reason == Reason::kFactsUnknown || reason == Reason::kNodeLabelsUnknown;
}
// Return the reason of a failed pull, and that of a verdict.
Reason ReasonFor(image::ErrorClass error_class);
Reason ReasonFor(kubelet::VerdictReason reason);

}  // namespace prefetch::plan
