#include "plan/schedule.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "image/registry_answer.h"

namespace prefetch::plan {

namespace {

// The rank counts before the times and failures of pulls. A true `requested` and a higher priority come
// first, so these two are compared the other way round.
bool IsOfHigherRank(const PullCandidate& a, const PullCandidate& b) {
  return std::tie(a.stalled, a.update, b.requested, b.priority) <
         std::tie(b.stalled, b.update, a.requested, a.priority);
}

struct Places {
  int total = 0;  // that move
  int all = 0;    // with those that are idle
  int large = 0;
  int unlisted = 0;
  int suspects = 0;
  std::map<std::string, int> of_registry;
  std::map<std::string, int> idle;  // of each registry

  // Returns the total that counts for this registry: idle pulls of other registries keep nothing from it.
  int TotalFor(const std::string& registry) const {
    auto own = idle.find(registry);
    return total + (own == idle.end() ? 0 : own->second);
  }
  void Take(const PullCandidate& slot, const Limits& limits) {
    if (slot.over) return;
    // A pull whose content is here only unpacks, so its place among downloads is free. It still counts
    // against the limits below.
    if (!slot.fetched) {
      all++;
      slot.idle ? idle[slot.registry]++ : total++;
      of_registry[slot.registry]++;
    }
    if (slot.bytes > limits.large_image_bytes) large++;
    if (slot.unlisted) unlisted++;
    if (slot.suspect) suspects++;
  }
};

// Places that are kept for a moment, from lower priorities, for entries whose credentials are looked up.
class ReservedPlaces {
 public:
  // Moves on to `slot`. Slots come in the order of Schedule.
  void MoveTo(const PullCandidate& slot) {
    if (last_ && (IsOfHigherRank(*last_, slot) || IsOfHigherRank(slot, *last_))) {
      total_ += alike_;
      alike_ = 0;
    }
    last_ = &slot;
  }
  void Add(const PullCandidate& slot) {
    alike_++;
    of_registry_[slot.registry]++;
  }
  int total() const { return total_; }
  int of_registry(const std::string& registry) const {
    auto found = of_registry_.find(registry);
    return found == of_registry_.end() ? 0 : found->second;
  }

 private:
  const PullCandidate* last_ = nullptr;
  int total_ = 0;  // kept by images of higher rank than the one in question
  int alike_ = 0;  // by what counts for as much
  std::map<std::string, int> of_registry_;
};

// Places in all, for one slot or another.
class TotalPlaces {
 public:
  TotalPlaces(const std::vector<PullCandidate>& running, int parallel) : parallel_(parallel) {
    // Pulls that only unpack hold no place among downloads, so they say nothing about who has all places.
    int total = 0;
    bool of_one = true;
    for (const PullCandidate& slot : running) {
      if (slot.over || slot.fetched) continue;
      if (total++ == 0) hog_ = slot.registry;
      of_one = of_one && slot.registry == hog_;
      // The newest of its pulls counts. While pulls of one registry still end and others start, places come
      // free without an extra one.
      one_more_from_ = std::max(one_more_from_, slot.started_at);
    }
    // A limit of one pull stays one: the operator asked for no parallel pulls.
    if (parallel < 2 || total < parallel || !of_one) return;
    with_one_more_ = total + 1;
    if (one_more_from_ != base::TimePoint::max()) one_more_from_ += kHoggedFor;
  }

  // Returns the places that this registry may use. If time alone brings one more, `next_turn_at` becomes that
  // time at the latest.
  int Of(const std::string& registry, base::TimePoint now, base::TimePoint& next_turn_at) const {
    if (with_one_more_ == 0 || registry == hog_) return parallel_;
    if (now >= one_more_from_) return with_one_more_;
    next_turn_at = std::min(next_turn_at, one_more_from_);
    return parallel_;
  }
  int Most() const { return std::max(parallel_, with_one_more_); }

