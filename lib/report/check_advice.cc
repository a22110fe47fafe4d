#include "report/check_advice.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "report/reason_words.h"

namespace prefetch::report {
namespace {

struct Row {
  std::string_view reason, advice;
};

constexpr std::string_view kOpenIt =
    "let the agent touch it (--touch), or exempt it: prefetchctl export kubelet-allowlist";

// Reasons of kubelet's verdict, of the registry's answer and of the agent.
constexpr Row kRows[] = {
    {"NotListed", "put it on the list"},
    {"RecordedForOthers", kOpenIt},
    {"RecordedForNobody", kOpenIt},
    {"RecordedUnderOtherName", kOpenIt},
    {"VerificationAlways", kOpenIt},
    {"NotAllowlisted", kOpenIt},
    {"PullInterrupted", kOpenIt},
    {"FactsUnknown",
     "tell the agent of kubelet: --kubelet-version, --kubelet-config; or check with --unknown pass"},
    {"PolicyAlways", "say imagePullPolicy IfNotPresent or Never, and let the list refresh the tag"},
    {"TagMoved", "wait until the list has refreshed it: prefetchctl wait --policy Always"},
    {"TagMissing", "push the tag again, or name one that is there"},
    {"AccessDenied", "see what this node has for it: prefetchctl credentials IMAGE"},
    {"Unreachable", "try again, or say imagePullPolicy IfNotPresent: then the copy on the node is enough"},
    {"ServerError", "try again, or say imagePullPolicy IfNotPresent: then the copy on the node is enough"},
    {"RateLimited",
     "try again later, or say imagePullPolicy IfNotPresent: then the copy on the node is enough"},
};

}  // namespace

std::string CheckAdvice(const CheckItem& item, const CheckAnswer& answer) {
  if (answer.ok) return "";
  if (answer.reason == "ImageAbsent") {
    return answer.listed ? "wait until it is here: prefetchctl wait" : "put it on the list";
  }
  auto known = std::find_if(std::begin(kRows), std::end(kRows),
                            [&](const Row& row) { return row.reason == answer.reason; });
  std::string advice = known != std::end(kRows) ? std::string(known->advice) : WordsFor(answer.reason).advice;
  if (advice.empty() && !answer.listed && answer.result != "Unknown") advice = "put it on the list";
  return base::ReplaceAll(advice, "IMAGE", item.question.image);
}

}  // namespace prefetch::report
