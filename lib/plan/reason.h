// Reason: why an image, or the node, is in the state it is in. One closed enum that is log field, metric
// label, status JSON and CLI text at once. A new one is an enumerator and a row here; the table is compared
// with the enum when it is compiled.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "base/enum_name.h"
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
  ReasonGroup group;
  Retry retry;
  std::string_view state;        // for a table: at most 11 columns
  std::string_view advice = {};  // empty: nothing needs to be done, or the message says it already
};

// In the order of the enum.
inline constexpr auto kReasons = [] {
  using enum Reason;
  using enum ReasonGroup;
  using enum Retry;
  return std::to_array<ReasonRow>({
      {kPresent, kFine, kNoRetryRule, "present"},
      {kOpenToNode, kFine, kNoRetryRule, "open"},
      {kPreloaded, kFine, kNoRetryRule, "preloaded"},
      {kAllowlisted, kFine, kNoRetryRule, "allowlisted"},
      {kGateOff, kFine, kNoRetryRule, "unverified"},
      {kVerificationNever, kFine, kNoRetryRule, "unverified"},
      {kRecordedForPod, kFine, kNoRetryRule, "recorded"},
      {kAssumedForPod, kFine, kNoRetryRule, "assumed"},
      {kOtherPlatform, kFine, kNoRetryRule, "not here"},
      {kNotSelected, kFine, kNoRetryRule, "not here"},
      {kEmptyList, kFine, kNoRetryRule, "empty list", "put images into the list"},
      {kAllReady, kFine, kNoRetryRule, "ready"},
      {kFactsUnknown, kUnderWay, kNoRetryRule, "unknown"},
      {kImageAbsent, kUnderWay, kNoRetryRule, "absent"},
      {kQueued, kUnderWay, kNoRetryRule, "queued"},
      {kPulling, kUnderWay, kNoRetryRule, "pulling"},
      {kUnpacking, kUnderWay, kNoRetryRule, "unpacking"},
      {kOutsidePullWindow, kUnderWay, kNoRetryRule, "scheduled",
       "the agent pulls when the window opens; prefetchctl retry pulls at once"},
      {kTouching, kUnderWay, kNoRetryRule, "touching"},
      {kAccessDenied, kPull, kSlow, "denied",
       "give this node a credential for the registry, or check the name: many registries deny access "
       "to absent images too"},
      {kNotFound, kPull, kSlow, "not found",
       "check name and tag, or push the image; the agent tries again later"},
      {kRateLimited, kPull, kTransient, "rate limit",
       "the agent goes on by itself; a credential or a mirror raises the registry's limit"},
      {kUnreachable, kPull, kTransient, "unreachable",
       "check network and proxy between this node and the registry"},
      {kDnsFailure, kPull, kTransient, "no DNS", "check the registry's name and this node's DNS"},
      {kTlsError, kPull, kTransient, "TLS error",
       "check the registry's certificate and the runtime's certificate settings (hosts.toml)"},
      {kServerError, kPull, kTransient, "server down", "the registry itself fails; the agent tries again"},
      {kContentMissing, kPull, kTransient, "incomplete",
       "the registry lacks a part of this image: push it again"},
      {kCorrupt, kPull, kTransient, "corrupt",
       "the registry's bytes do not match their digest: push the image again, check proxies"},
      {kTimeout, kPull, kTransient, "timed out",
       "give it longer (pullTimeout), or look at the registry's speed"},
      {kStalled, kPull, kTransient, "stalled",
       "no byte came for ten minutes: check the network to the registry"},
      // A filesystem that the disk rule does not measure: each try costs a download.
      {kDiskFull, kPull, kSlow, "disk full", "make room on the image filesystem"},
      {kDiskFault, kPull, kTransient, "disk fault",
       "look at the image filesystem: the runtime cannot write to it"},
      {kDiskPressure, kPull, kNoRetryRule, "no room",
       "make room on the image filesystem, or shorten the list"},
      {kSignatureRejected, kPull, kHourly, "unsigned",
       "the runtime's policy rejects this image's signature: sign it, or change the policy (CRI-O: "
       "/etc/containers/policy.json, and sigstore or lookaside settings in /etc/containers/registries.d)"},
      {kPlatformMismatch, kPull, kNever, "no platform",
       "push it for this node's platform, or restrict the entry with platforms"},
      {kWrongPlatform, kPull, kNever, "wrong arch"},
      {kUnsupportedImage, kPull, kHourly, "unsupported",
       "the runtime cannot use this image's format: build it as an OCI image"},
      {kNotAnImage, kPull, kHourly, "not image",
       "take it off the list, or list the image itself: this is an OCI artifact, such as a Helm chart"},
      {kInvalidReference, kPull, kNever, "invalid", "correct the name in the list"},
      {kUnpackFailed, kPull, kTransient, "no unpack", "the runtime cannot unpack it: see the runtime's log"},
      {kBadCredentialFormat, kPull, kHourly, "credential",
       "correct the credential: the runtime cannot read it"},
      {kRuntimeDown, kPull, kAtOnce, "no runtime",
       "start the container runtime, or name its socket with --runtime-endpoint"},
      {kRuntimeUnsupported, kPull, kHourly, "old runtime", "the runtime does not speak CRI v1: update it"},
      {kRuntimeError, kPull, kTransient, "runtime", "see the runtime's log"},
      {kRuntimeCrashed, kPull, kSlow, "suspect",
       "look in the runtime's log for a crash while it pulled this image; take the image off the list "
       "until then"},
      {kPolicyAlways, kClosed, kNoRetryRule, "present"},
      {kRecordedForOthers, kClosed, kNoRetryRule, "closed",
       "see kubelet's record and ways to open the image: prefetchctl explain IMAGE"},
      {kSecretAmbiguous, kClosed, kNoRetryRule, "ambiguous",
       "name the UID in readyAs, or let the agent touch it"},
      {kRecordedForNobody, kClosed, kNoRetryRule, "closed",
       "see kubelet's record and ways to open the image: prefetchctl explain IMAGE"},
      {kRecordedUnderOtherName, kClosed, kNoRetryRule, "closed",
       "see kubelet's record and ways to open the image: prefetchctl explain IMAGE"},
      {kPullInterrupted, kClosed, kNoRetryRule, "interrupted"},
      {kVerificationAlways, kClosed, kNoRetryRule, "unrecorded",
       "exempt it with kubelet's allowlist: prefetchctl list export --for kubelet prints one"},
      {kNotAllowlisted, kClosed, kNoRetryRule, "unrecorded",
       "exempt it with kubelet's allowlist: prefetchctl list export --for kubelet prints one"},
      {kRecordUnreadable, kClosed, kNoRetryRule, "unreadable"},
      {kKubeletNewer, kClosed, kNoRetryRule, "unknown",
       "update prefetchd, or set --kubelet-rules to the newest version whose rules it knows"},
      {kTouchIneffective, kClosed, kNoRetryRule, "closed",
       "see the obstacle to a touch: prefetchctl explain IMAGE"},
      {kUpToDate, kRegistry, kNoRetryRule, "current"},
      {kPinnedByDigest, kRegistry, kNoRetryRule, "current"},
      {kNotChecked, kRegistry, kNoRetryRule, "unchecked"},
      {kCheckOverdue, kRegistry, kNoRetryRule, "overdue",
       "see the registry's answers: prefetchctl explain IMAGE"},
      {kTagMoved, kRegistry, kNoRetryRule, "changed"},
      {kLocalDigestUnknown, kRegistry, kNoRetryRule, "changed"},
      {kMirrorLag, kRegistry, kNoRetryRule, "mirror lags",
       "the mirror that the runtime pulls from has an older or another content"},
      {kTagMissing, kRegistry, kNoRetryRule, "tag gone",
       "push the tag again, or take the entry off the list"},
      {kTagMissingUnconfirmed, kRegistry, kNoRetryRule, "tag gone?"},
      {kIndeterminate, kRegistry, kNoRetryRule, "unclear",
       "see the registry's answer: prefetchctl explain IMAGE"},
      {kCheckedByPull, kRegistry, kNoRetryRule, "by pull"},
      {kStale, kRegistry, kNoRetryRule, "stale", "see the registry's answers: prefetchctl explain IMAGE"},
      {kEvictedByKubelet, kNode, kNoRetryRule, "evicted"},
      {kNotUnpacked, kNode, kTransient, "unusable"},
      {kListInvalid, kNode, kNoRetryRule, "bad list",
       "correct the list: prefetchctl list check FILE names each mistake"},
      {kListEmptyOfSources, kNode, kNoRetryRule, "no list", "put a list file where --list looks for it"},
      {kCredentialsInvalid, kNode, kNoRetryRule, "credentials",
       "correct the credential provider configuration"},
      {kNodeLabelsUnknown, kNode, kNoRetryRule, "no labels"},
      {kImagesNotReady, kNode, kNoRetryRule, "not ready"},
  });
}();

constexpr const ReasonRow& RowOf(Reason reason) {
  return kReasons[static_cast<std::size_t>(reason)];
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
