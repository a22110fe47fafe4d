#include "plan/node_gate.h"

#include <gtest/gtest.h>

namespace prefetch::plan::node_gate_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

ImageState Image(const std::string& name, bool ready, Phase phase = Phase::kProgressing,
                 Reason reason = Reason::kPulling, bool settled = false) {
  ImageState image;
  image.desired = plan::DesiredImage{.reference = *image::Reference::Parse(name)};
  image.ready = ready;
  image.phase = ready ? Phase::kReady : phase;
  image.reason = ready ? Reason::kPresent : reason;
  image.message = "why";
  image.settled = settled || ready;
  return image;
}

Snapshot Node(std::vector<ImageState> images) {
  Snapshot snapshot;
  snapshot.list.hash = "sha256:3f9c21aabbcc";
  snapshot.images = std::move(images);
  for (const ImageState& image : snapshot.images) {
    if (!image.desired->required) continue;
    snapshot.readiness.required++;
    if (image.ready) snapshot.readiness.required_ready++;
  }
  snapshot.readiness.ready = snapshot.readiness.required == snapshot.readiness.required_ready;
  snapshot.readiness.reason = snapshot.readiness.ready ? Reason::kAllReady : Reason::kImagesNotReady;
  snapshot.readiness.message = snapshot.readiness.ready ? "all good" : "1 required image is not ready\nmore";
  return snapshot;
}

const GateOptions kAll{.label = true, .condition = true, .taint = true};

TEST(NodeGate, TheTaintGoesWhenOnlyFailuresForGoodAreLeft) {
  ImageState missing = Image("r.io/b:1", false, Phase::kFailing, Reason::kNotFound, true);
  DesiredGate wish =
      DesiredGateFor(Node({Image("r.io/a:1", true), missing}), kAll, seconds(5), TaintHistory::kNotKnown);
  EXPECT_TRUE(wish.may_remove_taint);
  EXPECT_FALSE(wish.gave_up);
  EXPECT_EQ(wish.label, "notready");
  wish = DesiredGateFor(Node({Image("r.io/a:1", false), missing}), kAll, seconds(5), TaintHistory::kNotKnown);
  EXPECT_FALSE(wish.may_remove_taint) << "another image is still on its way";
  missing.phase = Phase::kProgressing;
  EXPECT_FALSE(DesiredGateFor(Node({missing}), kAll, seconds(5), TaintHistory::kNotKnown).may_remove_taint)
      << "it had failed, and is pulled again";
  missing = Image("r.io/b:1", false, Phase::kFailing, Reason::kUnreachable);
  EXPECT_FALSE(DesiredGateFor(Node({missing}), kAll, seconds(5), TaintHistory::kNotKnown).may_remove_taint)
      << "the first failure of a kind that passes";
}

TEST(NodeGate, ARuntimeThatIsAwayIsNoFailureForGood) {
  Snapshot snapshot = Node({Image("r.io/b:1", false, Phase::kFailing, Reason::kNotFound, true)});
  snapshot.readiness.reason = Reason::kRuntimeDown;
  DesiredGate wish = DesiredGateFor(snapshot, kAll, seconds(5), TaintHistory::kNotKnown);
  EXPECT_FALSE(wish.may_remove_taint);
  EXPECT_EQ(wish.condition.status, ConditionStatus::kUnknown);
}

TEST(NodeGate, WhereNoTaintIsTakenAwayNothingIsGivenUp) {
  Snapshot snapshot = Node({Image("r.io/a:1", false)});
  EXPECT_FALSE(DesiredGateFor(snapshot, {.condition = true}, minutes(16), TaintHistory::kNotKnown).gave_up);
}

TEST(NodeGate, OnlyDifferencesAreWrittenAndOnlyWhatIsOptedInto) {
  DesiredGate wish =
      DesiredGateFor(Node({Image("r.io/a:1", true)}), kAll, seconds(5), TaintHistory::kNotKnown);
  ObservedGate same{.label = "ready", .condition = wish.condition, .tainted = false};
  EXPECT_FALSE(WritesFor(wish, same, kAll).Any());
  ObservedGate other{.label = "notready", .condition = std::nullopt, .tainted = true};
  GateUpdates writes = WritesFor(wish, other, kAll);
  EXPECT_EQ(writes.label, "ready");
  EXPECT_EQ(writes.condition, wish.condition);
  EXPECT_TRUE(writes.remove_taint);
  EXPECT_FALSE(WritesFor(wish, other, {}).Any());
  EXPECT_TRUE(WritesFor(wish, other, {.label = true}).label);
  EXPECT_FALSE(WritesFor(wish, other, {.label = true}).remove_taint);
  wish = {.result = "failed"};
  EXPECT_FALSE(WritesFor(wish, {.result = "failed"}, {.result_label = "example.com/images"}).Any());
  EXPECT_FALSE(WritesFor(wish, {}, kAll).result);
}

TEST(NodeGate, EventsAreForRequiredImagesInTroubleThatSomebodyMustMend) {
  ImageState optional = Image("r.io/o:1", false, Phase::kFailing, Reason::kAccessDenied);
  optional.desired.Change([](plan::DesiredImage& desired) { desired.required = false; });
  Snapshot snapshot = Node({Image("r.io/a:1", true), Image("r.io/p:1", false),
                            Image("r.io/d:1", false, Phase::kFailing, Reason::kAccessDenied),
                            Image("r.io/c:1", false, Phase::kFailing, Reason::kRecordedForOthers),
                            Image("r.io/n:1", false, Phase::kFailing, Reason::kUnreachable),
                            Image("r.io/t:1", false, Phase::kFailing, Reason::kTagMissing),
                            Image("r.io/x:1", false, Phase::kFailing, Reason::kNotFound), optional});
  std::vector<GateEvent> events = EventsFor(snapshot, 10);
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[3].reason, "NotFound");
  EXPECT_EQ(events[2].reason, "TagMissing");
  EXPECT_EQ(events[0], (GateEvent{"r.io/d:1", "AccessDenied", "why"}));
  EXPECT_EQ(events[1].reason, "RecordedForOthers");
  EXPECT_EQ(EventsFor(snapshot, 1).size(), 1U);
}

TEST(NodeGate, AChangeThatWasPulledIsNewsForAWhile) {
  const base::WallTime now = base::WallTime(std::chrono::hours(1'000'000));
  auto replaced = [&](const std::string& name, base::Duration ago) {
    ImageState image = Image(name, true);
    image.digest = "sha256:bb";
    RegistryView registry;
    registry.changed_from = "sha256:aa";
    registry.changed_at = now - std::chrono::duration_cast<base::WallTime::duration>(ago);
    image.registry = std::make_shared<const RegistryView>(registry);
    return image;
  };
  ImageState unasked = Image("r.io/u:1", true);
  ImageState unchanged = Image("r.io/s:1", true);
  unchanged.registry = std::make_shared<const RegistryView>();
  Snapshot snapshot =
      Node({unasked, unchanged, replaced("r.io/a:1", minutes(1)), replaced("r.io/old:1", minutes(31)),
            replaced("r.io/later:1", -minutes(5)), replaced("r.io/far:1", -minutes(31))});
  std::vector<GateEvent> changes = ChangesFor(snapshot, now);
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0], (GateEvent{"r.io/a:1", "ImageReplaced",
                                   "the tag had changed: sha256:aa was replaced by sha256:bb"}));
  EXPECT_EQ(changes[1].image, "r.io/later:1");
  EXPECT_TRUE(EventsFor(snapshot, 10).empty());
}

}  // namespace
}  // namespace prefetch::plan::node_gate_test
