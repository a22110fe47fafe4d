#include "screen/check_text.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "status/words.h"

namespace prefetch::screen {
namespace {

struct Row {
  std::string_view reason, advice;
};

constexpr std::string_view kOpenIt =
    "let the agent touch it (--touch), or exempt it: prefetchctl list export --for kubelet";

// Reasons of kubelet's verdict, of the registry's answer and of the agent.
constexpr Row kRows[] = {
    {"InvalidImageName", "correct the image name"},
    {"NotListed", "put it on the list"},
    {"SecretAmbiguous", "name the pod's secret with its UID: --pod-secret NAMESPACE/NAME/UID"},
    {"RecordedForOthers", kOpenIt},
    {"RecordedForNobody", kOpenIt},
    {"RecordedUnderOtherName", kOpenIt},
    {"VerificationAlways", kOpenIt},
    {"NotAllowlisted", kOpenIt},
    {"PullInterrupted", kOpenIt},
    {"FactsUnknown",
     "declare kubelet's settings: --kubelet-version, --kubelet-config; or check with --unknown pass"},
    {"KubeletNewer",
     "update prefetchd on that node, or set its --kubelet-rules; or check with --unknown pass"},
    {"PolicyAlways", "say imagePullPolicy IfNotPresent or Never, and let the list refresh the tag"},
    {"TagMoved", "wait until the list has refreshed it: prefetchctl wait --policy Always"},
    {"TagMissing", "push the tag again, or name one that is there"},
    {"AccessDenied", "see this node's credentials: prefetchctl credentials IMAGE"},
};

constexpr std::string_view kSilent[] = {"Unreachable", "ServerError", "RateLimited"};

// The pod has to ask a registry that does not answer.
std::string SilentRegistry(const CheckItem& item, const status::CheckAnswer& answer) {
  std::string again = answer.reason == "RateLimited" ? "try again later" : "try again";
  if (item.question.policy == image::PullPolicy::kAlways) {
    if (item.origin == "AlwaysPullImages") return again;
    return again + ", or say imagePullPolicy IfNotPresent: then the copy on the node is enough";
  }
  return answer.listed ? again : again + ", or put it on the list: then the pod need not ask";
}

}  // namespace

std::string CheckAdvice(const CheckItem& item, const status::CheckAnswer& answer) {
  if (answer.ok) return "";
  if (answer.reason == "ImageAbsent") {
    return answer.listed ? "wait until it is here: prefetchctl wait" : "put it on the list";
  }
  if (std::find(std::begin(kSilent), std::end(kSilent), answer.reason) != std::end(kSilent)) {
    return SilentRegistry(item, answer);
  }
  // The message says what to declare.
  if (answer.reason == "FactsUnknown" && answer.message.find("declare") != std::string::npos) {
    return "or check with --unknown pass";
  }
  auto known = std::find_if(std::begin(kRows), std::end(kRows),
                            [&](const Row& row) { return row.reason == answer.reason; });
  std::string advice =
      known != std::end(kRows) ? std::string(known->advice) : status::WordsFor(answer.reason).advice;
  if (advice.empty() && !answer.listed && answer.result != "Unknown") advice = "put it on the list";
  return base::ReplaceAll(advice, "IMAGE", item.question.image);
}

}  // namespace prefetch::screen
