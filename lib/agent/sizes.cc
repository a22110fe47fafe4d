// Pulls and the sizes of images that wait: plan/largest_first.h decides, this brings it the sizes.
#include <algorithm>
#include <utility>

#include "agent/pulls.h"

namespace prefetch::agent {
namespace {

// Near registries answer within milliseconds, so few are enough, and nobody waits for them.
constexpr int kSizeQuestions = 2;

}  // namespace

// Those that were missing since the agent started.
plan::PhaseCount Pulls::CountPhase() const {
  plan::PhaseCount phase;
  for (const Entry& entry : entries_.listed()) {
    if (!entry.applies) continue;
    const bool over = !entry.past.pulled_id.empty() || plan::HasFailedPermanently(entry.past);
    if (over && entry.runs.empty()) {
      phase.over++;
    } else if (!entry.runs.empty()) {
      phase.running++;
    } else if (entry.action.kind == plan::ActionKind::kKeep) {
      continue;  // it was here
    }
    phase.images++;
  }
  return phase;
}

bool Pulls::MayAskSize(const Entry& entry) const {
  auto health = registries_.find(entry.want->reference.domain());
  if (health != registries_.end() && loop_.now() < health->second.not_before) return false;
  return parts_.fetcher->MayAskSize(entry.want->reference, runtime_.Asking());
}

void Pulls::AskSizes(const plan::ScheduleInput& input, const plan::PhaseCount& phase) {
  // The last few have places in any case.
  if (parts_.fetcher == nullptr || input.due.size() < 2 || !plan::WantsSizes(phase)) return;
  int searched = 0;
  std::string left_alone;  // the newest registry that is not asked; most lists have few
  for (const plan::PullSlot& slot : input.due) {
    if (size_questions_ + searched >= kSizeQuestions) return;
    if (slot.registry == left_alone) continue;
    Entry& entry = entries_.all()[slot.entry];
    if (!entry.runs.empty() || entry.size_asked || slot.bytes > 0) continue;
    if (slot.far || slot.update || slot.unlisted) continue;
    if (!MayAskSize(entry)) {
      left_alone = slot.registry;
      continue;
    }
    const plan::LookupState state = look_ups_.StateOf(*entry.want, loop_.now()).state;
    if (state != plan::LookupState::kDone) {
      loop_.ChangedIf(look_ups_.Want(*entry.want, loop_.now()));
      searched++;
      continue;
    }
    entry.size_asked = true;
    size_questions_++;
    PullJob job{.reference = entry.want->reference,
                .credentials = look_ups_.Peek(*entry.want),
                .lease = {},
                .runtime = runtime_.Asking()};
    base::Call call{.stop = loop_.stopping()};
    loop_.Submit(workers_, [call, parts = parts_, job = std::move(job), name = entry.name()]() -> Event {
      return SizeReceived{name, AskSize(call, parts, job)};
    });
  }
}

void Pulls::Absorb(const SizeReceived& event) {
  size_questions_--;
  Entry* entry = entries_.Find(event.name);
  // A pull that runs finds out by itself.
  if (entry == nullptr || !entry->runs.empty()) return;
  entry->past.room = plan::AfterSize(entry->past.room, event.bytes);
  loop_.Changed();
}

}  // namespace prefetch::agent