 private:
  const int parallel_;
  std::string hog_;
  int with_one_more_ = 0;  // 0: no registry has all places
  base::TimePoint one_more_from_;
};

// Returns the limit of pulls at a time, in all. Once the node has settled, pods' own pulls come first.
int ParallelPulls(const ScheduleInput& input, const Limits& limits) {
  if (input.settled) return limits.parallel_pulls_when_ready;
  const auto is_far = [](const PullCandidate& slot) { return slot.far; };
  const bool any_far = std::any_of(input.due.begin(), input.due.end(), is_far) ||
                       std::any_of(input.running.begin(), input.running.end(), is_far);
  return any_far ? std::max(limits.parallel_pulls, limits.parallel_pulls_far) : limits.parallel_pulls;
}

// How many pulls each registry may have at once.
class RegistryLimits {
 public:
  RegistryLimits(const ScheduleInput& input, const Limits& limits, int parallel, base::TimePoint now)
      : input_(input), limits_(limits), parallel_(parallel), now_(now) {
    // A registry that is held cannot use a place now, so no place is kept for it.
    for (const std::string& registry : input.soon) {
      if (now >= HeldUntil(registry)) waiting_.insert(registry);
    }
    for (const PullCandidate& slot : input.due) {
      if (now >= HeldUntil(slot.registry) && IsPrompt(slot.lookup, now)) waiting_.insert(slot.registry);
    }
    if (input.settled || limits.parallel_pulls_far <= limits.parallel_pulls) return;
    for (const std::vector<PullCandidate>* slots : {&input.due, &input.running}) {
      for (const PullCandidate& slot : *slots) {
        if (slot.far) far_.insert(slot.registry);
      }
    }
  }

  base::TimePoint HeldUntil(const std::string& registry) const {
    auto health = input_.registries.find(registry);
    return health == input_.registries.end() ? base::TimePoint() : health->second.not_before;
  }
  int Of(const std::string& registry) const {
    // The last place stays for another registry, so that one that hangs cannot stop all others. Each registry
    // keeps one place at least.
    bool others_wait = waiting_.size() > waiting_.count(registry);
    return others_wait ? std::min(Own(registry), std::max(1, parallel_ - 1)) : Own(registry);
  }

 private:
  int Own(const std::string& registry) const {
    auto health = input_.registries.find(registry);
    bool on_probation =
        health != input_.registries.end() && image::kFailingPulls.IsOpen(health->second.failures);
    // One probe at a time until the registry has answered well.
    if (on_probation) return 1;
    return far_.contains(registry) ? std::max(limits_.per_registry_pulls, limits_.parallel_pulls_far)
                                   : limits_.per_registry_pulls;
  }

