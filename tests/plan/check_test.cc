// plan::DecideCheck: facts about one image and one pod → the next question, or the verdict.
#include "plan/check.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "plan/check_words.h"
#include "rows.h"

namespace prefetch::plan::check_test {
namespace {

using image::PullPolicy;
using kubelet::VerdictReason;
using kubelet::VerdictResult;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

using Kind = image::RegistryAnswerKind;

const std::string kApp = "reg.example.test/team/app:v1";

// A question over the agent's socket about an image that is listed, here and usable, with all facts found.
CheckFacts Here(PullPolicy policy) {
  CheckFacts facts{.image = kApp,
                   .policy = policy,
                   .rights = {.unlisted = true, .registry = true, .pull = false},
                   .reference = image::Reference::Parse(kApp).value(),
                   .listed = true,
                   .asks_registries = true,
                   .kubelet = CheckKubelet::kKnown};
  ImageState image;
  image.desired = DesiredImage{.reference = *facts.reference};
  image.present = image.usable = true;
  image.reason = Reason::kPresent;
  image.message = "what the agent says of it";
  facts.runtime = CheckRuntime{.error = std::nullopt, .image = image};
  facts.verdict = kubelet::Verdict{VerdictResult::kStarts, VerdictReason::kPreloaded, "5: no record", "Why."};
  facts.registry = image::RegistryAnswer{.kind = Kind::kSame};
  return facts;
}

ImageState& Image(CheckFacts& facts) {
  return *facts.runtime->image;
}
void Gone(CheckFacts& facts) {
  Image(facts).present = Image(facts).usable = false;
  Image(facts).reason = Reason::kImageAbsent;
  bool never = facts.policy == PullPolicy::kNever;
  facts.verdict = kubelet::Verdict{never ? VerdictResult::kRefused : VerdictResult::kPulls,
                                   VerdictReason::kImageAbsent, "1: absent", "Why."};
}
void Unusable(CheckFacts& facts) {
  Image(facts).usable = false;
  Image(facts).reason = Reason::kWrongPlatform;
}
void Closed(CheckFacts& facts) {
  facts.verdict->result =
      facts.policy == PullPolicy::kNever ? VerdictResult::kRefused : VerdictResult::kPulls;
  facts.verdict->reason = VerdictReason::kRecordedForOthers;
}
void NoKubelet(CheckFacts& facts) {
  facts.kubelet = CheckKubelet::kNone;
  facts.verdict.reset();
}
// A pod that asks over the pod network.
void Neighbour(CheckFacts& facts) {
  facts.rights = {};
  facts.registry.reset();
}
void Says(CheckFacts& facts, Kind kind) {
  facts.registry = image::RegistryAnswer{.kind = kind, .message = "as it says"};
}
void Heard(CheckFacts& facts, bool agrees) {
  RegistryView view{.agrees = agrees};
  view.always_reason = Reason::kTagMissing;
  view.always_message = "the tag is gone";
  Image(facts).registry = std::make_shared<const RegistryView>(view);
}
// With a pull secret of the agent's.
void Lent(CheckFacts& facts) {
  RegistryView view = *Image(facts).registry;
  view.restricted = true;
  Image(facts).registry = std::make_shared<const RegistryView>(view);
}
void Away(CheckFacts& facts) {
  facts.runtime->error = "it did not answer";
  facts.runtime_error = "nobody listens";
}

struct CheckCase {
  std::string name;
  PullPolicy policy;
  std::function<void(CheckFacts&)> change;
  // "needs Registry"; or as tests::Told: "yes Starts Present".
  std::string expect;
  std::string message = {};  // a part of it
};

const char* NeedName(CheckNeed need) {
  switch (need) {
    case CheckNeed::kNothing:
      return "Nothing";
    case CheckNeed::kRuntime:
      return "Runtime";
    case CheckNeed::kVerdict:
      return "Verdict";
    case CheckNeed::kRegistry:
      return "Registry";
    case CheckNeed::kPull:
      return "Pull";
  }
  return "";
}

std::string ToldOf(const CheckStep& step) {
  return step.need == CheckNeed::kNothing ? tests::Told(step.decision)
                                          : std::string("needs ") + NeedName(step.need);
}

TEST_TABLE(CheckTest, Row, CheckCase) {
  CheckFacts facts = Here(row.policy);
  row.change(facts);
  CheckStep step = DecideCheck(facts);
  EXPECT_EQ(ToldOf(step), row.expect);
  EXPECT_NE(step.decision.message.find(row.message), std::string::npos) << step.decision.message;
  EXPECT_EQ(step.decision.listed, step.need == CheckNeed::kNothing && facts.listed);
}

constexpr auto kNever = PullPolicy::kNever;
constexpr auto kIfNotPresent = PullPolicy::kIfNotPresent;
constexpr auto kAlways = PullPolicy::kAlways;
using F = CheckFacts;

TEST_ROWS(BeforeTheVerdict, CheckTest,
          {"NoName", kNever, [](F& f) { f.reference.reset(), f.name_error = "upper case"; },
           "no Refused InvalidImageName", "kubelet refuses the name (InvalidImageName): upper case"},
          {"NotListed", kNever, [](F& f) { Neighbour(f), f.listed = false, f.runtime.reset(); },
           "no Unknown NotListed", "not on this node's list"},
          {"ListedForANeighbour", kNever, [](F& f) { Neighbour(f), f.runtime.reset(); }, "needs Runtime"},
          {"Unlisted", kNever, [](F& f) { f.listed = false, f.runtime.reset(); }, "needs Runtime"},
          {"UnlistedAndNoRuntime", kAlways, [](F& f) { Away(f), f.listed = false, f.runtime->image.reset(); },
           "no Unknown RuntimeDown", "could not be asked: it did not answer"},
          {"ARuntimeThatRestarts", kNever, Away, "yes Starts Preloaded",
           "does not answer: this result is from the last look"},
          {"ARuntimeThatIsAway", kNever, [](F& f) { Away(f), f.runtime_down = true; },
           "no Unknown RuntimeDown", "could not be asked: nobody listens"},
          {"ARuntimeThatIsBack", kNever, [](F& f) { f.runtime_down = true; }, "yes Starts Preloaded"},
          {"NeverTold", kAlways, [](F& f) { Away(f), Gone(f), Image(f).reason = Reason::kFactsUnknown; },
           "no Unknown RuntimeDown"},
          {"ToldOfBefore", kNever, [](F& f) { Away(f), Image(f).reason = Reason::kFactsUnknown; },
           "yes Starts Preloaded"},
          {"NotAskedYet", kNever,
           [](F& f) { Away(f), Gone(f), Image(f).reason = Reason::kFactsUnknown, f.runtime_error.clear(); },
           "no Unknown RuntimeDown", "has not answered yet"},
          {"PullsWhatIsNotHere", kAlways, [](F& f) { Gone(f), f.rights.pull = true; }, "needs Pull"},
          {"PullsThoughTheRuntimeIsAway", kNever,
           [](F& f) { Away(f), Gone(f), f.rights.pull = true, f.runtime_down = true; }, "needs Pull"},
          {"DoesNotPullWhatIsHere", kNever, [](F& f) { f.rights.pull = true; }, "yes Starts Preloaded"},
          {"DoesNotPullForOtherNodes", kNever,
           [](F& f) { Gone(f), Image(f).applies = false, f.rights.pull = true; }, "no Refused ImageAbsent"});
TEST_ROWS(
    ByKubelet, CheckTest,
    {"KubeletUnknown", kNever, [](F& f) { f.kubelet = CheckKubelet::kNotKnown, f.verdict.reset(); },
     "no Unknown FactsUnknown", "not known yet"},
    {"KubeletIsToBeAsked", kNever, [](F& f) { f.verdict.reset(); }, "needs Verdict"},
    {"Open", kNever, [](F&) {}, "yes Starts Preloaded", "Why."},
    {"OpenToIfNotPresent", kIfNotPresent, [](F&) {}, "yes Starts Preloaded"},
    {"Assumed", kNever, [](F& f) { f.verdict->reason = VerdictReason::kAssumedForPod; },
     "yes Starts AssumedForPod"},
    {"OpenAndOfNoUse", kNever, Unusable, "no Starts WrongPlatform", "what the agent says of it"},
    {"Closed", kNever, Closed, "no Refused RecordedForOthers", "Why."},
    {"ClosedToANeighbour", kIfNotPresent, [](F& f) { Closed(f), Neighbour(f); }, "no Pulls RecordedForOthers",
     "Why."},
    {"Absent", kNever, Gone, "no Refused ImageAbsent", "Why. prefetchd: what the agent says of it"},
    {"AbsentUnlisted", kNever, [](F& f) { Gone(f), f.listed = false; }, "no Refused ImageAbsent", "Why."},
    {"Ambiguous", kIfNotPresent,
     [](F& f) {
       f.verdict = {VerdictResult::kUnknown, VerdictReason::kSecretAmbiguous, "10", "Why."};
     },
     "no Unknown SecretAmbiguous"},
    {"Presence", kNever, NoKubelet, "yes Starts Present"},
    {"PresenceOfNoUse", kNever, [](F& f) { NoKubelet(f), Unusable(f); }, "no Refused WrongPlatform"},
    {"PresenceOfNoUsePulled", kIfNotPresent, [](F& f) { NoKubelet(f), Unusable(f); },
     "no Pulls WrongPlatform"},
    {"AbsenceRefused", kNever, [](F& f) { Gone(f), NoKubelet(f), Image(f).reason = Reason::kAccessDenied; },
     "no Refused ImageAbsent"},
    {"AbsenceNotReported", kNever,
     [](F& f) { Gone(f), NoKubelet(f), Image(f).reason = Reason::kFactsUnknown; }, "no Unknown FactsUnknown"},
    {"AbsencePulled", kIfNotPresent, [](F& f) { Gone(f), NoKubelet(f), Neighbour(f); },
     "no Pulls ImageAbsent"});
TEST_ROWS(
    ByRegistry, CheckTest,
    {"AlwaysAsks", kAlways, [](F& f) { f.registry.reset(), f.verdict.reset(); }, "needs Registry"},
    {"AlwaysSame", kAlways, [](F&) {}, "yes Pulls UpToDate", "it gives access now"},
    {"AlwaysSameOfNoUse", kAlways, Unusable, "no Pulls WrongPlatform", "what the agent says of it"},
    {"AlwaysMoved", kAlways, [](F& f) { Says(f, Kind::kMoved); }, "yes Pulls TagMoved", "waits for a pull"},
    {"AlwaysAbsent", kAlways, [](F& f) { Gone(f), Says(f, Kind::kMoved); }, "yes Pulls ImageAbsent",
     "waits for a pull"},
    {"AlwaysGone", kAlways, [](F& f) { Says(f, Kind::kTagMissing); }, "no Refused TagMissing",
     "the registry has no " + kApp + ": as it says; that the image is on the node does not help"},
    {"AlwaysDenied", kAlways, [](F& f) { Says(f, Kind::kAccessDenied); }, "no Refused AccessDenied"},
    {"AlwaysDeniedToTheNode", kAlways, [](F& f) { Says(f, Kind::kAccessDenied), f.own_credentials = true; },
     "no Unknown AccessDenied", "the pod's own credentials are not tested: as it says"},
    {"AlwaysAway", kAlways, [](F& f) { Says(f, Kind::kUnreachable); }, "no Unknown Unreachable"},
    {"AlwaysLimited", kAlways, [](F& f) { Says(f, Kind::kRateLimited); }, "no Unknown RateLimited"},
    {"AlwaysFailing", kAlways, [](F& f) { Says(f, Kind::kServerError); }, "no Unknown ServerError"},
    {"AlwaysUnclear", kAlways, [](F& f) { Says(f, Kind::kIndeterminate); }, "no Unknown Indeterminate",
     "cannot be compared"},
    {"AlwaysOnlyByPull", kAlways,
     [](F& f) { Says(f, Kind::kIndeterminate), f.registry->only_by_pull = true; }, "no Unknown Indeterminate",
     "only be asked by pulling"},
    {"AlwaysAsksNobody", kAlways, [](F& f) { f.asks_registries = false; }, "no Pulls PolicyAlways",
     "this agent asks no registry"},
    {"AlwaysOfANeighbour", kAlways, Neighbour, "no Pulls PolicyAlways",
     "the answer here has only known facts"},
    {"AlwaysHeard", kAlways, [](F& f) { Neighbour(f), Heard(f, true); }, "yes Pulls UpToDate",
     "agreed at the agent's last question"},
    {"AlwaysHeardForAnothersCredential", kAlways, [](F& f) { Neighbour(f), Heard(f, true), Lent(f); },
     "no Pulls PolicyAlways", "a credential that not every pod has"},
    {"AlwaysPulledWithAnothersCredential", kAlways,
     [](F& f) { Neighbour(f), Heard(f, true), Image(f).origin.exposed = true; }, "no Pulls PolicyAlways"},
    {"AlwaysHeardForAPodWithItsOwn", kAlways,
     [](F& f) { Neighbour(f), Heard(f, true), Lent(f), f.own_credentials = true; }, "no Unknown PolicyAlways",
     "the pod's own credentials are not tested"},
    {"AlwaysPulledWithAnothersForAPodWithItsOwn", kAlways,
     [](F& f) { Neighbour(f), Heard(f, true), Image(f).origin.exposed = true, f.own_credentials = true; },
     "no Unknown PolicyAlways"},
    {"AlwaysHeardWithTheNodesForAPodWithItsOwn", kAlways,
     [](F& f) { Neighbour(f), Heard(f, true), f.own_credentials = true; }, "yes Pulls UpToDate"},
    {"AlwaysHeardOfNoUse", kAlways, [](F& f) { Neighbour(f), Heard(f, true), Unusable(f); },
     "no Pulls TagMissing"},
    {"AlwaysHeardNo", kAlways, [](F& f) { Neighbour(f), Heard(f, false); }, "no Pulls TagMissing",
     "at every start: the tag is gone"},
    {"PullAsks", kIfNotPresent, [](F& f) { Closed(f), f.registry.reset(); }, "needs Registry"},
    {"PullAsksOfAnAbsentOne", kIfNotPresent, [](F& f) { Gone(f), f.registry.reset(); }, "needs Registry"},
    {"PullAsksWithoutAKubelet", kIfNotPresent, [](F& f) { Gone(f), NoKubelet(f), f.registry.reset(); },
     "needs Registry"},
    {"PullWouldNotHelp", kIfNotPresent, [](F& f) { Closed(f), Unusable(f), f.registry.reset(); },
     "no Pulls RecordedForOthers"},
    {"NeverPullsNothing", kNever, [](F& f) { Closed(f), f.registry.reset(); },
     "no Refused RecordedForOthers"},
    {"PullAsksNobody", kIfNotPresent, [](F& f) { Gone(f), f.asks_registries = false; },
     "no Pulls ImageAbsent"},
    {"PullSame", kIfNotPresent, Closed, "yes Pulls RecordedForOthers",
     "Why. Asked just now, the registry has it"},
    {"PullMoved", kIfNotPresent, [](F& f) { Gone(f), Says(f, Kind::kMoved); }, "yes Pulls ImageAbsent"},
    {"PullGone", kIfNotPresent, [](F& f) { Closed(f), Says(f, Kind::kTagMissing); }, "no Refused TagMissing",
     "as it says. The reason: Why."},
    {"PullAway", kIfNotPresent, [](F& f) { Gone(f), Says(f, Kind::kUnreachable); }, "no Unknown Unreachable"},
    {"PullDenied", kIfNotPresent, [](F& f) { Gone(f), Says(f, Kind::kAccessDenied); },
     "no Refused AccessDenied"},
    {"PullLimited", kIfNotPresent, [](F& f) { Gone(f), Says(f, Kind::kRateLimited); },
     "no Unknown RateLimited"},
    {"PullOnlyByPull", kIfNotPresent,
     [](F& f) { Gone(f), Says(f, Kind::kIndeterminate), f.registry->only_by_pull = true; },
     "no Unknown Indeterminate"});

// The agent brings only listed images back.
TEST(DecideCheck, SaysNothingOfTheAgentForAnUnlistedImage) {
  CheckFacts facts = Here(kNever);
  Gone(facts);
  facts.listed = false;
  EXPECT_EQ(DecideCheck(facts).decision.message, "Why.");
}

// The loop that finds what is needed ends, whatever it finds.
TEST(DecideCheck, AsksForEachFactOnce) {
  for (PullPolicy policy : {kNever, kIfNotPresent, kAlways}) {
    CheckFacts all = Here(policy), facts = all;
    Closed(all);
    facts.runtime.reset(), facts.verdict.reset(), facts.registry.reset();
    std::set<CheckNeed> asked;
    CheckStep step = DecideCheck(facts);
    for (; step.need != CheckNeed::kNothing; step = DecideCheck(facts)) {
      ASSERT_TRUE(asked.insert(step.need).second) << NeedName(step.need);
      if (step.need == CheckNeed::kRuntime) facts.runtime = all.runtime;
      if (step.need == CheckNeed::kVerdict) facts.verdict = all.verdict;
      if (step.need == CheckNeed::kRegistry) facts.registry = all.registry;
    }
    EXPECT_EQ(asked.count(CheckNeed::kVerdict), policy == kAlways ? 0U : 1U);
    EXPECT_EQ(asked.count(CheckNeed::kRegistry), policy == kNever ? 0U : 1U);
  }
}

// Scripts know these names from kubelet's verdict, and each has one reason of a preflight.
TEST(CheckReason, HasTheNamesOfKubeletsVerdict) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(VerdictReason::kFactsUnknown); i++) {
    auto reason = static_cast<VerdictReason>(i);
    EXPECT_EQ(CheckReasonName(CheckReasonFor(reason)), base::EnumName(reason));
    names.insert(std::string(CheckReasonName(CheckReasonFor(reason))));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(VerdictReason::kFactsUnknown) + 1);
}

