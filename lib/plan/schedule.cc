#include "plan/schedule.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "base/find_with_default.h"
#include "image/registry_answer.h"

namespace prefetch::plan {

namespace {

// Returns the rank of a pull, which counts before its time and failures: the lower the value, the higher the
// rank.
std::tuple<bool, bool, bool, std::int64_t> RankOf(const PullCandidate& pull) {
  return {pull.stalled, pull.update, !pull.preflight_waits, -std::int64_t{pull.priority}};
}

struct SlotsInUse {
  int running = 0;
  int moving = 0;    // pulls that take a slot and are not idle
  int unproven = 0;  // those of them whose registries have delivered nothing yet
  int large = 0;
  int unlisted = 0;
  int suspects = 0;
  std::map<std::string, int> of_registry;
  std::map<std::string, int> idle;  // of each registry

  // Returns the total that counts for this registry: idle pulls of other registries keep nothing from it.
  // `delivers`: nor do those of registries that have delivered nothing yet.
  int TotalFor(const std::string& registry, bool delivers) const {
    return moving - (delivers ? unproven : 0) + base::FindWithDefault(idle, registry);
  }
  void Take(const PullCandidate& pull, const ScheduleInput& input, const Limits& limits) {
    if (pull.being_verified) return;
    // A pull with nothing to download takes no slot among downloads. It still counts against the limits
    // below.
    running++;
    if (pull.fetch == FetchPhase::kDownloads) {
      pull.idle ? idle[pull.registry]++ : moving++;
      if (!pull.idle && !input.delivering.contains(pull.registry)) unproven++;
      of_registry[pull.registry]++;
    }
    if (pull.bytes > limits.large_image_bytes) large++;
    if (pull.unlisted) unlisted++;
    if (pull.suspect) suspects++;
  }
};

// Slots that are kept for a moment from lower priorities, for entries whose credentials are looked up.
class ReservedSlots {
 public:
  // Moves on to `pull`. Candidates come in the order of Schedule.
  void MoveTo(const PullCandidate& pull) {
    if (last_ && RankOf(*last_) != RankOf(pull)) {
      total_ += same_rank_;
      same_rank_ = 0;
    }
    last_ = &pull;
  }
  void Add(const PullCandidate& pull) {
    same_rank_++;
    of_registry_[pull.registry]++;
  }
  int total() const { return total_; }
  int of_registry(const std::string& registry) const { return base::FindWithDefault(of_registry_, registry); }

 private:
  const PullCandidate* last_ = nullptr;
  int total_ = 0;      // kept by images of higher rank than the one in question
  int same_rank_ = 0;  // kept by images of the same rank
  std::map<std::string, int> of_registry_;
};

// The maximum number of slots, over all registries. If one registry has taken all of them for
// kDominanceLimit, the others get one more.
class TotalSlots {
 public:
  TotalSlots(const std::vector<PullCandidate>& running, int parallel) : parallel_(parallel) {
    // Pulls that only unpack hold no slot among downloads, so they say nothing about who has all slots.
    int total = 0;
    bool of_one = true;
    for (const PullCandidate& pull : running) {
      if (pull.being_verified || pull.fetch != FetchPhase::kDownloads) continue;
      if (total++ == 0) dominant_registry_ = pull.registry;
      of_one = of_one && pull.registry == dominant_registry_;
      // The newest of its pulls counts. While pulls of one registry still end and others start, slots come
      // free without an extra one.
      one_more_from_ = std::max(one_more_from_, pull.started_at);
    }
    // A limit of one pull stays one: the operator asked for no parallel pulls.
    if (parallel < 2 || total < parallel || !of_one) return;
    with_one_more_ = total + 1;
    if (one_more_from_ != base::TimePoint::max()) one_more_from_ += kDominanceLimit;
  }

  // Returns the slots that this registry may use. If time alone brings one more, `next_turn_at` becomes that
  // time at the latest.
  int Of(const std::string& registry, base::TimePoint now, base::TimePoint& next_turn_at) const {
    if (with_one_more_ == 0 || registry == dominant_registry_) return parallel_;
    if (now >= one_more_from_) return with_one_more_;
    next_turn_at = std::min(next_turn_at, one_more_from_);
    return parallel_;
  }
  int Most() const { return std::max(parallel_, with_one_more_); }

