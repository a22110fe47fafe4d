#include "plan/schedule.h"

#include <algorithm>
#include <chrono>

namespace prefetch::plan {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// Failures in a row that put a registry under probation: one may be chance.
constexpr int kProbation = 2;
constexpr seconds kHoldBase{1};
constexpr minutes kHoldCap{1};
// Registry rule R27: without a Retry-After a minute, doubling to an hour.
constexpr seconds kRateLimitBase{60};
constexpr minutes kRateLimitCap{60};

struct Places {
  int total = 0;
  int large = 0;
  int unlisted = 0;
  int suspects = 0;
  std::map<std::string, int> of_registry;

  void Take(const PullSlot& slot, const Limits& limits) {
    total++;
    of_registry[slot.registry]++;
    if (slot.bytes > limits.large_image_bytes) large++;
    if (slot.unlisted) unlisted++;
    if (slot.suspect) suspects++;
  }
};

bool SameContentRuns(const PullSlot& slot, const std::vector<PullSlot>& running) {
  return !slot.content.empty() && std::any_of(running.begin(), running.end(), [&](const PullSlot& other) {
    return other.content == slot.content;
  });
}

}  // namespace

RegistryHealth AfterRegistryFailure(RegistryHealth past, bool rate_limited, base::Duration retry_after,
                                    base::TimePoint now, double random) {
  past.failures++;
  base::Duration delay{};
  if (rate_limited) {
    delay = kRateLimitBase;
    for (int i = 1; i < past.failures && delay < kRateLimitCap; i++) delay *= 2;
    delay = std::min<base::Duration>(delay, kRateLimitCap);
    delay = std::max(delay, retry_after);
    delay += std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(delay) * random / 10);
  } else if (past.failures >= kProbation) {
    delay = kHoldBase;
    for (int i = kProbation; i < past.failures && delay < kHoldCap; i++) delay *= 2;
    delay = std::min<base::Duration>(delay, kHoldCap);
    delay = std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(delay) * random);
  }
  past.not_before = std::max(past.not_before, now + delay);
  return past;
}

ScheduleOutput Schedule(const ScheduleInput& input, const Limits& limits, base::TimePoint now) {
  ScheduleOutput output;
  if (input.due.empty()) return output;
  if (now < input.hold_until) {
    output.look_again = input.hold_until;
    return output;
  }
  std::vector<PullSlot> due = input.due;
  std::stable_sort(due.begin(), due.end(), [](const PullSlot& a, const PullSlot& b) {
    if (a.update != b.update) return b.update;
    if (a.asked != b.asked) return a.asked;
    if (a.priority != b.priority) return a.priority > b.priority;
    if (a.failures != b.failures) return a.failures < b.failures;
    return a.entry < b.entry;
  });
  std::vector<PullSlot> running = input.running;
  Places taken;
  for (const PullSlot& slot : running) taken.Take(slot, limits);

  int parallel = input.settled ? limits.parallel_pulls_when_ready : limits.parallel_pulls;
  RoomBook room(input.usable, input.running);
  for (const PullSlot& slot : due) {
    if (taken.total >= parallel) break;
    int registry_limit = limits.per_registry_pulls;
    if (auto health = input.registries.find(slot.registry); health != input.registries.end()) {
      if (now < health->second.not_before) {
        output.look_again = std::min(output.look_again, health->second.not_before);
        continue;
      }
      if (health->second.failures >= kProbation) registry_limit = 1;
    }
    if (SameContentRuns(slot, running) || (slot.suspect && taken.suspects > 0)) continue;
    bool has_place = taken.of_registry[slot.registry] < registry_limit;
    if (slot.unlisted && taken.unlisted >= std::max(1, parallel / 2)) has_place = false;
    if (input.settled && slot.bytes > limits.large_image_bytes && taken.large > 0) has_place = false;
    if (!room.Admits(slot, has_place)) continue;
    taken.Take(slot, limits);
    running.push_back(slot);
    output.start.push_back(slot.entry);
  }
  return output;
}

}  // namespace prefetch::plan
