// Questions about single images, on a runtime that is a fake and kubelet's files that are real.
#include "agent/inquiry.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "doc/json.h"
#include "fakes/fake_clock.h"
#include "fakes/fake_image_service.h"
#include "kubelet/record_text.h"
#include "kubelet/records.h"
#include "plan/verdicts.h"
#include "temp_dir.h"

namespace prefetch::agent {
namespace {

using image::PullPolicy;

const std::string kApp = "reg.example.test/team/app:v1";

class InquiryTest : public testing::Test {
 protected:
  InquiryTest() {
    std::filesystem::create_directories(dir_ / "image_manager/pulled");
    runtime_.Preload(tests::MakeImage(kApp, 1000));
    runtime_.Preload(tests::MakeImage("reg.example.test/unlisted:v1", 2000));
    snapshot_.node = "n1";
    snapshot_.kubelet.emplace();
    snapshot_.kubelet->root = dir_.path();
    Possible({{.version = {1, 36}}});
    plan::ImageState state;
    state.want = plan::DesiredImage{.reference = *image::Reference::Parse(kApp)};
    state.present = state.usable = true;
    state.image_id = IdOf(kApp);
    snapshot_.images.push_back(state);
  }

  std::string IdOf(const std::string& name) {
    return image::FindByName(*runtime_.ListImages({}), *image::Reference::Parse(name))->id;
  }
  void Possible(std::vector<kubelet::KubeletSettings> settings) {
    snapshot_.possible_kubelets =
        std::make_shared<const std::vector<kubelet::KubeletSettings>>(std::move(settings));
  }
  void Record(const std::string& image_id, const std::string& repository, const std::string& entry) {
    dir_.Write("image_manager/pulled/" + kubelet::FileNameFor(image_id),
               tests::RecordText(image_id, repository, entry));
  }
  report::CheckAnswer Check(const std::string& image, PullPolicy policy, bool local = true,
                            report::CheckIdentity identity = {}) {
    board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
    return inquiry_.Check({}, {.questions = {{image, policy, std::move(identity)}}}, local).answers.at(0);
  }
  doc::Node Explain(const std::string& image, const ExplainOptions& options = {}) {
    board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
    doc::Problems problems("json");
    auto root = doc::ParseJson(inquiry_.Explain({}, *image::Reference::Parse(image), options).json, problems);
    EXPECT_TRUE(root);
    return root ? *root : doc::Node::Mapping();
  }

