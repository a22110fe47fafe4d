#include <gtest/gtest.h>

#include "base/text.h"
#include "doc/problems.h"
#include "doc/write.h"
#include "golden.h"
#include "manifest/read.h"
#include "must.h"
#include "rows.h"
#include "screen/check_text.h"
#include "screen/text_layout.h"

namespace prefetch::screen::check_test {
namespace {

using image::PullPolicy;
using Strings = std::vector<std::string>;

const std::string kPod = R"(apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  volumes: []
  containers:
  - {name: setup, image: "quay.io/acme/app:v1", imagePullPolicy: Never}
  - {name: app, image: "quay.io/acme/app:v1"}
  - {name: worker, image: quay.io/acme/worker}
  - {name: tool, image: "quay.io/acme/tool:v9", imagePullPolicy: Never}
)";

std::vector<CheckItem> ItemsOf(const std::string& text, const manifest::PolicyRules& rules = {}) {
  doc::Problems problems("pod.yaml");
  manifest::ReadOptions options;
  options.policy = rules;
  auto manifests = manifest::ReadManifests(text, problems, options);
  EXPECT_TRUE(problems.empty());
  return CheckItems(manifests.uses, rules, {});
}

std::string Line(const CheckItem& item) {
  return item.containers + " | " + item.question.image + " | " +
         std::string(base::EnumName(item.question.policy)) + " | " + item.origin;
}

struct ItemsCase {
  std::string name;
  manifest::PolicyRules rules;
  std::vector<std::string> expect;
};
TEST_TABLE(CheckItemsTest, AsksOnceAndAsStronglyAsAnybody, ItemsCase) {
  std::vector<std::string> lines;
  for (const CheckItem& item : ItemsOf(kPod, row.rules)) lines.push_back(Line(item));
  EXPECT_EQ(lines, row.expect);
}
TEST_ROWS(All, CheckItemsTest,
          {"AsKubernetesDefaults", manifest::PolicyRules{},
           Strings{"setup, app | quay.io/acme/app:v1 | IfNotPresent | default by app",
                   "worker | quay.io/acme/worker | Always | default for :latest",
                   "tool | quay.io/acme/tool:v9 | Never | stated"}},
          {"AlwaysPullImages", manifest::PolicyRules{.assume_always_pull = true, .default_policy = {}},
           Strings{"setup, app | quay.io/acme/app:v1 | Always | AlwaysPullImages",
                   "worker | quay.io/acme/worker | Always | AlwaysPullImages",
                   "tool | quay.io/acme/tool:v9 | Always | AlwaysPullImages"}},
          {"AControllersDefault",
           manifest::PolicyRules{.assume_always_pull = false, .default_policy = PullPolicy::kNever},
           Strings{"setup, app | quay.io/acme/app:v1 | Never | stated",
                   "worker | quay.io/acme/worker | Never | assumed default",
                   "tool | quay.io/acme/tool:v9 | Never | stated"}});

TEST(CheckItems, ImagesByThemselves) {
  std::vector<manifest::ImageUse> uses = {StandaloneUse("a/b:v1", {}, {}), StandaloneUse("a/b", {}, {}),
                                          StandaloneUse("a/c", PullPolicy::kNever, {}),
                                          StandaloneUse("a/b:v1", PullPolicy::kNever, {})};
  std::vector<CheckItem> items = CheckItems(uses, {}, {});
  ASSERT_EQ(items.size(), 4U);
  EXPECT_EQ(Line(items[0]), "– | a/b:v1 | IfNotPresent | default");
  EXPECT_EQ(Line(items[1]), "– | a/b:v1 | Never | stated");
  EXPECT_EQ(Line(items[2]), "– | a/b | Always | default for :latest");
  EXPECT_EQ(Line(items[3]), "– | a/c | Never | stated");
}

TEST(CheckItems, EachSpellingIsAnImageToKubelet) {
  std::vector<CheckItem> items =
      CheckItems({StandaloneUse("tool:v1", PullPolicy::kNever, {}),
                  StandaloneUse("docker.io/library/tool:v1", {}, {}), StandaloneUse("tool:v1", {}, {})},
                 {}, {});
  ASSERT_EQ(items.size(), 3U);
  EXPECT_EQ(Line(items[0]), "– | tool:v1 | Never | stated");
  EXPECT_EQ(Line(items[1]), "– | docker.io/library/tool:v1 | IfNotPresent | default");
  EXPECT_EQ(Line(items[2]), "– | tool:v1 | IfNotPresent | default");
}

TEST(CheckItems, APodsOwnPullSecretsAreItsIdentity) {
  const std::string pods = R"({apiVersion: v1, kind: List, items: [
    {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop}, spec: {imagePullSecrets: [{name: one}],
      containers: [{name: a, image: "q.io/a:v1"}]}},
    {apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {imagePullSecrets: [{name: one}, {name: two}],
      containers: [{name: b, image: "q.io/a:v1"}]}},
    {apiVersion: v1, kind: Pod, metadata: {name: c}, spec: {containers: [{name: c, image: "q.io/a:v1"}]}},
    {apiVersion: v1, kind: Pod, metadata: {name: d}, spec: {containers: [
      {name: d, image: "q.io/a:v1", imagePullPolicy: Always}]}}]})";
  doc::Problems problems("pods.yaml");
  auto manifests = manifest::ReadManifests(pods, problems, {});
  ASSERT_TRUE(problems.empty());
  using Secrets = std::vector<image::Coordinates>;
  std::vector<CheckItem> items = CheckItems(manifests.uses, {}, {}, "ci");
  ASSERT_EQ(items.size(), 3U) << "pods with different secrets meet different answers";
  EXPECT_EQ(items[0].question.identity.secrets, (Secrets{{"", "shop", "one"}}));
  EXPECT_EQ(items[1].question.identity.secrets, (Secrets{{"", "ci", "one"}, {"", "ci", "two"}}));
  EXPECT_EQ(items[2].question.identity.secrets, Secrets{});
  EXPECT_EQ(Line(items[2]), "c, d | q.io/a:v1 | Always | stated by d");

  // A secret that is given with its UID is known better.
  items = CheckItems(manifests.uses, {}, {.secrets = {{"u1", "ci", "one"}}}, "ci");
  EXPECT_EQ(items[1].question.identity.secrets, (Secrets{{"u1", "ci", "one"}, {"", "ci", "two"}}));
  EXPECT_EQ(items[2].question.identity.secrets, (Secrets{{"u1", "ci", "one"}}));
}

