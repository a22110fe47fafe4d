
#include <gtest/gtest.h>

#include "screen/wait_view.h"
#include "status/kubelet_sample.h"
#include "status/status_json.h"

namespace prefetch::screen::wait_demand_test {
namespace {

status::StatusImage Shown(const std::string& name, bool ready, bool required = true) {
  status::StatusImage image;
  image.image = name;
  image.required = required;
  image.ready = ready;
  image.phase = ready ? "Ready" : "Failing";
  image.ready_for = "Never";
  image.settled = true;
  return image;
}

status::StatusDocument Document(std::vector<status::StatusImage> images, bool ready,
                                const std::string& reason) {
  status::StatusDocument document;
  document.list.hash = "sha256:1";
  document.ready = ready;
  document.reason = reason;
  document.message = "said by the agent";
  document.images = std::move(images);
  return document;
}

plan::ImageList List(const std::vector<std::string>& names) {
  plan::ImageList list;
  for (const std::string& name : names) {
    plan::DesiredImage desired;
    desired.reference = *image::Reference::Parse(name);
    list.images.push_back(std::move(desired));
  }
  return list;
}

TEST(NarrowTo, WithoutADemandNothingChanges) {
  EXPECT_TRUE(NarrowTo(Document({Shown("r.io/a:1", true)}, true, "AllReady"), {}).ready);
  EXPECT_FALSE(NarrowTo(Document({Shown("r.io/a:1", false)}, false, "ImagesNotReady"), {}).ready);
}

TEST(NarrowTo, OtherPeoplesImagesDoNotMatter) {
  status::StatusDocument document =
      NarrowTo(Document({Shown("r.io/a:1", true), Shown("r.io/b:1", false)}, false, "ImagesNotReady"),
               {.list = List({"r.io/a:1"})});
  EXPECT_TRUE(document.ready);
  EXPECT_EQ(document.required, 1U);
  EXPECT_EQ(document.images.size(), 1U);
}

TEST(NarrowTo, NamesAreComparedNormalised) {
  EXPECT_TRUE(NarrowTo(Document({Shown("nginx", true)}, true, "AllReady"),
                       {.list = List({"docker.io/library/nginx:latest"})})
                  .ready);
}

const std::string kShort = "nginx:1.27";
const std::string kFull = "docker.io/library/nginx:1.27";
const status::StatusVerdict kOpen{"Starts", "Preloaded"};
const status::StatusVerdict kClosed{"Refused", "RecordedForOthers"};

// As an agent beside a kubelet tells it: the short spelling is closed, the full one open.
status::StatusDocument Spelled() {
  status::StatusImage image = Shown(kShort, false);
  image.present = true;
  image.reason = "RecordedForOthers";
  image.verdicts.never = kClosed;
  image.verdicts.if_not_present = {"Pulls", "RecordedForOthers"};
  image.spellings = {{kShort, {}, {kClosed, {"Pulls", "RecordedForOthers"}, {}}},
                     {kFull, {}, {kOpen, kOpen, {}}}};
  return Document({image}, false, "ImagesNotReady");
}

plan::ImageList WrittenBoth() {
  plan::ImageList list = List({kShort});
  list.images[0].other_pods.push_back({*image::Reference::Parse(kFull)});
  return list;
}

TEST(NarrowTo, AnotherListsSpellingIsNotOurs) {
  EXPECT_TRUE(NarrowTo(Spelled(), {.list = List({kFull})}).ready);
  EXPECT_FALSE(NarrowTo(Spelled(), {.list = List({kShort})}).ready);
  EXPECT_FALSE(NarrowTo(Spelled(), {.list = WrittenBoth()}).ready);
}

TEST(NarrowTo, AnOpenSpellingIsNoExcuseForWhatElseIsWrong) {
  status::StatusDocument document = Spelled();
  document.images[0].registry = status::StatusRegistry{.reason = "TagMoved"};
  EXPECT_FALSE(NarrowTo(document, {.list = List({kFull})}).ready);
}

TEST(NarrowTo, ASpellingThatNobodyJudgesIsWaitedFor) {
  status::StatusImage image = Shown(kFull, true);
  image.present = true;
  image.verdicts.never = image.verdicts.if_not_present = kOpen;
  for (const plan::ImageList& list : {List({kShort}), WrittenBoth()}) {
    status::StatusDocument document = NarrowTo(Document({image}, true, "AllReady"), {.list = list});
    EXPECT_FALSE(document.ready);
    EXPECT_FALSE(FailedPermanently(document));
    EXPECT_EQ(document.images[0].reason.text(), "WeakerDemand");
    EXPECT_NE(document.images[0].message.find(kShort), std::string::npos);
  }
  image.verdicts.never = image.verdicts.if_not_present = {"Starts", "Present"};
  EXPECT_TRUE(NarrowTo(Document({image}, true, "AllReady"), {.list = List({kShort})}).ready)
      << "without a kubelet nobody tells spellings apart";
}

// The content of such an image is not unpacked: kubelet finds it, and no container runs from it.
TEST(NarrowTo, AnImageThatCannotRunIsReadyForNoPolicy) {
  status::StatusImage image = Shown(kShort, false);
  image.present = true;
  image.usable = false;
  image.verdicts.never = image.verdicts.if_not_present = {"Starts", "Present"};
  image.registry = status::StatusRegistry{.agrees = true};
  for (image::PullPolicy policy :
       {image::PullPolicy::kNever, image::PullPolicy::kIfNotPresent, image::PullPolicy::kAlways}) {
    EXPECT_FALSE(NarrowTo(Document({image}, false, "ImagesNotReady"), {.policy = policy}).ready);
    image.usable = true;
    EXPECT_TRUE(NarrowTo(Document({image}, false, "ImagesNotReady"), {.policy = policy}).ready);
    image.usable = false;
  }
}

// One list has it for pods with a secret, for which it is open, another one for pods without.
status::StatusDocument ForTwoPods() {
  status::StatusDocument document = Spelled();
  document.images[0].spellings[1].image = kShort;
  document.images[0].spellings[1].ready_as = {.secrets = {{"", "ci", "pull"}}, .service_account = {}};
  return document;
}

plan::ImageList ForPodsWith(const std::string& secret) {
  plan::ImageList list = List({kShort});
  list.images[0].ready_as = image::PodCredentialRefs{.secrets = {{"", "ci", secret}}, .service_account = {}};
  return list;
}

TEST(NarrowTo, AnotherListsPodIsNotOurs) {
  EXPECT_TRUE(NarrowTo(ForTwoPods(), {.list = ForPodsWith("pull")}).ready);
  EXPECT_FALSE(NarrowTo(ForTwoPods(), {.list = List({kShort})}).ready);
  EXPECT_FALSE(NarrowTo(ForTwoPods(), {.list = ForPodsWith("other")}).ready)
      << "as pods without any, of which the agent tells that they do not start";
}

TEST(NarrowTo, WhatAnybodyMayUseAPodWithASecretMay) {
  status::StatusImage image = Shown(kShort, true);
  image.present = true;
  image.verdicts.never = image.verdicts.if_not_present = kOpen;
  EXPECT_TRUE(NarrowTo(Document({image}, true, "AllReady"), {.list = ForPodsWith("pull")}).ready);
  image.ready_as = {.secrets = {{"", "ci", "pull"}}, .service_account = {}};
  EXPECT_TRUE(NarrowTo(Document({image}, true, "AllReady"), {.list = ForPodsWith("pull")}).ready);
  status::StatusDocument other = NarrowTo(Document({image}, true, "AllReady"), {.list = List({kShort})});
  EXPECT_FALSE(other.ready);
  EXPECT_EQ(other.images[0].reason.text(), "WeakerDemand");
  EXPECT_EQ(other.images[0].message,
            "the agent's list does not have it for pods without pull secrets: whether such pods start is not "
            "known");
}

// A document for strangers does not tell for which pods an image is ready.
TEST(NarrowTo, HiddenPodsAreNotTakenForAnybodys) {
  auto open = status::ParseStatusDocument(
      status::PublicStatusJson(sample::KubeletNodeOf({sample::ForPodsWithASecret()})));
  ASSERT_TRUE(open) << open.error().message();
  ASSERT_TRUE(open->images[0].ready_as_hidden);
  open->images[0].ready = true;
  const status::StatusDocument narrow = NarrowTo(*open, {.list = List({open->images[0].image})});
  EXPECT_FALSE(narrow.ready);
  EXPECT_EQ(narrow.images[0].reason.text(), "WeakerDemand");
  EXPECT_NE(narrow.images[0].message.find("without a token"), std::string::npos) << narrow.images[0].message;
}

TEST(NarrowTo, WhatIsNotListedYetIsWaitedForAndHasNotFailed) {
  status::StatusDocument document = NarrowTo(Document({Shown("r.io/a:1", true)}, true, "AllReady"),
                                             {.list = List({"r.io/a:1", "r.io/new:1"})});
  EXPECT_FALSE(document.ready);
  EXPECT_EQ(document.required, 2U);
  EXPECT_EQ(document.required_ready, 1U);
  EXPECT_FALSE(FailedPermanently(document));
}

TEST(NarrowTo, AWeakerDemandOfTheAgentIsNotEnough) {
  status::StatusDocument document =
      NarrowTo(Document({Shown("r.io/a:1", true, false)}, true, "AllReady"), {.list = List({"r.io/a:1"})});
  EXPECT_FALSE(document.ready);
  EXPECT_FALSE(FailedPermanently(document));
}

TEST(NarrowTo, ARuntimeThatIsAwayIsEverybodysBusiness) {
  EXPECT_FALSE(
      NarrowTo(Document({Shown("r.io/a:1", true)}, false, "RuntimeDown"), {.list = List({"r.io/a:1"})})
          .ready);
}

TEST(NarrowTo, AnotherTeamsBrokenSourceIsNot) {
  EXPECT_TRUE(
      NarrowTo(Document({Shown("r.io/a:1", true)}, false, "ListInvalid"), {.list = List({"r.io/a:1"})})
          .ready);
}

// What the agent's list asks of it, what a pod would meet, what is waited for.
struct ReadyForCase {
  std::string name;
  std::string listed_for;
  bool ready;
  std::string never, if_not_present;
  image::PullPolicy desired;
  bool expect;
};
class ReadyForTest : public testing::TestWithParam<ReadyForCase> {
 protected:
  static status::StatusDocument One() {
    status::StatusImage image = Shown("r.io/a:1", GetParam().ready);
    image.ready_for = GetParam().listed_for;
    image.present = true;
    image.verdicts.never.result = GetParam().never;
    image.verdicts.if_not_present.result = GetParam().if_not_present;
    return Document({image}, GetParam().ready, GetParam().ready ? "AllReady" : "ImagesNotReady");
  }
};

TEST_P(ReadyForTest, AnEntryHasAtLeastItsDemands) {
  plan::ImageList list = List({"r.io/a:1"});
  list.images[0].ready_for = GetParam().desired;
  status::StatusDocument document = NarrowTo(One(), {.list = list});
  EXPECT_EQ(document.ready, GetParam().expect);
  EXPECT_EQ(document.images[0].reason.text() == "WeakerDemand", GetParam().ready && !GetParam().expect);
}

using image::PullPolicy;
INSTANTIATE_TEST_SUITE_P(
    Rows, ReadyForTest,
    testing::Values(
        ReadyForCase{"Same", "Never", true, "Starts", "Starts", PullPolicy::kNever, true},
        ReadyForCase{"AnOldAgentTellsNoVerdict", "Never", true, "", "", PullPolicy::kNever, true},
        ReadyForCase{"ListedForLess", "IfNotPresent", true, "Refused", "Pulls", PullPolicy::kNever, false},
        ReadyForCase{"ListedForLessButItStarts", "IfNotPresent", true, "Starts", "Starts", PullPolicy::kNever,
                     true},
        ReadyForCase{"ListedForMore", "Never", true, "Starts", "Starts", PullPolicy::kIfNotPresent, true},
        ReadyForCase{"NotReadyByTheAgentsList", "Never", false, "Refused", "Pulls", PullPolicy::kIfNotPresent,
                     false},
        ReadyForCase{"Always", "Always", true, "Starts", "Starts", PullPolicy::kAlways, true},
        ReadyForCase{"AlwaysIsNotAskedByTheAgent", "Never", true, "Starts", "Starts", PullPolicy::kAlways,
                     false}),
    [](const auto& row) { return row.param.name; });

struct PolicyCase {
  std::string name;
  bool ready;
  std::string never, if_not_present;
  PullPolicy policy;
  bool expect;
};
class PolicyTest : public testing::TestWithParam<PolicyCase> {};

TEST_P(PolicyTest, AnotherPolicyThanTheEntrysOwn) {
  status::StatusImage image = Shown("r.io/a:1", GetParam().ready);
  image.ready_for = "IfNotPresent";
  image.present = true;
  image.verdicts.never.result = GetParam().never;
  image.verdicts.if_not_present.result = GetParam().if_not_present;
  status::StatusDocument document =
      NarrowTo(Document({image}, GetParam().ready, GetParam().ready ? "AllReady" : "ImagesNotReady"),
               {.policy = GetParam().policy});
  EXPECT_EQ(document.ready, GetParam().expect);
  EXPECT_TRUE(!GetParam().expect || document.phase == plan::Phase::kReady);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, PolicyTest,
    testing::Values(PolicyCase{"StartsForAll", true, "Starts", "Starts", PullPolicy::kNever, true},
                    PolicyCase{"RefusedToNever", true, "Refused", "Pulls", PullPolicy::kNever, false},
                    PolicyCase{"PullsForIfNotPresent", true, "Refused", "Pulls", PullPolicy::kIfNotPresent,
                               true},
                    PolicyCase{"UnknownForNever", true, "Unknown", "Unknown", PullPolicy::kNever, false}),
    [](const auto& row) { return row.param.name; });

TEST(NarrowTo, WhatFailsMakesTheNodeFail) {
  EXPECT_EQ(
      NarrowTo(Document({Shown("r.io/a:1", false)}, false, "ImagesNotReady"), {.list = List({"r.io/a:1"})})
          .phase.text(),
      "Failing");
  // Another team's failure is not ours.
  EXPECT_EQ(
      NarrowTo(Document({Shown("r.io/b:1", false)}, false, "ImagesNotReady"), {.list = List({"r.io/a:1"})})
          .phase.text(),
      "Progressing");
}

TEST(NarrowTo, TheHashMustBeInForce) {
  EXPECT_TRUE(NarrowTo(Document({}, true, "EmptyList"), {.hash = "sha256:1"}).ready);
  status::StatusDocument other = NarrowTo(Document({}, true, "EmptyList"), {.hash = "sha256:2"});
  EXPECT_FALSE(other.ready);
  EXPECT_NE(other.message.find("sha256:1"), std::string::npos);
}

TEST(NarrowTo, AlwaysNeedsTheRegistrysWord) {
  status::StatusDocument document = Document({Shown("r.io/a:1", true)}, true, "AllReady");
  document.images[0].present = true;
  status::StatusDocument unasked = NarrowTo(document, {.policy = image::PullPolicy::kAlways});
  EXPECT_FALSE(unasked.ready);
  EXPECT_EQ(unasked.images[0].reason.text(), "PolicyAlways");
  document.images[0].registry = status::StatusRegistry{.reason = "TagMissing", .message = "the tag is gone"};
  status::StatusDocument missing = NarrowTo(document, {.policy = image::PullPolicy::kAlways});
  EXPECT_FALSE(missing.ready);
  EXPECT_EQ(missing.images[0].reason.text(), "TagMissing");
  document.images[0].registry->agrees = true;
  EXPECT_TRUE(NarrowTo(document, {.policy = image::PullPolicy::kAlways}).ready);
}

}  // namespace
}  // namespace prefetch::screen::wait_demand_test