TEST(CheckTest, APodHearsNoWordOfAStranger) {
  const std::string words = "STRANGER";
  int reached = 0;
  for (PullPolicy policy : {PullPolicy::kNever, PullPolicy::kIfNotPresent, PullPolicy::kAlways}) {
    for (int answer = 0; answer <= static_cast<int>(Kind::kIndeterminate); answer++) {
      for (int form = 0; form < 32; form++) {
        CheckFacts facts = Here(policy);
        facts.registry = image::RegistryAnswer{.kind = static_cast<Kind>(answer), .message = words};
        facts.runtime_error = words;
        Image(facts).message = words;
        Image(facts).reason = Reason::kAccessDenied;
        Image(facts).pull.last_error = words;
        Heard(facts, (form & 1) != 0);
        RegistryView view = *Image(facts).registry;
        view.message = view.always_message = words;
        Image(facts).registry = std::make_shared<const RegistryView>(view);
        if ((form & 2) != 0) Gone(facts);
        if ((form & 2) != 0) Image(facts).reason = Reason::kAccessDenied;
        if ((form & 4) != 0) Image(facts).usable = false;
        if ((form & 8) != 0) facts.runtime->error = words;
        if ((form & 16) != 0) facts.rights.registry = false;
        const auto heard = [&] {
          std::string all = DecideCheck(facts).decision.message;
          for (PullState state : {PullState::kWaiting, PullState::kFailed, PullState::kQueued}) {
            ImageState image = Image(facts);
            image.pull.state = state;
            if (auto decision = DecisionForPull(facts, &image)) all += decision->message;
          }
          return all;
        };
        reached += heard().find(words) != std::string::npos ? 1 : 0;
        facts.redact_messages = true;
        EXPECT_EQ(heard().find(words), std::string::npos) << heard();
      }
    }
  }
  EXPECT_GT(reached, 200) << "others hear the words";
}