status::CheckAnswer Starts() {
  return {.image = "",
          .ok = true,
          .listed = true,
          .result = "Starts",
          .reason = "OpenToNode",
          .rule = "7: open to the node",
          .message = "kubelet's record opens it to every pod of this node."};
}
status::CheckAnswer Answer(std::string result, std::string reason, std::string message) {
  status::CheckAnswer answer;
  answer.result = std::move(result);
  answer.reason = std::move(reason);
  answer.message = std::move(message);
  return answer;
}
status::CheckAnswer Refused() {
  return Answer("Refused", "RecordedForOthers",
                "kubelet's record opens quay.io/acme/app to 2 secrets only, and the pod has none of them, so "
                "kubelet refuses the container (ErrImageNeverPull).");
}
status::CheckAnswer Pulls() {
  return Answer("Pulls", "RecordedForNobody",
                "kubelet's record of quay.io/acme/worker names no credential, so kubelet asks the registry "
                "with the pod's and the node's credentials.");
}
status::CheckAnswer Unknown() {
  return Answer("Unknown", "FactsUnknown", "kubelet's verdict is not known yet");
}

// As kPod, and everything is asked for as one would hope.
std::vector<CheckItem> TextItems() {
  return ItemsOf(base::ReplaceAll(kPod, "quay.io/acme/worker", "quay.io/acme/worker:v2"));
}

struct TextCase {
  std::string name;
  std::vector<status::CheckAnswer> answers;  // to the three images of kPod
  bool unknown_passes;
  std::string summary;
};
TEST(CheckLine, TellsTheFirstThatFailsAndCountsTheRest) {
  status::CheckResult result{.node = "ci-7", .time = {}, .ok = true, .answers = {}};
  std::vector<CheckItem> items;
  for (const char* name : {"q.io/a:v1", "q.io/b:v1", "q.io/c:v1", "q.io/d:v1"}) {
    items.push_back(CheckItems({StandaloneUse(name, PullPolicy::kNever, {})}, {}, {}).at(0));
    status::CheckAnswer answer{.image = name, .policy = "Never", .ok = true, .listed = true};
    answer.result = "Starts";
    result.answers.push_back(answer);
  }
  EXPECT_EQ(CheckLine(items, result, false), "");
  result.answers[3].result = "";
  EXPECT_EQ(CheckLine(items, result, false), "q.io/d:v1 on node ci-7: not decided in time");
  result.answers[1] = {.image = "q.io/b:v1", .policy = "Never", .ok = false, .listed = true};
  result.answers[1].result = "Unknown";
  result.answers[1].reason = "FactsUnknown";
  result.answers[1].message = "kubelet's version\nis unknown";
  const std::string line = CheckLine(items, result, false);
  EXPECT_TRUE(
      line.starts_with("q.io/b:v1 on node ci-7: not known (FactsUnknown): kubelet's version is unknown"))
      << line;
  EXPECT_TRUE(line.ends_with(" (and 1 more image)")) << line;
  EXPECT_EQ(CheckLine(items, result, true), "q.io/d:v1 on node ci-7: not decided in time");
  result.answers[0].ok = false;
  EXPECT_TRUE(CheckLine(items, result, false).ends_with(" (and 2 more images)"));
}

