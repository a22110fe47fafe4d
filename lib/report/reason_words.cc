#include "report/reason_words.h"

#include "plan/reason.h"
#include "report/text_layout.h"

namespace prefetch::report {
namespace {

using plan::Reason;

constexpr std::size_t kStateColumns = 11;

struct Row {
  std::string_view state, advice;
};

Row RowFor(Reason reason) {
  switch (reason) {
    case Reason::kPresent:
      return {"present", ""};
    case Reason::kOpenToNode:
      return {"open", ""};
    case Reason::kPreloaded:
      return {"preloaded", ""};
    case Reason::kAllowlisted:
      return {"allowlisted", ""};
    case Reason::kGateOff:
    case Reason::kVerificationNever:
      return {"unverified", ""};
    case Reason::kRecordedForPod:
      return {"recorded", ""};
    case Reason::kPolicyAlways:
      return {"present", ""};
    case Reason::kRecordedForOthers:
    case Reason::kRecordedForNobody:
    case Reason::kRecordedUnderOtherName:
      return {"closed", "prefetchctl explain IMAGE tells all that is known, and what opens it"};
    case Reason::kPullInterrupted:
      return {"interrupted", ""};
    case Reason::kVerificationAlways:
    case Reason::kNotAllowlisted:
      return {"unrecorded",
              "exempt it with kubelet's allowlist: prefetchctl export kubelet-allowlist prints one"};
    case Reason::kRecordUnreadable:
      return {"unreadable", ""};
    case Reason::kOtherPlatform:
      return {"not here", ""};
    case Reason::kEmptyList:
      return {"empty list", "put images into the list"};
    case Reason::kAllReady:
      return {"ready", ""};
    case Reason::kFactsUnknown:
      return {"unknown", ""};
    case Reason::kImageAbsent:
      return {"absent", ""};
    case Reason::kQueued:
      return {"queued", ""};
    case Reason::kPulling:
      return {"pulling", ""};
    case Reason::kUnpacking:
      return {"unpacking", ""};
    case Reason::kTouching:
      return {"touching", ""};
    case Reason::kTouchIneffective:
      return {"closed", "prefetchctl explain IMAGE tells what stands in the way of a touch"};
    case Reason::kAccessDenied:
      return {"denied",
              "give this node a credential for the registry, or check the name: many registries say so "
              "for absent images too"};
    case Reason::kNotFound:
      return {"not found", "check name and tag, or push the image; it is looked for again later"};
    case Reason::kRateLimited:
      return {"rate limit", "it goes on by itself; a credential or a mirror raises the registry's limit"};
    case Reason::kUnreachable:
      return {"unreachable", "check network and proxy between this node and the registry"};
    case Reason::kDnsFailure:
      return {"no DNS", "check the registry's name and this node's DNS"};
    case Reason::kTlsError:
      return {"TLS error",
              "check the registry's certificate and the runtime's certificate settings (hosts.toml)"};
    case Reason::kServerError:
      return {"server down", "the registry itself fails; it is tried again"};
    case Reason::kContentMissing:
      return {"incomplete", "the registry lacks a part of this image: push it again"};
    case Reason::kCorrupt:
      return {"corrupt", "what the registry sent does not match its digest: push it again, check proxies"};
    case Reason::kTimeout:
      return {"timed out", "give it longer (pullTimeout), or look at the registry's speed"};
    case Reason::kStalled:
      return {"stalled", "no byte came for ten minutes: check the network to the registry"};
    case Reason::kDiskFull:
      return {"disk full", "make room on the image filesystem"};
    case Reason::kDiskFault:
      return {"disk fault", "look at the image filesystem: the runtime cannot write to it"};
    case Reason::kDiskPressure:
      return {"no room", "make room on the image filesystem, or shorten the list"};
    case Reason::kSignatureRejected:
      return {"unsigned",
              "the runtime's policy rejects this image's signature: sign it, or change the policy"};
    case Reason::kPlatformMismatch:
      return {"no platform", "push it for this node's platform, or restrict the entry with platforms"};
    case Reason::kWrongPlatform:
      return {"wrong arch", ""};
    case Reason::kUnsupportedImage:
      return {"unsupported", "the runtime cannot use this image's format: build it as an OCI image"};
    case Reason::kInvalidReference:
      return {"invalid", "correct the name in the list"};
    case Reason::kUnpackFailed:
      return {"no unpack", "the runtime cannot unpack it: see the runtime's log"};
    case Reason::kBadCredentialFormat:
      return {"credential", "correct the credential: the runtime cannot read it"};
    case Reason::kRuntimeDown:
      return {"no runtime", "start the container runtime, or name its socket with --runtime-endpoint"};
    case Reason::kRuntimeUnsupported:
      return {"old runtime", "the runtime does not speak CRI v1: update it"};
    case Reason::kRuntimeError:
      return {"runtime", "see the runtime's log"};
    case Reason::kUpToDate:
    case Reason::kPinnedByDigest:
      return {"current", ""};
    case Reason::kNotChecked:
      return {"unchecked", ""};
    case Reason::kCheckOverdue:
      return {"overdue", "see why the registry does not answer: prefetchctl explain IMAGE"};
    case Reason::kTagMoved:
    case Reason::kLocalDigestUnknown:
      return {"changed", ""};
    case Reason::kMirrorLag:
      return {"mirror lags", "the mirror that the runtime pulls from has an older or another content"};
    case Reason::kTagMissing:
      return {"tag gone", "push the tag again, or take the entry off the list"};
    case Reason::kTagMissingUnconfirmed:
      return {"tag gone?", ""};
    case Reason::kIndeterminate:
      return {"unclear", "prefetchctl explain IMAGE tells what the registry answered"};
    case Reason::kCheckedByPull:
      return {"by pull", ""};
    case Reason::kStale:
      return {"stale", "see why the registry does not answer: prefetchctl explain IMAGE"};
    case Reason::kEvictedByKubelet:
      return {"evicted", ""};
    case Reason::kNotUnpacked:
      return {"unusable", ""};
    case Reason::kListInvalid:
      return {"bad list", "correct the list: prefetchctl list check FILE names each mistake"};
    case Reason::kListEmptyOfSources:
      return {"no list", "put a list file where --list looks for it"};
    case Reason::kCredentialsInvalid:
      return {"credentials", "correct the credential provider configuration"};
    case Reason::kImagesNotReady:
      return {"not ready", ""};
  }
  std::abort();
}

std::string TakenApart(std::string_view reason) {
  std::string words;
  for (char c : reason) {
    bool capital = c >= 'A' && c <= 'Z';
    if (capital && !words.empty()) words += ' ';
    words += capital ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return words.empty() ? "unknown" : CutEnd(words, kStateColumns);
}

}  // namespace

ReasonWords WordsFor(std::string_view reason) {
  constexpr int kLast = static_cast<int>(Reason::kImagesNotReady);
  for (int i = 0; i <= kLast; i++) {
    auto known = static_cast<Reason>(i);
    if (plan::ReasonName(known) != reason) continue;
    Row row = RowFor(known);
    return {std::string(row.state), std::string(row.advice)};
  }
  return {TakenApart(reason), ""};
}

}  // namespace prefetch::report