// check --pull: what came of a pull → the verdict.

struct PullCase {
  std::string name;
  PullPolicy policy;
  std::function<void(CheckFacts&, ImageState&)> change;
  std::string expect;  // "here"; else as tests::Told
  std::string message = "";
  bool progress = false;
};
TEST_TABLE(PullVerdictTest, Row, PullCase) {
  CheckFacts facts{.policy = row.policy, .listed = true};
  ImageState image;
  image.phase = Phase::kProgressing;
  image.message = "as the runtime says it";
  row.change(facts, image);
  std::optional<CheckDecision> decision = DecisionForPull(facts, &image);
  ASSERT_EQ(decision ? tests::Told(*decision) : "here", row.expect);
  if (!decision) return;
  EXPECT_NE(decision->message.find(row.message), std::string::npos) << decision->message;
  EXPECT_EQ(decision->progress.has_value(), row.progress);
  EXPECT_TRUE(decision->listed);
}

void Failed(ImageState& image, Reason reason) {
  image.phase = Phase::kFailing;
  image.reason = reason;
  image.settled = true;
}
void Running(ImageState& image, PullState state, Reason reason) {
  image.pull.state = state;
  image.reason = reason;
}
using I = ImageState;

TEST_ROWS(
    Rows, PullVerdictTest, {"Here", kNever, [](F&, I& i) { i.usable = true; }, "here"},
    {"Queued", kNever,
     [](F&, I& i) { Running(i, PullState::kQueued, Reason::kQueued), i.message = "waits for room"; },
     "pending Unknown Queued", "its pull waits for room"},
    {"OutsidePullWindow", kNever,
     [](F&, I& i) {
       Running(i, PullState::kNone, Reason::kOutsidePullWindow), i.message = "waits for its pullWindow";
     },
     "pending Unknown OutsidePullWindow", "its pull waits for its pullWindow"},
    {"Pulling", kNever,
     [](F&, I& i) { Running(i, PullState::kPulling, Reason::kPulling), i.pull.bytes_known = true; },
     "pending Unknown Pulling", "it is being pulled", true},
    {"UnpackingUnseen", kNever, [](F&, I& i) { Running(i, PullState::kUnpacking, Reason::kUnpacking); },
     "pending Unknown Unpacking", "it is being pulled"},
    {"TriedAgain", kNever,
     [](F&, I& i) {
       Failed(i, Reason::kUnreachable);
       Running(i, PullState::kWaiting, Reason::kUnreachable);
       i.settled = false;
     },
     "pending Unknown Unreachable", "tried again: as the runtime says it"},
    {"Denied", kIfNotPresent, [](F&, I& i) { Failed(i, Reason::kAccessDenied); }, "no Refused AccessDenied",
     "could not pull it: as the runtime says it"},
    {"DeniedToANever", kNever, [](F& f, I& i) { Failed(i, Reason::kAccessDenied), f.own_credentials = true; },
     "no Refused AccessDenied"},
    {"DeniedForAPlugin", kIfNotPresent,
     [](F&, I& i) { Failed(i, Reason::kAccessDenied), i.pull.lacked_credential = i.settled = true; },
     "no Unknown AccessDenied"},
    {"DeniedToTheNode", kIfNotPresent,
     [](F& f, I& i) { Failed(i, Reason::kAccessDenied), f.own_credentials = true; },
     "no Unknown AccessDenied"},
    {"CredentialOfTheNode", kIfNotPresent,
     [](F& f, I& i) { Failed(i, Reason::kBadCredentialFormat), f.own_credentials = true; },
     "no Unknown BadCredentialFormat"},
    {"Gone", kIfNotPresent, [](F& f, I& i) { Failed(i, Reason::kNotFound), f.own_credentials = true; },
     "no Refused NotFound"},
    {"Away", kIfNotPresent, [](F&, I& i) { Failed(i, Reason::kUnreachable); }, "no Unknown Unreachable"},
    {"AwayForANever", kNever, [](F&, I& i) { Failed(i, Reason::kUnreachable); }, "no Refused Unreachable"},
    {"NoRoom", kAlways, [](F&, I& i) { Failed(i, Reason::kDiskPressure); }, "no Unknown DiskPressure"});

