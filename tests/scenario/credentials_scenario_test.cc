// The node's credential configuration is broken and mended while the agent runs.
#include <gtest/gtest.h>

#include "base/text.h"
#include "rows.h"
#include "scenario/node.h"

namespace prefetch::tests::credentials_scenario_test {
namespace {

const char kGood[] = R"(apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: "true"
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  matchImages: [private.io]
  defaultCacheDuration: 1h
)";
const char kBad[] = R"(apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: "true"
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  defaultCacheDuration: 1h
)";

class CredentialsScenario : public testing::Test {
 protected:
  void Start(const std::string& provider_config) {
    node_ = std::make_unique<Node>(NodeOptions{.provider_config = provider_config});
    node_->PushAndList("r.io/a:v1", kMB);
    node_->RunFor(seconds(10));
  }
  const plan::Readiness& Readiness() {
    snapshot_ = node_->Snapshot();
    return snapshot_->readiness;
  }

  std::unique_ptr<Node> node_;
  plan::SnapshotPtr snapshot_;
};

TEST_F(CredentialsScenario, ABadConfigurationIsNotReadyAndSaysWhy) {
  Start(kBad);
  EXPECT_EQ(Readiness().reason, plan::Reason::kCredentialsInvalid);
  EXPECT_EQ(Readiness().phase, plan::Phase::kFailing);
  EXPECT_FALSE(Readiness().ready);
  EXPECT_HAS(Readiness().message, "the credential provider configuration cannot be used: ");
  EXPECT_HAS(Readiness().message, "matchImages");
  ASSERT_EQ(snapshot_->problems.size(), 1U);
  EXPECT_HAS(snapshot_->problems[0], "providers.yaml:4:");
  // The agent still pulls images that need no plugin.
  EXPECT_TRUE(node_->Image("r.io/a:v1").ready);
  node_->RunFor(hours(24));
  EXPECT_EQ(node_->LogLines("credentials"), 1) << "once, not with every look";
}

// kubelet has a provider that nobody gave to the agent.
class ForgottenProvider : public testing::Test {
 protected:
  explicit ForgottenProvider()
      : node_({.kubelet = kubelet::KubeletDeclarations{.version = image::KubeletVersion{1, 36}},
               .sees_processes = true}) {
    node_.runtime.Push(Private(MakeImage("private.io/app:v1", kMB), "ci", "pw"));
  }
  void RunsWith(const std::string& file) {
    node_.KubeletRuns("100", "--image-credential-provider-config=" + file);
    node_.List({"private.io/app:v1"});
    node_.RunFor(seconds(40));
  }
  std::string Problems() const { return base::Join(node_.Snapshot()->problems, "\n"); }
  const std::string& Message() { return node_.Image("private.io/app:v1").message; }

  Node node_;
};

TEST_F(ForgottenProvider, IsAProblemAndInEveryRefusal) {
  const std::string file = node_.WriteFile("kubelets.yaml", kGood);
  RunsWith(file);
  EXPECT_EQ(node_.ReasonOf("private.io/app:v1"), plan::Reason::kAccessDenied);
  EXPECT_HAS(Message(),
             "provider \"true\" was skipped: kubelet uses it, from " + file + "; the agent was given none");
  EXPECT_HAS(Problems(), "kubelet uses the credential provider \"true\" from " + file +
                             "; the agent was given none: images of private.io will be refused (401)");
  EXPECT_EQ(node_.Snapshot()->providers_not_given, 1U);
}

// kubelet's own configuration was given, and the folder of its programs was not.
TEST(ForgottenProgram, IsAProblemAndInEveryRefusal) {
  Node node({.provider_config = base::ReplaceAll(kGood, "name: \"true\"", "name: gone"),
             .kubelet = kubelet::KubeletDeclarations{.version = image::KubeletVersion{1, 36}},
             .sees_processes = true});
  node.runtime.Push(Private(MakeImage("private.io/app:v1", kMB), "ci", "pw"));
  const std::string file = node.ProviderConfigFile();
  node.KubeletRuns("100", std::string("--image-credential-provider-config=" + file) + '\0' +
                              "--image-credential-provider-bin-dir=/opt/kubelets");
  node.List({"private.io/app:v1"});
  node.RunFor(seconds(40));
  EXPECT_HAS(
      node.Image("private.io/app:v1").message,
      "provider \"gone\" was skipped: kubelet uses it, from " + file + "; the agent has no program /bin/gone")
      << node.Image("private.io/app:v1").message;
  EXPECT_HAS(
      base::Join(node.Snapshot()->problems, "\n"),
      "kubelet uses the credential provider \"gone\" from " + file + "; the agent has no program /bin/gone");
  EXPECT_EQ(node.Snapshot()->providers_not_given, 1U);
}

TEST_F(ForgottenProvider, IsToldWhereItsFileIsNotMounted) {
  RunsWith("/not/mounted/providers.yaml");
  EXPECT_HAS(Problems(),
             "kubelet uses credential providers from /not/mounted/providers.yaml; the agent "
             "was given none, and cannot read that file");
  EXPECT_HAS(Message(), "provider \"/not/mounted/providers.yaml\" was skipped");
  EXPECT_EQ(node_.Snapshot()->providers_not_given, 1U);
}

