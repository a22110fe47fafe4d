#include "screen/node_text.h"

#include <gtest/gtest.h>

#include <vector>

#include "rows.h"
#include "screen/log_pace.h"
#include "screen/text_layout.h"
#include "status/kubelet_sample.h"
#include "status/sample.h"
#include "status/status_json.h"

namespace prefetch::screen::wait_view_test {
namespace {

using image::PullPolicy;
using std::chrono::seconds;

status::StatusDocument Parsed(std::vector<plan::ImageState> images) {
  auto document = status::ParseStatusDocument(status::StatusJson(sample::Node(std::move(images))));
  EXPECT_TRUE(document);
  return document ? *document : status::StatusDocument{};
}

plan::ImageState GivenUp(const std::string& name) {
  plan::ImageState image = sample::Failing(name, plan::Reason::kNotFound, "quay.io has no such tag", 2);
  image.settled = true;
  return image;
}

plan::ImageState TriedAgain(const std::string& name) {
  return sample::Failing(name, plan::Reason::kUnreachable, "connection refused", 1);
}

plan::ImageState OutsideWindow(const std::string& name, int opens_in) {
  plan::ImageState image =
      sample::Image(name, plan::Phase::kProgressing, plan::Reason::kOutsidePullWindow,
                    "waits for its pullWindow (22:00 to 06:00 UTC), which opens at 2026-07-15T22:00:00Z");
  image.pull.next_attempt_at = sample::At(opens_in);
  return image;
}

TEST(WaitLine, SaysWhichImagesWaitForTheirWindowAndHowLong) {
  EXPECT_EQ(WaitLine(Parsed({OutsideWindow("a/b:1", 5 * 3600), OutsideWindow("a/c:1", 3600),
                             sample::Queued("a/e:1")}),
                     200),
            "0 of 3 ready, 1 queued, 2 outside their pullWindow (opens in 60 min)");
  EXPECT_EQ(WaitLine(Parsed({OutsideWindow("a/b:1", 5 * 3600)}), 200),
            "0 of 1 ready, 1 outside its pullWindow (opens in 5 h)");
}

// A window is no failure: --fail-fast goes on.
TEST(WaitResult, NamesTheWindowThatOpensAfterTheTimeLimit) {
  const status::StatusDocument document = Parsed({OutsideWindow("a/b:1", 5 * 3600)});
  EXPECT_FALSE(AnyMissingSettled(document));
  EXPECT_EQ(
      WaitResult(document, WaitOutcome::kTimedOut, std::chrono::seconds(600), 100),
      "timed out after 10 min: 0 of 1 ready on node ci-7\n"
      "  1 outside its pullWindow (opens in 5 h): prefetchctl retry pulls at once\n"
      "  scheduled    a/b:1\n"
      "               waits for its pullWindow (22:00 to 06:00 UTC), which opens at 2026-07-15T22:00:00Z\n");
}

TEST(WaitLine, SaysWhatWillNotGetBetterFirst) {
  EXPECT_EQ(WaitLine(Parsed({TriedAgain("a/b:1"), GivenUp("a/c:1"), sample::Ready("a/d:1", 1),
                             sample::Queued("a/e:1")}),
                     200),
            "1 of 4 ready, 1 queued, 2 failing (1 keeps failing): not found a/c:1");
  EXPECT_EQ(WaitLine(Parsed({TriedAgain("a/b:1")}), 200), "0 of 1 ready, 1 failing: unreachable a/b:1");
}

struct KeyCase {
  std::string name;
  std::vector<plan::ImageState> before, after;
  bool worth_a_line;
};
TEST_TABLE(WaitKeyTest, ChangesWithWhatIsWorthALine, KeyCase) {
  EXPECT_EQ(WaitKey(Parsed(row.before)) != WaitKey(Parsed(row.after)), row.worth_a_line);
}
TEST_ROWS(Rows, WaitKeyTest,
          {"Bytes", {sample::Pulling("a:1", 10, 100, 1)}, {sample::Pulling("a:1", 50, 100, 9)}, false},
          {"Starts", {sample::Queued("a:1")}, {sample::Pulling("a:1", 0, 100, 0)}, false},
          {"Ready", {sample::Pulling("a:1", 99, 100, 1)}, {sample::Ready("a:1", 100)}, true},
          {"Fails", {sample::Pulling("a:1", 99, 100, 1)}, {TriedAgain("a:1")}, true},
          {"FailsOtherwise", {TriedAgain("a:1")}, {GivenUp("a:1")}, true},
          {"TheWindowCloses", {sample::Queued("a:1")}, {OutsideWindow("a:1", 3600)}, true},
          {"TimePasses", {OutsideWindow("a:1", 3600)}, {OutsideWindow("a:1", 1800)}, false},
          {"AnotherOneFails", std::vector<plan::ImageState>{TriedAgain("a:1"), sample::Queued("b:1")},
           std::vector<plan::ImageState>{sample::Queued("a:1"), TriedAgain("b:1")}, true});

TEST(WaitDetails, ShowsWhatFailsThenWhatMoves) {
  status::StatusDocument document =
      Parsed({sample::Queued("a/q:1"),
              sample::Pulling("ghcr.io/acme/e2e:main", 412'000'000, 680'000'000, 38'000'000),
              sample::Ready("a/r:1", 1), GivenUp("quay.io/acme/gone:v2")});
  std::vector<std::string> lines = WaitDetails(document, 120, 10);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0],
            "  not found    quay.io/acme/gone:v2  quay.io has no such tag; tried 2 times, again in 2 min");
  const std::vector<std::string> outside = WaitDetails(Parsed({OutsideWindow("a/b:1", 3600)}), 120, 10);
  ASSERT_EQ(outside.size(), 1U);
  EXPECT_EQ(outside[0].find("  scheduled    a/b:1  waits for its pullWindow"), 0U) << outside[0];
  EXPECT_EQ(lines[1], "  pulling      ghcr.io/acme/e2e:main  412 of 680 MB, 38 MB/s, about 8 s left");
  for (const std::string& line : WaitDetails(document, 40, 10)) EXPECT_LE(DisplayWidth(line), 40U);
}