TEST(RunDecision, OfAnImageThatNobodyHasTakenUpYetIsPending) {
  EXPECT_EQ(tests::Told(*DecisionForPull({}, nullptr)), "pending Unknown Queued");
}

const base::TimePoint kNow{hours(100)};

struct DecideCase {
  std::string name;
  base::Duration wish_left;
  bool here;
  std::optional<Reason> failed;
  base::Duration patience;
  Action expect;
};
TEST_TABLE(DecideAskedTest, Row, DecideCase) {
  Observation seen{.known = true, .local = {}};
  if (row.here) seen.local = Local{.id = "sha256:aa"};
  History past;
  past.last_failure = row.failed;
  past.not_before = kNow + row.patience;
  EXPECT_EQ(DecideRequested(seen, past, kNow + row.wish_left, kNow), row.expect);
}

TEST_ROWS(Rows, DecideAskedTest,
          {"IsPulled", seconds(1), false, {}, {}, {ActionKind::kPull, Reason::kImageAbsent}},
          {"NobodyWaits", seconds(0), false, {}, {}, {ActionKind::kKeep, Reason::kImageAbsent}},
          {"IsHere", seconds(1), true, {}, {}, {ActionKind::kKeep, Reason::kPresent}},
          {"IsHereAndNobodyWaits", seconds(0), true, {}, {}, {ActionKind::kKeep, Reason::kPresent}},
          {"AFailureAsksForPatience", seconds(1), false, Reason::kAccessDenied, minutes(5),
           Action{ActionKind::kWait, Reason::kAccessDenied, kNow + minutes(5)}},
          {"PatienceIsOver", seconds(1), false, Reason::kAccessDenied, seconds(0),
           Action{ActionKind::kPull, Reason::kImageAbsent}},
          {"NothingIsTriedAgainForNobody", seconds(0), false, Reason::kUnreachable, seconds(0),
           Action{ActionKind::kKeep, Reason::kUnreachable}});