  tests::TempDir dir_;
  tests::FakeClock clock_;
  tests::FakeImageService runtime_{clock_, tests::Persona::kContainerd16};
  credentials::Keyring keyring_{
      {.docker_configs = {dir_.Write(
           "config.json", R"({"auths":{"reg.example.test":{"username":"ann","password":"s3cr3t-x"}}})")}},
      clock_};
  plan::Snapshot snapshot_;
  Board board_;
  Inquiry inquiry_{board_, runtime_, keyring_, clock_};
  // What the registry says, and what it was asked last.
  image::RegistryAnswer says_;
  std::optional<image::RegistryQuestion> asked_;
  base::TimePoint deadline_;
  int times_asked_ = 0;
  Inquiry asking_{board_, runtime_, keyring_, clock_,
                  [this](const base::Call& call, const image::RegistryQuestion& question, const AskingFor&) {
                    asked_ = question;
                    deadline_ = call.deadline;
                    times_asked_++;
                    return says_;
                  }};
  report::CheckAnswer Ask(const std::string& image, bool local = true, report::CheckIdentity identity = {},
                          PullPolicy policy = PullPolicy::kAlways) {
    board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
    return asking_.Check({}, {.questions = {{image, policy, std::move(identity)}}}, local).answers.at(0);
  }
};

TEST_F(InquiryTest, APreloadedImageStarts) {
  report::CheckAnswer answer = Check(kApp, PullPolicy::kNever);
  EXPECT_TRUE(answer.ok) << answer.message;
  EXPECT_EQ(answer.reason, "Preloaded");
  EXPECT_TRUE(answer.listed);
}

TEST_F(InquiryTest, AClosedImageIsANoForBothPoliciesWithTheRule) {
  Record(IdOf(kApp), "reg.example.test/team/app", tests::kSecretEntry);
  report::CheckAnswer never = Check(kApp, PullPolicy::kNever);
  EXPECT_FALSE(never.ok);
  EXPECT_EQ(never.result, "Refused");
  EXPECT_EQ(never.reason, "RecordedForOthers");
  EXPECT_NE(never.rule, "");
  report::CheckAnswer if_not_present = Check(kApp, PullPolicy::kIfNotPresent);
  EXPECT_FALSE(if_not_present.ok);
  EXPECT_EQ(if_not_present.result, "Pulls");
}

TEST_F(InquiryTest, ThePodsOwnSecretOpensWhatItClosed) {
  Record(IdOf(kApp), "reg.example.test/team/app", tests::kSecretEntry);
  snapshot_.images[0].verdicts = tests::Closed();  // to a pod without secrets
  EXPECT_FALSE(Check(kApp, PullPolicy::kNever).ok);
  report::CheckIdentity identity{.secrets = {{"team", "pull", "u1"}}};
  EXPECT_TRUE(Check(kApp, PullPolicy::kNever, true, identity).ok);
  identity.secrets[0].uid = "u2";
  EXPECT_FALSE(Check(kApp, PullPolicy::kNever, true, identity).ok);
}

TEST_F(InquiryTest, ThePodsSpellingCounts) {
  // What kubelet 1.36 records is the text that the pod wrote: spec/kubelet.md section 3.3.
  runtime_.Preload(tests::MakeImage("docker.io/library/tool:v1", 3000));
  plan::ImageState tool = snapshot_.images[0];
  tool.want.Change(
      [](auto& want) { want.reference = *image::Reference::Parse("docker.io/library/tool:v1"); });
  tool.image_id = IdOf("docker.io/library/tool:v1");
  snapshot_.images.push_back(tool);
  snapshot_.images.back().verdicts = tests::Open();  // of the list's own spelling
  Record(tool.image_id, "docker.io/library/tool", tests::kOpenEntry);
  EXPECT_TRUE(Check("docker.io/library/tool:v1", PullPolicy::kNever).ok);
  report::CheckAnswer answer = Check("tool:v1", PullPolicy::kNever);
  EXPECT_FALSE(answer.ok);
  EXPECT_TRUE(answer.listed);
  EXPECT_EQ(answer.reason, "RecordedUnderOtherName");
}

TEST_F(InquiryTest, AlwaysIsANoWhereNobodyIsAsked) {
  report::CheckAnswer answer = Check(kApp, PullPolicy::kAlways);
  EXPECT_FALSE(answer.ok);
  EXPECT_EQ(answer.reason, "PolicyAlways");
}

struct AlwaysCase {
  std::string name;
  image::RegistryAnswer says;
  bool ok;
  std::string result, reason;
};

class AlwaysTest : public InquiryTest, public testing::WithParamInterface<AlwaysCase> {};

TEST_P(AlwaysTest, AsksTheRegistryNow) {
  snapshot_.images[0].digest = "sha256:aa";
  snapshot_.images[0].other_digests = {"sha256:bb"};
  says_ = GetParam().says;
  report::CheckAnswer answer = Ask(kApp);
  EXPECT_EQ(answer.ok, GetParam().ok);
  EXPECT_EQ(answer.result, GetParam().result);
  EXPECT_EQ(answer.reason, GetParam().reason);
  EXPECT_NE(answer.message.find("Always"), std::string::npos) << answer.message;
  ASSERT_TRUE(asked_);
  EXPECT_EQ(asked_->local_digests, (std::vector<std::string>{"sha256:aa", "sha256:bb"}));
  ASSERT_EQ(asked_->credentials.size(), 1U);
  EXPECT_EQ(asked_->credentials[0].username, "ann");
}

using Kind = image::RegistryAnswerKind;
INSTANTIATE_TEST_SUITE_P(
    Answers, AlwaysTest,
    testing::Values(AlwaysCase{"Same", {.kind = Kind::kSame}, true, "Pulls", "UpToDate"},
                    AlwaysCase{"Moved", {.kind = Kind::kMoved}, false, "Pulls", "TagMoved"},
                    AlwaysCase{"TagMissing", {.kind = Kind::kTagMissing}, false, "Refused", "TagMissing"},
                    AlwaysCase{"Denied", {.kind = Kind::kAccessDenied}, false, "Refused", "AccessDenied"},
                    AlwaysCase{"Down", {.kind = Kind::kUnreachable}, false, "Unknown", "Unreachable"},
                    AlwaysCase{"Limited", {.kind = Kind::kRateLimited}, false, "Unknown", "RateLimited"},
                    AlwaysCase{"Failing", {.kind = Kind::kServerError}, false, "Unknown", "ServerError"},
                    AlwaysCase{"Unclear", {.kind = Kind::kIndeterminate}, false, "Unknown", "Indeterminate"},
                    AlwaysCase{"OnlyByPull",
                               {.kind = Kind::kIndeterminate, .only_by_pull = true},
                               false,
                               "Unknown",
                               "Indeterminate"}),
    [](const auto& row) { return row.param.name; });

TEST_F(InquiryTest, ATagThatIsGoneIsNamed) {
  says_ = {.kind = Kind::kTagMissing, .message = "404"};
  report::CheckAnswer answer = Ask(kApp);
  EXPECT_NE(answer.message.find(kApp), std::string::npos) << answer.message;
  EXPECT_NE(answer.message.find("imagePullPolicy Always"), std::string::npos) << answer.message;
}

TEST_F(InquiryTest, APasswordThatIsKeptFromAMirrorIsNoDenial) {
  says_ = {.kind = Kind::kAccessDenied, .detail = "NoCredentials", .answered_by = "mirror.example.test:5000"};
  report::CheckAnswer answer = Ask(kApp);
  EXPECT_EQ(answer.result, "Unknown");
  EXPECT_NE(answer.message.find("--registry-trusted-mirror mirror.example.test:5000"), std::string::npos)
      << answer.message;
  says_.answered_by = "reg.example.test";
  EXPECT_EQ(Ask(kApp).result, "Refused") << "the registry itself has seen all that there is";
}

TEST_F(InquiryTest, AlwaysOfAnAbsentImageWaitsForAPull) {
  says_ = {.kind = Kind::kMoved, .local_digest_unknown = true};
  report::CheckAnswer answer = Ask("reg.example.test/absent:v1");
  EXPECT_FALSE(answer.ok);
  EXPECT_EQ(answer.reason, "ImageAbsent");
  EXPECT_TRUE(asked_->local_digests.empty());
}

TEST_F(InquiryTest, ADenialSaysNothingOfAPodsOwnSecrets) {
  says_ = {.kind = Kind::kAccessDenied};
  report::CheckAnswer answer = Ask(kApp, true, {.secrets = {{"team", "pull", "u1"}}, .service_account = {}});
  EXPECT_EQ(answer.result, "Unknown");
}

TEST_F(InquiryTest, NeighboursCannotMakeTheAgentAsk) {
  says_ = {.kind = Kind::kSame};
  EXPECT_FALSE(Ask(kApp, false).ok);
  EXPECT_FALSE(asked_);
  snapshot_.images[0].registry =
      std::make_shared<const plan::RegistryView>(plan::RegistryView{.agrees = true});
  EXPECT_TRUE(Ask(kApp, false).ok);
  snapshot_.images[0].registry = std::make_shared<const plan::RegistryView>(
      plan::RegistryView{.always_reason = plan::Reason::kTagMissing, .always_message = "the tag is gone"});
  report::CheckAnswer gone = Ask(kApp, false);
  EXPECT_FALSE(gone.ok);
  EXPECT_EQ(gone.reason, "TagMissing");
  EXPECT_FALSE(asked_);
}

TEST_F(InquiryTest, NeverAndIfNotPresentAskNoRegistry) {
  board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
  for (PullPolicy policy : {PullPolicy::kNever, PullPolicy::kIfNotPresent}) {
    EXPECT_TRUE(asking_.Check({}, {.questions = {{kApp, policy, {}}}}, true).ok);
  }
  EXPECT_FALSE(asked_);
}

// IfNotPresent where kubelet would pull: absent, or closed to the pod.
struct PullCase {
  std::string name;
  image::RegistryAnswer says;
  bool ok;
  std::string result, reason;
};

class PullTest : public InquiryTest, public testing::WithParamInterface<PullCase> {};

TEST_P(PullTest, AsksWhetherThePodCouldPull) {
  const PullCase& row = GetParam();
  says_ = row.says;
  Record(IdOf(kApp), "reg.example.test/team/app", tests::kSecretEntry);
  for (const std::string& image : {kApp, std::string("reg.example.test/absent:v1")}) {
    asked_.reset();
    report::CheckAnswer answer = Ask(image, true, {}, PullPolicy::kIfNotPresent);
    EXPECT_EQ(answer.ok, row.ok) << answer.message;
    EXPECT_EQ(answer.result, row.result);
    std::string verdict = image == kApp ? "RecordedForOthers" : "ImageAbsent";
    EXPECT_EQ(answer.reason, row.reason.empty() ? verdict : row.reason);
    ASSERT_TRUE(asked_);
    EXPECT_EQ(asked_->reference.Normalized(), image);
    EXPECT_EQ(asked_->credentials.size(), 1U);
    // Neighbours hear what kubelet would do, and nobody is asked for them.
    asked_.reset();
    EXPECT_FALSE(Ask(image, false, {}, PullPolicy::kIfNotPresent).ok);
    // Never pulls nothing, whoever could.
    EXPECT_FALSE(Ask(image, true, {}, PullPolicy::kNever).ok);
    EXPECT_FALSE(asked_);
  }
}
INSTANTIATE_TEST_SUITE_P(
    Answers, PullTest,
    testing::Values(PullCase{"Same", {.kind = Kind::kSame}, true, "Pulls", ""},
                    PullCase{"Moved", {.kind = Kind::kMoved}, true, "Pulls", ""},
                    PullCase{"TagMissing", {.kind = Kind::kTagMissing}, false, "Refused", "TagMissing"},
                    PullCase{"Denied", {.kind = Kind::kAccessDenied}, false, "Refused", "AccessDenied"},
                    PullCase{"Down", {.kind = Kind::kUnreachable}, false, "Unknown", "Unreachable"},
                    PullCase{"Limited", {.kind = Kind::kRateLimited}, false, "Unknown", "RateLimited"},
                    PullCase{"OnlyByPull",
                             {.kind = Kind::kIndeterminate, .only_by_pull = true},
                             false,
                             "Unknown",
                             "Indeterminate"}),
    [](const auto& row) { return row.param.name; });

TEST_F(InquiryTest, WithoutAKubeletAnAbsentImageIsAskedForToo) {
  snapshot_.kubelet.reset();
  snapshot_.possible_kubelets.reset();
  says_ = {.kind = Kind::kMoved};
  EXPECT_TRUE(Ask("reg.example.test/absent:v1", true, {}, PullPolicy::kIfNotPresent).ok);
  says_ = {.kind = Kind::kTagMissing};
  EXPECT_EQ(Ask("reg.example.test/absent:v1", true, {}, PullPolicy::kIfNotPresent).reason, "TagMissing");
}

// A request's questions wait once for a registry that is silent.
TEST_F(InquiryTest, ASilentRegistryIsAskedOnceARequest) {
  says_ = {.kind = Kind::kUnreachable};
  board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
  std::vector<report::CheckQuestion> questions;
  for (const char* tag : {"v1", "v2", "v3"}) {
    questions.push_back({std::string("reg.example.test/absent:") + tag, PullPolicy::kIfNotPresent, {}});
  }
  int before = times_asked_;
  report::CheckResult result = asking_.Check({}, {.questions = questions}, true);
  EXPECT_EQ(times_asked_ - before, 1);
  for (const report::CheckAnswer& answer : result.answers) EXPECT_EQ(answer.reason, "Unreachable");
  says_ = {.kind = Kind::kMoved};
  before = times_asked_;
  EXPECT_TRUE(asking_.Check({}, {.questions = questions}, true).ok);
  EXPECT_EQ(times_asked_ - before, 3);
}

// 503 and the like come from what stands before a registry, and are tried three times each.
TEST_F(InquiryTest, ARegistryThatIsBeingMendedIsAskedOnceARequest) {
  struct Case {
    std::string detail;
    int asked;
  };
  for (const Case& row : {Case{"Status502", 1}, {"Status503", 1}, {"Status504", 1}, {"Status500", 2}}) {
    says_ = {.kind = Kind::kServerError, .detail = row.detail};
    times_asked_ = 0;
    board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
    asking_.Check({}, {.questions = {{kApp, PullPolicy::kAlways, {}}, {kApp, PullPolicy::kAlways, {}}}},
                  true);
    EXPECT_EQ(times_asked_, row.asked) << row.detail;
  }
}

// Who asks has seconds: what needs no registry is answered, and no registry is asked beyond that.
TEST_F(InquiryTest, NoRegistryIsAskedLongerThanTheAskerHas) {
  says_ = {.kind = Kind::kSame};
  board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
  report::CheckRequest request{.questions = {{kApp, PullPolicy::kAlways, {}}, {kApp, PullPolicy::kNever, {}}},
                               .within = {}};
  report::CheckResult result = asking_.Check({}, request, true);
  EXPECT_EQ(times_asked_, 0);
  EXPECT_EQ(result.answers.at(0).result, "Unknown");
  EXPECT_EQ(result.answers.at(0).reason, "Unreachable");
  EXPECT_NE(result.answers.at(0).message.find("before reg.example.test could be asked"), std::string::npos);
  EXPECT_TRUE(result.answers.at(1).ok);
  request.within = std::chrono::seconds(5);
  auto before = std::chrono::steady_clock::now();
  EXPECT_TRUE(asking_.Check({}, request, true).ok);
  EXPECT_LE(deadline_, std::chrono::steady_clock::now() + request.within);
  EXPECT_GE(deadline_, before + std::chrono::seconds(1));
}

// check --pull. The loop is played by hand: what it has made of the wish is on the board when it is asked.
class PullingTest : public InquiryTest {
 protected:
  report::CheckAnswer Pull(const std::string& image, PullPolicy policy, report::CheckIdentity identity = {}) {
    board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
    return pulling_
        .Check({}, {.questions = {{image, policy, std::move(identity)}}, .pull = true, .wait = {}}, true)
        .answers.at(0);
  }
  plan::ImageState& Asked(const std::string& image, plan::Reason reason) {
    plan::AskedImage asked;
    asked.state.want = plan::DesiredImage{.reference = *image::Reference::Parse(image)};
    asked.state.phase = plan::Phase::kFailing;
    asked.state.reason = reason;
    asked.state.message = "as the runtime says it";
    asked.state.pull.state = plan::PullState::kWaiting;
    asked.asked_at = clock_.Now();
    snapshot_.asked.push_back(asked);
    return snapshot_.asked.back().state;
  }

