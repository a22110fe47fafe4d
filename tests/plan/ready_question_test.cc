#include "plan/readiness.h"

#include <gtest/gtest.h>

#include "plan/verdicts.h"

namespace prefetch::plan::ready_question_test {
namespace {

ImageState Image(std::string_view name, bool ready, bool required, std::vector<std::string> sources) {
  ImageState state;
  state.desired = DesiredImage{
      .reference = *image::Reference::Parse(name), .required = required, .sources = std::move(sources)};
  state.ready = state.usable = ready;
  state.reason = ready ? Reason::kPresent : Reason::kNotFound;
  return state;
}

// Two sources: team a is ready, team b is not; one optional image of a is missing.
Snapshot TwoTeams() {
  Snapshot snapshot;
  snapshot.list.hash = "sha256:1";
  base::WallTime loaded{std::chrono::seconds(1)};
  snapshot.list.sources = {{.name = "a.yaml", .loaded_at = loaded}, {.name = "b.yaml", .loaded_at = loaded}};
  snapshot.images = {Image("r.io/a:1", true, true, {"a.yaml"}), Image("r.io/opt:1", false, false, {"a.yaml"}),
                     Image("r.io/b:1", false, true, {"b.yaml"})};
  snapshot.readiness = {.ready = false, .reason = Reason::kImagesNotReady, .message = "1 image is not ready"};
  return snapshot;
}

struct ReadyCase {
  std::string name;
  ReadyQuestion query;
  bool ready;
  std::size_t entries;
};

class ReadyQuestionTest : public testing::TestWithParam<ReadyCase> {};

TEST_P(ReadyQuestionTest, TwoTeams) {
  Snapshot snapshot = TwoTeams();
  ReadyAnswer answer = EvaluateReady(snapshot, GetParam().query);
  EXPECT_EQ(answer.ready, GetParam().ready) << answer.message;
  EXPECT_EQ(answer.entries.size(), GetParam().entries);
  EXPECT_FALSE(answer.message.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Asked, ReadyQuestionTest,
    testing::Values(
        ReadyCase{"Whole", {}, false, 3}, ReadyCase{"TheReadyTeam", {.source = "a.yaml"}, true, 2},
        ReadyCase{"TheOtherTeam", {.source = "b.yaml"}, false, 1},
        ReadyCase{"NoSuchSource", {.source = "c.yaml"}, false, 0},
        ReadyCase{"RightHash", {.hash = "sha256:1", .source = "a.yaml"}, true, 2},
        ReadyCase{"OtherHash", {.hash = "sha256:2", .source = "a.yaml"}, false, 2},
        ReadyCase{"IfNotPresent", {.policy = image::PullPolicy::kIfNotPresent, .source = "a.yaml"}, true, 2},
        ReadyCase{
            "AlwaysIsNotChecked", {.policy = image::PullPolicy::kAlways, .source = "a.yaml"}, false, 2}),
    [](const auto& row) { return row.param.name; });

TEST(ReadyQuestion, ABrokenSourceOfAnotherTeamDoesNotStopThisOne) {
  Snapshot snapshot = TwoTeams();
  snapshot.list.sources[1] = {.name = "b.yaml", .error = "b.yaml:1:1: no"};
  snapshot.readiness.reason = Reason::kListInvalid;
  EXPECT_TRUE(EvaluateReady(snapshot, {.source = "a.yaml"}).ready);
  EXPECT_FALSE(EvaluateReady(snapshot, {.source = "b.yaml"}).ready);
  EXPECT_FALSE(EvaluateReady(snapshot, {}).ready);
  // The runtime's trouble is everybody's, and hides behind that of the list.
  snapshot.readiness.node_problem = "connection refused";
  snapshot.readiness.node_reason = Reason::kRuntimeDown;
  ReadyAnswer answer = EvaluateReady(snapshot, {.source = "a.yaml"});
  EXPECT_FALSE(answer.ready);
  EXPECT_EQ(answer.message, "connection refused");
  EXPECT_EQ(answer.public_message, "RuntimeDown");
}

// As onStale: NotReady says of an image that every pod could start.
TEST(ReadyQuestion, TheDirectivesOfAnEntryHoldForEveryPolicy) {
  Snapshot snapshot = TwoTeams();
  RegistryView view;
  view.agrees = true;
  view.acceptable = false;
  view.reason = Reason::kStale;
  snapshot.images[0].registry = std::make_shared<const RegistryView>(view);
  snapshot.images[0].ready = false;
  snapshot.images[0].reason = Reason::kStale;
  using image::PullPolicy;
  for (PullPolicy policy : {PullPolicy::kNever, PullPolicy::kIfNotPresent, PullPolicy::kAlways}) {
    ReadyAnswer answer = EvaluateReady(snapshot, {.policy = policy, .source = "a.yaml"});
    EXPECT_FALSE(answer.ready);
    EXPECT_NE(answer.message.find("(Stale)"), std::string::npos) << answer.message;
  }
  view.acceptable = true;
  snapshot.images[0].registry = std::make_shared<const RegistryView>(view);
  EXPECT_TRUE(EvaluateReady(snapshot, {.policy = PullPolicy::kAlways, .source = "a.yaml"}).ready);
}

TEST(ReadyQuestion, APolicyIsAskedOfTheVerdictNotOfReadyFor) {
  Snapshot snapshot = TwoTeams();
  snapshot.kubelet.emplace();
  snapshot.images = {Image("r.io/a:1", false, true, {"a.yaml"})};
  snapshot.images[0].usable = true;
  snapshot.images[0].verdicts = tests::Closed();
  EXPECT_FALSE(EvaluateReady(snapshot, {}).ready);
  EXPECT_FALSE(EvaluateReady(snapshot, {.policy = image::PullPolicy::kNever}).ready);
  EXPECT_TRUE(EvaluateReady(snapshot, {.policy = image::PullPolicy::kIfNotPresent}).ready);
  snapshot.images[0].verdicts = tests::Open();
  EXPECT_TRUE(EvaluateReady(snapshot, {.policy = image::PullPolicy::kNever}).ready);
  snapshot.images[0].verdicts = nullptr;
  EXPECT_FALSE(EvaluateReady(snapshot, {.policy = image::PullPolicy::kIfNotPresent}).ready);
}

TEST(ReadyQuestion, ARuntimeThatIsAwayStopsEverybody) {
  Snapshot snapshot = TwoTeams();
  snapshot.readiness = {.ready = false, .reason = Reason::kRuntimeDown, .message = "connection refused"};
  EXPECT_FALSE(EvaluateReady(snapshot, {.source = "a.yaml"}).ready);
}

}  // namespace
}  // namespace prefetch::plan::ready_question_test
