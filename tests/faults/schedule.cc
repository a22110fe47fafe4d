#include "faults/schedule.h"

#include <algorithm>
#include <cstdio>
#include <random>

namespace prefetch::tests::faults {
namespace {

using std::chrono::duration_cast;

base::Duration Seconds(double seconds) {
  return duration_cast<base::Duration>(std::chrono::duration<double>(seconds));
}

std::string Shown(base::Duration time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f s", std::chrono::duration<double>(time).count());
  return text;
}

// Distributions of the standard library differ between its makers.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  std::size_t Below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  double Uniform() { return static_cast<double>(random_() >> 11) / 9007199254740992.0; }

 private:
  std::mt19937_64 random_;
};

}  // namespace

Schedule MakeSchedule(std::uint64_t seed, const std::vector<std::string>& images) {
  Dice dice(seed);
  // Each kind meets each runtime.
  const Persona runtimes[] = {Persona::kContainerd23, Persona::kContainerd16, Persona::kCrio};
  Schedule schedule{.seed = seed, .runtime = runtimes[seed / FaultKinds().size() % 3], .faults = {}};
  // One alone shows its cause most plainly; the others are two or three.
  const std::size_t count = dice.Below(6) == 0 ? 1 : 2 + dice.Below(2);
  while (schedule.faults.size() < count) {
    PlannedFault fault;
    // Every kind comes as often as another one, whatever the seeds are.
    fault.kind = schedule.faults.empty() ? seed % FaultKinds().size() : dice.Below(FaultKinds().size());
    fault.image = dice.Below(images.size());
    const bool is_early = dice.Below(4) != 0;
    fault.from = Seconds(is_early ? dice.Uniform() * 45 : 45 + dice.Uniform() * 120);
    // From a moment to minutes; short ones are as frequent as long ones.
    const double longest = dice.Below(2) == 0 ? 20 : 400;
    const base::Duration length = Seconds(0.05 + dice.Uniform() * longest);
    if (dice.Below(2) == 0) {
      fault.from = Seconds(dice.Uniform() * dice.Uniform() * 40);  // most steps come early, and once
      fault.step = kSteps[dice.Below(kSteps.size())];
      if (fault.step == Step::kCredential) fault.from /= 20;  // before its only image has a place
      while (!HasStep(images[fault.image], *fault.step)) fault.image = dice.Below(images.size());
    }
    fault.to = fault.from + length;
    const bool is_new = std::none_of(schedule.faults.begin(), schedule.faults.end(),
                                     [&](const PlannedFault& other) { return other.kind == fault.kind; });
    if (is_new) schedule.faults.push_back(fault);
  }
  return schedule;
}

std::string Describe(const Schedule& schedule, const std::vector<std::string>& images) {
  const image::RuntimeInfo runtime = InfoOf(schedule.runtime);
  std::string text =
      "seed " + std::to_string(schedule.seed) + " on " + runtime.name + " " + runtime.version + ":\n";
  for (const PlannedFault& fault : schedule.faults) {
    const FaultKind& kind = FaultKinds()[fault.kind];
    text += std::string("  ") + kind.part + " " + kind.manner + " (" + images[fault.image] + ") from " +
            Shown(fault.from) + " to " + Shown(fault.to);
    if (fault.step) text += ", at its " + std::string(StepName(*fault.step));
    text += "\n";
  }
  return text;
}

}  // namespace prefetch::tests::faults