TEST(ForgetRequestedAt, WhatAsksForPatienceIsKeptInMindForAnHourAtMost) {
  History past;
  EXPECT_EQ(ForgetRequestedAt(past, kNow), kNow);
  past.not_before = kNow + minutes(5);
  EXPECT_EQ(ForgetRequestedAt(past, kNow), kNow + minutes(5));
  past.not_before = base::TimePoint::max();
  EXPECT_EQ(ForgetRequestedAt(past, kNow), kNow + hours(1));
}

ImageState RequestedImage(const std::string& name) {
  ImageState image;
  image.desired.Change([&](DesiredImage& desired) { desired.reference = *image::Reference::Parse(name); });
  return image;
}

// A pull for an earlier question does not answer a later one.
TEST(PulledFor, IsTheListsEntryOrWhatWasAskedForSince) {
  const auto a = *image::Reference::Parse("quay.io/acme/a:v1");
  const auto b = *image::Reference::Parse("quay.io/acme/b:v1");
  Snapshot snapshot;
  snapshot.images = {RequestedImage("quay.io/acme/a:v1")};
  snapshot.requested = {RequestedImage("quay.io/acme/b:v1")};
  snapshot.requested[0].requested_at = kNow;
  EXPECT_EQ(FindRequestedImage(snapshot, a, kNow + hours(1)), &snapshot.images[0]);
  EXPECT_EQ(FindRequestedImage(snapshot, b, kNow), &snapshot.requested[0]);
  EXPECT_EQ(FindRequestedImage(snapshot, b, kNow + seconds(1)), nullptr);
  EXPECT_EQ(FindRequestedImage(snapshot, *image::Reference::Parse("quay.io/acme/c:v1"), kNow), nullptr);
}

