#include "reference/field_parts.h"

#include "image/pull_policy.h"
#include "plan/check.h"
#include "plan/reason.h"

namespace prefetch::reference {

std::vector<std::string> PolicyWords() {
  return DescriptionOf(image::PullPolicy::kAlways, image::PullPolicyName);
}

std::vector<std::string> ReasonWordsOfAll() {
  std::vector<std::string> words;
  for (const plan::ReasonRow& row : plan::kReasons) words.emplace_back(row.name);
  return words;
}

std::vector<std::string> CheckReasonWords() {
  std::vector<std::string> words = ReasonWordsOfAll();
  for (plan::PodReason reason : {plan::PodReason::kInvalidImageName, plan::PodReason::kNotListed}) {
    words.emplace_back(plan::CheckReasonName(reason));
  }
  return words;
}

}  // namespace prefetch::reference