TEST_TABLE(CheckTextTest, EndsWithWhatFails, TextCase) {
  status::CheckResult result{.node = "ci-7", .time = {}, .ok = false, .answers = row.answers};
  std::vector<CheckItem> items = TextItems();
  std::string text = CheckText(items, result, {row.unknown_passes, 0});
  tests::ExpectGolden("screen/check-" + row.name + ".txt",
                      text + "\n" + CheckText(items, result, {row.unknown_passes, 80}) + "\n" +
                          CheckText(items, result, {row.unknown_passes, 140}));
  EXPECT_TRUE(text.ends_with("\n" + row.summary + "\n")) << text;
  EXPECT_EQ(base::Split(text, '\n').size(), items.size() + 2) << text;
  // Each failing line stands by itself in a termination message.
  for (std::string_view line : base::Split(text, '\n')) {
    if (!line.starts_with("FAIL")) continue;
    EXPECT_NE(line.find("quay.io/acme/"), std::string_view::npos) << line;
    EXPECT_NE(line.find("on node ci-7: "), std::string_view::npos) << line;
  }
  std::string narrow = CheckText(items, result, {false, 80});
  for (std::string_view line : base::Split(narrow, '\n')) {
    EXPECT_LE(DisplayWidth(line), 80U) << line;
  }
}

TEST_ROWS(All, CheckTextTest,
          {"good", {Starts(), Starts(), Starts()}, false, "all 3 images start on node ci-7"},
          {"refused", {Refused(), Starts(), Refused()}, false, "2 of 3 images will not start on node ci-7"},
          {"mixed", std::vector<status::CheckAnswer>{Refused(), Pulls(), Unknown()}, false,
           "3 of 3 images may not start on node ci-7: 1 will not start, 1 contacts the registry, 1 not "
           "known"},
          {"unknown", std::vector<status::CheckAnswer>{Starts(), Unknown(), Starts()}, false,
           "1 of 3 images may not start on node ci-7: 1 not known"},
          {"unknownpasses", std::vector<status::CheckAnswer>{Starts(), Unknown(), Starts()}, true,
           "all 3 images may start on node ci-7: 1 not known"},
          {"late", std::vector<status::CheckAnswer>{Refused(), Starts()}, false,
           "1 of 3 images will not start on node ci-7; 1 of 3 images was not decided in time"});

// The check of a controller, and the pod that it is for, had different defaults, and nobody saw it.
TEST(CheckItems, BothDefaultsAreNamedWhereTheyDiffer) {
  const std::string pod = R"({apiVersion: v1, kind: Pod, spec: {containers: [
    {name: app, image: "q.io/a:v1"}, {name: tool, image: "q.io/b:v1", imagePullPolicy: Never},
    {name: precheck, image: "q.io/c:v1"}, {name: main, image: "q.io/c:v1", imagePullPolicy: Always}]}})";
  auto lines = [&](PullPolicy of_pods, PullPolicy of_checks) {
    std::vector<std::string> all;
    for (const CheckItem& item :
         ItemsOf(pod, {.default_policy = of_pods, .default_check_policy = of_checks})) {
      all.push_back(Line(item));
    }
    return all;
  };
  const std::string tool = "tool | q.io/b:v1 | Never | stated";
  EXPECT_EQ(lines(PullPolicy::kAlways, PullPolicy::kIfNotPresent),
            (std::vector<std::string>{
                "app | q.io/a:v1 | Always | assumed default; checks have IfNotPresent", tool,
                "precheck, main | q.io/c:v1 | Always | stated by main; precheck has IfNotPresent"}));
  // Never weaker than either.
  EXPECT_EQ(lines(PullPolicy::kIfNotPresent, PullPolicy::kAlways)[0],
            "app | q.io/a:v1 | Always | assumed for checks; the pod has IfNotPresent");
  EXPECT_EQ(lines(PullPolicy::kAlways, PullPolicy::kAlways)[0], "app | q.io/a:v1 | Always | assumed default");
}