 private:
  const int parallel_;
  std::string dominant_registry_;
  int with_one_more_ = 0;  // 0: no registry has all slots
  base::TimePoint one_more_from_;
};

// Returns the limit of pulls at a time, in all. Once the node has settled, pods' own pulls come first.
int ParallelPulls(const ScheduleInput& input, const Limits& limits) {
  if (input.settled) return limits.parallel_pulls_when_ready;
  const auto is_far = [](const PullCandidate& pull) { return pull.far; };
  const bool any_far = std::any_of(input.due.begin(), input.due.end(), is_far) ||
                       std::any_of(input.running.begin(), input.running.end(), is_far);
  return any_far ? std::max(limits.parallel_pulls, limits.parallel_pulls_far) : limits.parallel_pulls;
}

// How many pulls each registry may have at once.
class RegistryLimits {
 public:
  RegistryLimits(const ScheduleInput& input, const Limits& limits, int parallel, base::TimePoint now)
      : input_(input), limits_(limits), parallel_(parallel), now_(now) {
    // A registry that is held cannot use a slot now, so no slot is kept for it.
    for (const std::string& registry : input.soon) {
      if (now >= HeldUntil(registry)) waiting_.insert(registry);
    }
    for (const PullCandidate& pull : input.due) {
      if (now >= HeldUntil(pull.registry) && IsPrompt(pull.lookup, now)) waiting_.insert(pull.registry);
    }
    if (input.settled || limits.parallel_pulls_far <= limits.parallel_pulls) return;
    for (const std::vector<PullCandidate>* pulls : {&input.due, &input.running}) {
      for (const PullCandidate& pull : *pulls) {
        if (pull.far) far_.insert(pull.registry);
      }
    }
  }

  base::TimePoint HeldUntil(const std::string& registry) const {
    return base::FindWithDefault(input_.registries, registry).not_before;
  }
  int Of(const std::string& registry) const {
    // The last slot stays for another registry, so that one that hangs cannot stop all others. Each registry
    // keeps one slot at least.
    bool others_wait = waiting_.size() > waiting_.count(registry);
    return others_wait ? std::min(Own(registry), std::max(1, parallel_ - 1)) : Own(registry);
  }

 private:
  int Own(const std::string& registry) const {
    // One probe at a time until the registry has answered well.
    if (image::kPullCircuit.IsOpen(base::FindWithDefault(input_.registries, registry).failures)) return 1;
    return far_.contains(registry) ? std::max(limits_.per_registry_pulls, limits_.parallel_pulls_far)
                                   : limits_.per_registry_pulls;
  }

