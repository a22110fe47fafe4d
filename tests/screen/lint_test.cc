#include "screen/lint_report.h"

#include "doc/json.h"
#include "doc/write.h"
#include "golden.h"
#include "manifest/lint_sample.h"
#include "rig/expect_has.h"

namespace prefetch::screen::lint_test {
namespace {

using manifest::lint::LintResult;

const std::string kJob = R"(apiVersion: batch/v1
kind: Job
metadata: {name: ci}
spec:
  template:
    spec:
      imagePullSecrets: [{name: pull}]
      initContainers:
      - {name: setup, image: "quay.io/acme/app:v1", imagePullPolicy: Never}
      containers:
      - name: app
        image: quay.io/acme/app:v1
        imagePullPolicy: Always
      - name: worker
        image: quay.io/acme/worker
)";
// A name from a stranger: nothing of it may steer a terminal, a log or a URI.
const std::string kOdd =
    "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - {name: \"50%,\\n::x\\u001b[31m\", image: "
    "\"q.io/é:\"}\n";
const std::string kList = "quay.io/acme/app:v1\nquay.io/acme/worker\nghcr.io/acme/old:v1\n";

LintResult Sample() {
  return tests::LintFiles(kList, {{"deploy/job.yaml", kJob}, {"deploy/a b,c:ä.yaml", kOdd}});
}
LintResult Clean() {
  return tests::LintFiles(
      "q.io/a:v1", {{"p.yaml", "apiVersion: v1\nkind: Pod\nspec: {containers: [{image: \"q.io/a:v1\"}]}\n"}});
}

// Nobody knows whether the unread files are clean.
LintResult ReadInPart(LintResult result) {
  result.unread = {{"deploy/b.yaml", "deploy/b.yaml:3:1: end of sequence not found"},
                   {"", "x*.yaml: no file matches"}};
  return result;
}

std::string Indented(const std::string& json) {
  doc::Problems problems("json");
  auto root = doc::ParseJson(json, problems);
  EXPECT_TRUE(root && problems.empty()) << base::Join(problems.Lines(), "\n");
  return root ? doc::WritePrettyJson(*root) : "";
}

TEST(LintReport, Text) {
  tests::ExpectGolden("screen/lint.txt", LintText(Sample(), {.took = std::chrono::milliseconds(1249)}));
  EXPECT_EQ(LintText(Clean(), {}), "clean: 1 file, 1 pod\n");
}

TEST(LintReport, ColorSupportsWhatWordsSay) {
  std::string text = LintText(Sample(), {.color = true});
  EXPECT_HAS(text, "\xff[33mwarning  \xff[0mPF302");
  for (const char* code : {"\xff[31m", "\xff[33m", "\xff[36m", "\xff[0m"})
    text = base::ReplaceAll(text, code, "");
  EXPECT_EQ(text, LintText(Sample(), {}));
}

TEST(LintReport, Github) {
  tests::ExpectGolden("screen/lint.github", LintGithub(Sample()));
}

TEST(LintReport, Json) {
  tests::ExpectGolden("screen/lint.json", Indented(LintJson(Sample())));
  EXPECT_HAS(LintJson(Clean()), "\"clean\":true,\"findings\":[]");
}

TEST(LintReport, Sarif) {
  tests::ExpectGolden("screen/lint.sarif", Indented(LintSarif(Sample(), "0.1.0")));
}

TEST(LintReport, Rules) {
  tests::ExpectGolden("screen/lint-rules.txt", LintRulesText());
}

TEST(LintReport, WhatIsNotShownIsSaid) {
  LintResult result = Sample();
  result.dropped = 7;
  EXPECT_HAS(LintText(result, {}), "2 files, 2 pods, 7 not shown\n");
}

TEST(LintReport, WhatCouldNotBeReadIsNotClean) {
  LintResult part = ReadInPart(Clean());
  EXPECT_EQ(LintText(part, {}),
            "nothing found in the readable files: 1 file, 1 pod; 2 mistakes in reading\n");
  EXPECT_EQ(LintGithub(part),
            "::error file=deploy/b.yaml,title=prefetchctl lint cannot read this::deploy/b.yaml:3:1: end of "
            "sequence "
            "not found\n::error title=prefetchctl lint cannot read this::x*.yaml: no file matches\n" +
                LintText(part, {}));
  std::string json = LintJson(part);
  EXPECT_HAS(json, "\"clean\":false,\"findings\":[],\"unread\":[{\"file\":\"deploy/b.yaml\",\"message\":");
  EXPECT_HAS(json, "{\"file\":null,\"message\":\"x*.yaml: no file matches\"}");
  EXPECT_HAS(LintText(ReadInPart(Sample()), {}), "in 2 files, 2 pods; 2 mistakes in reading\n");
  EXPECT_HAS(LintSarif(Clean(), "0.1.0"), "\"executionSuccessful\":true");
}

// The objects of SARIF 2.1.0 that are written, with the properties that the standard requires of each, and
// those of the others that are used; its schema allows no property that it does not name.
struct Shape {
  std::string name;
  std::vector<std::string> required, optional;
};
const Shape kLog{"sarifLog", {"version", "runs"}, {"$schema"}};                                  // 3.13
const Shape kRun{"run", {"tool"}, {"invocations", "columnKind", "results"}};                     // 3.14
const Shape kInvocation{"invocation", {"executionSuccessful"}, {"toolExecutionNotifications"}};  // 3.20
const Shape kNotification{"notification", {"message"}, {"level", "locations"}};                  // 3.58
const Shape kTool{"tool", {"driver"}, {}};                                                       // 3.18
const Shape kDriver{"toolComponent", {"name"}, {"version", "rules"}};                            // 3.19
const Shape kRule{"reportingDescriptor",                                                         // 3.49
                  {"id"},
                  {"name", "shortDescription", "fullDescription", "help", "defaultConfiguration"}};
const Shape kConfiguration{"reportingConfiguration", {}, {"level"}};  // 3.50
const Shape kMessage{"message", {"text"}, {}};                        // 3.11
const Shape kResult{"result",                                         // 3.27
                    {"message"},
                    {"ruleId", "ruleIndex", "level", "locations", "relatedLocations", "partialFingerprints"}};
const Shape kLocation{"location", {}, {"id", "physicalLocation", "message"}};         // 3.28
const Shape kPhysicalLocation{"physicalLocation", {"artifactLocation"}, {"region"}};  // 3.29
const Shape kArtifactLocation{"artifactLocation", {"uri"}, {}};                       // 3.4
const Shape kRegion{"region", {"startLine", "startColumn"}, {}};                      // 3.30

const doc::Node& Has(const doc::Node& node, const Shape& shape) {
  EXPECT_EQ(node.kind, doc::Node::Kind::kMapping) << shape.name;
  for (const std::string& name : shape.required)
    EXPECT_NE(node.Find(name), nullptr) << shape.name << "." << name;
  for (const doc::Member& member : node.members) {
    bool known = std::count(shape.required.begin(), shape.required.end(), member.key) +
                     std::count(shape.optional.begin(), shape.optional.end(), member.key) >
                 0;
    EXPECT_TRUE(known) << shape.name << " has no " << member.key;
  }
  return node;
}

void ExpectLocation(const doc::Node& node) {
  Has(node, kLocation);
  const doc::Node& physical = Has(*node.Find("physicalLocation"), kPhysicalLocation);
  std::string uri = Has(*physical.Find("artifactLocation"), kArtifactLocation).Find("uri")->text;
  for (char c : uri) EXPECT_TRUE(c > ' ' && c < 127 && c != ':') << uri;
  if (physical.Find("region") == nullptr) return;
  const doc::Node& region = Has(*physical.Find("region"), kRegion);
  EXPECT_GE(region.Find("startLine")->integer, 1);
  EXPECT_GE(region.Find("startColumn")->integer, 1);
}

TEST(LintReport, SarifIsAsTheStandardHasIt) {
  doc::Problems problems("sarif");
  auto root = doc::ParseJson(LintSarif(ReadInPart(Sample()), "0.1.0"), problems);
  ASSERT_TRUE(root && problems.empty());
  Has(*root, kLog);
  EXPECT_EQ(root->Find("version")->text, "2.1.0");
  ASSERT_EQ(root->Find("runs")->items.size(), 1U);
  const doc::Node& run = Has(root->Find("runs")->items[0], kRun);
  const doc::Node& driver = Has(*Has(*run.Find("tool"), kTool).Find("driver"), kDriver);
  const std::vector<doc::Node>& rules = driver.Find("rules")->items;
  for (const doc::Node& rule : rules) {
    Has(rule, kRule);
    for (const char* text : {"shortDescription", "fullDescription", "help"}) Has(*rule.Find(text), kMessage);
    Has(*rule.Find("defaultConfiguration"), kConfiguration);
  }
  ASSERT_EQ(run.Find("invocations")->items.size(), 1U);
  const doc::Node& invocation = Has(run.Find("invocations")->items[0], kInvocation);
  EXPECT_FALSE(invocation.Find("executionSuccessful")->boolean);
  ASSERT_EQ(invocation.Find("toolExecutionNotifications")->items.size(), 2U);
  for (const doc::Node& notification : invocation.Find("toolExecutionNotifications")->items) {
    Has(notification, kNotification);
    Has(*notification.Find("message"), kMessage);
    EXPECT_EQ(notification.Find("level")->text, "error");
    if (const doc::Node* places = notification.Find("locations")) ExpectLocation(places->items.at(0));
  }
  std::vector<std::string> fingerprints;
  for (const doc::Node& result : run.Find("results")->items) {
    Has(result, kResult);
    Has(*result.Find("message"), kMessage);
    auto index = static_cast<std::size_t>(result.Find("ruleIndex")->integer);
    ASSERT_LT(index, rules.size());
    EXPECT_EQ(rules[index].Find("id")->text, result.Find("ruleId")->text);
    std::string level = result.Find("level")->text;
    EXPECT_TRUE(level == "error" || level == "warning" || level == "note");
    for (const doc::Node& location : result.Find("locations")->items) ExpectLocation(location);
    if (const doc::Node* related = result.Find("relatedLocations")) {
      for (const doc::Node& location : related->items) ExpectLocation(location);
    }
    fingerprints.push_back(result.Find("partialFingerprints")->members.at(0).value.text);
  }
  EXPECT_EQ(fingerprints.size(), Sample().findings.size());
  std::sort(fingerprints.begin(), fingerprints.end());
  EXPECT_EQ(std::unique(fingerprints.begin(), fingerprints.end()), fingerprints.end());
}

// A line above moves everything; what was dealt with stays dealt with.
TEST(LintReport, FingerprintsOutliveMovedLines) {
  auto fingerprints = [](const std::string& text) {
    doc::Problems problems("sarif");
    auto root = doc::ParseJson(LintSarif(tests::LintFiles(kList, {{"job.yaml", text}}), "0.1.0"), problems);
    std::vector<std::string> found;
    for (const doc::Node& result : root->Find("runs")->items[0].Find("results")->items) {
      found.push_back(result.Find("partialFingerprints")->members.at(0).value.text);
    }
    return found;
  };
  EXPECT_EQ(fingerprints(kJob), fingerprints("# a line more\n" + kJob));
}

}  // namespace
}  // namespace prefetch::screen::lint_test