  std::vector<std::string> wished_;
  std::function<void()> act_;  // what happens upon a wish
  Inquiry pulling_{board_,
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
  report::CheckAnswer closed = Pull(kApp, PullPolicy::kNever);
  EXPECT_EQ(closed.reason, "RecordedForOthers") << "which another pull does not change";
  EXPECT_TRUE(wished_.empty());
}

TEST_F(PullingTest, WhatComesIsAnsweredByItsVerdict) {
  act_ = [this] {
    runtime_.Preload(tests::MakeImage(kAbsent, 1000));
    Asked(kAbsent, plan::Reason::kPresent).usable = true;
    board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
  };
  report::CheckAnswer answer = Pull(kAbsent, PullPolicy::kNever);
  EXPECT_EQ(wished_, std::vector<std::string>{kAbsent});
  EXPECT_TRUE(answer.ok) << answer.message;
  EXPECT_FALSE(answer.pending);
  EXPECT_FALSE(answer.listed);
  EXPECT_EQ(answer.reason, "Preloaded");
}

TEST_F(PullingTest, UntilThenItIsPending) {
  report::CheckAnswer waits = Pull(kAbsent, PullPolicy::kNever);
  EXPECT_TRUE(waits.pending);
  EXPECT_FALSE(waits.ok);
  EXPECT_EQ(waits.result, "Unknown");
  EXPECT_EQ(waits.reason, "Queued");
  plan::ImageState& image = Asked(kAbsent, plan::Reason::kPulling);
  image.phase = plan::Phase::kProgressing;
  image.pull.state = plan::PullState::kPulling;
  image.pull.bytes_known = true;
  image.pull.bytes_done = 12'000'000;
  image.pull.bytes_total = 680'000'000;
  report::CheckAnswer moves = Pull(kAbsent, PullPolicy::kIfNotPresent);
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
  listed.want = plan::DesiredImage{.reference = *image::Reference::Parse(kAbsent)};
  listed.phase = plan::Phase::kProgressing;
  listed.reason = plan::Reason::kQueued;
  listed.pull.state = plan::PullState::kQueued;
  snapshot_.images.push_back(listed);
  report::CheckAnswer waits = Pull(kAbsent, PullPolicy::kNever);
  EXPECT_TRUE(waits.pending);
  EXPECT_TRUE(waits.listed);
  EXPECT_EQ(wished_, std::vector<std::string>{kAbsent}) << "so that it goes first";
  snapshot_.images.back().applies = false;
  report::CheckAnswer elsewhere = Pull(kAbsent, PullPolicy::kNever);
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
  report::CheckIdentity identity;
  if (row.own_credentials) identity.secrets = {{"team", "pull", "u1"}};
  report::CheckAnswer answer = Pull(kAbsent, row.policy, identity);
  EXPECT_FALSE(answer.ok);
  EXPECT_FALSE(answer.pending);
  EXPECT_EQ(answer.result, row.result);
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

TEST_F(InquiryTest, UnlistedImagesAreForLocalEarsOnly) {
  EXPECT_TRUE(Check("reg.example.test/unlisted:v1", PullPolicy::kNever).ok);
  EXPECT_FALSE(Check("reg.example.test/unlisted:v1", PullPolicy::kNever).listed);
  EXPECT_EQ(Check("reg.example.test/absent:v1", PullPolicy::kNever).reason, "ImageAbsent");
  for (const char* name : {"reg.example.test/unlisted:v1", "reg.example.test/absent:v1"}) {
    report::CheckAnswer answer = Check(name, PullPolicy::kNever, false);
    EXPECT_EQ(answer.reason, "NotListed") << name;
    EXPECT_FALSE(answer.ok);
  }
}

TEST_F(InquiryTest, AnImageIsKnownIfItIsListedOrHere) {
  snapshot_.images[0].present = snapshot_.images[0].usable = false;
  board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
  auto known = [&](const std::string& name) {
    return inquiry_.Explain({}, *image::Reference::Parse(name), {}).known;
  };
  EXPECT_TRUE(known(kApp)) << "listed, and absent";
  EXPECT_TRUE(known("reg.example.test/unlisted:v1")) << "here, and not listed";
  EXPECT_FALSE(known("reg.example.test/absent:v1"));
}

TEST_F(InquiryTest, ANameThatKubeletRefusesIsRefused) {
  EXPECT_EQ(Check("UPPER", PullPolicy::kIfNotPresent).reason, "InvalidImageName");
}

TEST_F(InquiryTest, AnImageOfAnotherPlatformIsANo) {
  snapshot_.images[0].usable = false;
  snapshot_.images[0].reason = plan::Reason::kWrongPlatform;
  snapshot_.images[0].message = "it is for linux/s390x";
  report::CheckAnswer answer = Check(kApp, PullPolicy::kNever);
  EXPECT_FALSE(answer.ok);
  EXPECT_EQ(answer.reason, "WrongPlatform");
}

TEST_F(InquiryTest, BeforeKubeletWasLookedAtNothingIsKnown) {
  snapshot_.possible_kubelets = nullptr;
  EXPECT_EQ(Check(kApp, PullPolicy::kNever).result, "Unknown");
}

TEST_F(InquiryTest, WithoutAKubeletPresenceCounts) {
  snapshot_.kubelet.reset();
  EXPECT_TRUE(Check(kApp, PullPolicy::kNever).ok);
  snapshot_.images[0].present = snapshot_.images[0].usable = false;
  EXPECT_FALSE(Check(kApp, PullPolicy::kNever).ok);
}

TEST_F(InquiryTest, ARuntimeThatIsAwayIsSaid) {
  runtime_.SetRuntimeUp(false);
  EXPECT_EQ(Check("reg.example.test/unlisted:v1", PullPolicy::kNever).reason, "RuntimeDown");
}

// A node that starts, or that never reached its runtime: "absent" would be a guess.
TEST_F(InquiryTest, WhatTheRuntimeHasNotToldOfIsNotCalledAbsent) {
  plan::ImageState& image = snapshot_.images[0];
  image.present = image.usable = false;
  image.image_id.clear();
  image.reason = plan::Reason::kFactsUnknown;
  snapshot_.runtime.error = "nobody listens";
  for (bool local : {true, false}) {
    for (PullPolicy policy : {PullPolicy::kNever, PullPolicy::kIfNotPresent, PullPolicy::kAlways}) {
      report::CheckAnswer answer = Check(kApp, policy, local);
      EXPECT_EQ(answer.result, "Unknown");
      EXPECT_EQ(answer.reason, "RuntimeDown");
      EXPECT_EQ(answer.message, "the container runtime could not be asked: nobody listens");
    }
  }
  doc::Node root = Explain(kApp);
  EXPECT_EQ(root.Find("reasoning")->kind, doc::Node::Kind::kNull)
      << "kubelet was not asked of an image without an id";
  EXPECT_EQ(root.Find("whatHelps")->items.at(0).text,
            "start the container runtime, or name its socket with --runtime-endpoint");
  EXPECT_EQ(root.Find("runtime")->Find("error")->text, "nobody listens");

  snapshot_.runtime.error.clear();
  EXPECT_EQ(Check(kApp, PullPolicy::kNever).message, "the container runtime has not answered yet");
  EXPECT_TRUE(Explain(kApp).Find("whatHelps")->items.empty());
  snapshot_.kubelet.reset();
  EXPECT_EQ(Check(kApp, PullPolicy::kNever).result, "Unknown");
}

TEST_F(InquiryTest, WhatARuntimeToldThatIsAwayForLongSaysNothing) {
  snapshot_.runtime.error = "nobody listens";
  EXPECT_TRUE(Check(kApp, PullPolicy::kNever).ok) << "a restart takes nothing away";
  snapshot_.readiness.reason = plan::Reason::kRuntimeDown;
  EXPECT_EQ(Check(kApp, PullPolicy::kNever).reason, "RuntimeDown");
}

TEST_F(InquiryTest, ExplainOfAnUnlistedImageDoesNotGuessWithoutTheRuntime) {
  runtime_.SetRuntimeUp(false);
  doc::Node root = Explain("reg.example.test/unlisted:v1");
  EXPECT_EQ(root.Find("reasoning")->kind, doc::Node::Kind::kNull);
  EXPECT_EQ(root.Find("reason")->text, "FactsUnknown");
}

TEST_F(InquiryTest, ExplainsTheRecordWithoutNamesOrHashes) {
  Record(IdOf(kApp), "reg.example.test/other", tests::kSecretEntry);
  doc::Node root = Explain(kApp);
  const doc::Node* record = root.Find("record");
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->Find("state")->text, "Found");
  const doc::Node& use = record->Find("uses")->items.at(0);
  EXPECT_EQ(use.Find("repository")->text, "reg.example.test/other");
  EXPECT_EQ(use.Find("secrets")->integer, 1);
  EXPECT_TRUE(use.Find("identities")->items.empty());
  EXPECT_EQ(root.Find("recordKey")->text, "reg.example.test/team/app");
  EXPECT_EQ(root.Find("reasoning")->Find("Never")->Find("reason")->text, "RecordedUnderOtherName");
  EXPECT_EQ(root.Find("intent")->text, "Absent");
}

TEST_F(InquiryTest, NamesIdentitiesWhenAskedButNeverAHash) {
  Record(IdOf(kApp), "reg.example.test/team/app", tests::kSecretEntry);
  board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
  std::string json = inquiry_.Explain({}, *image::Reference::Parse(kApp), {.identities = true}).json;
  EXPECT_NE(json.find("secret team/pull"), std::string::npos);
  EXPECT_EQ(json.find("\"h1\""), std::string::npos) << json;
}

TEST_F(InquiryTest, NamesCredentialsAndNeverAPassword) {
  doc::Node root = Explain(kApp);
  EXPECT_EQ(root.Find("credentials")->items.at(0).Find("username")->text, "ann");
  EXPECT_EQ(inquiry_.Explain({}, *image::Reference::Parse(kApp), {}).json.find("s3cr3t"), std::string::npos);
  EXPECT_EQ(Explain(kApp, {.credentials = false}).Find("credentials")->kind, doc::Node::Kind::kNull);
}

TEST_F(InquiryTest, ExplainsWhatIsNotListed) {
  doc::Node root = Explain("reg.example.test/unlisted:v1");
  EXPECT_FALSE(root.Find("listed")->boolean);
  EXPECT_TRUE(root.Find("present")->boolean);
  EXPECT_EQ(root.Find("reason")->text, "Preloaded");
  EXPECT_FALSE(inquiry_.Explain({}, *image::Reference::Parse("a.example.test/b:v9"), {}).known);
}

}  // namespace
}  // namespace prefetch::agent