  const ScheduleInput& input_;
  const Limits& limits_;
  const int parallel_;
  const base::TimePoint now_;
  std::set<std::string> waiting_;  // registries that could use a slot, or have their share already
  std::set<std::string> far_;      // registries that may have more pulls for it
};

// Lets pulls count as downloads that take a slot although the agent downloads nothing for them: those that
// unpack beyond `most`, those that wait beyond twice as many (on a settled node, both beyond `most`), and
// all, if the node or the registry has one pull at a time.
std::vector<PullCandidate> WithFreeSlots(std::vector<PullCandidate> running, const RegistryLimits& registries,
                                         bool settled, int most) {
  int unpacking = most, waiting = 2 * most;
  for (PullCandidate& pull : running) {
    if (pull.fetch == FetchPhase::kDownloads) continue;
    int& free = settled || pull.fetch == FetchPhase::kUnpacks ? unpacking : waiting;
    if (most > 1 && registries.Of(pull.registry) > 1 && free > 0) {
      free--;
    } else {
      pull.fetch = FetchPhase::kDownloads;
    }
  }
  return running;
}

// Two names of one digest: the second pull would ask for the same bytes. It starts once the first has ended,
// and finds them here. It does not wait for another registry that brings nothing.
bool SameContentRuns(const PullCandidate& pull, const std::vector<PullCandidate>& running) {
  return !pull.content.empty() &&
         std::any_of(running.begin(), running.end(), [&](const PullCandidate& other) {
           const bool brings_nothing = other.idle && other.registry != pull.registry;
           return other.content == pull.content && !brings_nothing;
         });
}

// Returns the number of credential lookups under way of each registry.
std::map<std::string, int> CountRunningLookups(const std::vector<PullCandidate>& due) {
  std::map<std::string, int> lookups_running;
  for (const PullCandidate& pull : due) {
    if (pull.lookup.state == LookupState::kUnderWay) lookups_running[pull.registry]++;
  }
  return lookups_running;
}

SlotsInUse CountSlotsInUse(std::vector<PullCandidate>& running, const ScheduleInput& input,
                           const Limits& limits) {
  SlotsInUse taken;
  for (PullCandidate& pull : running) {
    pull.idle = pull.idle && !input.settled;  // pods' own pulls come first then
    taken.Take(pull, input, limits);
  }
  return taken;
}

// Pulls of unlisted images, and large ones of a settled node, have limits among themselves.
bool IsWithinGroupLimits(const PullCandidate& pull, const SlotsInUse& taken, bool settled,
                         const Limits& limits, int parallel) {
  if (pull.unlisted && taken.unlisted >= std::max(1, parallel / 2)) return false;
  return !settled || pull.bytes <= limits.large_image_bytes || taken.large == 0;
}

// Whether a due pull finds a slot, and the limits that decide this.
struct FreeSlot {
  int registry_limit = 0, of_registry = 0;
  bool is_free = false;
  bool is_reserved = false;  // lookups of images that count for more keep all slots that are left
};

// Returns the slot that the limits of its registry and of all pulls leave this pull. `may_exceed_total`: a
// registry without a running pull may have one beyond the total. `delivers`: as for TotalFor.
FreeSlot FindSlot(const PullCandidate& pull, SlotsInUse& taken, int registry_limit, int total_limit,
                  int reserved, bool may_exceed_total, bool delivers) {
  FreeSlot slot{.registry_limit = registry_limit, .of_registry = taken.of_registry[pull.registry]};
  const int total = taken.TotalFor(pull.registry, delivers);
  const bool beyond = may_exceed_total && slot.of_registry == 0;
  slot.is_free = (total < total_limit || beyond) && slot.of_registry < registry_limit;
  slot.is_reserved = total + reserved >= total_limit && !beyond;
  return slot;
}

// Starts the lookup of credentials of a pull with a slot, and keeps the slot for it.
void StartLookup(const PullCandidate& pull, const FreeSlot& slot, base::TimePoint now,
                 std::map<std::string, int>& lookups_running, ReservedSlots& reserved,
                 ScheduleOutput& output) {
  const bool under_way = pull.lookup.state == LookupState::kUnderWay;
  if (!slot.is_free) return;
  if (!under_way && slot.of_registry + lookups_running[pull.registry] >= slot.registry_limit) return;
  // The lookup starts even while slots are kept: lookups that all hang then keep them for one moment
  // together, and not one after the other.
  if (!under_way) {
    output.needs_credentials.push_back(pull.entry);
    lookups_running[pull.registry]++;
  }
  if (slot.is_reserved || slot.of_registry + reserved.of_registry(pull.registry) >= slot.registry_limit) {
    return;
  }
  reserved.Add(pull);
  const base::TimePoint since = under_way ? pull.lookup.since : now;
  // At that time the kept slot is free for others, and no event reports it.
  output.next_turn_at = std::min<base::TimePoint>(output.next_turn_at, since + kPromptLookup);
}

}  // namespace

bool ComesBefore(const PullCandidate& a, const PullCandidate& b) {
  return std::tuple(RankOf(a), a.started_at, a.failures, a.entry) <
         std::tuple(RankOf(b), b.started_at, b.failures, b.entry);
}

// One pass over the due pulls, in their order. For each pull the questions are: may its registry be asked, is
// there a slot, are its credentials known, is there room on the disk. The slot comes before the
// credentials, so that only pulls that could start run a plugin. The disk comes last, and DiskBudget hears of
// every pull, since one that waits keeps its claim against those behind it.
ScheduleOutput Schedule(const ScheduleInput& input, const Limits& limits, base::TimePoint now) {
  ScheduleOutput output;
  if (input.due.empty()) return output;
  if (now < input.disk_full_until) {
    output.next_turn_at = input.disk_full_until;
    return output;
  }
  const int parallel = ParallelPulls(input, limits);
  std::vector<PullCandidate> due = input.due;
  std::stable_sort(due.begin(), due.end(), ComesBefore);
  if (input.may_reorder && !input.settled) MoveLargestFirst(due, parallel);
  // `registries` comes before `running`: a pull gives its slot up only if its registry may have several.
  const RegistryLimits registries(input, limits, parallel, now);
  std::vector<PullCandidate> running = WithFreeSlots(input.running, registries, input.settled, parallel);
  SlotsInUse taken = CountSlotsInUse(running, input, limits);
  const int most = parallel > 1 ? kPullsPerSlot * parallel : 1;
  const TotalSlots slots(running, parallel);
  DiskBudget disk(input.usable, input.running);
  ReservedSlots reserved;
  std::map<std::string, int> lookups_running = CountRunningLookups(due);
  const bool may_exceed_total = input.agent_downloads && !input.settled && parallel > 1;
  const PullCandidate* first_waiting = nullptr;  // the first one without a slot
  for (const PullCandidate& pull : due) {
    // No pull behind this one can start, whatever its registry is.
    if (taken.moving >= slots.Most() && !may_exceed_total) break;
    // A held registry takes no claim to slots or room: the images of others go past it.
    if (base::TimePoint held_until = registries.HeldUntil(pull.registry); now < held_until) {
      output.next_turn_at = std::min(output.next_turn_at, held_until);
      continue;
    }
    // A lookup that takes long has lost its claims, so that a plugin that hangs delays its own images only.
    if (!IsPrompt(pull.lookup, now)) continue;
    // Suspects run one at a time. If two ran, nobody could tell which of them ends the runtime.
    if (SameContentRuns(pull, running) || (pull.suspect && taken.suspects > 0)) continue;
    reserved.MoveTo(pull);
    const bool may_pass =
        may_exceed_total && (first_waiting == nullptr || RankOf(pull) <= RankOf(*first_waiting));
    FreeSlot slot =
        FindSlot(pull, taken, registries.Of(pull.registry), slots.Of(pull.registry, now, output.next_turn_at),
                 reserved.total(), may_pass, may_pass && input.delivering.contains(pull.registry));
    slot.is_free = slot.is_free && taken.running < most &&
                   IsWithinGroupLimits(pull, taken, input.settled, limits, parallel);
    if (first_waiting == nullptr && !slot.is_free) first_waiting = &pull;
    if (pull.lookup.state != LookupState::kDone) {
      // This makes the claim without a start: the room must still be there when the lookup ends.
      disk.Admits(pull, false);
      StartLookup(pull, slot, now, lookups_running, reserved, output);
      continue;
    }
    const bool has_slot = slot.is_free && !slot.is_reserved;
    if (!disk.Admits(pull, has_slot)) {
      // Only entries that nothing but room holds back report it as their reason.
      if (has_slot) output.short_of_disk_space.push_back(pull.entry);
      continue;
    }
    taken.Take(pull, input, limits);
    running.push_back(pull);
    output.start.push_back(pull.entry);
  }
  return output;
}

std::vector<std::size_t> PullImagesToStart(ScheduleInput& input, const Limits& limits) {
  std::vector<PullCandidate*> waiting;
  int unpacking = 0;
  for (PullCandidate& pull : input.running) {
    if (pull.fetch == FetchPhase::kFetched) waiting.push_back(&pull);
    if (pull.fetch == FetchPhase::kUnpacks && !pull.being_verified) unpacking++;
  }
  std::sort(waiting.begin(), waiting.end(),
            [](const PullCandidate* a, const PullCandidate* b) { return ComesBefore(*a, *b); });
  std::vector<std::size_t> start;
  for (PullCandidate* pull : waiting) {
    if (unpacking++ >= 2 * ParallelPulls(input, limits)) break;
    pull->fetch = FetchPhase::kUnpacks;
    start.push_back(pull->entry);
  }
  return start;
}

namespace {

// Returns true if only its position in the list puts `a` before or behind `b`.
bool HaveEqualOrder(const PullCandidate& a, const PullCandidate& b) {
  return RankOf(a) == RankOf(b) && a.failures == b.failures;
}

using Candidates = std::vector<PullCandidate>::iterator;

// Returns the bytes of all pulls. A pull of unknown size counts as the average of the others; at least one
// size has to be known.
double SumOfBytes(Candidates begin, Candidates end) {
  double sum = 0;
  std::ptrdiff_t known = 0;
  for (Candidates pull = begin; pull != end; ++pull) {
    sum += static_cast<double>(pull->bytes);
    if (pull->bytes > 0) known++;
  }
  return sum * static_cast<double>(end - begin) / static_cast<double>(known);
}

// Returns the largest pull that may be moved, or `end`. An image of a far registry keeps its position, since
// latency and not its size decides how long it takes.
Candidates Largest(Candidates begin, Candidates end) {
  Candidates largest = end;
  for (Candidates pull = begin; pull != end; ++pull) {
    if (pull->far || pull->bytes == 0) continue;
    if (largest == end || pull->bytes > largest->bytes) largest = pull;
  }
  return largest;
}

void MoveAmongEquals(Candidates begin, Candidates end, int parallel) {
  // Each round moves one image to the front and goes on with the rest. It ends when the largest of the rest
  // fits into the share that one of `parallel` pulls has anyway.
  while (end - begin > 1) {
    Candidates largest = Largest(begin, end);
    if (largest == end) return;
    if (static_cast<double>(largest->bytes) * parallel <= SumOfBytes(begin, end)) return;
    std::rotate(begin, largest, std::next(largest));
    ++begin;
  }
}

}  // namespace

bool MayReorder(const PhaseCount& phase) {
  return 2 * phase.finished >= phase.images;
}

bool NeedsSizes(const PhaseCount& phase) {
  return 2 * (phase.finished + phase.running) >= phase.images;
}

void MoveLargestFirst(std::vector<PullCandidate>& due, int parallel) {
  for (Candidates begin = due.begin(); begin != due.end();) {
    const Candidates end = std::find_if(
        begin, due.end(), [&](const PullCandidate& pull) { return !HaveEqualOrder(*begin, pull); });
    MoveAmongEquals(begin, end, parallel);
    begin = end;
  }
}

}  // namespace prefetch::plan
