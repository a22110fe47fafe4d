#include "plan/verdict_debounce.h"

#include <algorithm>
#include <utility>

namespace prefetch::plan {
namespace {

using kubelet::VerdictResult;
using kubelet::Verdicts;

bool IsFirm(const Verdicts& verdicts) {
  return verdicts.never.result != VerdictResult::kUnknown &&
         verdicts.if_not_present.result != VerdictResult::kUnknown;
}

// Returns true if pods fare alike. Another reason for the same result may be shown at once, as it changes no
// readiness.
bool SameResults(const Verdicts& a, const Verdicts& b) {
  return a.never.result == b.never.result && a.if_not_present.result == b.if_not_present.result;
}

// Drops the verdicts of pods that are no longer in `pods`.
void Narrow(const std::vector<PodProfile>& pods, EntryVerdicts& verdicts) {
  if (!verdicts.each) return;
  std::vector<SpellingVerdicts> left;
  for (const PodProfile& pod : pods) {
    auto known = std::find_if(verdicts.each->begin(), verdicts.each->end(), [&](const SpellingVerdicts& one) {
      return one.image == pod.reference.written() && one.ready_as == pod.ready_as;
    });
    if (known != verdicts.each->end()) left.push_back(*known);
  }
  if (!left.empty()) verdicts = WorstOf(std::move(left));
}

DebouncedVerdict Shown(DebouncedVerdict verdict) {
  verdict.shown = verdict.newest;
  verdict.differs_since.reset();
  return verdict;
}

}  // namespace

DebouncedVerdict AfterReading(DebouncedVerdict past, const VerdictReadout& seen, base::TimePoint now) {
  bool another_image = past.image_id != seen.image_id;
  past.newest = seen.verdicts;
  past.image_id = seen.image_id;
  past.pull_under_way = seen.pull_under_way;
  if (seen.files_changed) past.changed_at = now;
  // Only changes of kubelet's files are debounced. A verdict about another image, or after a change of
  // settings, is shown at once, and so is one that replaces an unknown verdict.
  bool holds = past.shown.worst && !another_image && IsFirm(*past.shown.worst) &&
               (seen.files_changed || seen.pull_under_way || past.differs_since.has_value());
  if (!holds || SameResults(*past.shown.worst, *past.newest.worst)) return Shown(std::move(past));
  // The first difference counts, so that files that change all the time delay a verdict by kVerdictDebounce
  // at most.
  if (!past.differs_since) past.differs_since = now;
  return AfterTime(std::move(past), now);
}

DebouncedVerdict AfterNewList(DebouncedVerdict past, const DesiredImage& was, const DesiredImage& is) {
  // An absent image is absent under every spelling, and for all pods.
  if (HaveSamePods(was, is) || past.image_id.empty()) return past;
  const std::vector<PodProfile> before = PodsOf(was), pods = PodsOf(is);
  bool all_known = std::all_of(pods.begin(), pods.end(), [&](const PodProfile& one) {
    return std::any_of(before.begin(), before.end(),
                       [&](const PodProfile& known) { return IsSamePod(one, known); });
  });
  // For a new pod nothing was read yet. Showing the others' verdicts would call the entry ready too early.
  if (!all_known) return {};
  Narrow(pods, past.shown);
  Narrow(pods, past.newest);
  return past;
}

DebouncedVerdict AfterTime(DebouncedVerdict past, base::TimePoint now) {
  return past.differs_since && now >= NextShowTime(past) ? Shown(std::move(past)) : past;
}

base::TimePoint NextShowTime(const DebouncedVerdict& verdict) {
  if (!verdict.differs_since) return base::TimePoint::max();
  base::TimePoint latest = *verdict.differs_since + kVerdictDebounce;
  // While kubelet pulls, its record is still to come. Without a pull, quiet files are stable.
  return verdict.pull_under_way ? latest
                                : std::min<base::TimePoint>(latest, verdict.changed_at + kFilesStableAfter);
}

}  // namespace prefetch::plan
