#include "plan/version_estimate.h"

#include <gtest/gtest.h>

#include "rows.h"

namespace prefetch::plan::version_belief_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

const base::TimePoint kSeen{std::chrono::hours(1)};
const base::WallTime kBegan{std::chrono::hours(400'000)};

NodeReport Word(const std::string& version, base::WallTime heartbeat = kBegan - minutes(4)) {
  auto parsed = image::KubeletVersion::Parse(version);
  return {.version = *parsed, .version_text = parsed->ToString(), .heartbeat = heartbeat};
}

NodeReport Silent(NodeReport word, base::TimePoint since, bool refused = false) {
  word.silent_since = since;
  word.refused = refused;
  word.trouble = refused ? "nodes n1 is forbidden" : "Unreachable";
  return word;
}

const NodeReport k136 = Word("1.36.2");

struct BeliefCase {
  std::string name;
  NodeReport before;                // the start of a kubelet
  std::optional<NodeReport> after;  // it; none: there was no start
  seconds passed;                   // since the start, or since the word
  std::string version;              // empty: none
  bool awaited;
  std::string problem;                          // a part of it; empty: none
  std::optional<seconds> until = std::nullopt;  // as `passed`; none: never
};

TEST_TABLE(VersionBeliefTest, SaysWhichVersionCounts, BeliefCase) {
  VersionEstimate belief = AfterNodeReport({}, row.before);
  if (row.after) {
    belief = AfterStart(std::move(belief), {.seen_at = kSeen, .began_at = kBegan});
    belief = AfterNodeReport(std::move(belief), *row.after);
  }
  VersionInForce in_force = VersionAt(belief, row.after.value_or(row.before), kSeen + row.passed);
  EXPECT_EQ(in_force.version ? in_force.version->ToString() : "", row.version);
  EXPECT_EQ(in_force.awaited, row.awaited);
  EXPECT_EQ(in_force.until, row.until ? kSeen + *row.until : base::TimePoint::max());
  EXPECT_EQ(in_force.problem.empty(), row.problem.empty()) << in_force.problem;
  EXPECT_NE(in_force.problem.find(row.problem), std::string::npos) << in_force.problem;
}

TEST_ROWS(All, VersionBeliefTest, {"NothingRead", {}, {}, seconds(0), "", false, ""},
          {"Read", k136, {}, seconds(0), "1.36.2", false, ""},
          {"AwayForASecond", Silent(k136, kSeen), {}, seconds(1), "1.36.2", false, "", minutes(2)},
          {"AwayForTwoMinutes", Silent(k136, kSeen), std::nullopt, seconds(120), "1.36.2", false,
           "(Unreachable): the last known version of kubelet, 1.36.2, counts"},
          {"NeverReached", Silent({}, kSeen), {}, seconds(120), "", false, "kubelet's version is not known"},
          {"Refused", Silent({}, kSeen, true), {}, seconds(0), "", false, "grant get on nodes"},
          {"HeldAfterAStart", k136, k136, seconds(2), "1.36.2", false, "", seconds(3)},
          {"UnknownAfterThreeSeconds", k136, k136, seconds(3), "", true, "", seconds(60)},
          {"UnknownForAMinuteAtMost", k136, k136, seconds(60), "1.36.2", false,
           "has not reported to its Node within a minute"},
          {"ConfirmedByAHeartbeat", k136, Word("1.36.2", kBegan + seconds(1)), seconds(10), "1.36.2", false,
           ""},
          {"AHeartbeatOfTheOneBefore", k136, Word("1.36.2", kBegan), seconds(10), "", true, "", seconds(60)},
          {"ConfirmedByAnotherVersion", k136, Word("1.37.0"), seconds(10), "1.37.0", false, ""},
          {"ConfirmedByAnotherPatch", k136, Word("1.36.3"), seconds(10), "1.36.3", false, ""},
          {"AwayAfterAStart", k136, Silent(k136, kSeen + seconds(1)), seconds(5), "1.36.2", false,
           "kubelet was started again, and the API server does not show this Node (Unreachable)"},
          {"RefusedAfterAStart", k136, Silent(k136, kSeen, true), seconds(5), "1.36.2", false, "refuses"},
          {"AStartBeforeTheFirstWord", {}, k136, seconds(5), "", true, "", seconds(60)},
          {"AStartBeforeTheFirstWordWhichConfirmsIt", NodeReport{}, Word("1.36.2", kBegan + seconds(1)),
           seconds(1), "1.36.2", false, ""},
          {"AStartBeforeTheFirstWordThatNobodyConfirms", NodeReport{}, k136, seconds(60), "1.36.2", false,
           "has not reported to its Node within a minute: the last known version of kubelet, 1.36.2"},
          {"AStartBeforeTheOnlyWord", NodeReport{}, Silent(k136, kSeen + seconds(9)), seconds(20), "", true,
           "", seconds(60)},
          {"AStartBeforeTheOnlyWordAMinuteAgo", NodeReport{}, Silent(k136, kSeen + seconds(9)), seconds(60),
           "1.36.2", false, "(Unreachable): the last known version of kubelet, 1.36.2, counts"},
          {"AStartAndNoWord", {}, NodeReport{}, seconds(5), "", false, ""},
          {"AStartAndAnApiServerThatWasNeverThere", NodeReport{}, Silent({}, kSeen), seconds(120), "", false,
           "the API server does not show this Node (Unreachable): kubelet's version is not known"});

// A kubelet that crashes again and again: every start is a sign, and none makes the version known again.
TEST(VersionEstimate, AStartAmongUnconfirmedOnesHoldsNothingAndProlongsNothing) {
  VersionEstimate belief = AfterNodeReport({}, k136);
  for (int at : {0, 10, 50})
    belief =
        AfterStart(std::move(belief), {.seen_at = kSeen + seconds(at), .began_at = kBegan + seconds(at)});
  belief = AfterNodeReport(std::move(belief), Word("1.36.2", kBegan + seconds(11)));
  EXPECT_TRUE(VersionAt(belief, k136, kSeen + seconds(51)).awaited) << "a word of one of those before";
  EXPECT_FALSE(VersionAt(belief, k136, kSeen + seconds(60)).awaited) << "a minute since the first";
  belief = AfterStart(std::move(belief), {.seen_at = kSeen + seconds(70), .began_at = kBegan + seconds(70)});
  EXPECT_FALSE(VersionAt(belief, k136, kSeen + seconds(72)).awaited) << "held anew";
  EXPECT_TRUE(VersionAt(belief, k136, kSeen + seconds(73)).awaited);
}

}  // namespace
}  // namespace prefetch::plan::version_belief_test