// The request may have ended the back-off of a failure that the Snapshot still shows.
TEST(PulledFor, AFailureFromBeforeTheRequestIsNoAnswer) {
  Snapshot snapshot;
  snapshot.images = {RequestedImage("quay.io/acme/a:v1")};
  snapshot.images[0].phase = Phase::kFailing;
  snapshot.images[0].reason = Reason::kNotFound;
  snapshot.images[0].pull.state = PullState::kWaiting;
  snapshot.images[0].requested_at = kNow;
  const auto a = *image::Reference::Parse("quay.io/acme/a:v1");
  EXPECT_EQ(FindRequestedImage(snapshot, a, kNow), &snapshot.images[0]);
  EXPECT_EQ(FindRequestedImage(snapshot, a, kNow + seconds(1)), nullptr);
}

struct StateCase {
  std::string name;
  Phase phase;
  Reason reason;
  PullState pull;
  RequestedState expect;
  std::function<void(ImageState&)> change = [](ImageState&) {};
};
TEST_TABLE(StateOfAskedTest, Row, StateCase) {
  ImageState image;
  image.phase = row.phase;
  image.reason = row.reason;
  image.pull.state = row.pull;
  row.change(image);
  EXPECT_EQ(StateOfRequested(image), row.expect);
}

using enum Phase;
using R = Reason;
using P = PullState;
using S = RequestedState;

