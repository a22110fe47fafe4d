#include "plan/spellings.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace prefetch::plan {
namespace {

using image::PullPolicy;
using kubelet::Verdict;
using kubelet::VerdictResult;

// The order in which pods fare worse. An unknown verdict is better than a refusal, since it may turn out
// well. A verdict that rests on an assumption ranks behind a firm one.
int Severity(const Verdict& verdict) {
  switch (verdict.result) {
    case VerdictResult::kStarts:
      return verdict.reason == kubelet::VerdictReason::kAssumedForPod ? 1 : 0;
    case VerdictResult::kPulls:
      return 2;
    case VerdictResult::kUnknown:
      return 3;
    case VerdictResult::kRefused:
      return 4;
  }
  std::abort();
}

// Names one of several pods by what differs among them: "Pods that write nginx:1.27 with secret team/pull".
std::string PodsLike(const SpellingVerdicts& one, const std::vector<SpellingVerdicts>& each) {
  auto spelled = [&](const SpellingVerdicts& other) { return other.image != one.image; };
  auto whose = [&](const SpellingVerdicts& other) { return other.ready_as != one.ready_as; };
  std::string words = "Pods";
  const bool differ = std::any_of(each.begin(), each.end(), whose);
  if (std::any_of(each.begin(), each.end(), spelled)) words += " that write " + one.image;
  if (differ) words += " " + image::DescribeCredentials(*one.ready_as);
  return words;
}

// Returns the first of the worst verdicts. If others fare better, its message begins with the pods that it is
// about.
Verdict WorstFor(const std::vector<SpellingVerdicts>& each, PullPolicy policy) {
  auto severity = [policy](const SpellingVerdicts& one) { return Severity(one.verdicts->For(policy)); };
  auto [best, worst] = std::minmax_element(
      each.begin(), each.end(), [&](const auto& a, const auto& b) { return severity(a) < severity(b); });
  if (severity(*best) == severity(*worst)) return each.front().verdicts->For(policy);
  // minmax_element finds the last of the largest. The first one is shown, in the order of the sources.
  worst = std::find_if(each.begin(), each.end(),
                       [&, most = severity(*worst)](const auto& one) { return severity(one) == most; });
  Verdict verdict = worst->verdicts->For(policy);
  verdict.message = PodsLike(*worst, each) + ": " + verdict.message;
  return verdict;
}

}  // namespace

std::vector<PodProfile> PodsOf(const DesiredImage& desired) {
  std::vector<PodProfile> all = {{desired.reference, desired.ready_as}};
  all.insert(all.end(), desired.other_pods.begin(), desired.other_pods.end());
  return all;
}

bool IsSamePod(const PodProfile& a, const PodProfile& b) {
  return a.reference.written() == b.reference.written() && a.ready_as == b.ready_as;
}

bool HaveSamePods(const DesiredImage& a, const DesiredImage& b) {
  return IsSamePod({a.reference, a.ready_as}, {b.reference, b.ready_as}) &&
         std::equal(a.other_pods.begin(), a.other_pods.end(), b.other_pods.begin(), b.other_pods.end(),
                    IsSamePod);
}

std::vector<image::Reference> SpellingsOf(const DesiredImage& desired) {
  std::vector<image::Reference> all = {desired.reference};
  for (const PodProfile& pod : desired.other_pods) {
    bool known = std::any_of(all.begin(), all.end(), [&](const image::Reference& one) {
      return one.written() == pod.reference.written();
    });
    if (!known) all.push_back(pod.reference);
  }
  return all;
}

bool IsSpelled(const DesiredImage& desired, const std::string& written) {
  auto is = [&](const PodProfile& one) { return one.reference.written() == written; };
  return desired.reference.written() == written ||
         std::any_of(desired.other_pods.begin(), desired.other_pods.end(), is);
}

EntryVerdicts WorstOf(std::vector<SpellingVerdicts> each, EntryVerdicts before) {
  if (each.size() == 1) return {std::move(each.front().verdicts), nullptr};
  // The old objects are kept if nothing changed, since Snapshots share them.
  if (before.worst && before.each && *before.each == each) return before;
  auto worst = std::make_shared<const kubelet::Verdicts>(
      kubelet::Verdicts{.never = WorstFor(each, PullPolicy::kNever),
                        .if_not_present = WorstFor(each, PullPolicy::kIfNotPresent),
                        .always = WorstFor(each, PullPolicy::kAlways)});
  return {std::move(worst), std::make_shared<const std::vector<SpellingVerdicts>>(std::move(each))};
}

}  // namespace prefetch::plan
