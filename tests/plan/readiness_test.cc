#include "plan/readiness.h"

#include <gtest/gtest.h>

#include "plan/image_readiness.h"
#include "plan/registry_story.h"
#include "plan/verdicts.h"
#include "rows.h"

namespace prefetch::plan::readiness_test {
namespace {

using enum Phase;
using image::PullPolicy;
using kubelet::VerdictReason;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

const base::TimePoint kNow{seconds(100000)};
const base::WallTime kWall{seconds(1785578400)};

DesiredImage Want(std::string_view name, bool required = true) {
  DesiredImage desired;
  desired.reference = *image::Reference::Parse(name);
  desired.required = required;
  return desired;
}

struct EntryRig {
  DesiredImage desired = Want("r.io/a:v1");
  Observation seen{.known = true};
  History past;
  std::optional<ObservedProgress> progress;  // of a pull that runs
  bool no_disk_space = false;
  bool waits_for_disk_space = false;
  DiskSpace disk;
  Limits limits;
  std::optional<Hold> held;
  Selection selection = Selection::kApplies;
  bool labels_pending = false;
  bool has_kubelet = false;
  VerdictsPtr verdicts;
  TouchStatus touch;
  std::optional<base::WallTime> window_opens;  // set: its windows are closed

  ImageState Judged() const {
    const EntryState entry{
        .desired = desired,
        .selection = selection,
        .observed = seen,
        .history = past,
        .verdict = {.shown = {verdicts}, .newest = {}, .image_id = ""},
        .touch_status = touch,
        .action = window_opens ? AwaitWindow({.kind = ActionKind::kPull}, kNow) : Decide(seen, past, kNow),
        .window_opens = window_opens,
        .no_disk_space = no_disk_space,
        .waits_for_disk_space = waits_for_disk_space,
        .hold = held};
    return EvaluateImage({.entry = entry,
                          .labels_pending = labels_pending,
                          .progress = progress ? &*progress : nullptr,
                          .has_kubelet = has_kubelet,
                          .disk = disk,
                          .limits = limits},
                         kNow, kWall);
  }
};

struct Said {
  bool ready;
  Phase phase;
  Reason reason;
  PullState pull;
  friend bool operator==(const Said&, const Said&) = default;
};
Said Short(const ImageState& state) {
  return {state.ready, state.phase, state.reason, state.pull.state};
}

struct ImageEvaluation : testing::Test {
  EntryRig rig;
};

TEST_F(ImageEvaluation, AClosedImageThatIsBeingTouchedIsOnItsWay) {
  rig.has_kubelet = true;
  rig.seen.local = Local{.id = "sha256:a"};
  rig.verdicts = tests::Closed();
  for (TouchState state : {TouchState::kDue, TouchState::kRunning, TouchState::kWaiting}) {
    rig.touch.state = state;
    EXPECT_EQ(Short(rig.Judged()), (Said{false, kProgressing, Reason::kTouching, PullState::kNone}));
  }
}

TEST_F(ImageEvaluation, ToldWhatItWaitsFor) {
  EXPECT_EQ(rig.Judged().message, "waits for its turn");
  rig.waits_for_disk_space = true;
  EXPECT_EQ(Short(rig.Judged()), (Said{false, kProgressing, Reason::kQueued, PullState::kQueued}));
  EXPECT_EQ(rig.Judged().message, "waits for room on the disk: running pulls may need what is left of it");
}

TEST_F(ImageEvaluation, AnArtifactIsNamedWithoutAnErrorToo) {
  rig.seen.local = Local{.id = "sha256:a", .artifact = true};
  rig.past = AfterFailure({}, {.reason = Reason::kNotAnImage}, kNow, 0);
  EXPECT_EQ(rig.Judged().message,
            "the runtime has an OCI artifact under this name: no container starts from it");
}

TEST_F(ImageEvaluation, NotLookedAtYet) {
  rig.seen.known = false;
  EXPECT_EQ(Short(rig.Judged()), (Said{false, kProgressing, Reason::kFactsUnknown, PullState::kNone}));
}

TEST_F(ImageEvaluation, PresentIsReady) {
  rig.seen.local = Local{.id = "sha256:a", .digest = "sha256:d", .size_bytes = 5, .aliases = {"r.io/b:v1"}};
  ImageState state = rig.Judged();
  EXPECT_EQ(state.aliases, rig.seen.local->aliases);
  EXPECT_EQ(Short(state), (Said{true, kReady, Reason::kPresent, PullState::kNone}));
  EXPECT_TRUE(state.present);
  EXPECT_EQ(state.origin.with, PulledWith::kUnknown);
}

TEST_F(ImageEvaluation, SaysWithWhatItWasPulledOnlyOfWhatWePulled) {
  rig.past = AfterSuccess(
      {}, {.local = {.id = "sha256:a"}, .origin = {.with = PulledWith::kProvider, .credential = "acme"}},
      kNow);
  rig.seen.local = Local{.id = "sha256:a"};
  EXPECT_EQ(rig.Judged().origin.with, PulledWith::kProvider);
  EXPECT_EQ(rig.Judged().pull.state, PullState::kDone);
  rig.seen.local->id = "sha256:b";
  EXPECT_EQ(rig.Judged().origin.with, PulledWith::kUnknown);
}

struct VerdictRow {
  std::string name;
  VerdictsPtr verdicts;
  bool ready;
  Phase phase;
  Reason reason;
  PullPolicy ready_for = PullPolicy::kNever;
};

TEST_TABLE(VerdictOfAnImageThatIsHere, IsJudged, VerdictRow) {
  EntryRig rig;
  rig.seen.local = Local{.id = "sha256:a"};
  rig.desired.ready_for = row.ready_for;
  rig.has_kubelet = true;
  rig.verdicts = row.verdicts;
  ImageState state = rig.Judged();
  EXPECT_EQ(Short(state), (Said{row.ready, row.phase, row.reason, PullState::kNone}));
  EXPECT_TRUE(state.present);
  EXPECT_FALSE(state.message.empty());
}

TEST_ROWS(Rows, VerdictOfAnImageThatIsHere,
          {"NotReadYet", nullptr, false, kProgressing, Reason::kFactsUnknown},
          {"OlderThanTheImage", tests::Closed(VerdictReason::kImageAbsent), false, kProgressing,
           Reason::kFactsUnknown},
          {"Preloaded", tests::Open(), true, kReady, Reason::kPreloaded},
          {"OpenToNode", tests::Open(VerdictReason::kOpenToNode), true, kReady, Reason::kOpenToNode},
          {"Closed", tests::Closed(), false, kFailing, Reason::kRecordedForOthers},
          {"ClosedUnderAnotherName", tests::Closed(VerdictReason::kRecordedUnderOtherName), false, kFailing,
           Reason::kRecordedUnderOtherName},
          {"ClosedIsEnoughForIfNotPresent", tests::Closed(), true, kReady, Reason::kRecordedForOthers,
           PullPolicy::kIfNotPresent},
          {"Unknown", tests::Unknown(), false, kFailing, Reason::kFactsUnknown},
          {"UnknownIsNotEnoughForIfNotPresent", tests::Unknown(), false, kFailing, Reason::kFactsUnknown,
           PullPolicy::kIfNotPresent},
          {"AlwaysIsNotChecked", tests::Open(), false, kFailing, Reason::kPolicyAlways, PullPolicy::kAlways});

// Two sources ask, one for Always and one for Never: both have to be met.
TEST_F(ImageEvaluation, AlwaysForOneSourceDoesNotHideFromAnotherThatKubeletRefuses) {
  rig.seen.local = Local{.id = "sha256:a"};
  rig.has_kubelet = true;
  rig.desired.ready_for = PullPolicy::kAlways;
  rig.desired.also_for_never = true;
  rig.verdicts = tests::Closed();
  EXPECT_EQ(Short(rig.Judged()), (Said{false, kFailing, Reason::kRecordedForOthers, PullState::kNone}));
}

TEST_F(ImageEvaluation, AnAbsentImageIsAbsentWhateverKubeletSays) {
  rig.has_kubelet = true;
  rig.verdicts = tests::Open();
  EXPECT_EQ(Short(rig.Judged()), (Said{false, kProgressing, Reason::kQueued, PullState::kQueued}));
  EXPECT_FALSE(IsReadyFor(rig.Judged(), PullPolicy::kIfNotPresent, true));
}

TEST_F(ImageEvaluation, RunningShowsBytes) {
  rig.progress = {
      .bytes_done = 412'000'000, .bytes_total = 680'000'000, .seen = true, .bytes_per_second = 38e6};
  ImageState state = rig.Judged();
  EXPECT_EQ(Short(state), (Said{false, kProgressing, Reason::kPulling, PullState::kPulling}));
  EXPECT_EQ(state.message, "412 MB of 680 MB, 38 MB/s");
  rig.progress->unpacking = true;
  EXPECT_EQ(Short(rig.Judged()), (Said{false, kProgressing, Reason::kUnpacking, PullState::kUnpacking}));
}

TEST_F(ImageEvaluation, DeniedSaysTheRegistrysWordsAndWhenItIsTriedAgain) {
  rig.past = AfterFailure({}, {.reason = Reason::kAccessDenied, .error = "401 from r.io"}, kNow, 0);
  ImageState state = rig.Judged();
  EXPECT_EQ(Short(state), (Said{false, kFailing, Reason::kAccessDenied, PullState::kWaiting}));
  EXPECT_EQ(state.message, "401 from r.io");
  EXPECT_EQ(state.pull.next_attempt_at, kWall + minutes(5));
  EXPECT_TRUE(state.settled);
}

// `wait` and the node gate take what has settled and fails for lost.
TEST_F(ImageEvaluation, WhatWasReadyOnceHasNotFailedForGoodWithAPassingFailure) {
  rig.past.settled = true;
  EXPECT_TRUE(rig.Judged().settled) << "on its way";
  rig.past = AfterFailure(rig.past, {.reason = Reason::kServerError, .error = "500"}, kNow, 0.5);
  rig.past = AfterFailure(rig.past, {.reason = Reason::kServerError, .error = "500"}, kNow, 0.5);
  EXPECT_EQ(rig.Judged().phase, kFailing);
  EXPECT_FALSE(rig.Judged().settled);
  for (int i = 2; i < 6; i++)
    rig.past = AfterFailure(rig.past, {.reason = Reason::kServerError, .error = "500"}, kNow, 0.5);
  EXPECT_TRUE(rig.Judged().settled);
  rig.past = {.settled = true};
  rig.held = Hold{Reason::kUnreachable, kNow + minutes(9)};
  EXPECT_EQ(rig.Judged().phase, kFailing);
  EXPECT_FALSE(rig.Judged().settled) << "others' trouble";
  rig.held.reset();
  rig.no_disk_space = true;
  EXPECT_TRUE(rig.Judged().settled);
}

TEST_F(ImageEvaluation, NoRoom) {
  rig.no_disk_space = true;
  EXPECT_EQ(Short(rig.Judged()), (Said{false, kFailing, Reason::kDiskPressure, PullState::kQueued}));
  constexpr std::uint64_t kGB = 1'000'000'000;
  rig.past.disk = {.compressed = kGB, .kept_bytes = kGB};  // it needs nothing that is known
  rig.disk = {.known = true, .capacity_bytes = 100 * kGB, .available_bytes = 19 * kGB};
  EXPECT_EQ(rig.Judged().message,
            "the disk rule leaves nothing to images: 19.0 GB of the image filesystem's 100 GB are free, and "
            "diskHighPercent (80 %) keeps 20.0 GB free");
  rig.past.disk.proven_need = 13 * kGB;
  rig.disk.available_bytes = 40 * kGB;
  rig.limits = WithThreshold({}, 70);
  EXPECT_EQ(
      rig.Judged().message,
      "it needs at least 12.0 GB, and the disk rule leaves 10.0 GB to images: 40.0 GB of the image "
      "filesystem's 100 GB are free, and kubelet's imageGCLowThresholdPercent (70 %) keeps 30.0 GB free");
  rig.limits = WithThreshold({.disk_min_free_bytes = 35 * kGB, .disk_high_percent = 75}, 70);
  EXPECT_EQ(rig.Judged().message,
            "it needs at least 12.0 GB, and the disk rule leaves 5.0 GB to images: 40.0 GB of the image "
            "filesystem's 100 GB are free, and diskMinFreeBytes keeps 35.0 GB free");
}

TEST_F(ImageEvaluation, HeldByItsRegistry) {
  rig.held = Hold{Reason::kRateLimited, kNow + minutes(9)};
  EXPECT_EQ(Short(rig.Judged()), (Said{false, kFailing, Reason::kRateLimited, PullState::kQueued}));
  EXPECT_EQ(rig.Judged().message, "waits, since the registry has trouble with other images (RateLimited)");
  rig.past = AfterFailure({}, {.reason = Reason::kUnreachable, .error = "no route"}, kNow, 0);
  EXPECT_EQ(
      rig.Judged().message,
      "no route; the next try waits, since the registry has trouble with other images, too (RateLimited)");
  EXPECT_EQ(rig.Judged().pull.state, PullState::kWaiting);
  EXPECT_EQ(rig.Judged().pull.next_attempt_at, kWall + minutes(9));
  rig.held = Hold{Reason::kDiskFull, kNow + minutes(9)};
  EXPECT_EQ(rig.Judged().message, "no route; the next try waits until the disk has room again (DiskFull)");
}

ImageList List(std::vector<ListSource> sources) {
  ImageList list;
  list.sources = std::move(sources);
  return list;
}
ListSource Good() {
  return {.name = "a.yaml", .loaded_at = kWall};
}
ListSource Broken() {
  return {.name = "b.yaml", .error = "b.yaml:1:1: no"};
}

ImageState State(bool ready, bool required = true, Phase phase = kProgressing) {
  ImageState state;
  state.desired = Want("r.io/a:v1", required);
  state.ready = ready;
  state.phase = ready ? kReady : phase;
  state.reason = ready ? Reason::kPresent : Reason::kNotFound;
  return state;
}

struct NodeCase {
  std::string name;
  bool ready;
  Phase phase;
  Reason reason;
  std::vector<ImageState> images;
  ImageList list = List({Good()});
  bool up = true, ever_up = true;
  std::optional<base::Duration> down_for = {};
};

TEST_TABLE(SummarizeTest, Row, NodeCase) {
  Readiness out = Summarize({.list = row.list,
                             .list_loaded = true,
                             .runtime_ever_up = row.ever_up,
                             .runtime_down_for = row.down_for,
                             .runtime_error = row.up ? "" : "connection refused"},
                            row.images);
  EXPECT_EQ(out.ready, row.ready);
  EXPECT_EQ(out.phase, row.phase);
  EXPECT_EQ(base::EnumName(out.reason), base::EnumName(row.reason));
  EXPECT_FALSE(out.message.empty());
}

using States = std::vector<ImageState>;
TEST_ROWS(Rows, SummarizeTest, {"AllReady", true, kReady, Reason::kAllReady, States{State(true)}},
          {"EmptyListIsReady", true, kReady, Reason::kEmptyList, States{}},
          {"OneMissing", false, kProgressing, Reason::kImagesNotReady, States{State(true), State(false)}},
          {"OneFailing", false, kFailing, Reason::kImagesNotReady,
           States{State(false), State(false, true, kFailing)}},
          {"OptionalOnesDoNotCount", true, kReady, Reason::kAllReady,
           States{State(true), State(false, false, kFailing)}},
          {"NoSource", false, kFailing, Reason::kListEmptyOfSources, States{}, List({})},
          {"BrokenSourceWithNothingInForce", false, kFailing, Reason::kListInvalid, States{State(true)},
           List({Good(), Broken()})},
          {"RuntimeNeverAnswered", false, kFailing, Reason::kRuntimeDown, States{State(true)}, List({Good()}),
           false, false},
          {"RuntimeAwayForAMomentTakesNothingAway", true, kReady, Reason::kAllReady, States{State(true)},
           List({Good()}), false, true, minutes(4)},
          {"RuntimeAwayForLong", false, kFailing, Reason::kRuntimeDown, States{State(true)}, List({Good()}),
           false, true, minutes(5)});

TEST(Summarize, BrokenNewVersionKeepsTheLastGoodOneInForce) {
  ListSource source = Good();
  source.error = "a.yaml:3:1: broken";
  Readiness out =
      Summarize({.list = List({source}), .list_loaded = true, .runtime_ever_up = true}, {State(true)});
  EXPECT_TRUE(out.ready);
}

TEST(Summarize, ANodeWhoseKubeletWouldExitIsNotReady) {
  ImageList list = List({Good()});
  NodeFacts node{.list = list,
                 .list_loaded = true,
                 .runtime_ever_up = true,
                 .credentials_error = "p.yaml:4:3: providers[0].matchImages: is required"};
  Readiness out = Summarize(node, {State(true)});
  EXPECT_EQ(out.reason, Reason::kCredentialsInvalid);
  // A list that cannot be used, and a runtime that is away, come first.
  node.runtime_ever_up = false;
  node.runtime_error = "refused";
  EXPECT_EQ(Summarize(node, {}).reason, Reason::kRuntimeDown);
  EXPECT_EQ(Summarize(node, {}).node_problem, "");
  // A list that cannot be used comes first; the problem is kept for questions about another source.
  ListSource bad = Good();
  bad.loaded_at.reset();
  list = List({Good(), bad});
  out = Summarize(node, {});
  EXPECT_EQ(out.reason, Reason::kListInvalid);
  EXPECT_EQ(out.node_problem, "refused");
  EXPECT_EQ(out.node_reason, Reason::kRuntimeDown);
  node.runtime_ever_up = true;
  node.credentials_error.clear();
  EXPECT_EQ(Summarize(node, {}).node_problem, "");
}

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

TEST_TABLE(ReadyQuestionTest, TwoTeams, ReadyCase) {
  Snapshot snapshot = TwoTeams();
  ReadyAnswer answer = EvaluateReady(snapshot, row.query);
  EXPECT_EQ(answer.ready, row.ready) << answer.message;
  EXPECT_EQ(answer.entries.size(), row.entries);
  EXPECT_FALSE(answer.message.empty());
}

TEST_ROWS(Asked, ReadyQuestionTest, {"Whole", {}, false, 3}, {"TheReadyTeam", {.source = "a.yaml"}, true, 2},
          {"TheOtherTeam", {.source = "b.yaml"}, false, 1}, {"NoSuchSource", {.source = "c.yaml"}, false, 0},
          {"RightHash", {.hash = "sha256:1", .source = "a.yaml"}, true, 2},
          {"OtherHash", {.hash = "sha256:2", .source = "a.yaml"}, false, 2},
          {"IfNotPresent", {.policy = image::PullPolicy::kIfNotPresent, .source = "a.yaml"}, true, 2},
          {"AlwaysIsNotChecked", {.policy = image::PullPolicy::kAlways, .source = "a.yaml"}, false, 2});

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

// Effects of the registry's answers on readiness, for an image that is here.

DesiredImage JudgeRegistryWant() {
  DesiredImage desired;
  desired.reference = *image::Reference::Parse("r.io/a:v1");
  desired.refresh = Refresh::kIfDigestChanged;
  return desired;
}

ImageState Judged(const DesiredImage& desired, const RegistryStory& story, base::Duration at) {
  base::TimePoint now = RegistryStory::At(at);
  Observation seen{.known = true, .local = story.here};
  RefreshDecision refresh = DecideRefresh(desired, story.here, story.past, now);
  const EntryState entry{.desired = desired,
                         .observed = seen,
                         .history = {},
                         .freshness = story.past,
                         .refresh = refresh,
                         .action = Decide(seen, {}, refresh, now)};
  return EvaluateImage({.entry = entry, .asks_registry = true}, now,
                       base::WallTime(std::chrono::seconds(1785578400)));
}

TEST(JudgeRegistry, ReadyForAlwaysWaitsForTheFirstAnswer) {
  DesiredImage desired = JudgeRegistryWant();
  desired.ready_for = image::PullPolicy::kAlways;
  RegistryStory story(desired);
  ImageState state = Judged(desired, story, minutes(1));
  EXPECT_FALSE(state.ready);
  EXPECT_EQ(state.phase, kProgressing);
  EXPECT_EQ(state.reason, Reason::kNotChecked);
  EXPECT_TRUE(Judged(desired, story.Same("a", minutes(2)), minutes(2)).ready);
  EXPECT_EQ(Judged(desired, story, hours(5)).reason, Reason::kCheckOverdue);
  const std::string overdue = Judged(desired, story, hours(5)).message;
  EXPECT_NE(overdue.find("has not agreed for longer than two refresh intervals"), std::string::npos)
      << overdue;
}

TEST(JudgeRegistry, TheMessageOfAChangeThatIsNotPulledSaysWhy) {
  DesiredImage desired = JudgeRegistryWant();
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
  RegistryStory story(JudgeRegistryWant());
  ReadyQuestion query{.policy = image::PullPolicy::kAlways, .hash = "", .source = ""};
  Snapshot before = Of(Judged(JudgeRegistryWant(), story, minutes(1)));
  ReadyAnswer not_yet = EvaluateReady(before, query);
  EXPECT_FALSE(not_yet.ready);
  EXPECT_NE(not_yet.message.find("NotChecked"), std::string::npos) << not_yet.message;
  Snapshot after = Of(Judged(JudgeRegistryWant(), story.Same("a", minutes(2)), minutes(2)));
  EXPECT_TRUE(EvaluateReady(after, query).ready);
}

TEST(GateForAlways, SaysWhereNobodyIsAsked) {
  Observation seen{.known = true, .local = Local{.id = "i", .digest = "a"}};
  DesiredImage desired = JudgeRegistryWant();
  desired.refresh = Refresh::kIfNotPresent;
  const EntryState entry{.desired = desired, .observed = seen, .history = {}, .action = Decide(seen, {}, {})};
  Snapshot snapshot = Of(EvaluateImage({.entry = entry}, {}, {}));
  ReadyAnswer answer =
      EvaluateReady(snapshot, {.policy = image::PullPolicy::kAlways, .hash = "", .source = ""});
  EXPECT_FALSE(answer.ready);
  EXPECT_NE(answer.message.find("readyFor: Always"), std::string::npos) << answer.message;
}

}  // namespace
}  // namespace prefetch::plan::readiness_test
