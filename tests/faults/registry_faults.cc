#include "faults/kinds.h"

#include "plan/history.h"

namespace prefetch::tests::faults {
namespace {

using image::ErrorClass;

// Every pull of the image fails so.
FaultKind Refused(const char* part, const char* manner, ErrorClass error, Reason reason,
                  base::Duration recovers, Reach reach = Reach::kRegistry) {
  return {.part = part,
          .manner = manner,
          .begin =
              [error, reason](World& world, const std::string& image) {
                // A registry that lies costs the image what was begun, too.
                if (plan::IsRetriedLate(reason) || reason == Reason::kCorrupt) world.LosesLease(image);
                world.node.runtime.Fail(image, error);
              },
          .end = [](World& world, const std::string& image) { world.node.runtime.Fail(image, std::nullopt); },
          .causes = {reason},
          .reach = reach,
          .recovers = recovers,
          .shows = kShownAtOnce,
          .fails_each_try = true};
}

}  // namespace

std::vector<FaultKind> OfRegistry() {
  return {
      {.part = "registry",
       .manner = "absent",
       .begin = [](World& world,
                   const std::string&) { world.node.runtime.SetRegistry(RegistryState::kDown); },
       .end = [](World& world, const std::string&) { world.node.runtime.SetRegistry(RegistryState::kUp); },
       .causes = {Reason::kUnreachable},
       .recovers = kAfterPassing,
       .shows = kShownAtOnce},
      {.part = "registry",
       .manner = "hangs",
       .begin = [](World& world,
                   const std::string&) { world.node.runtime.SetRegistry(RegistryState::kStalled); },
       .end = [](World& world, const std::string&) { world.node.runtime.SetRegistry(RegistryState::kUp); },
       .causes = {Reason::kStalled, Reason::kTimeout, Reason::kUnreachable},
       .recovers = kAfterPassing},
      {.part = "registry",
       .manner = "flaps",
       .begin = [](World& world, const std::string&) { world.FlapRegistry(); },
       .end = [](World& world, const std::string&) { world.node.runtime.SetRegistry(RegistryState::kUp); },
       .causes = {Reason::kUnreachable},
       .recovers = kAfterPassing,
       .period = seconds(5),
       .tick = [](World& world, const std::string&) { world.FlapRegistry(); }},
      {"registry", "slow",
       [](World& world, const std::string&) { world.node.runtime.SetBandwidth(kLink / 100); },
       [](World& world, const std::string&) { world.node.runtime.SetBandwidth(kLink); }},
      {.part = "registry",
       .manner = "cuts connections",
       .begin = [](World& world, const std::string&) { world.node.runtime.CutConnections(); },
       .end = Nothing,
       .causes = {Reason::kUnreachable},
       .recovers = kAfterPassing,
       .period = seconds(3),
       .tick = [](World& world, const std::string&) { world.node.runtime.CutConnections(); }},
      {.part = "registry",
       .manner = "loses a tag",
       .begin =
           [](World& world, const std::string& image) {
             world.LosesLease(image);
             world.HideTag(image);
           },
       .end = [](World& world, const std::string& image) { world.ShowTag(image); },
       .causes = {Reason::kNotFound},
       .reach = Reach::kImage,
       .recovers = kAfterSlow,
       .shows = kShownAtOnce},
      Refused("registry", "503", ErrorClass::kServerError, Reason::kServerError, kAfterPassing),
      Refused("registry", "429", ErrorClass::kRateLimited, Reason::kRateLimited, kAfterSlow),
      Refused("registry", "401", ErrorClass::kAccessDenied, Reason::kAccessDenied, kAfterSlow, Reach::kImage),
      Refused("registry", "404", ErrorClass::kNotFound, Reason::kNotFound, kAfterSlow, Reach::kImage),
      Refused("registry", "lies about content", ErrorClass::kCorrupt, Reason::kCorrupt, kAfterPassing,
              Reach::kImage),
      Refused("registry", "has a bad certificate", ErrorClass::kTlsError, Reason::kTlsError, kAfterPassing),
      Refused("DNS", "absent", ErrorClass::kDnsFailure, Reason::kDnsFailure, kAfterPassing),
      {"registry", "answers late",
       [](World& world, const std::string&) { world.node.runtime.SetLatency(seconds(8)); },
       [](World& world, const std::string&) { world.node.runtime.SetLatency(milliseconds(20)); }},
  };
}

}  // namespace prefetch::tests::faults