FakeImage Hidden() {
  FakeImage image = Private(MakeImage("r.io/team/app:v1", kMB), "ci", "pw");
  image.hidden = true;
  return image;
}

// Some registries hide by 404 what a credential may not see. kubelet goes on to the next one, and so does the
// agent.
TEST(HiddenImage, IsPulledWithTheSecondCredential) {
  Node node({.docker_config = R"({"auths":{"r.io/team":{"username":"other","password":"pw"},
                                           "r.io":{"username":"ci","password":"pw"}}})"});
  node.runtime.Push(Hidden());
  node.List({"r.io/team/app:v1"});
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)))
      << node.Image("r.io/team/app:v1").message;
}

// No credential may see the image. The registry denies it to one, and hides it from the other.
TEST(HiddenImage, ARefusalIsNotForgottenForTheNextCredentials404) {
  for (bool refused_first : {true, false}) {
    Node node({.docker_config = R"({"auths":{"r.io/team":{"username":"one","password":"pw"},
                                             "r.io":{"username":"two","password":"pw"}}})"});
    FakeImage hidden = Hidden();
    hidden.refused_user = refused_first ? "one" : "two";
    node.runtime.Push(hidden);
    node.List({"r.io/team/app:v1"});
    node.RunFor(seconds(5));
    EXPECT_EQ(node.ReasonOf("r.io/team/app:v1"), plan::Reason::kAccessDenied);
    const std::string& message = node.Image("r.io/team/app:v1").message;
    EXPECT_HAS(message, "401");
    EXPECT_HAS(message, "not found");
  }
}

// In whichever words a runtime refuses a password, the agent tries the next credential, and the refused one
// only once.
TEST_TABLE(RefusedPassword, IsFollowedByTheNextCredential, Persona) {
  Node node({.persona = row, .docker_config = R"({"auths":{"r.io/team":{"username":"old","password":"pw"},
                                           "r.io":{"username":"ci","password":"pw"}}})"});
  node.runtime.Push(Private(MakeImage("r.io/team/app:v1", kMB), "ci", "pw"));
  node.List({"r.io/team/app:v1"});
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)))
      << node.Image("r.io/team/app:v1").message;
  node.RunFor(seconds(70));
  EXPECT_EQ(node.runtime.counters().refused_passwords, RefusedTries(row));
}

TEST_ROWS(Personas, RefusedPassword, Persona::kContainerd16, Persona::kContainerd23, Persona::kCrio);

TEST(LearntRoot, IsWhereTheDockerConfigIs) {
  Node node({.docker_config = R"({"auths":{"r.io":{"username":"ci","password":"pw"}}})",
             .looks_for_docker_config = true,
             .kubelet = kubelet::KubeletDeclarations{.policy = kubelet::VerificationPolicy::kNeverVerify}});
  node.runtime.Push(Private(MakeImage("r.io/team/app:v1", kMB), "ci", "pw"));
  node.List({"r.io/team/app:v1"});
  EXPECT_TRUE(node.RunUntil([&] { return node.Image("r.io/team/app:v1").present; }, seconds(30)))
      << node.Image("r.io/team/app:v1").message;
}

TEST_F(CredentialsScenario, AMendedOneIsNoticedWhileTheAgentIsIdle) {
  Start(kBad);
  ASSERT_FALSE(node_->Ready());
  node_->WriteProviderConfig(kGood);
  EXPECT_TRUE(node_->RunUntil([&] { return node_->Ready(); }, seconds(10)));
  EXPECT_TRUE(node_->Snapshot()->problems.empty());
  EXPECT_EQ(node_->runtime.counters().pull_calls, 1);
}

TEST_F(CredentialsScenario, AnotherMistakeIsSaidInsteadOfTheFirst) {
  Start(kBad);
  node_->WriteProviderConfig("providers: []\n");
  EXPECT_TRUE(node_->RunUntil([&] { return Readiness().message.find("matchImages") == std::string::npos; },
                              seconds(10)));
  EXPECT_HAS(Readiness().message, "providers.yaml:1:");
  EXPECT_FALSE(node_->Ready());
}

TEST_F(CredentialsScenario, OneThatBreaksLaterTakesNothingAwayAndIsSaid) {
  Start(kGood);
  EXPECT_TRUE(node_->Ready());
  EXPECT_TRUE(node_->Snapshot()->problems.empty());
  node_->WriteProviderConfig(kBad);
  EXPECT_TRUE(node_->RunUntil([&] { return !node_->Snapshot()->problems.empty(); }, seconds(10)));
  EXPECT_TRUE(node_->Ready());
  EXPECT_HAS(node_->Snapshot()->problems[0], "last good");
  EXPECT_EQ(node_->LogLines("credentials"), 1);
}

}  // namespace
}  // namespace prefetch::tests::credentials_scenario_test