TEST_ROWS(Rows, StateOfAskedTest,
          {"Here", kFailing, R::kRecordedForOthers, P::kDone, S::kPresent, [](I& i) { i.usable = true; }},
          {"OnOtherNodesOnly", kReady, R::kOtherPlatform, P::kNone, S::kFailed,
           [](I& i) { i.applies = false; }},
          // Pulls that the runtime ended are no failures.
          {"InterruptedOften", kFailing, R::kUnreachable, P::kWaiting, S::kPending,
           [](I& i) { i.pull.attempts = 7; }},
          {"Queued", kProgressing, R::kQueued, P::kQueued, S::kPending},
          {"Pulled", kProgressing, R::kPulling, P::kPulling, S::kPending},
          {"Denied", kFailing, R::kAccessDenied, P::kWaiting, S::kFailed},
          {"DeniedAndItsTurnAgain", kFailing, R::kAccessDenied, P::kQueued, S::kPending},
          {"NeverAgain", kFailing, R::kPlatformMismatch, P::kFailed, S::kFailed},
          {"AwayForAMoment", kFailing, R::kUnreachable, P::kWaiting, S::kPending},
          {"AwayForLong", kFailing, R::kUnreachable, P::kWaiting, S::kFailed, [](I& i) { i.settled = true; }},
          {"DeniedAndHeld", kFailing, R::kAccessDenied, P::kWaiting, S::kPending,
           [](I& i) { i.pull.held = true; }},
          {"DeniedForItsPlugin", kFailing, R::kAccessDenied, P::kWaiting, S::kPending,
           [](I& i) { i.pull.lacked_credential = true; }},
          {"DeniedForItsPluginForLong", kFailing, R::kAccessDenied, P::kWaiting, S::kFailed,
           [](I& i) { i.pull.lacked_credential = i.settled = true; }},
          {"NoRoom", kFailing, R::kDiskPressure, P::kQueued, S::kFailed},
          {"OfAnotherPlatform", kFailing, R::kWrongPlatform, P::kFailed, S::kFailed});