TEST(WaitDetails, HasSoManyLinesAndNoMore) {
  std::vector<plan::ImageState> images;
  for (int i = 0; i < 9; i++) images.push_back(GivenUp("a/b" + std::to_string(i) + ":1"));
  EXPECT_EQ(WaitDetails(Parsed(images), 80, 9).size(), 9U);
  std::vector<std::string> lines = WaitDetails(Parsed(images), 80, 5);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines.back(), "  … 5 more");
}

// Each mistake in a list begins a line of its own, below the first line.
TEST(WaitResult, IndentsWhatIsWrongWithTheNode) {
  status::StatusDocument document;
  document.node = "n1";
  document.reason = "ListInvalid";
  document.message =
      "no valid version of a.yaml is known: a.yaml:1:1: kind: is required\na.yaml:2:1: images: is required";
  EXPECT_EQ(WaitResult(document, WaitOutcome::kFailedFast, std::chrono::seconds(1), 80),
            "failed: 0 of 0 ready on node n1; an image keeps failing\n"
            "  no valid version of a.yaml is known: a.yaml:1:1: kind: is required\n"
            "    a.yaml:2:1: images: is required\n");
}

TEST(AllMissingSettled, AllOrSomething) {
  EXPECT_TRUE(AllMissingSettled(Parsed({GivenUp("a:1"), sample::Ready("b:1", 1)})));
  EXPECT_FALSE(AllMissingSettled(Parsed({GivenUp("a:1"), sample::Queued("b:1")})));
  EXPECT_FALSE(AllMissingSettled(Parsed({sample::Ready("b:1", 1)})));
  EXPECT_TRUE(AnyMissingSettled(Parsed({GivenUp("a:1"), sample::Queued("b:1")})));
  EXPECT_FALSE(AnyMissingSettled(Parsed({TriedAgain("a:1"), sample::Queued("b:1")})));
  plan::ImageState optional = GivenUp("a:1");
  optional.desired.Change([](plan::DesiredImage& desired) { desired.required = false; });
  EXPECT_FALSE(AnyMissingSettled(Parsed({optional})));
}

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

// Status of an agent beside a kubelet: the short spelling is closed, the full one open.
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
  // The agent's rule, not the client's: its entry may keep what the registry has not confirmed lately.
  document.images[0].registry->acceptable = true;
  EXPECT_TRUE(NarrowTo(document, {.list = List({kFull})}).ready);
}

