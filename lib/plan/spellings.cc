#include "plan/spellings.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "plan/snapshot.h"

namespace prefetch::plan {
namespace {

using image::PullPolicy;
using kubelet::Verdict;
using kubelet::VerdictResult;

int Badness(VerdictResult result) {
  switch (result) {
    case VerdictResult::kStarts:
      return 0;
    case VerdictResult::kPulls:
      return 1;
    case VerdictResult::kUnknown:
      return 2;
    case VerdictResult::kRefused:
      return 3;
  }
  std::abort();
}

// The first of the worst. Says which spelling it is about where another one fares better.
Verdict WorstFor(const std::vector<SpelledVerdicts>& each, PullPolicy policy) {
  auto badness = [policy](const SpelledVerdicts& one) { return Badness(one.verdicts->For(policy).result); };
  auto [best, worst] = std::minmax_element(
      each.begin(), each.end(), [&](const auto& a, const auto& b) { return badness(a) < badness(b); });
  if (badness(*best) == badness(*worst)) return each.front().verdicts->For(policy);
  // minmax_element finds the last of the largest.
  worst = std::find_if(each.begin(), each.end(),
                       [&, most = badness(*worst)](const auto& one) { return badness(one) == most; });
  Verdict verdict = worst->verdicts->For(policy);
  verdict.message = "Pods that write " + worst->image + ": " + verdict.message;
  return verdict;
}

}  // namespace

std::vector<image::Reference> SpellingsOf(const DesiredImage& want) {
  std::vector<image::Reference> all = {want.reference};
  all.insert(all.end(), want.other_spellings.begin(), want.other_spellings.end());
  return all;
}

bool IsSpelled(const DesiredImage& want, const std::string& written) {
  auto is = [&](const image::Reference& one) { return one.written() == written; };
  return is(want.reference) || std::any_of(want.other_spellings.begin(), want.other_spellings.end(), is);
}

bool SameSpellings(const DesiredImage& a, const DesiredImage& b) {
  auto same = [](const image::Reference& x, const image::Reference& y) { return x.written() == y.written(); };
  return same(a.reference, b.reference) &&
         std::equal(a.other_spellings.begin(), a.other_spellings.end(), b.other_spellings.begin(),
                    b.other_spellings.end(), same);
}

const ImageState* FindImage(const Snapshot& snapshot, const image::Reference& reference) {
  auto found = std::find_if(snapshot.images.begin(), snapshot.images.end(),
                            [&](const ImageState& image) { return image.want->reference == reference; });
  return found == snapshot.images.end() ? nullptr : &*found;
}

const kubelet::Verdicts* VerdictsOfSpelling(const ImageState& image, const std::string& written) {
  if (!image.spellings) {
    // Of several spellings `verdicts` are then those of an image that is absent.
    return IsSpelled(image.want, written) ? image.verdicts.get() : nullptr;
  }
  auto found = std::find_if(image.spellings->begin(), image.spellings->end(),
                            [&](const SpelledVerdicts& one) { return one.image == written; });
  return found == image.spellings->end() ? nullptr : found->verdicts.get();
}

EntryVerdicts WorstOf(std::vector<SpelledVerdicts> each, EntryVerdicts before) {
  if (each.size() == 1) return {std::move(each.front().verdicts), nullptr};
  if (before.worst && before.each && *before.each == each) return before;
  auto worst = std::make_shared<const kubelet::Verdicts>(
      kubelet::Verdicts{.never = WorstFor(each, PullPolicy::kNever),
                        .if_not_present = WorstFor(each, PullPolicy::kIfNotPresent),
                        .always = WorstFor(each, PullPolicy::kAlways)});
  return {std::move(worst), std::make_shared<const std::vector<SpelledVerdicts>>(std::move(each))};
}

}  // namespace prefetch::plan