TEST(CheckItems, KnowTheirPlace) {
  std::vector<CheckItem> items = ItemsOf(kPod);
  EXPECT_EQ(items[0].file, "pod.yaml");
  EXPECT_EQ(items[0].at, (doc::Position{8, 17}));  // of app, which asks for more than setup
  EXPECT_EQ(CheckItems({StandaloneUse("a", {}, {})}, {}, {})[0].file, "");
}

struct AdviceCase {
  std::string name;
  status::CheckAnswer answer;
  std::string expect;
  PullPolicy policy = PullPolicy::kAlways;
  std::string origin = "stated";
};
TEST_TABLE(CheckAdviceTest, Is, AdviceCase) {
  CheckItem item{.question = {"q.io/a:v1", row.policy, {}}, .origin = row.origin};
  EXPECT_EQ(CheckAdvice(item, row.answer), row.expect);
}
status::CheckAnswer Listed(std::string result, std::string reason) {
  status::CheckAnswer answer = Answer(std::move(result), std::move(reason), "");
  answer.listed = true;
  return answer;
}
TEST_ROWS(All, CheckAdviceTest, {"Good", Starts(), ""},
          {"Closed", Listed("Refused", "RecordedForOthers"),
           "let the agent touch it (--touch), or exempt it: prefetchctl list export --for kubelet"},
          {"ClosedAndUnlisted", Answer("Refused", "RecordedForOthers", ""),
           "let the agent touch it (--touch), or exempt it: prefetchctl list export --for kubelet"},
          {"Absent", Listed("Pulls", "ImageAbsent"), "wait until it is here: prefetchctl wait"},
          {"AbsentAndUnlisted", Answer("Refused", "ImageAbsent", ""), "put it on the list"},
          {"NotListed", Answer("Unknown", "NotListed", ""), "put it on the list"},
          {"TagMissing", Listed("Refused", "TagMissing"), "push the tag again, or name one that is there"},
          {"Denied", Listed("Refused", "AccessDenied"),
           "see this node's credentials: prefetchctl credentials q.io/a:v1"},
          {"Moved", Listed("Pulls", "TagMoved"),
           "wait until the list has refreshed it: prefetchctl wait --policy Always"},
          {"AName", Answer("Refused", "InvalidImageName", ""), "correct the image name"},
          {"Away", Listed("Unknown", "Unreachable"),
           "try again, or set imagePullPolicy: IfNotPresent; then the copy on the node is enough"},
          {"AwayForIfNotPresent", Listed("Unknown", "Unreachable"), "try again", PullPolicy::kIfNotPresent},
          {"AwayForIfNotPresentAndUnlisted", Answer("Unknown", "ServerError", ""),
           "try again, or put it on the list: then the pod need not ask", PullPolicy::kIfNotPresent},
          {"AwayWhereAllIsAlways", Listed("Unknown", "RateLimited"), "try again later", PullPolicy::kAlways,
           "AlwaysPullImages"},
          {"WhatTheMessageSaysAlready",
           Answer("Unknown", "FactsUnknown", "It depends; declare its version (--kubelet-version)."),
           "or check with --unknown pass"},
          {"OfANewerAgent", Listed("Refused", "SomethingNew"), ""});

TEST(CheckReport, Json) {
  status::CheckResult result{.node = "ci-7", .time = {}, .ok = false, .answers = {Refused(), Starts()}};
  std::vector<CheckItem> items = TextItems();
  auto indented = tests::Must(doc::IndentedJson(CheckReportJson(items, result)));
  tests::ExpectGolden("screen/check-report.json", *indented);
  // An older reader of the agent's own answer takes the same from it.
  auto read = tests::Must(status::ParseCheckResult(*indented));
  ASSERT_EQ(read->answers.size(), 3U);
  EXPECT_EQ(read->answers[0].reason, "RecordedForOthers");
  EXPECT_EQ(read->answers[2].result.text(), "Undecided");
}