TEST(AwaitsRetry, WhatABackoffHolds) {
  const auto awaits = [](PullState state, std::optional<image::RegistryAnswerKind> answer = std::nullopt) {
    ImageState image;
    image.pull.state = state;
    if (answer) image.registry = std::make_shared<const RegistryView>(RegistryView{.answer = answer});
    return AwaitsRetry(image);
  };
  EXPECT_TRUE(awaits(PullState::kWaiting));
  EXPECT_TRUE(awaits(PullState::kFailed));
  EXPECT_FALSE(awaits(PullState::kQueued));
  EXPECT_FALSE(awaits(PullState::kPulling));
  EXPECT_FALSE(awaits(PullState::kDone));
  EXPECT_FALSE(awaits(PullState::kDone, image::RegistryAnswerKind::kSame));
  EXPECT_TRUE(awaits(PullState::kDone, image::RegistryAnswerKind::kUnreachable)) << "the next check is far";
  EXPECT_TRUE(awaits(PullState::kNone, image::RegistryAnswerKind::kTagMissing));
  ImageState held;
  held.pull = {.state = PullState::kQueued, .held = true};
  EXPECT_TRUE(AwaitsRetry(held)) << "by its registry, or by a full disk";
  ImageState outside;
  outside.pull.next_attempt_at = base::WallTime();
  EXPECT_TRUE(AwaitsRetry(outside)) << "its window opens";
  ImageState other;
  other.applies = false;
  other.pull.state = PullState::kFailed;
  EXPECT_FALSE(AwaitsRetry(other));
}

}  // namespace
}  // namespace prefetch::plan::check_test
