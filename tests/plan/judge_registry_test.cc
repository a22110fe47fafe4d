// What the registry's answers do to readiness, for an image that is here.
#include <gtest/gtest.h>

#include "plan/image_readiness.h"
#include "plan/readiness.h"
#include "plan/registry_story.h"

namespace prefetch::plan::judge_registry_test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

DesiredImage Want() {
  DesiredImage desired;
  desired.reference = *image::Reference::Parse("r.io/a:v1");
  desired.refresh = Refresh::kIfDigestChanged;
  return desired;
}

ImageState Judged(const DesiredImage& desired, const RegistryStory& story, base::Duration at,
                  bool pulling = false) {
  base::TimePoint now = RegistryStory::At(at);
  Observation seen{.known = true, .local = story.here};
  RefreshDecision refresh = DecideRefresh(desired, story.here, story.past, now);
  std::optional<RunningPull> run;
  if (pulling) run = RunningPull{.started_at = now, .progress = {}};
  return EvaluateImage({.desired = desired,
                        .observed = seen,
                        .history = {},
                        .action = Decide(seen, {}, refresh, now),
                        .run = run,
                        .refresh = &refresh,
                        .freshness = &story.past},
                       now, base::WallTime(std::chrono::seconds(1785578400)));
}

TEST(JudgeRegistry, AnUpdateLeavesTheOldImageInUse) {
  ImageState state = Judged(Want(), RegistryStory(Want()).Moved("b", hours(1)), hours(1), true);
  EXPECT_TRUE(state.ready);
  EXPECT_TRUE(state.usable);
  EXPECT_EQ(state.reason, Reason::kPresent);
  EXPECT_EQ(state.pull.state, PullState::kPulling);
  EXPECT_FALSE(state.registry->fresh);
  EXPECT_EQ(state.registry->reason, Reason::kTagMoved);
  EXPECT_EQ(state.registry->digest, "b");
  EXPECT_EQ(state.digest, "a");
  EXPECT_NE(state.registry->message.find("has changed"), std::string::npos);
}

TEST(JudgeRegistry, AnOutageChangesFreshNotReady) {
  RegistryStory story(Want());
  story.Same("a", {}).Unreachable(hours(1)).Unreachable(hours(2));
  ImageState state = Judged(Want(), story, hours(6));
  EXPECT_TRUE(state.ready);
  EXPECT_FALSE(state.registry->fresh);
  EXPECT_EQ(state.registry->answer, image::RegistryAnswerKind::kUnreachable);
}

TEST(JudgeRegistry, UnlessADirectiveSaysSo) {
  DesiredImage desired = Want();
  desired.on_unreachable = OnFailure::kNotReady;
  RegistryStory story(desired);
  story.Same("a", {}).Unreachable(hours(1)).Unreachable(hours(2));
  ImageState state = Judged(desired, story, hours(2));
  EXPECT_FALSE(state.ready);
  EXPECT_TRUE(state.usable);
  EXPECT_EQ(state.phase, Phase::kFailing);
  EXPECT_EQ(state.reason, Reason::kUnreachable);
  EXPECT_EQ(state.message, state.registry->message);
}

TEST(JudgeRegistry, ReadyForAlwaysWaitsForTheFirstAnswer) {
  DesiredImage desired = Want();
  desired.ready_for = image::PullPolicy::kAlways;
  RegistryStory story(desired);
  ImageState state = Judged(desired, story, minutes(1));
  EXPECT_FALSE(state.ready);
  EXPECT_EQ(state.phase, Phase::kProgressing);
  EXPECT_EQ(state.reason, Reason::kNotChecked);
  EXPECT_TRUE(Judged(desired, story.Same("a", minutes(2)), minutes(2)).ready);
  EXPECT_EQ(Judged(desired, story, hours(5)).reason, Reason::kCheckOverdue);
}

TEST(JudgeRegistry, TheMessageOfAChangeThatIsNotPulledSaysWhy) {
  DesiredImage desired = Want();
  desired.refresh = Refresh::kIfNotPresent;
  desired.ready_for = image::PullPolicy::kAlways;
  RegistryStory story(desired);
  ImageState state = Judged(desired, story.Same("a", {}).Moved("b", hours(1)), hours(1));
  EXPECT_FALSE(state.ready);
  EXPECT_EQ(state.pull.state, PullState::kNone);
  EXPECT_NE(state.message.find("refresh is IfNotPresent"), std::string::npos) << state.message;
}

Snapshot Of(ImageState state) {
  Snapshot snapshot;
  snapshot.readiness = {.ready = true, .reason = Reason::kAllReady};
  snapshot.images.push_back(std::move(state));
  return snapshot;
}

TEST(GateForAlways, GoesByWhatTheRegistrySaid) {
  RegistryStory story(Want());
  ReadyQuestion query{.policy = image::PullPolicy::kAlways, .hash = "", .source = ""};
  Snapshot before = Of(Judged(Want(), story, minutes(1)));
  ReadyAnswer not_yet = EvaluateReady(before, query);
  EXPECT_FALSE(not_yet.ready);
  EXPECT_NE(not_yet.message.find("NotChecked"), std::string::npos) << not_yet.message;
  Snapshot after = Of(Judged(Want(), story.Same("a", minutes(2)), minutes(2)));
  EXPECT_TRUE(EvaluateReady(after, query).ready);
}

TEST(GateForAlways, SaysWhereNobodyIsAsked) {
  Observation seen{.known = true, .local = Local{.id = "i", .digest = "a"}};
  DesiredImage desired = Want();
  desired.refresh = Refresh::kIfNotPresent;
  Snapshot snapshot = Of(EvaluateImage(
      {.desired = desired, .observed = seen, .history = {}, .action = Decide(seen, {}, {})}, {}, {}));
  ReadyAnswer answer =
      EvaluateReady(snapshot, {.policy = image::PullPolicy::kAlways, .hash = "", .source = ""});
  EXPECT_FALSE(answer.ready);
  EXPECT_NE(answer.message.find("readyFor: Always"), std::string::npos) << answer.message;
}

}  // namespace
}  // namespace prefetch::plan::judge_registry_test
