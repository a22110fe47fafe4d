#include "plan/decide.h"

#include <gtest/gtest.h>

namespace prefetch::plan::decide_test {
namespace {

using std::chrono::seconds;
const base::TimePoint kNow{seconds(1000)};

Observation Unknown() {
  return {};
}
Observation Absent() {
  return {.known = true};
}
Observation Present(const std::string& id, bool runs_here = true) {
  return {.known = true, .local = Local{.id = id, .runs_here = runs_here}};
}
Observation Artifact(const std::string& id) {
  return {.known = true, .local = Local{.id = id, .is_image = false, .artifact = true}};
}
History WaitsUntil(base::TimePoint until, Reason failed) {
  History past;
  past.not_before = until;
  past.last_failure = failed;
  return past;
}
Observation Packed(const std::string& id) {
  return {.known = true, .local = Local{.id = id, .unpacked = false}};
}
History Pulled(const std::string& id) {
  History past;
  past.pulled_id = id;
  return past;
}
Action Keep(Reason reason) {
  return {.kind = ActionKind::kKeep, .reason = reason};
}
Action Pull(Reason reason) {
  return {.kind = ActionKind::kPull, .reason = reason};
}
Action Wait(base::TimePoint until, Reason reason) {
  return {.kind = ActionKind::kWait, .reason = reason, .until = until};
}

struct DecideCase {
  std::string name;
  Observation seen;
  History past;
  Action expect;
};

TEST(DecideTest, Row) {
  const DecideCase rows[] = {
      {"NothingIsDoneBeforeTheFirstLook", Unknown(), {}, Wait(base::TimePoint::max(), Reason::kFactsUnknown)},
      {"AbsentIsPulled", Absent(), {}, Pull(Reason::kImageAbsent)},
      {"PresentIsKept", Present("a"), {}, Keep(Reason::kPresent)},
      {"PresentIsKeptWhateverFailedBefore", Present("a"),
       WaitsUntil(base::TimePoint::max(), Reason::kInvalidReference), Keep(Reason::kPresent)},
      {"BackOffIsRespected", Absent(), WaitsUntil(kNow + seconds(1), Reason::kUnreachable),
       Wait(kNow + seconds(1), Reason::kUnreachable)},
      {"BackOffEndsAtItsTime", Absent(), WaitsUntil(kNow, Reason::kUnreachable), Pull(Reason::kImageAbsent)},
      {"NeverIsUntilTheListChanges", Absent(), WaitsUntil(base::TimePoint::max(), Reason::kPlatformMismatch),
       Wait(base::TimePoint::max(), Reason::kPlatformMismatch)},
      {"SomebodyElsesWrongPlatformIsRepaired", Present("a", false), {}, Pull(Reason::kWrongPlatform)},
      {"OurOwnWrongPlatformIsWhatThereIs", Present("a", false), Pulled("a"), Keep(Reason::kWrongPlatform)},
      {"WrongPlatformThatCameAfterOursIsRepaired", Present("b", false), Pulled("a"),
       Pull(Reason::kWrongPlatform)},
      {"AnArtifactMayBecomeAnImage", Artifact("a"), {}, Pull(Reason::kNotAnImage)},
      {"AnArtifactIsNotPulledAgainAndAgain", Artifact("a"),
       WaitsUntil(kNow + seconds(1), Reason::kNotAnImage), Wait(kNow + seconds(1), Reason::kNotAnImage)},
      {"NotUnpackedIsPulledAgain", Packed("a"), Pulled("a"), Pull(Reason::kNotUnpacked)},
      {"NotUnpackedIsPulledWhoeverBroughtIt", Packed("a"), {}, Pull(Reason::kNotUnpacked)},
  };
  for (const DecideCase& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(Decide(row.seen, row.past, kNow), row.expect);
  }
}

TEST(SelectionOf, ByPlatform) {
  image::Platform amd64{.os = "linux", .architecture = "amd64"};
  DesiredImage desired;
  EXPECT_EQ(SelectionOf(desired, amd64, nullptr), Selection::kApplies);
  desired.nodes.platforms = {{.os = "linux", .architecture = "arm64"}};
  EXPECT_EQ(SelectionOf(desired, amd64, nullptr), Selection::kOtherPlatform);
  desired.nodes.platforms.push_back(amd64);
  EXPECT_EQ(SelectionOf(desired, amd64, nullptr), Selection::kApplies);
}

TEST(SelectionOf, ByLabels) {
  const image::Platform amd64{.os = "linux", .architecture = "amd64"};
  const image::NodeLabels gpu{{"pool", "gpu"}, {"zone", "a"}}, ci{{"pool", "ci"}}, none;
  DesiredImage desired;
  desired.nodes.node_selector = {{"pool", "gpu"}};
  EXPECT_EQ(SelectionOf(desired, amd64, &gpu), Selection::kApplies);
  EXPECT_EQ(SelectionOf(desired, amd64, &ci), Selection::kNotSelected);
  EXPECT_EQ(SelectionOf(desired, amd64, &none), Selection::kNotSelected);
  EXPECT_EQ(SelectionOf(desired, amd64, nullptr), Selection::kLabelsUnknown);
  desired.nodes.node_selector.emplace("zone", "b");
  EXPECT_EQ(SelectionOf(desired, amd64, &gpu), Selection::kNotSelected) << "all pairs count";
  desired.nodes.platforms = {{.os = "linux", .architecture = "arm64"}};
  EXPECT_EQ(SelectionOf(desired, amd64, nullptr), Selection::kOtherPlatform) << "whatever the labels are";
}

// Two sources name different pools.
TEST(SelectionOf, AnyScopeIsEnough) {
  const image::Platform amd64{.os = "linux", .architecture = "amd64"};
  const image::NodeLabels gpu{{"pool", "gpu"}}, ci{{"pool", "ci"}}, web{{"pool", "web"}};
  DesiredImage desired;
  desired.nodes.node_selector = gpu;
  desired.other_nodes = {{.platforms = {}, .node_selector = ci}};
  EXPECT_EQ(SelectionOf(desired, amd64, &gpu), Selection::kApplies);
  EXPECT_EQ(SelectionOf(desired, amd64, &ci), Selection::kApplies);
  EXPECT_EQ(SelectionOf(desired, amd64, &web), Selection::kNotSelected);
  EXPECT_EQ(SelectionOf(desired, amd64, nullptr), Selection::kLabelsUnknown);
  desired.other_nodes = {{.platforms = {amd64}, .node_selector = {}}};
  EXPECT_EQ(SelectionOf(desired, amd64, nullptr), Selection::kApplies) << "one scope needs no label";
}

RefreshDecision Moved() {
  return {.pull = true, .pull_reason = Reason::kTagMoved};
}

TEST(DecideWithARegistry, WhatHasChangedIsPulled) {
  EXPECT_EQ(Decide(Present("a"), {}, Moved(), kNow), Pull(Reason::kTagMoved));
}

TEST(DecideWithARegistry, BackOffIsRespected) {
  EXPECT_EQ(Decide(Present("a"), WaitsUntil(kNow + seconds(1), Reason::kUnreachable), Moved(), kNow),
            Wait(kNow + seconds(1), Reason::kUnreachable));
}

TEST(DecideWithARegistry, WhatIsAbsentIsPulledForThat) {
  EXPECT_EQ(Decide(Absent(), {}, Moved(), kNow), Pull(Reason::kImageAbsent));
}

Observation FoundByTag(const std::string& id) {
  Observation seen = Present(id);
  seen.local->found_by_tag = true;
  return seen;
}

TEST(DecideWithARegistry, ADigestThatATagBroughtIsPulledOnce) {
  EXPECT_EQ(Decide(FoundByTag("a"), {}, {}, kNow), Pull(Reason::kQueued));
  EXPECT_EQ(Decide(FoundByTag("a"), Pulled("b"), {}, kNow), Pull(Reason::kQueued));
  EXPECT_EQ(Decide(FoundByTag("a"), Pulled("a"), {}, kNow), Keep(Reason::kPresent));
  EXPECT_EQ(Decide(FoundByTag("a"), WaitsUntil(kNow + seconds(1), Reason::kNotFound), {}, kNow),
            Wait(kNow + seconds(1), Reason::kNotFound));
}

TEST(DecideWithARegistry, WhatIsCurrentIsKept) {
  EXPECT_EQ(Decide(Present("a"), {}, {}, kNow), Keep(Reason::kPresent));
}

// Nothing starts, and no back-off ends, before the window opens. The rest stays as it is.
TEST(AwaitWindow, HoldsWhatWouldStartBeforeItOpens) {
  const base::TimePoint opens = kNow + std::chrono::hours(3);
  const Action held = Wait(opens, Reason::kOutsidePullWindow);
  EXPECT_EQ(AwaitWindow({.kind = ActionKind::kPull, .reason = Reason::kImageAbsent}, opens), held);
  EXPECT_EQ(AwaitWindow(Wait(kNow + seconds(1), Reason::kNotFound), opens), held);
  for (const Action& as_it_is : {Keep(Reason::kPresent), Wait(opens + seconds(1), Reason::kNotFound),
                                 Wait(base::TimePoint::max(), Reason::kFactsUnknown),
                                 Wait(base::TimePoint::max(), Reason::kInvalidReference)}) {
    EXPECT_EQ(AwaitWindow(as_it_is, opens), as_it_is);
  }
}

}  // namespace
}  // namespace prefetch::plan::decide_test
