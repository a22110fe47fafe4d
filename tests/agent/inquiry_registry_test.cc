// What a pod would meet that contacts the registry.
#include "agent/answers/inquiry.h"

#include <gtest/gtest.h>

#include "agent/inquiry_rig.h"

namespace prefetch::agent::inquiry_registry_test {
namespace {

TEST_F(InquiryTest, AlwaysIsANoWhereNobodyIsAsked) {
  status::CheckAnswer answer = Check(kApp, PullPolicy::kAlways);
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
  status::CheckAnswer answer = Ask(kApp);
  EXPECT_EQ(answer.ok, GetParam().ok);
  EXPECT_EQ(answer.result.text(), GetParam().result);
  EXPECT_EQ(answer.reason, GetParam().reason);
  EXPECT_NE(answer.message.find("Always"), std::string::npos) << answer.message;
  ASSERT_TRUE(asked_);
  EXPECT_EQ(asked_->local_digests, (std::vector<std::string>{"sha256:aa", "sha256:bb"}));
  EXPECT_FALSE(asked_->fetches_manifest);
  ASSERT_EQ(asked_->credentials.size(), 1U);
  EXPECT_EQ(asked_->credentials[0].username, "ann");
}

INSTANTIATE_TEST_SUITE_P(
    Answers, AlwaysTest,
    testing::Values(AlwaysCase{"Same", {.kind = Kind::kSame}, true, "Pulls", "UpToDate"},
                    AlwaysCase{"Moved", {.kind = Kind::kMoved}, true, "Pulls", "TagMoved"},
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
  status::CheckAnswer answer = Ask(kApp);
  EXPECT_NE(answer.message.find(kApp), std::string::npos) << answer.message;
  EXPECT_NE(answer.message.find("imagePullPolicy Always"), std::string::npos) << answer.message;
}

// A provider that kubelet has and the agent was not given would perhaps have opened it.
TEST_F(InquiryTest, ADenialNamesTheProviderThatOnlyKubeletHas) {
  const std::string file = dir_.Write("kubelets.yaml", R"(apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: acme-login
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  matchImages: [reg.example.test]
  defaultCacheDuration: 1h
)");
  keyring_.SetKubeletProviders({.config = file, .bin_dir = "/opt/kubelets"});
  clock_.Advance(std::chrono::seconds(1));
  const std::string named =
      "provider \"acme-login\" was skipped: kubelet uses it, from " + file + "; the agent was given none";
  says_ = {.kind = Kind::kAccessDenied, .detail = image::RegistryDetail::kBadCredentials, .message = "401"};
  EXPECT_NE(Ask(kApp).message.find(named), std::string::npos) << Ask(kApp).message;
  says_ = {.kind = Kind::kTagMissing, .message = "404"};
  EXPECT_EQ(Ask(kApp).message.find(named), std::string::npos) << Ask(kApp).message;
}

TEST_F(InquiryTest, APasswordThatIsKeptFromAMirrorIsNoDenial) {
  says_ = {.kind = Kind::kAccessDenied,
           .detail = image::RegistryDetail::kNoCredentials,
           .answered_by = "mirror.example.test:5000"};
  status::CheckAnswer answer = Ask(kApp);
  EXPECT_EQ(answer.result.text(), "Unknown");
  EXPECT_NE(answer.message.find("registryTrustedMirrors: [mirror.example.test:5000]"), std::string::npos)
      << answer.message;
  says_.answered_by = "reg.example.test";
  EXPECT_EQ(Ask(kApp).result.text(), "Refused") << "the registry itself has seen all that there is";
}

TEST_F(InquiryTest, AlwaysOfAnAbsentImageWaitsForAPull) {
  says_ = {.kind = Kind::kMoved, .local_digest_unknown = true};
  status::CheckAnswer answer = Ask("reg.example.test/absent:v1");
  EXPECT_TRUE(answer.ok) << "a pod with IfNotPresent would start as well";
  EXPECT_EQ(answer.reason, "ImageAbsent");
  EXPECT_TRUE(asked_->local_digests.empty());
  EXPECT_TRUE(asked_->fetches_manifest);
}

TEST_F(InquiryTest, ADenialSaysNothingOfAPodsOwnSecrets) {
  says_ = {.kind = Kind::kAccessDenied};
  status::CheckAnswer answer = Ask(kApp, true, {.secrets = {{"team", "pull", "u1"}}, .service_account = {}});
  EXPECT_EQ(answer.result.text(), "Unknown");
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
  status::CheckAnswer gone = Ask(kApp, false);
  EXPECT_FALSE(gone.ok);
  EXPECT_EQ(gone.reason, "TagMissing");
  EXPECT_FALSE(asked_);
}

TEST_F(InquiryTest, NeverAndIfNotPresentAskNoRegistry) {
  board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
  for (PullPolicy policy : {PullPolicy::kNever, PullPolicy::kIfNotPresent}) {
    EXPECT_TRUE(asking_.Check({}, {.questions = {{kApp, policy, {}}}}, kNode).ok);
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
    status::CheckAnswer answer = Ask(image, true, {}, PullPolicy::kIfNotPresent);
    EXPECT_EQ(answer.ok, row.ok) << answer.message;
    EXPECT_EQ(answer.result.text(), row.result);
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
  std::vector<status::CheckQuestion> questions;
  for (const char* tag : {"v1", "v2", "v3"}) {
    questions.push_back({std::string("reg.example.test/absent:") + tag, PullPolicy::kIfNotPresent, {}});
  }
  int before = times_asked_;
  status::CheckResult result = asking_.Check({}, {.questions = questions}, kNode);
  EXPECT_EQ(times_asked_ - before, 1);
  for (const status::CheckAnswer& answer : result.answers) EXPECT_EQ(answer.reason, "Unreachable");
  says_ = {.kind = Kind::kMoved};
  before = times_asked_;
  EXPECT_TRUE(asking_.Check({}, {.questions = questions}, kNode).ok);
  EXPECT_EQ(times_asked_ - before, 3);
}

// 503 and the like come from what stands before a registry, and are tried three times each.
TEST_F(InquiryTest, ARegistryThatIsBeingMendedIsAskedOnceARequest) {
  struct Case {
    int status;
    int asked;
  };
  for (const Case& row : {Case{502, 1}, {503, 1}, {504, 1}, {500, 2}}) {
    says_ = {.kind = Kind::kServerError, .detail = image::RegistryDetail::Status(row.status)};
    times_asked_ = 0;
    board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
    asking_.Check({}, {.questions = {{kApp, PullPolicy::kAlways, {}}, {kApp, PullPolicy::kAlways, {}}}},
                  kNode);
    EXPECT_EQ(times_asked_, row.asked) << row.status;
  }
}

// Who asks has seconds: what needs no registry is answered, and no registry is asked beyond that.
TEST_F(InquiryTest, NoRegistryIsAskedLongerThanTheAskerHas) {
  says_ = {.kind = Kind::kSame};
  board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
  status::CheckRequest request{.questions = {{kApp, PullPolicy::kAlways, {}}, {kApp, PullPolicy::kNever, {}}},
                               .within = {}};
  status::CheckResult result = asking_.Check({}, request, kNode);
  EXPECT_EQ(times_asked_, 0);
  EXPECT_EQ(result.answers.at(0).result.text(), "Unknown");
  EXPECT_EQ(result.answers.at(0).reason, "Unreachable");
  EXPECT_NE(result.answers.at(0).message.find("before reg.example.test could be asked"), std::string::npos);
  EXPECT_TRUE(result.answers.at(1).ok);
  request.within = std::chrono::seconds(5);
  auto before = std::chrono::steady_clock::now();
  EXPECT_TRUE(asking_.Check({}, request, kNode).ok);
  EXPECT_LE(deadline_, std::chrono::steady_clock::now() + request.within);
  EXPECT_GE(deadline_, before + std::chrono::seconds(1));
}

}  // namespace
}  // namespace prefetch::agent::inquiry_registry_test