TEST(NarrowTo, ASpellingThatNobodyJudgesIsWaitedFor) {
  status::StatusImage image = Shown(kFull, true);
  image.present = true;
  image.verdicts.never = image.verdicts.if_not_present = kOpen;
  for (const plan::ImageList& list : {List({kShort}), WrittenBoth()}) {
    status::StatusDocument document = NarrowTo(Document({image}, true, "AllReady"), {.list = list});
    EXPECT_FALSE(document.ready);
    EXPECT_FALSE(AllMissingSettled(document));
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
  EXPECT_FALSE(AllMissingSettled(document));
}

TEST(NarrowTo, AWeakerDemandOfTheAgentIsNotEnough) {
  status::StatusDocument document =
      NarrowTo(Document({Shown("r.io/a:1", true, false)}, true, "AllReady"), {.list = List({"r.io/a:1"})});
  EXPECT_FALSE(document.ready);
  EXPECT_FALSE(AllMissingSettled(document));
  EXPECT_NE(document.images[0].message.find("asks less of it"), std::string::npos)
      << document.images[0].message;
}

// The agent's entry, and the nodes and refresh of the entry that is waited for.
struct InForceCase {
  std::string name;
  bool applies;
  std::string reason, refresh;
  std::vector<plan::NodeScope> scopes;
  plan::Refresh desired;
  bool expect;
};
TEST_TABLE(InForceTest, AnEntryForOtherNodesOrWithLessRefreshIsAnotherOne, InForceCase) {
  status::StatusImage image = Shown("r.io/a:1", true);
  image.applies = row.applies;
  image.reason = row.reason;
  image.refresh = row.refresh;
  plan::ImageList list = List({"r.io/a:1"});
  list.images[0].nodes = row.scopes.front();
  list.images[0].other_nodes.assign(row.scopes.begin() + 1, row.scopes.end());
  list.images[0].refresh = row.desired;
  const status::StatusDocument document = NarrowTo(Document({image}, true, "AllReady"), {.list = list});
  EXPECT_EQ(document.ready, row.expect);
  EXPECT_EQ(document.required, row.expect && !row.applies ? 0U : 1U);
  EXPECT_EQ(document.images[0].reason.text() == "WeakerDemand", !row.expect);
}

using Scopes = std::vector<plan::NodeScope>;
using plan::Refresh;
const plan::NodeScope kEveryNode{},
    kArm{.platforms = {{.os = "linux", .architecture = "arm64", .variant = ""}}},
    kGpu{.node_selector = {{"pool", "gpu"}}};

TEST_ROWS(Rows, InForceTest,
          {"ForEveryNode", false, "NotSelected", "IfNotPresent", Scopes{kEveryNode}, {}, false},
          {"ForEveryNodeByAnotherFile", false, "NotSelected", "", Scopes{kGpu, kEveryNode}, {}, false},
          {"ForEveryPlatform", false, "OtherPlatform", "IfNotPresent", Scopes{kEveryNode}, {}, false},
          {"ByLabelsAndNotByPlatform", false, "OtherPlatform", "", Scopes{kGpu}, {}, false},
          {"ForOtherLabels", false, "NotSelected", "IfNotPresent", Scopes{kGpu}, {}, true},
          {"ForAnotherPlatform", false, "OtherPlatform", "IfNotPresent", Scopes{kArm}, {}, true},
          {"ForAnotherPlatformAndByAnotherListForLabels", false, "NotSelected", "", Scopes{kArm}, {}, true},
          {"LessRefresh", true, "Present", "IfNotPresent", Scopes{kEveryNode}, Refresh::kAlways, false},
          {"LessRefreshElsewhere", false, "NotSelected", "IfDigestChanged", Scopes{kGpu}, Refresh::kAlways,
           false},
          {"RefreshIsNotKnown", true, "Present", "", Scopes{kEveryNode}, Refresh::kIfDigestChanged, false},
          {"MoreRefresh", true, "Present", "Always", Scopes{kEveryNode}, Refresh::kIfDigestChanged, true},
          {"SameRefresh", true, "Present", "Always", Scopes{kEveryNode}, Refresh::kAlways, true});

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

// The readyFor of the agent's list, the verdicts on a pod, and the policy that the caller waits for.
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
TEST_ROWS(Rows, ReadyForTest, {"Same", "Never", true, "Starts", "Starts", PullPolicy::kNever, true},
          {"AnOldAgentTellsNoVerdict", "Never", true, "", "", PullPolicy::kNever, true},
          {"ListedForLess", "IfNotPresent", true, "Refused", "Pulls", PullPolicy::kNever, false},
          {"ListedForLessButItStarts", "IfNotPresent", true, "Starts", "Starts", PullPolicy::kNever, true},
          {"ListedForMore", "Never", true, "Starts", "Starts", PullPolicy::kIfNotPresent, true},
          {"NotReadyByTheAgentsList", "Never", false, "Refused", "Pulls", PullPolicy::kIfNotPresent, false},
          {"Always", "Always", true, "Starts", "Starts", PullPolicy::kAlways, true},
          {"AlwaysIsNotAskedByTheAgent", "Never", true, "Starts", "Starts", PullPolicy::kAlways, false});

struct PolicyCase {
  std::string name;
  bool ready;
  std::string never, if_not_present;
  PullPolicy policy;
  bool expect;
};
TEST_TABLE(PolicyTest, AnotherPolicyThanTheEntrysOwn, PolicyCase) {
  status::StatusImage image = Shown("r.io/a:1", row.ready);
  image.ready_for = "IfNotPresent";
  image.present = true;
  image.verdicts.never.result = row.never;
  image.verdicts.if_not_present.result = row.if_not_present;
  status::StatusDocument document = NarrowTo(
      Document({image}, row.ready, row.ready ? "AllReady" : "ImagesNotReady"), {.policy = row.policy});
  EXPECT_EQ(document.ready, row.expect);
  EXPECT_TRUE(!row.expect || document.phase == plan::Phase::kReady);
}

TEST_ROWS(Rows, PolicyTest, {"StartsForAll", true, "Starts", "Starts", PullPolicy::kNever, true},
          {"RefusedToNever", true, "Refused", "Pulls", PullPolicy::kNever, false},
          {"PullsForIfNotPresent", true, "Refused", "Pulls", PullPolicy::kIfNotPresent, true},
          {"UnknownForNever", true, "Unknown", "Unknown", PullPolicy::kNever, false});

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

// Looks at these times, each with a key; then the times of the lines.
struct Look {
  int at;
  std::string key;
};
struct PaceCase {
  std::string name;
  bool delay_first_line;
  std::vector<Look> looks;
  std::vector<int> lines;
};
TEST_TABLE(LogPaceTest, SaysALine, PaceCase) {
  const base::TimePoint start{seconds(1000)};
  LogPace pace(start, row.delay_first_line);
  std::vector<int> lines;
  for (const Look& look : row.looks) {
    if (pace.ShouldLog(look.key, start + seconds(look.at))) lines.push_back(look.at);
  }
  EXPECT_EQ(lines, row.lines);
}

TEST_ROWS(All, LogPaceTest, {"AtOnce", false, {{0, "a"}, {1, "a"}}, {0}},
          {"EveryHalfMinuteThoughNothingChanges", false,
           std::vector<Look>{{0, "a"}, {29, "a"}, {30, "a"}, {59, "a"}, {60, "a"}},
           std::vector<int>{0, 30, 60}},
          {"AChangeSoon", false, {{0, "a"}, {4, "b"}, {5, "b"}, {6, "c"}, {10, "c"}}, {0, 5, 10}},
          {"AChangeBackIsNone", false, {{0, "a"}, {3, "b"}, {6, "a"}, {30, "a"}}, {0, 30}},
          {"AChangeBeginsTheHalfMinuteAnew", false,
           std::vector<Look>{{0, "a"}, {20, "b"}, {30, "b"}, {50, "b"}}, std::vector<int>{0, 20, 50}},
          {"NothingOfShortWork", true, {{0, "a"}, {4, "b"}}, {}},
          {"LongWorkFromItsFirstChange", true, std::vector<Look>{{0, "a"}, {5, "a"}, {6, "b"}},
           std::vector<int>{
               5,
           }});

}  // namespace
}  // namespace prefetch::screen::wait_view_test
