#include "faults/kinds.h"

namespace prefetch::tests::faults {

std::vector<FaultKind> OfNode() {
  return {
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
      {"list", "loses an entry",
       [](World& world, const std::string& image) {
         world.LosesLease(image);
         world.Stirred();
         world.Unlist(image);
       },
       [](World& world, const std::string& image) {
         world.Stirred();
         world.Relist(image);
       }},
      {.part = "list",
       .manner = "changes every second",
       .begin = Nothing,
       .end = [](World& world, const std::string& image) { world.Relist(image); },
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
       .recovers = kAfterSlow,
       .shows = kShownAtOnce},
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
       .causes = {Reason::kDiskPressure, Reason::kDiskFull},
       .shows = kShownAtOnce},
      {"clock", "jumps forth", [](World& world, const std::string&) { world.node.clock.StepWall(hours(25)); },
       [](World& world, const std::string&) { world.node.clock.StepWall(-hours(25)); }},
      {"process", "killed", [](World& world, const std::string&) { world.RestartAgent(); }, Nothing},
      {.part = "process",
       .manner = "killed again and again",
       .begin = [](World& world, const std::string&) { world.RestartAgent(); },
       .end = Nothing,
       .period = seconds(9),
       .tick = [](World& world, const std::string&) { world.RestartAgent(); }},
      {"clock", "jumps back", [](World& world, const std::string&) { world.node.clock.StepWall(-hours(25)); },
       [](World& world, const std::string&) { world.node.clock.StepWall(hours(25)); }},
      {.part = "kubelet",
       .manner = "restarts again and again",
       .begin = Nothing,
       .end = [](World& world, const std::string&) { world.KubeletStarts(); },
       .causes = {Reason::kFactsUnknown},
       .period = seconds(4),
       .tick =
           [](World& world, const std::string&) {
             world.KubeletStops();
             world.KubeletStarts();
           }},
  };
}

}  // namespace prefetch::tests::faults
