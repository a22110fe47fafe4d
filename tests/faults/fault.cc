#include "faults/fault.h"

#include <limits>

#include "plan/history.h"

namespace prefetch::tests::faults {
namespace {

using image::ErrorClass;
using plan::Reason;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// The longest pause of each retry rule, a quarter more by chance, and what pulls take.
constexpr base::Duration kAfterPassing = minutes(8);
constexpr base::Duration kAfterSlow = minutes(80);

// A pull fails within a second or two, and the status says it within two more. It may have to wait for others
// before it: the list takes 40 s.
constexpr base::Duration kShownAtOnce = seconds(44);

void Nothing(World& /*world*/, const std::string& /*image*/) {}

// Every pull of the image fails so.
FaultKind Refused(const char* part, const char* manner, ErrorClass error, Reason reason,
                  base::Duration recovers, Reach reach = Reach::kRegistry) {
  return {.part = part,
          .manner = manner,
          .begin =
              [error, reason](World& world, const std::string& image) {
                if (plan::IsForGood(reason)) world.LosesLease(image);
                world.node.runtime.Fail(image, error);
              },
          .end = [](World& world, const std::string& image) { world.node.runtime.Fail(image, std::nullopt); },
          .causes = {reason},
          .reach = reach,
          .recovers = recovers,
          .shows = kShownAtOnce,
          .fails_each_try = true};
}

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
       .begin =
           [](World& world, const std::string& image) {
             world.Destroyed(world.BytesOf(image));
             world.Stirred();
             world.node.runtime.Remove(image);
           },
       .end = Nothing,
       .causes = {Reason::kEvictedByKubelet},
       .reach = Reach::kImage,
       .recovers = kAfterSlow},
  };
}

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
      {.part = "registry",
       .manner = "slow",
       .begin = [](World& world, const std::string&) { world.node.runtime.SetBandwidth(kLink / 100); },
       .end = [](World& world, const std::string&) { world.node.runtime.SetBandwidth(kLink); },
       .causes = {}},
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
  };
}

