#include "agent/touching.h"

#include <algorithm>

namespace prefetch::agent {
namespace {

using plan::TouchNeed;

// That of the judged pod that needs most.
TouchNeed NeedBy(const Entry& entry, const plan::VerdictsPtr& verdicts, const plan::SpellingsPtr& spellings) {
  if (!verdicts || entry.verdict.image_id != entry.touch->image_id) return TouchNeed::kNone;
  if (!spellings) return plan::NeedOf(entry.want, *verdicts);
  TouchNeed most = TouchNeed::kNone;
  for (const plan::SpelledVerdicts& one : *spellings) {
    most = std::max(most, plan::NeedOf(entry.want, *one.verdicts));
  }
  return most;
}

}  // namespace

std::string TouchableId(const Entry& entry) {
  bool here = entry.applies && entry.seen.local && entry.action.kind == plan::ActionKind::kKeep &&
              entry.action.reason == plan::Reason::kPresent;
  return here ? entry.seen.local->id : "";
}

TouchNeed NeedNow(const Entry& entry) {
  return NeedBy(entry, entry.verdict.newest, entry.verdict.newest_spellings);
}

TouchNeed NeedShown(const Entry& entry) {
  return NeedBy(entry, entry.verdict.shown, entry.verdict.shown_spellings);
}

TouchNeed NeedNow(const Entry& entry, const image::Reference& spelling) {
  if (!plan::IsSpelled(entry.want, spelling.written())) return TouchNeed::kNone;
  if (!entry.verdict.newest_spellings) return NeedNow(entry);
  TouchNeed most = TouchNeed::kNone;
  for (const plan::SpelledVerdicts& one : *entry.verdict.newest_spellings) {
    if (one.image == spelling.written()) most = std::max(most, NeedBy(entry, one.verdicts, nullptr));
  }
  return most;
}

}  // namespace prefetch::agent
