// The end of a touch pod: what came of each of its images.
#include <algorithm>
#include <utility>

#include "agent/touching.h"
#include "base/log.h"

namespace prefetch::agent {

using plan::TouchNeed;
using plan::TouchObstacle;
using plan::TouchResult;

// Is everything known that the pod's end leaves to the verdicts?
bool Touching::Settled(Entries& entries) const {
  if (now_ - pod_->over_at >= plan::kTouchSettles) return true;
  for (std::size_t i = 0; i < pod_->parts.size(); i++) {
    const Entry* entry = EntryOf(entries, pod_->parts[i]);
    if (entry == nullptr || NeedNow(*entry, pod_->parts[i].reference) == TouchNeed::kNone) continue;
    bool failed =
        pod_->judged.pod.obstacle != TouchObstacle::kNone ||
        (i < pod_->judged.images.size() && pod_->judged.images[i].fate == plan::ContainerFate::kFailed);
    if (!failed) return false;
  }
  return true;
}

TouchResult Touching::ResultFor(const Entry& entry, std::size_t part) const {
  if (NeedNow(entry, pod_->parts[part].reference) == TouchNeed::kNone) return {};
  if (part < pod_->judged.images.size()) {
    const plan::ContainerJudgement& judged = pod_->judged.images[part];
    switch (judged.fate) {
      case plan::ContainerFate::kFailed:
        return judged.result;
      case plan::ContainerFate::kPulled:
        return {TouchObstacle::kNotRecorded, "kubelet ran the touch pod, and its records did not change"};
      case plan::ContainerFate::kUndecided:
        break;
    }
  }
  return {TouchObstacle::kPullFailed, "kubelet did not finish with it within the touch pod's time"};
}

bool Touching::Opened(const Entry& entry, std::size_t part) const {
  return ResultFor(entry, part).obstacle == TouchObstacle::kNone;
}

std::size_t Touching::TellingPart(const Entry& entry, std::size_t first) const {
  for (std::size_t i = first; i < pod_->parts.size(); i++) {
    if (pod_->parts[i].name == entry.name() && !Opened(entry, i)) return i;
  }
  return first;
}

bool Touching::IsFirst(const std::vector<Part>& parts, std::size_t part) {
  auto end = parts.begin() + static_cast<std::ptrdiff_t>(part);
  return std::none_of(parts.begin(), end, [&](const Part& one) { return one.name == parts[part].name; });
}

void Touching::Conclude(Entries& entries) {
  bool any_open = false;
  bool whole_pod_failed = pod_->judged.pod.obstacle != TouchObstacle::kNone;
  for (std::size_t i = 0; i < pod_->parts.size(); i++) {
    Entry* entry = EntryOf(entries, pod_->parts[i]);
    if (entry == nullptr) continue;
    any_open = any_open || Opened(*entry, i);
    if (!IsFirst(pod_->parts, i)) continue;
    std::size_t telling = TellingPart(*entry, i);
    TouchResult result = ResultFor(*entry, telling);
    bool opened = result.obstacle == TouchObstacle::kNone;
    if (!opened && whole_pod_failed) continue;
    entry->touch = plan::AfterTouch(entry->touch, result, now_, wall_, random_());
    metrics_.Touched(result.obstacle);
    base::LogFields fields = {{"image", pod_->parts[telling].reference.written()},
                              {"imageRef", entry->touch->image_id},
                              {"took", now_ - pod_->created_at}};
    if (opened) {
      base::Info("image touched", fields);
      continue;
    }
    fields.emplace_back("obstacle", plan::TouchObstacleName(result.obstacle));
    fields.emplace_back("error", result.why);
    fields.emplace_back("failures", entry->touch->failures);
    base::Warn("touch had no effect", fields);
  }
  if (whole_pod_failed && !any_open) {
    ReportFailure(pod_->judged.pod);
  } else {
    ground_ = plan::AfterPod(ground_, {}, now_, 0);
    metrics_.TouchPodEnded(TouchObstacle::kNone);
  }
  pod_.reset();
}

}  // namespace prefetch::agent