  const ScheduleInput& input_;
  const Limits& limits_;
  const int parallel_;
  const base::TimePoint now_;
  std::set<std::string> waiting_;  // registries that could use a place, or have their share already
  std::set<std::string> far_;      // registries that may have more pulls for it
};

// Pulls whose content was brought leave no more than `most` places, and none where one pull at a time is all.
std::vector<PullCandidate> WithFreePlaces(std::vector<PullCandidate> running,
                                          const RegistryLimits& registries, int most) {
  int free = most > 1 ? most : 0;
  for (PullCandidate& slot : running) {
    slot.fetched = slot.fetched && free > 0 && registries.Of(slot.registry) > 1;
    if (slot.fetched) free--;
  }
  return running;
}

// Two names of one digest: the second pull would ask for the same bytes. It starts once the first has ended,
// and finds them here.
bool SameContentRuns(const PullCandidate& slot, const std::vector<PullCandidate>& running) {
  return !slot.content.empty() &&
         std::any_of(running.begin(), running.end(),
                     [&](const PullCandidate& other) { return other.content == slot.content; });
}

// Returns the number of credential look-ups under way of each registry.
std::map<std::string, int> SearchesUnderWay(const std::vector<PullCandidate>& due) {
  std::map<std::string, int> looking;
  for (const PullCandidate& slot : due) {
    if (slot.lookup.state == LookupState::kUnderWay) looking[slot.registry]++;
  }
  return looking;
}

Places TakenBy(std::vector<PullCandidate>& running, bool settled, const Limits& limits) {
  Places taken;
  for (PullCandidate& slot : running) {
    slot.idle = slot.idle && !settled;  // pods' own pulls come first then
    taken.Take(slot, limits);
  }
  return taken;
}

// Pulls of unlisted images, and large ones of a settled node, have limits among themselves.
bool MayJoin(const PullCandidate& slot, const Places& taken, bool settled, const Limits& limits,
             int parallel) {
  if (slot.unlisted && taken.unlisted >= std::max(1, parallel / 2)) return false;
  return !settled || slot.bytes <= limits.large_image_bytes || taken.large == 0;
}

// Whether a due pull finds a place.
struct PlaceForSlot {
  int registry_limit = 0, of_registry = 0;
  bool is_free = false;
  bool is_reserved = false;  // look-ups of images that count for more keep all places that are left
};

// Starts the look-up of credentials of a slot with a place, and keeps the place for it.
void StartLookup(const PullCandidate& slot, const PlaceForSlot& place, base::TimePoint now,
                 std::map<std::string, int>& looking, ReservedPlaces& reserved, ScheduleOutput& output) {
  const bool under_way = slot.lookup.state == LookupState::kUnderWay;
  if (!place.is_free) return;
  if (!under_way && place.of_registry + looking[slot.registry] >= place.registry_limit) return;
  // The look-up starts even while places are kept: look-ups that all hang then keep them for one moment
  // together, and not one after the other.
  if (!under_way) {
    output.to_look_up.push_back(slot.entry);
    looking[slot.registry]++;
  }
  if (place.is_reserved || place.of_registry + reserved.of_registry(slot.registry) >= place.registry_limit) {
    return;
  }
  reserved.Add(slot);
  const base::TimePoint since = under_way ? slot.lookup.since : now;
  // At that time the kept place is free for others, and no event reports it.
  output.next_turn_at = std::min<base::TimePoint>(output.next_turn_at, since + kPromptLookup);
}

}  // namespace

bool ComesBefore(const PullCandidate& a, const PullCandidate& b) {
  if (IsOfHigherRank(a, b) || IsOfHigherRank(b, a)) return IsOfHigherRank(a, b);
  return std::tie(a.started_at, a.failures, a.entry) < std::tie(b.started_at, b.failures, b.entry);
}

// One pass over the due pulls, in their order. For each slot the questions are: may its registry be asked, is
// there a place, are its credentials known, is there room on the disk. The place comes before the
// credentials, so that only pulls that could start run a plugin. The disk comes last, and DiskBudget hears of
// every slot, since one that waits keeps its claim against those behind it.
ScheduleOutput Schedule(const ScheduleInput& input, const Limits& limits, base::TimePoint now) {
  ScheduleOutput output;
  if (input.due.empty()) return output;
  if (now < input.hold_until) {
    output.next_turn_at = input.hold_until;
    return output;
  }
  const int parallel = ParallelPulls(input, limits);
  std::vector<PullCandidate> due = input.due;
  std::stable_sort(due.begin(), due.end(), ComesBefore);
  if (input.may_reorder && !input.settled) MoveLargestFirst(due, parallel);
  // `registries` comes before `running`: a pull gives its place up only if its registry may have several.
  const RegistryLimits registries(input, limits, parallel, now);
  std::vector<PullCandidate> running = WithFreePlaces(input.running, registries, parallel);
  Places taken = TakenBy(running, input.settled, limits);
  const int most = parallel > 1 ? kWithIdle * parallel : 1;
  const TotalPlaces places(running, parallel);
  DiskBudget disk(input.usable, input.running);
  ReservedPlaces reserved;
  std::map<std::string, int> looking = SearchesUnderWay(due);
  const bool shares = input.agent_downloads && !input.settled && parallel > 1;
  const PullCandidate* waits = nullptr;  // the first one without a place
  for (const PullCandidate& slot : due) {
    // No slot behind this one can start, whatever its registry is.
    if (taken.total >= places.Most() && !shares) break;
    // A held registry takes no claim to places or room: the images of others go past it.
    if (base::TimePoint held_until = registries.HeldUntil(slot.registry); now < held_until) {
      output.next_turn_at = std::min(output.next_turn_at, held_until);
      continue;
    }
    // A look-up that takes long has lost its claims, so that a plugin that hangs delays its own images only.
    if (!IsPrompt(slot.lookup, now)) continue;
    // Suspects run one at a time. If two ran, nobody could tell which of them ends the runtime.
    if (SameContentRuns(slot, running) || (slot.suspect && taken.suspects > 0)) continue;
    reserved.MoveTo(slot);
    const int total_limit = places.Of(slot.registry, now, output.next_turn_at);
    const int total = taken.TotalFor(slot.registry);
    PlaceForSlot place{.registry_limit = registries.Of(slot.registry),
                       .of_registry = taken.of_registry[slot.registry]};
    const bool beyond =
        shares && place.of_registry == 0 && (waits == nullptr || !IsOfHigherRank(*waits, slot));
    place.is_free = (total < total_limit || beyond) && taken.all < most &&
                    place.of_registry < place.registry_limit &&
                    MayJoin(slot, taken, input.settled, limits, parallel);
    place.is_reserved = total + reserved.total() >= total_limit && !beyond;
    if (waits == nullptr && !place.is_free) waits = &slot;
    if (slot.lookup.state != LookupState::kDone) {
      // This makes the claim without a start: the room must still be there when the look-up ends.
      disk.Admits(slot, false);
      StartLookup(slot, place, now, looking, reserved, output);
      continue;
    }
    const bool has_place = place.is_free && !place.is_reserved;
    if (!disk.Admits(slot, has_place)) {
      // Only entries that nothing but room holds back report it as their reason.
      if (has_place) output.short_of_disk_space.push_back(slot.entry);
      continue;
    }
    taken.Take(slot, limits);
    running.push_back(slot);
    output.start.push_back(slot.entry);
  }
  return output;
}

namespace {

using Slots = std::vector<PullCandidate>::iterator;

// Returns the bytes of all slots. A slot of unknown size counts as the average of the others; at least one
// size has to be known.
double SumOfBytes(Slots begin, Slots end) {
  double sum = 0;
  std::ptrdiff_t known = 0;
  for (Slots slot = begin; slot != end; ++slot) {
    sum += static_cast<double>(slot->bytes);
    if (slot->bytes > 0) known++;
  }
  return sum * static_cast<double>(end - begin) / static_cast<double>(known);
}

// Returns the largest slot that may be moved, or `end`. An image of a far registry keeps its place, since
// latency and not its size decides how long it takes.
Slots Largest(Slots begin, Slots end) {
  Slots largest = end;
  for (Slots slot = begin; slot != end; ++slot) {
    if (slot->far || slot->bytes == 0) continue;
    if (largest == end || slot->bytes > largest->bytes) largest = slot;
  }
  return largest;
}

void MoveAmongEquals(Slots begin, Slots end, int parallel) {
  // Each round moves one image to the front and goes on with the rest. It ends when the largest of the rest
  // fits into the share that one of `parallel` pulls has anyway.
  while (end - begin > 1) {
    Slots largest = Largest(begin, end);
    if (largest == end) return;
    if (static_cast<double>(largest->bytes) * parallel <= SumOfBytes(begin, end)) return;
    std::rotate(begin, largest, std::next(largest));
    ++begin;
  }
}

}  // namespace

bool MayReorder(const PhaseCount& phase) {
  return 2 * phase.over >= phase.images;
}

bool WantsSizes(const PhaseCount& phase) {
  return 2 * (phase.over + phase.running) >= phase.images;
}

bool AreEqual(const PullCandidate& a, const PullCandidate& b) {
  return a.stalled == b.stalled && a.update == b.update && a.requested == b.requested &&
         a.priority == b.priority && a.failures == b.failures;
}

void MoveLargestFirst(std::vector<PullCandidate>& due, int parallel) {
  for (Slots begin = due.begin(); begin != due.end();) {
    const Slots end =
        std::find_if(begin, due.end(), [&](const PullCandidate& slot) { return !AreEqual(*begin, slot); });
    MoveAmongEquals(begin, end, parallel);
    begin = end;
  }
}

}  // namespace prefetch::plan
