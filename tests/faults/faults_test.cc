// Faults in virtual time: schedules of up to three of them, from seeds. $PREFETCH_FAULT_SEEDS is their
// number, $PREFETCH_FAULT_FIRST the first seed; the matrix of parts and manners goes to standard output.
#include <gtest/gtest.h>

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <map>

#include "faults/environment.h"
#include "faults/run.h"
#include "rows.h"

namespace prefetch::tests::faults {
namespace {

constexpr std::uint64_t kSeeds = 2450;  // five in six are combinations
constexpr std::uint64_t kGroups = 40;   // test cases, so that a failure names its neighbourhood

struct Cell {
  int schedules = 0;
  int violations = 0;
};

// Counts what was run, and prints it at the end.
class Matrix : public testing::Environment {
 public:
  static std::map<std::size_t, Cell>& Cells() {
    static std::map<std::size_t, Cell> cells;
    return cells;
  }
  // Faults that began at a step, by their part.
  static std::map<std::string, std::map<Step, int>>& Steps() {
    static std::map<std::string, std::map<Step, int>> steps;
    return steps;
  }
  void TearDown() override {
    if (Cells().empty()) return;
    PrintKinds();
    PrintSteps();
  }

 private:
  static void PrintSteps() {
    std::cout << "\n" << std::left << std::setw(15) << "part";
    for (Step step : kSteps) std::cout << std::right << std::setw(12) << StepName(step);
    std::cout << "\n";
    for (auto& [part, steps] : Steps()) {
      std::cout << std::left << std::setw(15) << part;
      for (Step step : kSteps) std::cout << std::right << std::setw(12) << steps[step];
      std::cout << "\n";
    }
  }
  static void PrintKinds() {
    std::cout << std::left << std::setw(15) << "part" << std::setw(30) << "fault" << std::right
              << std::setw(10) << "schedules" << std::setw(12) << "violations"
              << "\n";
    for (const auto& [kind, cell] : Cells()) {
      std::cout << std::left << std::setw(15) << FaultKinds()[kind].part << std::setw(30)
                << FaultKinds()[kind].manner << std::right << std::setw(10) << cell.schedules << std::setw(12)
                << cell.violations << "\n";
    }
  }
};
const auto* const kMatrix = testing::AddGlobalTestEnvironment(new Matrix);

void Try(const Schedule& schedule) {
  const Outcome outcome = Play(schedule);
  for (std::size_t i = 0; i < schedule.faults.size(); i++) {
    const PlannedFault& fault = schedule.faults[i];
    Cell& cell = Matrix::Cells()[fault.kind];
    cell.schedules++;
    if (!outcome.violations.empty()) cell.violations++;
    if (outcome.at_step[i]) Matrix::Steps()[FaultKinds()[fault.kind].part][*fault.step]++;
  }
  const World names;
  for (const std::string& violation : outcome.violations)
    ADD_FAILURE() << Describe(schedule, names.images()) << violation;
}

TEST_TABLE(FaultSchedules, BreakNothingThatMustHold, std::uint64_t) {
  ASSERT_NE(kMatrix, nullptr);
  const std::uint64_t seeds = FromEnvironment("PREFETCH_FAULT_SEEDS", kSeeds);
  const std::uint64_t first = FromEnvironment("PREFETCH_FAULT_FIRST", 0);
  const std::vector<std::string> images = World().images();
  for (std::uint64_t seed = row; seed < seeds; seed += kGroups) Try(MakeSchedule(first + seed, images));
}

INSTANTIATE_TEST_SUITE_P(, FaultSchedules, testing::Range<std::uint64_t>(0, kGroups));

PlannedFault Planned(const std::string& part, const std::string& manner, std::size_t image, double from,
                     double to) {
  const auto in = [](double seconds) {
    return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(seconds));
  };
  const auto kind = std::find_if(FaultKinds().begin(), FaultKinds().end(), [&](const FaultKind& one) {
    return one.part == part && one.manner == manner;
  });
  EXPECT_NE(kind, FaultKinds().end()) << part << " " << manner;
  return {.kind = static_cast<std::size_t>(kind - FaultKinds().begin()),
          .image = image,
          .from = in(from),
          .to = in(to)};
}

// Each of them has broken something once.
TEST(FaultSchedulesOfOld, DoNotBreakItAgain) {
  // Room that others had taken and given back counted as the need of a small image.
  Try({.runtime = Persona::kContainerd16,
       .faults = {Planned("records", "close an image", 3, 3.519248957, 23.501701643),
                  Planned("disk", "has no room by the rule", 4, 10.518266150, 136.743534980)}});
  Try({.runtime = Persona::kContainerd16,
       .faults = {Planned("runtime", "restarts again and again", 0, 2.141641149, 20.927989378),
                  Planned("DNS", "absent", 2, 16.402738193, 36.105)}});
  // And the status went on showing the disk as it had been then.
  Try({.runtime = Persona::kContainerd23,
       .faults = {Planned("runtime", "breaks calls for leases off", 2, 36.317900959, 48.250673483),
                  Planned("registry", "lies about content", 2, 40.795250097, 57.725155454),
                  Planned("process", "killed again and again", 4, 17.531094030, 28.054188724)}});
  // A touch pod that could not be deleted waits out the pause of touches.
  Try({.runtime = Persona::kContainerd23,
       .faults = {Planned("API server", "403 to all", 2, 40.513, 308.796),
                  Planned("registry", "absent", 3, 97.261, 275.277)}});
  // Agents that live for nine seconds each try three times.
  PlannedFault killed = Planned("process", "killed again and again", 2, 4.922, 178.651);
  PlannedFault absent = Planned("registry", "absent", 4, 0.113, 304.405);
  killed.step = Step::kResolve;
  absent.step = Step::kCredential;
  Try({.runtime = Persona::kContainerd16, .faults = {killed, absent}});
}

// Each image is at each step once, and the fault finds it there.
TEST_TABLE(FaultAtAStep, FindsItsImageThere, Step) {
  for (Persona runtime : {Persona::kContainerd23, Persona::kContainerd16, Persona::kCrio}) {
    const std::vector<std::string> images = World().images();
    for (std::size_t image = 0; image < images.size(); image++) {
      if (!HasStep(images[image], row)) continue;
      int found = 0;
      std::vector<FaultKind> kinds = {FaultKinds()[0]};
      kinds[0].begin = [&](World& world, const std::string& at) { found += IsAt(world, at, row) ? 1 : 0; };
      kinds[0].end = [](World&, const std::string&) {};
      const std::chrono::seconds lasts(5);
      const Outcome outcome = Play(
          {.seed = 0, .runtime = runtime, .faults = {{.image = image, .to = lasts, .step = row}}}, kinds);
      EXPECT_EQ(outcome.violations, std::vector<std::string>());
      EXPECT_EQ(outcome.at_step, std::vector<bool>{true}) << images[image];
      EXPECT_EQ(found, 1) << images[image];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, FaultAtAStep, testing::ValuesIn(kSteps),
                         [](const auto& step) { return std::string(StepName(step.param)); });

TEST(FaultRules, HoldWithoutFaults) {
  for (Persona runtime : {Persona::kContainerd23, Persona::kContainerd16, Persona::kCrio})
    EXPECT_EQ(Play({.runtime = runtime}).violations, std::vector<std::string>());
}

// Faults whose description for the rules is untrue: the agent then seems to do what the rules forbid.
struct UntrueCase {
  std::string name;
  std::string manner;                      // of the fault
  std::function<void(FaultKind&)> change;  // of what the rules are told of it
  std::string notice;                      // a part of the violation
  std::chrono::seconds from{0};            // most tries are over after 40 s
};

TEST_TABLE(UntrueFault, IsNoticed, UntrueCase) {
  std::vector<FaultKind> kinds = FaultKinds();
  const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                 [&](const FaultKind& one) { return one.manner == row.manner; });
  ASSERT_NE(kind, kinds.end());
  Schedule schedule{.seed = 0,
                    .faults = {{.kind = static_cast<std::size_t>(kind - kinds.begin()),
                                .image = 1,
                                .from = row.from,
                                .to = row.from + std::chrono::seconds(300)}}};
  EXPECT_EQ(Play(schedule, kinds).violations, std::vector<std::string>());
  row.change(*kind);
  std::string all;
  for (const std::string& violation : Play(schedule, kinds).violations) all += violation + "\n";
  EXPECT_HAS(all, row.notice);
}

const auto kNoEnd = [](FaultKind& kind) { kind.end = [](World&, const std::string&) {}; };

// An image that is here needs no credentials, so it is removed, too.
std::function<void(FaultKind&)> EvictedAndLeftSo(const std::string& image) {
  return [image](FaultKind& kind) {
    kind.begin = [begin = kind.begin, image](World& world, const std::string& other) {
      begin(world, other);
      world.node.runtime.Remove(image);
    };
    kind.causes.insert(plan::Reason::kEvictedByKubelet);
    kNoEnd(kind);
  };
}

TEST_ROWS(All, UntrueFault,
          {"AFailureWithoutACause", "404", [](FaultKind& kind) { kind.causes.clear(); },
           "fails for NotFound, which nothing has caused"},
          {"AFailureOfAnotherImage", "503",
           [](FaultKind& kind) {
             kind.begin = [](World& world, const std::string&) {
               world.node.runtime.Fail("docked.test/tool:v1", image::ErrorClass::kServerError);
             };
             kind.end = [](World& world, const std::string&) {
               world.node.runtime.Fail("docked.test/tool:v1", std::nullopt);
             };
           },
           "docked.test/tool:v1 fails for ServerError, which nothing has caused"},
          // Agents that know nothing of the tries before.
          {"ARetryBeforeItsTime", "404",
           [](FaultKind& kind) {
             kind.period = std::chrono::seconds(100);
             kind.tick = [](World& world, const std::string&) { world.node.RestartAgent(); };
           },
           "open.test/app:v1 is tried again"},
          {"ARegistryThatIsNotHeld", "429",
           [](FaultKind& kind) {
             kind.period = std::chrono::seconds(50);
             kind.tick = [](World& world, const std::string&) { world.node.RestartAgent(); };
           },
           "after RateLimited of its registry"},
          {"AFaultThatNeverEnds", "loses a tag", kNoEnd, "not ready"},
          {"APasswordThatNobodyReplaces", "has an old password", EvictedAndLeftSo("docked.test/tool:v1"),
           "not ready", std::chrono::seconds(100)},
          {"APluginThatGoesOnLying", "lies", EvictedAndLeftSo("plugged.test/runner:v1"), "not ready",
           std::chrono::seconds(100)},
          {"AConfigThatNobodyMends", "broken", EvictedAndLeftSo("docked.test/tool:v1"), "not ready",
           std::chrono::seconds(100)},
          {"AnOldPasswordThatIsNotTheCause", "has an old password",
           [](FaultKind& kind) {
             EvictedAndLeftSo("docked.test/tool:v1")(kind);
             kind.causes = {plan::Reason::kNotFound};
           },
           "docked.test/tool:v1 is not usable, and for", std::chrono::seconds(100)},
          {"ADiskThatIsNotTheCause", "full", [](FaultKind& kind) { kind.causes = {plan::Reason::kNotFound}; },
           "is not usable, and for"},
          {"ATouchThatNeverHappens", "403 to all", kNoEnd, "is not touched"},
          {"APodThatIsLeftBehind", "429 to all",
           [](FaultKind& kind) {
             kind.end = [](World& world, const std::string&) {
               world.node.Cluster().server.Recover();
               world.node.Cluster().server.Put("pods/prefetchd-touch/left", "{}");
             };
           },
           "left behind: pods/prefetchd-touch/left"},
          {"ARuntimeThatIsBelievedUp", "absent",
           [](FaultKind& kind) {
             kind.begin = [](World& world, const std::string&) { world.node.runtime.SetRuntimeUp(false); };
           },
           "the runtime is up, and the status says otherwise", std::chrono::seconds(100)},
          {"BytesThatNobodyDestroyed", "loses an image",
           [](FaultKind& kind) {
             kind.begin = [](World& world, const std::string& image) { world.node.runtime.Remove(image); };
             kind.period = std::chrono::seconds(60);
             kind.tick = kind.begin;
             kind.causes = {plan::Reason::kEvictedByKubelet};
           },
           "bytes were fetched", std::chrono::seconds(100)},
          {"ANodeThatIsCalledReadyWithoutReason", "close an image",
           [](FaultKind& kind) {
             kind.begin = [](World& world, const std::string& image) {
               world.also_needs = image + "-that-nobody-lists";
             };
             kind.end = [](World& world, const std::string&) { world.also_needs.clear(); };
           },
           "though it is not", std::chrono::seconds(100)});

}  // namespace
}  // namespace prefetch::tests::faults
