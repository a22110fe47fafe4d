// Queries about images on the list and others: kubelet's verdict, and its explanation.
#include "agent/answers/image_queries.h"

#include <gtest/gtest.h>

#include "agent/image_queries_rig.h"

namespace prefetch::agent::image_queries_test {
namespace {

// As `ctr images import` leaves it: kubelet has no record of it, and a pod with Never starts.
TEST_F(InquiryTest, AnImportedImageStarts) {
  const std::string imported = "reg.example.test/imported:v1";
  EXPECT_EQ(Check(imported, PullPolicy::kNever).reason, "ImageAbsent");
  runtime_.Import(tests::MakeImage(imported, 1000));
  EXPECT_EQ(Check(imported, PullPolicy::kNever).reason, "Preloaded");
  EXPECT_EQ(Explain(imported).Find("reason")->text, "Preloaded");
  // On the list, and the newest look was before.
  plan::ImageState state;
  state.desired = plan::DesiredImage{.reference = *image::Reference::Parse(imported)};
  state.reason = plan::Reason::kImageAbsent;
  snapshot_.images.push_back(state);
  EXPECT_EQ(Check(imported, PullPolicy::kNever).reason, "Preloaded");
  EXPECT_EQ(Check(imported, PullPolicy::kNever, false).reason, "ImageAbsent")
      << "what the runtime must search for, a neighbour hears with the next look";
}

TEST_F(InquiryTest, AnImportedArtifactIsNoImage) {
  tests::FakeImage chart = tests::MakeImage("reg.example.test/chart:v1", 1000);
  chart.unpackable = false;
  runtime_.Import(chart);
  EXPECT_EQ(Check(chart.name, PullPolicy::kNever).reason, "ImageAbsent");
}

TEST_F(InquiryTest, ASecretWithoutUidIsAssumedToBeTheRecordedOne) {
  Record(IdOf(kApp), "reg.example.test/team/app", tests::kSecretEntry);
  status::CheckIdentity identity{.secrets = {{"", "team", "pull"}}};
  status::CheckAnswer answer = Check(kApp, PullPolicy::kNever, true, identity);
  EXPECT_TRUE(answer.ok) << answer.message;
  EXPECT_EQ(answer.reason, "AssumedForPod");
  identity.secrets[0].uid = "u2";
  EXPECT_FALSE(Check(kApp, PullPolicy::kNever, true, identity).ok);
  identity.secrets[0] = {"", "other", "pull"};
  EXPECT_EQ(Check(kApp, PullPolicy::kNever, true, identity).reason, "RecordedForOthers");
}

TEST_F(InquiryTest, AClaimWithoutProofTellsNothing) {
  Record(IdOf(kApp), "reg.example.test/team/app", tests::kSecretEntry);
  const status::CheckAnswer without = Check(kApp, PullPolicy::kNever, false);
  for (const char* uid : {"", "u1", "u2"}) {
    status::CheckIdentity identity{.secrets = {{uid, "team", "pull"}}};
    identity.service_account = image::Coordinates{uid, "team", "runner"};
    for (PullPolicy policy : {PullPolicy::kNever, PullPolicy::kIfNotPresent, PullPolicy::kAlways}) {
      EXPECT_EQ(Check(kApp, policy, false, identity).reason, Check(kApp, policy, false).reason);
      EXPECT_EQ(Ask(kApp, false, identity, policy).result, Ask(kApp, false, {}, policy).result);
    }
  }
  EXPECT_EQ(without.reason, "RecordedForOthers");
}

TEST_F(InquiryTest, ThePodsSpellingCounts) {
  // kubelet 1.36 records the text that the pod wrote (K17).
  runtime_.Preload(tests::MakeImage("docker.io/library/tool:v1", 3000));
  plan::ImageState tool = snapshot_.images[0];
  tool.desired.Change(
      [](auto& desired) { desired.reference = *image::Reference::Parse("docker.io/library/tool:v1"); });
  tool.image_id = IdOf("docker.io/library/tool:v1");
  snapshot_.images.push_back(tool);
  snapshot_.images.back().verdicts = tests::Open();  // of the list's own spelling
  Record(tool.image_id, "docker.io/library/tool", tests::kOpenEntry);
  EXPECT_TRUE(Check("docker.io/library/tool:v1", PullPolicy::kNever).ok);
  status::CheckAnswer answer = Check("tool:v1", PullPolicy::kNever);
  EXPECT_FALSE(answer.ok);
  EXPECT_TRUE(answer.listed);
  EXPECT_EQ(answer.reason, "RecordedUnderOtherName");
}

// A preflight is about its own pod, whatever pods the entry is for.
TEST_F(InquiryTest, ExplainsAnEntryForThePodThatItIsFor) {
  const std::string name = "docker.io/library/tool:v1";
  runtime_.Preload(tests::MakeImage(name, 3000));
  plan::ImageState tool = snapshot_.images[0];
  tool.desired.Change([&](auto& desired) {
    desired.reference = *image::Reference::Parse(name);
    desired.ready_as = image::PodCredentialRefs{.secrets = {{"", "team", "pull"}}, .service_account = {}};
  });
  tool.image_id = IdOf(name);
  tool.verdicts = tests::Open(kubelet::VerdictReason::kAssumedForPod);
  snapshot_.images.push_back(tool);
  Record(tool.image_id, "docker.io/library/tool", tests::kSecretEntry);
  EXPECT_FALSE(Check(name, PullPolicy::kNever).ok);
  doc::Node root = Explain(name);
  EXPECT_EQ(root.Find("reasoning")->Find("Never")->Find("reason")->text, "AssumedForPod");
  EXPECT_EQ(root.Find("readyAs")->Find("secrets")->items.at(0).Find("name")->text, "pull");
  EXPECT_EQ(root.Find("record")->Find("state")->text, "Found");
}

TEST_F(InquiryTest, OfAnEntryWithTwoSpellingsEachAnswersForItself) {
  const std::string full = "docker.io/library/tool:v1", short_name = "tool:v1";
  runtime_.Preload(tests::MakeImage(full, 3000));
  plan::ImageState tool = snapshot_.images[0];
  tool.desired.Change([&](auto& desired) {
    desired.reference = *image::Reference::Parse(full);
    desired.other_pods = {{*image::Reference::Parse(short_name)}};
  });
  tool.image_id = IdOf(full);
  plan::EntryVerdicts all = plan::WorstOf({{full, tests::Open()}, {short_name, tests::Closed()}});
  tool.verdicts = all.worst;
  tool.spellings = all.each;
  snapshot_.images.push_back(tool);
  Record(tool.image_id, "docker.io/library/tool", tests::kOpenEntry);
  EXPECT_TRUE(Check(full, PullPolicy::kNever).ok);
  EXPECT_FALSE(Check(short_name, PullPolicy::kNever).ok);
  EXPECT_FALSE(Check("library/tool:v1", PullPolicy::kNever).ok) << "which no list has";
  // The explanation of the entry names the record that closes it.
  for (const std::string& name : {full, short_name}) {
    doc::Node root = Explain(name);
    EXPECT_EQ(root.Find("recordKey")->text, "tool") << name;
    EXPECT_EQ(root.Find("reasoning")->Find("Never")->Find("reason")->text, "RecordedUnderOtherName");
    EXPECT_EQ(root.Find("spellings")->items.size(), 2U);
  }
}

TEST_F(InquiryTest, AnImageIsKnownIfItIsListedOrHere) {
  snapshot_.images[0].present = snapshot_.images[0].usable = false;
  board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
  auto known = [&](const std::string& name) {
    return image_queries_.Explain({}, *image::Reference::Parse(name), {}).known;
  };
  EXPECT_TRUE(known(kApp)) << "listed, and absent";
  EXPECT_TRUE(known("reg.example.test/unlisted:v1")) << "here, and not listed";
  EXPECT_FALSE(known("reg.example.test/absent:v1"));
}

TEST_F(InquiryTest, BeforeKubeletWasLookedAtNothingIsKnown) {
  snapshot_.possible_kubelets = nullptr;
  EXPECT_EQ(Check(kApp, PullPolicy::kNever).result.text(), "Unknown");
}

// The last look is up to eight seconds old.
TEST_F(InquiryTest, AListedImageThatIsGoneSinceTheLastLookIsANo) {
  for (bool kubelet : {true, false}) {
    if (!kubelet) snapshot_.kubelet.reset();
    runtime_.Preload(tests::MakeImage(kApp, 1000));
    EXPECT_TRUE(Check(kApp, PullPolicy::kNever).ok);
    runtime_.Remove(kApp);
    for (bool local : {true, false}) {
      clock_.Advance(std::chrono::seconds(1));
      status::CheckAnswer answer = Check(kApp, PullPolicy::kNever, local);
      EXPECT_FALSE(answer.ok) << local;
      EXPECT_EQ(answer.result.text(), "Refused");
      EXPECT_EQ(answer.reason, "ImageAbsent");
      EXPECT_TRUE(answer.listed);
      EXPECT_NE(answer.message.find("removed a moment ago"), std::string::npos) << answer.message;
      EXPECT_EQ(Check(kApp, PullPolicy::kIfNotPresent, local).result.text(), "Pulls");
    }
  }
}

TEST_F(InquiryTest, AListedImageThatCameSinceTheLastLookIsJudged) {
  plan::ImageState& image = snapshot_.images[0];
  image.present = image.usable = false;
  image.image_id.clear();
  image.reason = plan::Reason::kImageAbsent;
  EXPECT_TRUE(Check(kApp, PullPolicy::kNever).ok);
  Record(IdOf(kApp), "reg.example.test/team/app", tests::kSecretEntry);
  EXPECT_EQ(Check(kApp, PullPolicy::kNever).reason, "RecordedForOthers");
}

TEST_F(InquiryTest, AnotherImageUnderTheListedNameIsJudgedByItsOwnRecord) {
  Record(IdOf(kApp), "reg.example.test/team/app", tests::kSecretEntry);
  EXPECT_FALSE(Check(kApp, PullPolicy::kNever).ok);
  tests::FakeImage other = tests::MakeImage(kApp, 5000);
  runtime_.Remove(kApp);
  runtime_.Preload(other);
  ASSERT_NE(IdOf(kApp), snapshot_.images[0].image_id);
  EXPECT_EQ(Check(kApp, PullPolicy::kNever).reason, "Preloaded");
}

TEST_F(InquiryTest, KubeletsFilesAreReadNow) {
  snapshot_.images[0].verdicts = tests::Open();  // as of the last look
  Record(IdOf(kApp), "reg.example.test/team/app", tests::kSecretEntry);
  for (bool local : {true, false}) {
    const status::CheckAnswer never = Check(kApp, PullPolicy::kNever, local);
    EXPECT_EQ(never.result.text(), "Refused");
    EXPECT_EQ(never.reason, "RecordedForOthers");
  }
  EXPECT_NE(Check(kApp, PullPolicy::kNever).rule, "");
}

// Any pod is a neighbour.
TEST_F(InquiryTest, NeighboursHaveTheRuntimeAskedTwiceASecondAtMost) {
  auto asked = [&] { return runtime_.counters().list_calls; };
  auto before = asked();
  for (int i = 0; i < 50; i++) Check(kApp, PullPolicy::kNever, false);
  EXPECT_EQ(asked() - before, 1);
  clock_.Advance(std::chrono::milliseconds(501));
  Check(kApp, PullPolicy::kNever, false);
  EXPECT_EQ(asked() - before, 2);
  Check(kApp, PullPolicy::kNever, true);
  EXPECT_EQ(asked() - before, 3) << "the node's own have it asked each time";
}

// A node that starts, or that never reached its runtime: "absent" would be a guess.
TEST_F(InquiryTest, WhatTheRuntimeHasNotToldOfIsNotCalledAbsent) {
  plan::ImageState& image = snapshot_.images[0];
  image.present = image.usable = false;
  image.image_id.clear();
  image.reason = plan::Reason::kFactsUnknown;
  snapshot_.runtime.error = "nobody listens";
  runtime_.SetRuntimeUp(false);
  for (bool local : {true, false}) {
    for (PullPolicy policy : {PullPolicy::kNever, PullPolicy::kIfNotPresent, PullPolicy::kAlways}) {
      status::CheckAnswer answer = Check(kApp, policy, local);
      EXPECT_EQ(answer.result.text(), "Unknown");
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
  EXPECT_EQ(Check(kApp, PullPolicy::kNever).result.text(), "Unknown");
}

TEST_F(InquiryTest, WhatARuntimeToldThatIsAwayForLongSaysNothing) {
  runtime_.SetRuntimeUp(false);
  snapshot_.runtime.error = "nobody listens";
  EXPECT_TRUE(Check(kApp, PullPolicy::kNever).ok) << "a restart takes nothing away";
  snapshot_.readiness.reason = plan::Reason::kRuntimeDown;
  EXPECT_EQ(Check(kApp, PullPolicy::kNever).reason, "RuntimeDown");
}

TEST_F(InquiryTest, NobodyGuessesAnUnlistedImageWithoutTheRuntime) {
  runtime_.SetRuntimeUp(false);
  EXPECT_EQ(Check("reg.example.test/unlisted:v1", PullPolicy::kNever).reason, "RuntimeDown");
  doc::Node root = Explain("reg.example.test/unlisted:v1");
  EXPECT_EQ(root.Find("reasoning")->kind, doc::Node::Kind::kNull);
  EXPECT_EQ(root.Find("reason")->text, "FactsUnknown");
  EXPECT_TRUE(root.Find("message")->text.starts_with("the container runtime could not be asked: "));
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
  std::string json = image_queries_.Explain({}, *image::Reference::Parse(kApp), {.identities = true}).json;
  EXPECT_NE(json.find("secret team/pull"), std::string::npos);
  EXPECT_EQ(json.find("\"h1\""), std::string::npos) << json;
}

TEST_F(InquiryTest, NamesCredentialsAndNeverAPassword) {
  doc::Node root = Explain(kApp);
  EXPECT_EQ(root.Find("credentials")->items.at(0).Find("username")->text, "ann");
  EXPECT_EQ(image_queries_.Explain({}, *image::Reference::Parse(kApp), {}).json.find("s3cr3t"),
            std::string::npos);
  EXPECT_EQ(Explain(kApp, {.credentials = false}).Find("credentials")->kind, doc::Node::Kind::kNull);
}

TEST_F(InquiryTest, ExplainsWhatIsNotListed) {
  doc::Node root = Explain("reg.example.test/unlisted:v1");
  EXPECT_FALSE(root.Find("listed")->boolean);
  EXPECT_TRUE(root.Find("present")->boolean);
  EXPECT_EQ(root.Find("reason")->text, "Preloaded");
  EXPECT_EQ(root.Find("phase")->text, "Ready");
  EXPECT_TRUE(root.Find("settled")->boolean);
  EXPECT_FALSE(image_queries_.Explain({}, *image::Reference::Parse("a.example.test/b:v9"), {}).known);
}

// check --pull: what is not here is pulled first.

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

// DecisionForPull decides whether that is a no.
TEST_F(PullingTest, WhatFailedIsTold) {
  Asked(kAbsent, plan::Reason::kAccessDenied).settled = true;
  EXPECT_EQ(Pull(kAbsent, PullPolicy::kIfNotPresent).result.text(), "Refused");
  status::CheckAnswer answer =
      Pull(kAbsent, PullPolicy::kIfNotPresent, {.secrets = {{"u1", "team", "pull"}}, .service_account = {}});
  EXPECT_FALSE(answer.ok);
  EXPECT_FALSE(answer.pending);
  EXPECT_EQ(answer.result.text(), "Unknown") << "the pod's own secrets were not tried";
  EXPECT_EQ(answer.reason, "AccessDenied");
  EXPECT_NE(answer.message.find("as the runtime says it"), std::string::npos) << answer.message;
}

// Pods whose policy contacts the registry. DecideCheck decides what each answer means.

TEST_F(InquiryTest, AlwaysAsksTheRegistryNow) {
  snapshot_.images[0].digest = "sha256:aa";
  snapshot_.images[0].other_digests = {"sha256:bb"};
  says_ = {.kind = Kind::kMoved};
  status::CheckAnswer answer = Ask(kApp);
  EXPECT_TRUE(answer.ok);
  EXPECT_EQ(answer.result.text(), "Pulls");
  EXPECT_EQ(answer.reason, "TagMoved");
  ASSERT_TRUE(asked_);
  EXPECT_EQ(asked_->local_digests, (std::vector<std::string>{"sha256:aa", "sha256:bb"}));
  EXPECT_FALSE(asked_->fetches_manifest);
  ASSERT_EQ(asked_->credentials.size(), 1U);
  EXPECT_EQ(asked_->credentials[0].username, "ann");
  Ask("reg.example.test/absent:v1");
  EXPECT_TRUE(asked_->local_digests.empty());
  EXPECT_TRUE(asked_->fetches_manifest);
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

// IfNotPresent where kubelet would pull, since the image is closed to the pod.
TEST_F(InquiryTest, IfNotPresentAsksWhetherThePodCouldPull) {
  says_ = {.kind = Kind::kSame};
  Record(IdOf(kApp), "reg.example.test/team/app", tests::kSecretEntry);
  status::CheckAnswer answer = Ask(kApp, true, {}, PullPolicy::kIfNotPresent);
  EXPECT_TRUE(answer.ok) << answer.message;
  EXPECT_EQ(answer.result.text(), "Pulls");
  EXPECT_EQ(answer.reason, "RecordedForOthers");
  ASSERT_TRUE(asked_);
  EXPECT_EQ(asked_->reference.Normalized(), kApp);
  EXPECT_EQ(asked_->credentials.size(), 1U);
  // Neighbours hear what kubelet would do, and nobody is asked for them.
  asked_.reset();
  EXPECT_FALSE(Ask(kApp, false, {}, PullPolicy::kIfNotPresent).ok);
  // Never pulls nothing, whoever could.
  EXPECT_FALSE(Ask(kApp, true, {}, PullPolicy::kNever).ok);
  EXPECT_FALSE(asked_);
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

// A caller has seconds: no registry is asked longer, and questions that need none are answered.
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
}  // namespace prefetch::agent::image_queries_test
