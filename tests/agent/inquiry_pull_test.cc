// check --pull: what is not here is pulled first.
#include "agent/answers/inquiry.h"

#include <gtest/gtest.h>

#include "agent/inquiry_rig.h"

namespace prefetch::agent::inquiry_pull_test {
namespace {

// check --pull. The loop is played by hand: what it has made of the wish is on the board when it is asked.
class PullingTest : public InquiryTest {
 protected:
  status::CheckAnswer Pull(const std::string& image, PullPolicy policy, status::CheckIdentity identity = {}) {
    board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
    return pulling_
        .Check({}, {.questions = {{image, policy, std::move(identity)}}, .pull = true, .wait = {}}, kNode)
        .answers.at(0);
  }
  plan::ImageState& Asked(const std::string& image, plan::Reason reason) {
    plan::ImageState requested;
    requested.desired = plan::DesiredImage{.reference = *image::Reference::Parse(image)};
    requested.phase = plan::Phase::kFailing;
    requested.reason = reason;
    requested.message = "as the runtime says it";
    requested.pull.state = plan::PullState::kWaiting;
    requested.requested_at = clock_.Now();
    snapshot_.requested.push_back(requested);
    return snapshot_.requested.back();
  }

  std::vector<std::string> wished_;
  std::function<void()> act_;  // what happens upon a wish
  ImageQueryService pulling_{board_,
                             runtime_,
                             runtime_,
                             keyring_,
                             clock_,
                             nullptr,
                             nullptr,
                             [this](const image::Reference& reference, base::TimePoint) {
                               wished_.push_back(reference.written());
                               if (act_) act_();
                             }};
};

const std::string kAbsent = "reg.example.test/absent:v1";

TEST_F(PullingTest, WhatIsHereIsNotPulled) {
  EXPECT_TRUE(Pull(kApp, PullPolicy::kNever).ok);
  EXPECT_TRUE(Pull("reg.example.test/unlisted:v1", PullPolicy::kIfNotPresent).ok);
  Record(IdOf(kApp), "reg.example.test/team/app", tests::kSecretEntry);
  status::CheckAnswer closed = Pull(kApp, PullPolicy::kNever);
  EXPECT_EQ(closed.reason, "RecordedForOthers") << "which another pull does not change";
  EXPECT_TRUE(wished_.empty());
}

TEST_F(PullingTest, WhatComesIsAnsweredByItsVerdict) {
  act_ = [this] {
    runtime_.Preload(tests::MakeImage(kAbsent, 1000));
    Asked(kAbsent, plan::Reason::kPresent).usable = true;
    board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
  };
  status::CheckAnswer answer = Pull(kAbsent, PullPolicy::kNever);
  EXPECT_EQ(wished_, std::vector<std::string>{kAbsent});
  EXPECT_TRUE(answer.ok) << answer.message;
  EXPECT_FALSE(answer.pending);
  EXPECT_FALSE(answer.listed);
  EXPECT_EQ(answer.reason, "Preloaded");
}

TEST_F(PullingTest, UntilThenItIsPending) {
  status::CheckAnswer waits = Pull(kAbsent, PullPolicy::kNever);
  EXPECT_TRUE(waits.pending);
  EXPECT_FALSE(waits.ok);
  EXPECT_EQ(waits.result.text(), "Unknown");
  EXPECT_EQ(waits.reason, "Queued");
  plan::ImageState& image = Asked(kAbsent, plan::Reason::kPulling);
  image.phase = plan::Phase::kProgressing;
  image.pull.state = plan::PullState::kPulling;
  image.pull.bytes_known = true;
  image.pull.bytes_done = 12'000'000;
  image.pull.bytes_total = 680'000'000;
  status::CheckAnswer moves = Pull(kAbsent, PullPolicy::kIfNotPresent);
  EXPECT_TRUE(moves.pending);
  EXPECT_EQ(moves.reason, "Pulling");
  EXPECT_NE(moves.message.find("12 of 680 MB"), std::string::npos) << moves.message;
}

TEST_F(PullingTest, WhatCameOfAnOlderWishIsNoAnswer) {
  Asked(kAbsent, plan::Reason::kAccessDenied);
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_TRUE(Pull(kAbsent, PullPolicy::kNever).pending);
}

TEST_F(PullingTest, AnEntryOfTheListWaitsForItsOwnPull) {
  plan::ImageState listed;
  listed.desired = plan::DesiredImage{.reference = *image::Reference::Parse(kAbsent)};
  listed.phase = plan::Phase::kProgressing;
  listed.reason = plan::Reason::kQueued;
  listed.pull.state = plan::PullState::kQueued;
  snapshot_.images.push_back(listed);
  status::CheckAnswer waits = Pull(kAbsent, PullPolicy::kNever);
  EXPECT_TRUE(waits.pending);
  EXPECT_TRUE(waits.listed);
  EXPECT_EQ(wished_, std::vector<std::string>{kAbsent}) << "so that it goes first";
  snapshot_.images.back().applies = false;
  status::CheckAnswer elsewhere = Pull(kAbsent, PullPolicy::kNever);
  EXPECT_FALSE(elsewhere.pending) << "it is for other nodes";
  EXPECT_EQ(elsewhere.reason, "ImageAbsent");
}

struct FailCase {
  std::string name;
  plan::Reason reason;
  PullPolicy policy;
  bool own_credentials;
  std::string result;
};
class PullFailsTest : public PullingTest, public testing::WithParamInterface<FailCase> {};

TEST_P(PullFailsTest, IsANoWithTheReason) {
  const FailCase& row = GetParam();
  Asked(kAbsent, row.reason).pull.attempts = 6;
  status::CheckIdentity identity;
  if (row.own_credentials) identity.secrets = {{"team", "pull", "u1"}};
  status::CheckAnswer answer = Pull(kAbsent, row.policy, identity);
  EXPECT_FALSE(answer.ok);
  EXPECT_FALSE(answer.pending);
  EXPECT_EQ(answer.result.text(), row.result);
  EXPECT_EQ(answer.reason, plan::ReasonName(row.reason));
  EXPECT_NE(answer.message.find("as the runtime says it"), std::string::npos) << answer.message;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, PullFailsTest,
    testing::Values(
        FailCase{"Denied", plan::Reason::kAccessDenied, PullPolicy::kIfNotPresent, false, "Refused"},
        FailCase{"DeniedToANever", plan::Reason::kAccessDenied, PullPolicy::kNever, true, "Refused"},
        FailCase{"DeniedToTheNode", plan::Reason::kAccessDenied, PullPolicy::kIfNotPresent, true, "Unknown"},
        FailCase{"Gone", plan::Reason::kNotFound, PullPolicy::kIfNotPresent, true, "Refused"},
        FailCase{"Away", plan::Reason::kUnreachable, PullPolicy::kIfNotPresent, false, "Unknown"},
        FailCase{"AwayForANever", plan::Reason::kUnreachable, PullPolicy::kNever, false, "Refused"},
        FailCase{"NoRoom", plan::Reason::kDiskPressure, PullPolicy::kAlways, false, "Unknown"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace prefetch::agent::inquiry_pull_test
