#include "faults/kinds.h"

namespace prefetch::tests::faults {
namespace {

void StopRuntime(World& world) {
  world.RuntimeIs(false);
  world.Stirred();
  world.node.runtime.SetRuntimeUp(false);
}

void StartRuntime(World& world) {
  world.Stirred();
  world.RuntimeIs(true);
  world.node.runtime.SetRuntimeUp(true);
}

void RestartRuntime(World& world) {
  if (!world.runtime_up) return;
  world.Stirred();
  world.node.runtime.Restart();
}

}  // namespace

std::vector<FaultKind> OfRuntime() {
  return {
      {.part = "runtime",
       .manner = "absent",
       .begin = [](World& world, const std::string&) { StopRuntime(world); },
       .end = [](World& world, const std::string&) { StartRuntime(world); },
       .causes = {Reason::kRuntimeDown, Reason::kRuntimeCrashed},
       .recovers = minutes(3)},
      {.part = "runtime",
       .manner = "restarts",
       .begin = [](World& world, const std::string&) { RestartRuntime(world); },
       .end = Nothing,
       .causes = {Reason::kRuntimeDown, Reason::kRuntimeCrashed},
       .recovers = minutes(3)},
      {.part = "runtime",
       .manner = "restarts again and again",
       .begin = [](World& world, const std::string&) { RestartRuntime(world); },
       .end = Nothing,
       // Images that were pulled at two restarts in a row are suspects.
       .causes = {Reason::kRuntimeDown, Reason::kRuntimeCrashed},
       .recovers = kAfterSlow,
       .period = seconds(7),
       .tick = [](World& world, const std::string&) { RestartRuntime(world); }},
      {.part = "runtime",
       .manner = "is not ready",
       .begin = [](World& world, const std::string&) { world.node.runtime.SetReady(false); },
       .end = [](World& world, const std::string&) { world.node.runtime.SetReady(true); },
       .causes = {Reason::kRuntimeDown}},
      {.part = "runtime",
       .manner = "breaks calls for leases off",
       .begin =
           [](World& world, const std::string&) {
             world.Destroyed(world.BytesAbsent());  // pulls may be without protection
             for (LeaseCall call : {LeaseCall::kEnsure, LeaseCall::kDelete, LeaseCall::kList})
               world.node.runtime.FailNext(call, 2);
           },
       .end = Nothing,
       .causes = {Reason::kRuntimeDown}},
      {.part = "runtime",
       .manner = "loses an image",
       .begin = [](World& world, const std::string& image) { world.Evict(image); },
       .end = Nothing,
       .causes = {Reason::kEvictedByKubelet},
       .reach = Reach::kImage,
       .recovers = kAfterSlow},
      {"runtime", "answers slowly",
       [](World& world, const std::string&) { world.node.runtime.LookTakes(milliseconds(400)); },
       [](World& world, const std::string&) { world.node.runtime.LookTakes(kLook); }},
      {.part = "runtime",
       .manner = "is upgraded",
       .begin =
           [](World& world, const std::string&) {
             world.node.runtime.SetVersion("9.9.9");
             RestartRuntime(world);
           },
       .end = Nothing,
       .causes = {Reason::kRuntimeDown, Reason::kRuntimeCrashed}},
  };
}

}  // namespace prefetch::tests::faults
