#include "faults/run.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "faults/observer.h"

namespace prefetch::tests::faults {
namespace {

// Time limit for leases and everything else of a pull to go.
constexpr base::Duration kTidyUp = minutes(2);
// Time limit for deleting a touch pod that the API server kept: touches pause for ten minutes, and a quarter
// of that more, where the server has refused them again and again.
constexpr base::Duration kSwept = minutes(13);
// Time limit, once the node is ready, for touches: an entry that was given up waits an hour and a quarter.
constexpr base::Duration kTouched = minutes(80);

// Pulls that the retry rules allow at most: each image's own first, some at each fault, one a minute on an
// average while something is wrong, and two at each stir, since the first retry is immediate. An agent that
// begins anew knows no pause: its second retry comes within two seconds, too.
int MostPulls(const World& world, const Schedule& schedule) {
  base::Duration wrong{};
  for (const PlannedFault& fault : schedule.faults) wrong += fault.to - fault.from;
  const auto images = static_cast<int>(world.images().size());
  const auto minutes_wrong = static_cast<int>(std::chrono::duration_cast<minutes>(wrong).count()) + 1;
  return images * (1 + 10 * static_cast<int>(schedule.faults.size()) + minutes_wrong + 2 * world.stirs() +
                   world.restarts());
}

std::vector<std::string> TouchPods(World& world) {
  std::vector<std::string> paths;
  if (world.touches()) paths = world.node.Cluster().server.Paths();
  std::erase_if(paths, [](const std::string& path) { return !path.starts_with("pods/"); });
  return paths;
}

void LookAtTheEnd(World& world, const Schedule& schedule, Observer& observer) {
  const FakeCounters counters = world.node.runtime.counters();
  const auto allowed =
      static_cast<std::uint64_t>(static_cast<double>(world.BytesToFetch()) * 1.1) + world.destroyed();
  if (counters.bytes_served > allowed)
    observer.Say(std::to_string(counters.bytes_served) + " bytes were fetched, " + std::to_string(allowed) +
                 " would do");
  if (counters.pull_calls > MostPulls(world, schedule))
    observer.Say(std::to_string(counters.pull_calls) + " pulls were begun");
  if (auto leases = world.node.runtime.Leases(); !leases.empty())
    observer.Say("left behind: lease " + leases[0]);
  for (const std::string& pod : TouchPods(world)) observer.Say("left behind: " + pod);
  if (world.node.runtime.Parked() != 0) observer.Say("a pull goes on though all is there");
  for (const std::string& problem : world.node.Snapshot()->problems)
    observer.Say("still a problem: " + problem);
  for (const std::string& line : world.node.log) {
    if (line.find("password-of-the-faults") != std::string::npos) observer.Say("the log holds a password");
  }
}

// Plays the faults of a schedule, whose times it corrects for those that wait for a step.
class Player {
 public:
  Player(Schedule& schedule, const std::vector<FaultKind>& kinds, World& world, Observer& observer)
      : schedule_(schedule), kinds_(kinds), world_(world), observer_(observer) {
    for (PlannedFault& fault : schedule_.faults)
      turns_.push_back(
          {&fault, &kinds_[fault.kind], world_.images()[fault.image], fault.from, fault.to - fault.from});
  }

  void Play() {
    while (!turns_.empty()) {
      const base::Duration next = std::min_element(turns_.begin(), turns_.end(), IsEarlier)->next;
      if (next == kNever) return;
      world_.node.RunUntil([&] { return Looked() && AnyIsThere(); }, next - world_.node.Elapsed());
      // CRI-O begins anew with each pull that is broken off, but for the layers that it has stored.
      if (IsCrio(schedule_.runtime)) world_.Destroyed(world_.BytesUnfinished());
      const int stirs = world_.stirs();
      bool is_new = false;
      for (Turn& turn : turns_) is_new = TakeIfDue(turn) || is_new;
      if (is_new || world_.stirs() != stirs) observer_.Forgive();
    }
  }
  // Which faults began at the step that they waited for.
  std::vector<bool> AtTheirSteps() const {
    std::vector<bool> met;
    for (const Turn& turn : turns_) met.push_back(turn.met);
    return met;
  }

 private:
  static constexpr base::Duration kNever = base::Duration::max();

  struct Turn {
    PlannedFault* fault;
    const FaultKind* kind;
    std::string image;
    base::Duration next;  // when it begins, comes again, or ends
    base::Duration length;
    bool waits = false, lasts = false, met = false;
  };

  static bool IsEarlier(const Turn& a, const Turn& b) { return a.next < b.next; }