TEST(CheckReport, WhatIsBeingPulledIsNotDecided) {
  status::CheckAnswer pending{.image = "a/b:v1", .policy = "Never", .pending = true, .result = "Unknown"};
  pending.reason = "Pulling";
  pending.message = "it is being pulled:\n12 of 680 MB";
  std::vector<CheckItem> items = CheckItems({StandaloneUse("a/b:v1", PullPolicy::kNever, {})}, {}, {});
  status::CheckResult result{.node = "n1", .time = {}, .ok = false, .answers = {pending}};
  EXPECT_EQ(DecidedAnswer(result, 0), nullptr);
  EXPECT_EQ(CheckText(items, result, {.unknown_passes = true}),
            "OPEN  –  a/b:v1  Never (stated)  not decided in time: it is being pulled: 12 of 680 MB\n"
            "the image was not decided in time on node n1\n");
  std::string json = CheckReportJson(items, result);
  EXPECT_NE(json.find("\"result\":\"Undecided\""), std::string::npos) << json;
  EXPECT_NE(json.find("it is being pulled"), std::string::npos) << json;
  // And so it travels.
  auto read = tests::Must(status::ParseCheckResult(status::CheckResultJson(result)));
  EXPECT_TRUE(read->answers.at(0).pending);
}

struct RequestCase {
  std::string name, json;
  bool ok;
  status::CheckRequest expect;
};
TEST_TABLE(CheckRequestTest, IsRead, RequestCase) {
  auto request = status::ParseCheckRequest(row.json);
  ASSERT_EQ(request.ok(), row.ok);
  if (!request) return;
  EXPECT_EQ(*request, row.expect);
  // A sent request is read as the same request.
  auto again = tests::Must(status::ParseCheckRequest(doc::WriteJson(status::ToNode(*request))));
  EXPECT_EQ(*again, *request);
}

const std::vector<status::CheckQuestion> kOne = {{"a:v1", PullPolicy::kNever, {}}};
const std::string kOneJson = R"("checks":[{"image":"a:v1","policy":"Never"}])";

TEST_ROWS(
    Rows, CheckRequestTest, {"Alone", R"([{"image":"a:v1","policy":"Never"}])", true, {.questions = kOne}},
    {"NoPull", "{" + kOneJson + "}", true, {.questions = kOne}},
    {"Pull", "{" + kOneJson + R"(,"pull":true})", true, {.questions = kOne, .pull = true}},
    {"ForAMoment", "{" + kOneJson + R"(,"pull":true,"wait":"1.5s"})", true,
     status::CheckRequest{.questions = kOne, .pull = true, .wait = std::chrono::milliseconds(1500)}},
    {"AWaitForNothing", "{" + kOneJson + R"(,"pull":null,"wait":"1.5s"})", true,
     status::CheckRequest{.questions = kOne, .wait = std::chrono::milliseconds(1500)}},
    {"NotForEver", "{" + kOneJson + R"(,"pull":true,"wait":"100h"})", true,
     status::CheckRequest{.questions = kOne, .pull = true, .wait = status::kMostPullWait}},
    {"ForRegistriesAMoment", "{" + kOneJson + R"(,"within":"3s"})", true,
     status::CheckRequest{.questions = kOne, .within = std::chrono::seconds(3)}},
    {"ForRegistriesNotForEver", "{" + kOneJson + R"(,"within":"3h"})", true,
     status::CheckRequest{.questions = kOne, .within = status::kMostRegistryTime}},
    {"ASecretWithoutUid", R"([{"image":"a:v1","policy":"Never","identity":{"secrets":["team/pull"]}}])", true,
     status::CheckRequest{.questions = {{"a:v1", PullPolicy::kNever, {.secrets = {{"", "team", "pull"}}}}}}},
    {"AnAccountWithoutUid", R"([{"image":"a:v1","identity":{"serviceAccount":"team/runner"}}])", false,
     status::CheckRequest{}},
    {"NoTimeForRegistries", "{" + kOneJson + R"(,"within":"-1s"})", false, {}},
    {"NoDuration", "{" + kOneJson + R"(,"pull":true,"wait":"soon"})", false, {}},
    {"NoNumber", "{" + kOneJson + R"(,"pull":1})", false, {}},
    {"UnknownKey", "{" + kOneJson + R"(,"pulls":true})", false, {}});

TEST(CheckReport, Github) {
  status::CheckResult result{.node = "ci-7", .time = {}, .ok = false, .answers = {Refused(), Starts()}};
  tests::ExpectGolden("screen/check.github", CheckGithub(TextItems(), result, false));
}

TEST(CheckText, NothingInItCanHarmATerminal) {
  std::vector<CheckItem> items = ItemsOf(
      "{kind: Pod, apiVersion: v1, spec: {containers: [{name: \"a\\e[2J\", image: \"b\\e[3J\\nFAIL\"}]}}");
  status::CheckResult result{.node = "n\n1", .time = {}, .ok = false, .answers = {Refused()}};
  std::string text = CheckText(items, result, {});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(base::Split(text, '\n').size(), 3U) << text;
}

}  // namespace
}  // namespace prefetch::screen::check_test
