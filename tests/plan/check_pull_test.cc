// check --pull: what came of a pull → the verdict.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "plan/check.h"
#include "plan/check_words.h"

namespace prefetch::plan::check_pull_test {
namespace {

constexpr auto kNever = image::PullPolicy::kNever;
constexpr auto kIfNotPresent = image::PullPolicy::kIfNotPresent;
constexpr auto kAlways = image::PullPolicy::kAlways;

struct PullCase {
  std::string name;
  image::PullPolicy policy;
  std::function<void(CheckFacts&, ImageState&)> change;
  std::string expect;  // "here"; else as tests::Told
  std::string message = "";
  bool progress = false;
};
class PullVerdictTest : public testing::TestWithParam<PullCase> {};

TEST_P(PullVerdictTest, Row) {
  const PullCase& row = GetParam();
  CheckFacts facts{.policy = row.policy, .listed = true};
  ImageState image;
  image.phase = Phase::kProgressing;
  image.message = "as the runtime says it";
  row.change(facts, image);
  std::optional<CheckVerdict> verdict = VerdictOfPull(facts, &image);
  ASSERT_EQ(verdict ? tests::Told(*verdict) : "here", row.expect);
  if (!verdict) return;
  EXPECT_NE(verdict->message.find(row.message), std::string::npos) << verdict->message;
  EXPECT_EQ(verdict->progress.has_value(), row.progress);
  EXPECT_TRUE(verdict->listed);
}

void Failed(ImageState& image, Reason reason) {
  image.phase = Phase::kFailing;
  image.reason = reason;
  image.pull.attempts = 6;
}
void Running(ImageState& image, PullState state, Reason reason) {
  image.pull.state = state;
  image.reason = reason;
}
using F = CheckFacts;
using I = ImageState;

std::vector<PullCase> PullRows() {
  return {
      {"Here", kNever, [](F&, I& i) { i.usable = true; }, "here"},
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
         i.pull.attempts = 1;
       },
       "pending Unknown Unreachable", "tried again: as the runtime says it"},
      {"Denied", kIfNotPresent, [](F&, I& i) { Failed(i, Reason::kAccessDenied); }, "no Refused AccessDenied",
       "could not pull it: as the runtime says it"},
      {"DeniedToANever", kNever,
       [](F& f, I& i) { Failed(i, Reason::kAccessDenied), f.own_credentials = true; },
       "no Refused AccessDenied"},
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
      {"NoRoom", kAlways, [](F&, I& i) { Failed(i, Reason::kDiskPressure); }, "no Unknown DiskPressure"},
  };
}
INSTANTIATE_TEST_SUITE_P(Rows, PullVerdictTest, testing::ValuesIn(PullRows()),
                         [](const auto& row) { return row.param.name; });

TEST(RunDecision, OfAnImageThatNobodyHasTakenUpYetIsPending) {
  EXPECT_EQ(tests::Told(*VerdictOfPull({}, nullptr)), "pending Unknown Queued");
}

}  // namespace
}  // namespace prefetch::plan::check_pull_test