std::vector<FaultKind> OfNode() {
  return {
      {.part = "plugin",
       .manner = "hangs",
       .begin = [](World& world, const std::string&) { world.node.plugins.Hang("plugged.test"); },
       .end = [](World& world, const std::string&) { world.node.plugins.Hang("plugged.test", false); },
       // Tried without it, as kubelet does, which costs no byte.
       .causes = {Reason::kAccessDenied},
       .recovers = kAfterSlow},
      {.part = "records",
       .manner = "close an image",
       .begin = [](World& world, const std::string& image) { world.CloseWhenHere(image); },
       .end = [](World& world, const std::string& image) { world.OpenWhenHere(image); },
       .causes = {Reason::kRecordedForOthers, Reason::kRecordedUnderOtherName, Reason::kPullInterrupted},
       .reach = Reach::kImage,
       .shows = seconds(4),
       .is_of_what_is_here = true},
      {.part = "records",
       .manner = "unreadable",
       .begin = [](World& world, const std::string& image) { world.BreakRecordWhenHere(image); },
       .end = [](World& world, const std::string& image) { world.OpenWhenHere(image); },
       .causes = {Reason::kRecordUnreadable},
       .reach = Reach::kImage,
       .shows = seconds(4),
       .is_of_what_is_here = true},
      {.part = "kubelet",
       .manner = "absent",
       .begin = [](World& world, const std::string&) { world.KubeletStops(); },
       .end = [](World& world, const std::string&) { world.KubeletStarts(); },
       .causes = {Reason::kFactsUnknown}},
      {.part = "list",
       .manner = "loses an entry",
       .begin =
           [](World& world, const std::string& image) {
             world.LosesLease(image);
             world.Stirred();
             world.Unlist(image);
           },
       .end =
           [](World& world, const std::string& image) {
             world.Stirred();
             world.Relist(image);
           },
       .causes = {}},
      {.part = "list",
       .manner = "changes every second",
       .begin = Nothing,
       .end = [](World& world, const std::string& image) { world.Relist(image); },
       .causes = {},
       .period = seconds(1),
       .tick =
           [](World& world, const std::string& image) {
             world.Stirred();
             if (world.listed().count(image) == 0) {
               world.Relist(image);
             } else {
               world.LosesLease(image);
               world.Unlist(image);
             }
           }},
      {.part = "disk",
       .manner = "full",
       .begin =
           [](World& world, const std::string&) {
             world.Destroyed(world.BytesAbsent());
             world.node.runtime.SetDiskFull(true);
           },
       .end = [](World& world, const std::string&) { world.node.runtime.SetDiskFull(false); },
       .causes = {Reason::kDiskFull},
       .recovers = kAfterSlow},
      {.part = "disk",
       .manner = "has no room by the rule",
       .begin =
           [](World& world, const std::string&) {
             world.Destroyed(world.BytesAbsent());
             world.node.disk = {.known = true, .capacity_bytes = 100ULL << 30, .available_bytes = 1ULL << 30};
           },
       .end =
           [](World& world, const std::string&) {
             world.node.disk = {
                 .known = true, .capacity_bytes = 100ULL << 30, .available_bytes = 90ULL << 30};
           },
       .causes = {Reason::kDiskPressure, Reason::kDiskFull}},
      {.part = "clock",
       .manner = "jumps forth",
       .begin = [](World& world, const std::string&) { world.node.clock.StepWall(hours(25)); },
       .end = [](World& world, const std::string&) { world.node.clock.StepWall(-hours(25)); },
       .causes = {}},
      {.part = "process",
       .manner = "killed",
       .begin = [](World& world, const std::string&) { world.RestartAgent(); },
       .end = Nothing,
       .causes = {}},
      {.part = "process",
       .manner = "killed again and again",
       .begin = [](World& world, const std::string&) { world.RestartAgent(); },
       .end = Nothing,
       .causes = {},
       .period = seconds(9),
       .tick = [](World& world, const std::string&) { world.RestartAgent(); }},
  };
}

// Each request is answered so.
FaultKind AnsweredWith(const char* manner, int status, const char* retry_after = "",
                       std::set<Reason> causes = {}) {
  return {.part = "API server",
          .manner = manner,
          .begin =
              [status, retry_after](World& world, const std::string&) {
                world.node.Cluster().server.Fail(
                    {.status = status, .retry_after = retry_after, .times = std::numeric_limits<int>::max()});
              },
          .end = [](World& world, const std::string&) { world.node.Cluster().server.Recover(); },
          .causes = std::move(causes),
          .of_cluster = true};
}

// What is here stays usable without it.
std::vector<FaultKind> OfApiServer() {
  return {
      {.part = "API server",
       .manner = "is absent",
       .begin = [](World& world, const std::string&) { world.node.Cluster().server.GoAway(); },
       .end = [](World& world, const std::string&) { world.node.Cluster().server.ComeBack(); },
       .causes = {},
       .of_cluster = true},
      {.part = "API server",
       .manner = "comes and goes",
       .begin = [](World& world, const std::string&) { world.node.Cluster().server.GoAway(); },
       .end = [](World& world, const std::string&) { world.node.Cluster().server.ComeBack(); },
       .causes = {},
       .period = seconds(3),
       .tick = [](World& world, const std::string&) { world.FlapApiServer(); },
       .of_cluster = true},
      AnsweredWith("503 to all", 503),
      AnsweredWith("429 to all", 429, "20"),
      AnsweredWith("403 to all", 403, "", {Reason::kTouchIneffective}),
  };
}

std::vector<FaultKind> All() {
  std::vector<FaultKind> all = OfRuntime();
  for (auto* more : {&OfRegistry, &OfNode, &OfApiServer}) {
    for (FaultKind& kind : more()) all.push_back(std::move(kind));
  }
  return all;
}

}  // namespace

const std::vector<FaultKind>& FaultKinds() {
  static const std::vector<FaultKind> kAll = All();
  return kAll;
}

}  // namespace prefetch::tests::faults
