#include "screen/check_text.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "plan/check.h"
#include "status/words.h"

namespace prefetch::screen {
namespace {

using plan::CheckReason;
using plan::PodReason;
using plan::Reason;

struct Row {
  CheckReason reason;
  std::string_view advice;
};

constexpr std::string_view kOpenIt =
    "let the agent touch it (--touch), or exempt it: prefetchctl list export --for kubelet";

// Reasons of kubelet's verdict, of the registry's answer and of the agent.
constexpr Row kRows[] = {
    {PodReason::kInvalidImageName, "correct the image name"},
    {PodReason::kNotListed, "put it on the list"},
    {Reason::kSecretAmbiguous, "name the pod's secret with its UID: --pod-secret NAMESPACE/NAME/UID"},
    {Reason::kRecordedForOthers, kOpenIt},
    {Reason::kRecordedForNobody, kOpenIt},
    {Reason::kRecordedUnderOtherName, kOpenIt},
    {Reason::kVerificationAlways, kOpenIt},
    {Reason::kNotAllowlisted, kOpenIt},
    {Reason::kPullInterrupted, kOpenIt},
    {Reason::kFactsUnknown,
     "declare kubelet's settings: --kubelet-version, --kubelet-config; or check with --unknown pass"},
    {Reason::kKubeletNewer,
     "update prefetchd on that node, or set its --kubelet-rules; or check with --unknown pass"},
    {Reason::kPolicyAlways, "say imagePullPolicy IfNotPresent or Never, and let the list refresh the tag"},
    {Reason::kTagMoved, "wait until the list has refreshed it: prefetchctl wait --policy Always"},
    {Reason::kTagMissing, "push the tag again, or name one that is there"},
    {Reason::kAccessDenied, "see this node's credentials: prefetchctl credentials IMAGE"},
};

constexpr Reason kSilent[] = {Reason::kUnreachable, Reason::kServerError, Reason::kRateLimited};

// The document has names: an agent of another version may know other reasons.
bool Is(const status::CheckAnswer& answer, CheckReason reason) {
  return answer.reason == plan::CheckReasonName(reason);
}

// The pod has to ask a registry that does not answer.
std::string SilentRegistry(const CheckItem& item, const status::CheckAnswer& answer) {
  std::string again = Is(answer, Reason::kRateLimited) ? "try again later" : "try again";
  if (item.question.policy == image::PullPolicy::kAlways) {
    if (item.origin == "AlwaysPullImages") return again;
    return again + ", or say imagePullPolicy IfNotPresent: then the copy on the node is enough";
  }
  return answer.listed ? again : again + ", or put it on the list: then the pod need not ask";
}

}  // namespace

std::string CheckAdvice(const CheckItem& item, const status::CheckAnswer& answer) {
  if (answer.ok) return "";
  if (Is(answer, Reason::kImageAbsent)) {
    return answer.listed ? "wait until it is here: prefetchctl wait" : "put it on the list";
  }
  if (std::any_of(std::begin(kSilent), std::end(kSilent), [&](Reason one) { return Is(answer, one); })) {
    return SilentRegistry(item, answer);
  }
  // The message says what to declare.
  if (Is(answer, Reason::kFactsUnknown) && answer.message.find("declare") != std::string::npos) {
    return "or check with --unknown pass";
  }
  auto known = std::find_if(std::begin(kRows), std::end(kRows),
                            [&](const Row& row) { return Is(answer, row.reason); });
  std::string advice =
      known != std::end(kRows) ? std::string(known->advice) : status::WordsFor(answer.reason).advice;
  if (advice.empty() && !answer.listed && answer.result != "Unknown") advice = "put it on the list";
  return base::ReplaceAll(advice, "IMAGE", item.question.image);
}

}  // namespace prefetch::screen