  bool Looked() {
    observer_.Look();
    return true;
  }
  bool IsThere(const Turn& turn) { return turn.waits && IsAt(world_, turn.image, *turn.fault->step); }
  bool AnyIsThere() {
    return std::any_of(turns_.begin(), turns_.end(), [&](const Turn& turn) { return IsThere(turn); });
  }

  // Does the fault begin or end now?
  bool TakeIfDue(Turn& turn) {
    const base::Duration now = world_.node.Elapsed();
    const bool there = IsThere(turn);
    if (turn.next == kNever || (!there && now < turn.next)) return false;
    if (turn.lasts && turn.next < turn.fault->to) {
      turn.kind->tick(world_, turn.image);
      SetNext(turn);
      return false;
    }
    if (turn.lasts) {
      turn.kind->end(world_, turn.image);
      turn.next = kNever;
      return true;
    }
    if (turn.fault->step && !turn.waits) {
      turn.waits = true;
      turn.fault->from += kLongestWait;
      turn.fault->to += kLongestWait;
      turn.next = turn.fault->from;
      return false;
    }
    if (there) {
      turn.met = true;
      turn.fault->from = now;
      turn.fault->to = now + turn.length;
    }
    turn.waits = false;
    turn.lasts = true;
    turn.kind->begin(world_, turn.image);
    turn.next = turn.fault->from;
    SetNext(turn);
    return true;
  }

  static void SetNext(Turn& turn) {
    turn.next = turn.kind->tick ? std::min(turn.next + turn.kind->period, turn.fault->to) : turn.fault->to;
  }

  Schedule& schedule_;
  const std::vector<FaultKind>& kinds_;
  World& world_;
  Observer& observer_;
  std::vector<Turn> turns_;
};

void AwaitRecovery(const Schedule& schedule, const std::vector<FaultKind>& kinds, World& world,
                   Observer& observer) {
  const auto look = [&] {
    observer.Look();
    return false;
  };
  base::Duration recovers = minutes(3);
  for (const PlannedFault& fault : schedule.faults) recovers = std::max(recovers, kinds[fault.kind].recovers);
  const auto ready = [&] {
    observer.Look();
    return world.node.Ready() && world.IsTrulyReady();
  };
  if (!world.node.RunUntil(ready, recovers)) {
    const plan::SnapshotPtr snapshot = world.node.Snapshot();
    std::string why = snapshot->readiness.message;
    for (const plan::ImageState& image : snapshot->images) {
      if (!image.ready)
        why += "; " + image.desired->reference.written() + ": " + std::string(base::EnumName(image.reason)) +
               ", " + image.message;
    }
    for (const std::string& image : world.listed())
      why += "; " + image + (world.Has(image) ? " is here" : " is absent") +
             (world.node.Admits(image) ? "" : ", and kubelet refuses it");
    observer.Say("not ready " + In(recovers) + " after the last fault: " + why);
    return;
  }
  const auto touched = [&] {
    observer.Look();
    const plan::SnapshotPtr snapshot = world.node.Snapshot();
    return std::all_of(snapshot->images.begin(), snapshot->images.end(),
                       [](const plan::ImageState& image) { return image.reason == Reason::kOpenToNode; });
  };
  if (world.touches() && !world.node.RunUntil(touched, kTouched)) {
    for (const plan::ImageState& image : world.node.Snapshot()->images) {
      if (image.reason != Reason::kOpenToNode)
        observer.Say(image.desired->reference.written() + " is not touched " + In(kTouched) +
                     " later: " + std::string(base::EnumName(image.reason)) + ", " + image.touch->why);
    }
  }
  world.node.RunUntil(look, kTidyUp);
  world.node.RunUntil([&] { return look() || TouchPods(world).empty(); }, kSwept);
  if (!world.node.Ready()) observer.Say("ready, and then not any more");
  LookAtTheEnd(world, schedule, observer);
}

}  // namespace

Outcome Play(Schedule schedule, const std::vector<FaultKind>& kinds) {
  const bool touches = std::any_of(
      schedule.faults.begin(), schedule.faults.end(),
      [&](const PlannedFault& fault) { return kinds[fault.kind].of_cluster || fault.step == Step::kTouch; });
  World world(schedule.runtime, touches);
  Observer observer(world, schedule, kinds);
  Player player(schedule, kinds, world, observer);
  player.Play();
  AwaitRecovery(schedule, kinds, world, observer);
  Outcome outcome{observer.Violations(), player.AtTheirSteps()};
  if (!outcome.violations.empty() && std::getenv("PREFETCH_FAULT_LOG") != nullptr) {
    for (const std::string& line : world.node.log) std::fprintf(stderr, "%s\n", line.c_str());
  }
  return outcome;
}

}  // namespace prefetch::tests::faults
