#include "faults/kinds.h"

namespace prefetch::tests::faults {
namespace {

constexpr const char* kPlugged = "plugged.test/runner:v1";
constexpr const char* kDocked = "docked.test/tool:v1";

}  // namespace

std::vector<FaultKind> OfCredentials() {
  return {
      {.part = "plugin",
       .manner = "hangs",
       .begin = [](World& world, const std::string&) { world.node.plugins.Hang("plugged.test"); },
       .end = [](World& world, const std::string&) { world.node.plugins.Hang("plugged.test", false); },
       // Tried without it, as kubelet does, which costs no byte.
       .causes = {Reason::kAccessDenied},
       .recovers = kAfterSlow},
      {"plugin", "slow",
       [](World& world, const std::string&) { world.CachingProvider(kTruePassword, seconds(20)); },
       [](World& world, const std::string&) { world.CachingProvider(kTruePassword); }},
      {.part = "plugin",
       .manner = "lies",
       .begin =
           [](World& world, const std::string&) {
             world.LosesLease(kPlugged);
             world.CachingProvider("password-of-nobody");
           },
       .end = [](World& world, const std::string&) { world.CachingProvider(kTruePassword); },
       .causes = {Reason::kAccessDenied},
       .recovers = kAfterSlow,
       .shows = kShownAtOnce,
       .only = kPlugged},
      {.part = "docker config",
       .manner = "broken",
       .begin =
           [](World& world, const std::string&) {
             world.LosesLease(kDocked);
             world.BreakDockerConfig();
           },
       .end = [](World& world, const std::string&) { world.MendDockerConfig(); },
       .causes = {Reason::kAccessDenied},
       .recovers = kAfterSlow,
       .shows = kShownAtOnce,
       .only = kDocked},
      {.part = "docker config",
       .manner = "has an old password",
       .begin =
           [](World& world, const std::string&) {
             world.LosesLease(kDocked);
             world.MendDockerConfig("password-of-last-year");
           },
       .end = [](World& world, const std::string&) { world.MendDockerConfig(); },
       .causes = {Reason::kAccessDenied},
       .recovers = kAfterSlow,
       .shows = kShownAtOnce,
       .only = kDocked},
  };
}

}  // namespace prefetch::tests::faults
