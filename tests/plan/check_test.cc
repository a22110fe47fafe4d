// plan::DecideCheck: facts about one image and one pod → the next question, or the verdict.
#include "plan/check.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "plan/check_words.h"

namespace prefetch::plan::check_test {
namespace {

using image::PullPolicy;
using kubelet::VerdictReason;
using kubelet::VerdictResult;
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
  return step.need == CheckNeed::kNothing ? tests::Told(step.verdict)
                                          : std::string("needs ") + NeedName(step.need);
}

class CheckTest : public testing::TestWithParam<CheckCase> {};

TEST_P(CheckTest, Row) {
  const CheckCase& row = GetParam();
  CheckFacts facts = Here(row.policy);
  row.change(facts);
  CheckStep step = DecideCheck(facts);
  EXPECT_EQ(ToldOf(step), row.expect);
  EXPECT_NE(step.verdict.message.find(row.message), std::string::npos) << step.verdict.message;
  EXPECT_EQ(step.verdict.listed, step.need == CheckNeed::kNothing && facts.listed);
}

constexpr auto kNever = PullPolicy::kNever;
constexpr auto kIfNotPresent = PullPolicy::kIfNotPresent;
constexpr auto kAlways = PullPolicy::kAlways;
using F = CheckFacts;

std::vector<CheckCase> BeforeTheVerdict() {
  return {
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
      {"ARuntimeThatIsAway", kNever, [](F& f) { Away(f), f.runtime_down = true; }, "no Unknown RuntimeDown",
       "could not be asked: nobody listens"},
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
       [](F& f) { Gone(f), Image(f).applies = false, f.rights.pull = true; }, "no Refused ImageAbsent"},
  };
}

std::vector<CheckCase> ByKubelet() {
  return {
      {"KubeletUnknown", kNever, [](F& f) { f.kubelet = CheckKubelet::kNotKnown, f.verdict.reset(); },
       "no Unknown FactsUnknown", "not known yet"},
      {"KubeletIsToBeAsked", kNever, [](F& f) { f.verdict.reset(); }, "needs Verdict"},
      {"Open", kNever, [](F&) {}, "yes Starts Preloaded", "Why."},
      {"OpenToIfNotPresent", kIfNotPresent, [](F&) {}, "yes Starts Preloaded"},
      {"Assumed", kNever, [](F& f) { f.verdict->reason = VerdictReason::kAssumedForPod; },
       "yes Starts AssumedForPod"},
      {"OpenAndOfNoUse", kNever, Unusable, "no Starts WrongPlatform", "what the agent says of it"},
      {"Closed", kNever, Closed, "no Refused RecordedForOthers", "Why."},
      {"ClosedToANeighbour", kIfNotPresent, [](F& f) { Closed(f), Neighbour(f); },
       "no Pulls RecordedForOthers", "Why."},
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
       [](F& f) { Gone(f), NoKubelet(f), Image(f).reason = Reason::kFactsUnknown; },
       "no Unknown FactsUnknown"},
      {"AbsencePulled", kIfNotPresent, [](F& f) { Gone(f), NoKubelet(f), Neighbour(f); },
       "no Pulls ImageAbsent"},
  };
}

std::vector<CheckCase> ByRegistry() {
  return {
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
       [](F& f) { Says(f, Kind::kIndeterminate), f.registry->only_by_pull = true; },
       "no Unknown Indeterminate", "only be asked by pulling"},
      {"AlwaysAsksNobody", kAlways, [](F& f) { f.asks_registries = false; }, "no Pulls PolicyAlways",
       "this agent asks no registry"},
      {"AlwaysOfANeighbour", kAlways, Neighbour, "no Pulls PolicyAlways",
       "the answer here has only known facts"},
      {"AlwaysHeard", kAlways, [](F& f) { Neighbour(f), Heard(f, true); }, "yes Pulls UpToDate",
       "agreed at the agent's last question"},
      {"AlwaysHeardForAnothersCredential", kAlways, [](F& f) { Neighbour(f), Heard(f, true), Lent(f); },
       "no Pulls PolicyAlways", "a credential that not every pod has"},
      {"AlwaysPulledWithAnothersCredential", kAlways,
       [](F& f) { Neighbour(f), Heard(f, true), Image(f).exposed = true; }, "no Pulls PolicyAlways"},
      {"AlwaysHeardForAPodWithItsOwn", kAlways,
       [](F& f) { Neighbour(f), Heard(f, true), Lent(f), f.own_credentials = true; },
       "no Unknown PolicyAlways", "the pod's own credentials are not tested"},
      {"AlwaysPulledWithAnothersForAPodWithItsOwn", kAlways,
       [](F& f) { Neighbour(f), Heard(f, true), Image(f).exposed = true, f.own_credentials = true; },
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
      {"PullGone", kIfNotPresent, [](F& f) { Closed(f), Says(f, Kind::kTagMissing); },
       "no Refused TagMissing", "as it says. The reason: Why."},
      {"PullAway", kIfNotPresent, [](F& f) { Gone(f), Says(f, Kind::kUnreachable); },
       "no Unknown Unreachable"},
  };
}

std::string NameOf(const testing::TestParamInfo<CheckCase>& row) {
  return row.param.name;
}
INSTANTIATE_TEST_SUITE_P(BeforeTheVerdict, CheckTest, testing::ValuesIn(BeforeTheVerdict()), NameOf);
INSTANTIATE_TEST_SUITE_P(ByKubelet, CheckTest, testing::ValuesIn(ByKubelet()), NameOf);
INSTANTIATE_TEST_SUITE_P(ByRegistry, CheckTest, testing::ValuesIn(ByRegistry()), NameOf);

// What the agent does about an absent image is said of those that it keeps.
TEST(DecideCheck, SaysNothingOfTheAgentForAnUnlistedImage) {
  CheckFacts facts = Here(kNever);
  Gone(facts);
  facts.listed = false;
  EXPECT_EQ(DecideCheck(facts).verdict.message, "Why.");
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
    EXPECT_EQ(CheckReasonName(CheckReasonFor(reason)), kubelet::VerdictReasonName(reason));
    names.insert(std::string(CheckReasonName(CheckReasonFor(reason))));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(VerdictReason::kFactsUnknown) + 1);
}

// …and from a registry's answer, as the status document has them.
TEST(CheckReason, HasTheNamesOfARegistrysAnswer) {
  for (Kind kind : {Kind::kTagMissing, Kind::kAccessDenied, Kind::kRateLimited, Kind::kUnreachable,
                    Kind::kServerError, Kind::kIndeterminate}) {
    CheckFacts facts = Here(kAlways);
    Says(facts, kind);
    EXPECT_EQ(CheckReasonName(DecideCheck(facts).verdict.reason), image::RegistryAnswerName(kind));
  }
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
          std::string all = DecideCheck(facts).verdict.message;
          for (PullState state : {PullState::kWaiting, PullState::kFailed, PullState::kQueued}) {
            ImageState image = Image(facts);
            image.pull.state = state;
            if (auto verdict = VerdictOfPull(facts, &image)) all += verdict->message;
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

}  // namespace
}  // namespace prefetch::plan::check_test
