// The rules one by one, in their words; the corpus has what they find in whole manifests.
#include "manifest/image_use.h"
#include "manifest/lint/rules.h"
#include "manifest/lint_sample.h"

namespace prefetch::manifest::lint::lint_test {
namespace {

using tests::Files;
using tests::LintFiles;
using Strings = std::vector<std::string>;

std::string Pod(const std::string& containers, const std::string& more = "") {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n" + more + "  containers:\n" + containers;
}

std::vector<std::string> Said(const LintResult& result) {
  std::vector<std::string> lines;
  for (const Finding& finding : result.findings) {
    std::string line = tests::Short(finding) + " " + finding.message;
    if (finding.other) {
      line += " -> " + finding.other->file + ":" + std::to_string(finding.other->at.line) + " " +
              finding.other_message;
    }
    lines.push_back(line);
  }
  return lines;
}

struct RuleCase {
  std::string name, list;
  Files files;
  std::vector<std::string> expect;
};
TEST(LintRuleTest, Says) {
  const RuleCase rows[] = {
      {"NotListed", "q.io/a:v1",
       Files{{"p.yaml", Pod("  - {name: a, image: \"q.io/a:v1\"}\n  - {name: b, image: \"q.io/b:v1\"}\n")}},
       Strings{"p.yaml:7:15 PF101 image is used but not listed: q.io/b:v1 (container \"b\")"}},
      {"ListedUnderAnotherTag", "q.io/a:v1", Files{{"p.yaml", Pod("  - image: q.io/a:v2\n")}},
       Strings{"p.yaml:6:5 PF101 image is used but not listed: q.io/a:v2 (a container); the list has "
               "q.io/a:v1 -> list.txt:1 the entry for another tag or digest of the same repository",
               "list.txt:1:1 PF102 listed but used by no manifest here: q.io/a:v1"}},
      {"NeverUnlisted", "",
       Files{{"p.yaml", Pod("  - {name: b, image: \"q.io/b:v1\", imagePullPolicy: Never}\n")}},
       Strings{"p.yaml:6:15 PF103 imagePullPolicy is Never and the image is not listed: q.io/b:v1 (container "
               "\"b\")"}},
      {"ImageInAStepAction", "",
       Files{{"t.yaml",
              "apiVersion: tekton.dev/v1\nkind: Task\nmetadata: {name: t}\nspec:\n  steps:\n"
              "  - {name: s, ref: {name: clone}}\n  - ref: {resolver: git}\n"
              "  # prefetchctl: ignore=PF106 it is listed elsewhere\n  - ref: {name: known}\n"}},
       Strings{"t.yaml:6:15 PF106 step \"s\" of Task t takes its image from the StepAction \"clone\", which "
               "is not judged here",
               "t.yaml:7:5 PF106 a step of Task t takes its image from a StepAction that a resolver finds, "
               "which is not judged here"}},
      {"OtherPlatform", "q.io/a:v1|linux/amd64",
       Files{{"p.yaml", Pod("  - {name: a, image: \"q.io/a:v1\"}\n",
                            "  nodeSelector: {kubernetes.io/arch: arm64, kubernetes.io/os: linux}\n")}},
       Strings{"p.yaml:7:15 PF104 the pod may run on nodes of linux/arm64, and the list has q.io/a:v1 "
               "(container \"a\") for linux/amd64 only -> list.txt:1 the entry"}},
      {"OtherNodes",
       "q.io/a:v1|on=pool,gpu\nq.io/b:v1|on=pool,gpu\nq.io/b:v1|on=zone,a\nq.io/c:v1|on=pool,ci",
       Files{{"p.yaml", Pod("  - {name: a, image: \"q.io/a:v1\"}\n  - {name: b, image: \"q.io/b:v1\"}\n"
                            "  - {name: c, image: \"q.io/c:v1\"}\n",
                            "  nodeSelector: {pool: ci}\n")}},
       Strings{"p.yaml:7:15 PF109 the pod demands nodes with pool=ci, and the list has q.io/a:v1 (container "
               "\"a\") "
               "for nodes with pool=gpu -> list.txt:1 the entry"}},
      // Two sources of the list: together they serve both.
      {"PlatformsOfTwoEntries", "q.io/a:v1|linux/amd64\nq.io/a:v1|linux/arm64/v8",
       Files{{"p.yaml",
              Pod("  - {name: a, image: \"q.io/a:v1\"}\n", "  nodeSelector: {kubernetes.io/arch: arm64}\n")}},
       Strings{}},
      {"AsThePodThatTheListHas", "q.io/a:v1|as=pull\nq.io/b:v1|as=pull,runner\nq.io/b:v1|as=other",
       Files{
           {"a.yaml", Pod("  - {name: a, image: \"q.io/a:v1\"}\n",
                          "  imagePullSecrets: [{name: more}, {name: pull}]\n")},
           {"b.yaml", Pod("  - {name: b, image: \"q.io/b:v1\"}\n", "  imagePullSecrets: [{name: other}]\n")},
           // The secrets of its service account are given to a pod without any.
           {"c.yaml", Pod("  - {name: c, image: \"q.io/b:v1\"}\n", "  serviceAccountName: runner\n")}},
       Strings{}},
      {"AnotherPodThanTheListHas", "q.io/a:v1|as=pull",
       Files{{"a.yaml", Pod("  - {name: a, image: \"q.io/a:v1\"}\n", "  imagePullSecrets: [{name: more}]\n")},
             {"b.yaml", Pod("  - {name: b, image: \"q.io/a:v1\"}\n")}},
       Strings{"a.yaml:5:3 PF302 every image of Pod p is listed, so the node pulls it by itself; a pull with "
               "its secrets (more) would close it to other pods",
               "a.yaml:7:15 PF105 listed for pods with secret ci/pull (readyAs), and Pod p does not name "
               "pull secret pull: q.io/a:v1 (container \"a\") -> list.txt:1 the entry",
               "b.yaml:6:15 PF105 listed for pods with secret ci/pull (readyAs), and Pod p does not name "
               "pull secret pull (if its service account brings it, name that one in readyAs, too): "
               "q.io/a:v1 (container \"b\") -> list.txt:1 the entry"}},
      {"AnotherServiceAccountThanTheListHas", "q.io/a:v1|as=pull,runner",
       Files{
           {"a.yaml", Pod("  - {name: a, image: \"q.io/a:v1\"}\n", "  imagePullSecrets: [{name: pull}]\n")}},
       Strings{
           "a.yaml:7:15 PF105 listed for pods with secret ci/pull and service account ci/runner (readyAs), "
           "and Pod p has service account default: q.io/a:v1 (container \"a\") -> list.txt:1 the entry"}},
      // The pod's secrets are in a TaskRun, or in Tekton's configuration.
      {"SecretsOfATaskAreNotKnown", "q.io/a:v1|as=pull",
       Files{{"a.yaml",
              "apiVersion: tekton.dev/v1\nkind: Task\nmetadata: {name: t, namespace: ci}\nspec:\n"
              "  steps: [{name: s, image: \"q.io/a:v1\"}]\n"},
             {"b.yaml",
              "apiVersion: tekton.dev/v1\nkind: Task\nmetadata: {name: t, namespace: shop}\nspec:\n"
              "  steps: [{name: s, image: \"q.io/a:v1\"}]\n"}},
       Strings{"b.yaml:5:21 PF105 listed for pods with secret ci/pull (readyAs), and Task shop/t is in "
               "namespace shop: q.io/a:v1 (container \"s\") -> list.txt:1 the entry"}},
      // Another part of the workflow, of the runner's configuration or of Jenkins' template has them.
      {"SecretsOfAPartAreNotKnown", "q.io/a:v1|as=pull",
       Files{{"a.yaml",
              "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: w}\nspec:\n"
              "  podSpecPatch: 'containers: [{name: main, image: \"q.io/a:v1\"}]'\n"},
             {"b.toml",
              "[[runners]]\n[[runners.kubernetes.pod_spec]]\n"
              "patch = 'containers: [{name: build, image: \"q.io/a:v1\"}]'\n"},
             {"c.yaml",
              "jenkins: {clouds: [{kubernetes: {templates: [{name: t, yaml: 'spec: {containers: [{name: c, "
              "image: \"q.io/a:v1\"}]}'}]}}]}\n"}},
       Strings{}},
      {"InAnotherNamespaceThanTheListHas", "q.io/a:v1|as=pull",
       Files{{"a.yaml",
              "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: shop}\nspec:\n"
              "  imagePullSecrets: [{name: pull}]\n  containers:\n  - {name: a, image: \"q.io/a:v1\"}\n"}},
       Strings{"a.yaml:7:15 PF105 listed for pods with secret ci/pull (readyAs), and Pod shop/p is in "
               "namespace shop: q.io/a:v1 (container \"a\") -> list.txt:1 the entry"}},
      {"ImplicitAlways", "q.io/a\nq.io/b:latest",
       Files{{"p.yaml", Pod("  - {name: a, image: q.io/a}\n  - {name: b, image: \"q.io/b:latest\"}\n")}},
       Strings{"p.yaml:6:15 PF201 no imagePullPolicy and no tag, which means :latest: kubelet will ask q.io "
               "at every start although the image is on the node: q.io/a (container \"a\")",
               "p.yaml:7:15 PF201 no imagePullPolicy and tag :latest: kubelet will ask q.io at every start "
               "although the image is on the node: q.io/b:latest (container \"b\")"}},
      {"ExplicitAlways", "docker.io/library/a:v1",
       Files{
           {"p.yaml", Pod("  - name: a\n    image: docker.io/library/a:v1\n    imagePullPolicy: Always\n")}},
       Strings{"p.yaml:8:5 PF202 imagePullPolicy is Always: kubelet will ask docker.io at every start "
               "although the image is on the node: docker.io/library/a:v1 (container \"a\")"}},
      {"NeverOfMovingTag", "q.io/a:main\nq.io/b:main|refreshed",
       Files{{"p.yaml", Pod("  - {name: a, image: \"q.io/a:main\", imagePullPolicy: Never}\n"
                            "  - {name: b, image: \"q.io/b:main\", imagePullPolicy: Never}\n")}},
       Strings{"p.yaml:6:37 PF203 imagePullPolicy is Never and the tag main moves, and nodes keep their "
               "first pull: q.io/a:main (container \"a\")"}},
      {"WeakerCheckInAnotherFile", "q.io/a:v1",
       Files{{"a.yaml", Pod("  - {name: precheck, image: \"q.io/a:v1\", imagePullPolicy: Never}\n")},
             {"b.yaml", Pod("  - {name: app, image: \"q.io/a:v1\"}\n")}},
       Strings{"a.yaml:6:42 PF204 container \"precheck\" has Never where \"app\" of Pod p has IfNotPresent, "
               "for the same image: q.io/a:v1 -> b.yaml:6 the stronger policy"}},
      // Containers that do other work may have another policy.
      {"WeakerButNoCheck", "q.io/a:v1",
       Files{{"a.yaml", Pod("  - {name: one, image: \"q.io/a:v1\", imagePullPolicy: Never}\n")},
             {"b.yaml", Pod("  - {name: app, image: \"q.io/a:v1\"}\n")}},
       Strings{}},
      {"TwoSpellings", "docker.io/library/a:v1",
       Files{{"p.yaml", Pod("  - {name: a, image: \"docker.io/a:v1\"}\n")}},
       Strings{"p.yaml:6:15 PF301 one repository by two names: docker.io/a here, docker.io/library/a in "
               "list.txt -> list.txt:1 docker.io/library/a:v1 is named here"}},
      // The advice of the rule asks for this.
      {"TwoNamesThatAreBothListed", "docker.io/library/a:v1\na:v1\nq.io/acme/b:v1\nm.io/q/acme/b:v1",
       Files{{"p.yaml", Pod("  - {name: a, image: \"docker.io/library/a:v1\"}\n"
                            "  - {name: b, image: \"q.io/acme/b:v1\"}\n"
                            "  - {name: c, image: \"m.io/q/acme/b:v1\"}\n")}},
       Strings{}},
      {"AThirdNameThatIsNot", "docker.io/library/a:v1\nlibrary/a:v1",
       Files{{"p.yaml", Pod("  - {name: a, image: \"docker.io/a:v1\"}\n")}},
       Strings{"p.yaml:6:15 PF301 one repository by two names: docker.io/a here, docker.io/library/a in "
               "list.txt -> list.txt:1 docker.io/library/a:v1 is named here"}},
      {"TwoRegistries", "q.io/acme/a:v1",
       Files{{"p.yaml",
              Pod("  - {name: a, image: \"m.io/q/acme/a:v1\"}\n  - {name: b, image: \"m.io/b/a:v1\"}\n")}},
       Strings{"p.yaml:6:15 PF101 image is used but not listed: m.io/q/acme/a:v1 (container \"a\")",
               "p.yaml:6:15 PF301 perhaps one image in two registries: m.io/q/acme/a:v1 here, q.io/acme/a:v1 "
               "in list.txt -> list.txt:1 q.io/acme/a:v1 is named here",
               "p.yaml:7:15 PF101 image is used but not listed: m.io/b/a:v1 (container \"b\")",
               "list.txt:1:1 PF102 listed but used by no manifest here: q.io/acme/a:v1"}},
      // Different content has different tags; one word of a path says nothing.
      {"OtherTagsAreOtherImages", "q.io/acme/a:v1\nq.io/one:v1",
       Files{{"p.yaml", Pod("  - {image: \"m.io/acme/a:v2\"}\n  - {image: \"m.io/one:v1\"}\n")}},
       Strings{"p.yaml:6:6 PF101 image is used but not listed: m.io/acme/a:v2 (a container)",
               "p.yaml:7:6 PF101 image is used but not listed: m.io/one:v1 (a container)",
               "list.txt:1:1 PF102 listed but used by no manifest here: q.io/acme/a:v1",
               "list.txt:2:1 PF102 listed but used by no manifest here: q.io/one:v1"}},
      {"PullSecrets", "q.io/a:v1",
       Files{{"p.yaml",
              Pod("  - {name: a, image: \"q.io/a:v1\"}\n", "  imagePullSecrets: [{name: x}, {name: z}]\n")}},
       Strings{"p.yaml:5:3 PF302 every image of Pod p is listed, so the node pulls it by itself; a pull with "
               "its secrets (x, z) would close it to other pods"}},
      {"ShortName", "a:v1", Files{{"p.yaml", Pod("  - {name: a, image: \"a:v1\"}\n")}},
       Strings{"p.yaml:6:15 PF303 the name has no registry: write docker.io/library/a:v1 instead of a:v1 "
               "(container \"a\")"}},
      {"InvalidReference", "", Files{{"p.yaml", Pod("  - {name: a, image: \"q.io/a:\"}\n")}},
       Strings{"p.yaml:6:15 PF304 " + image::Reference::Parse("q.io/a:").error().message() +
               " (container \"a\")"}},
      {"AnIgnoreInAList", "# prefetchctl: ignore=PF102 for the next release\n", Files{},
       Strings{"list.txt:1:1 PF002 PF102 finds nothing here to ignore"}},
  };
  for (const RuleCase& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(Said(LintFiles(row.list, row.files)), row.expect);
  }
}

TEST(Lint, ListsComeLastAndFilesInTheirOrder) {
  std::string unlisted = Pod("  - {name: z, image: \"q.io/z:v1\"}\n");
  LintResult result = LintFiles("q.io/a:v1", {{"b.yaml", unlisted}, {"a.yaml", unlisted}});
  EXPECT_EQ(tests::Short(result),
            (std::vector<std::string>{"b.yaml:6:15 PF101", "a.yaml:6:15 PF101", "list.txt:1:1 PF102"}));
  EXPECT_EQ(result.counts, (std::array<std::size_t, 3>{1, 0, 2}));
  EXPECT_EQ(result.files, 2U);
  EXPECT_EQ(result.pods, 2U);
  EXPECT_TRUE(result.Fails());
}

TEST(Lint, NotesAreNoFailure) {
  EXPECT_FALSE(LintFiles("q.io/a:v1", {}).Fails());
  EXPECT_TRUE(LintFiles("q.io/a", {{"p.yaml", Pod("  - image: q.io/a\n")}}).Fails());
}

TEST(Lint, WhatIsTooMuchIsCounted) {
  std::string containers;
  for (std::size_t i = 0; i < kMostFindings + 5; i++)
    containers += "  - image: q.io/z:v" + std::to_string(i) + "\n";
  LintResult result = LintFiles("", {{"p.yaml", Pod(containers)}});
  EXPECT_EQ(result.findings.size(), kMostFindings);
  EXPECT_EQ(result.dropped, 5U);
  EXPECT_EQ(result.counts[2], kMostFindings + 5);
}

struct IgnoreCase {
  std::string name, containers;
  std::vector<std::string> expect;
};
TEST(LintIgnoreTest, SwitchesOff) {
  const IgnoreCase rows[] = {
      {"OnTheLine", "  - image: q.io/a   # prefetchctl: ignore=PF201 because\n", {}},
      {"AboveTheLine",
       "  - name: a\n    # prefetchctl: ignore=PF201 because\n\n    # and\n    image: q.io/a\n", Strings{}},
      {"AboveTheContainer",
       "  # prefetchctl: ignore=PF201 because\n  - name: a\n    command: [x]\n    image: q.io/a\n",
       Strings{}},
      {"AnotherContainer",
       "  # prefetchctl: ignore=PF201 because\n  - name: x\n    image: q.io/a\n  - name: z\n    image: "
       "q.io/a\n",
       Strings{"p.yaml:10:5 PF201"}},
      {"TheNextLineIsAnotherThing",
       "  - name: a # prefetchctl: ignore=PF201 it is the container's first line\n    image: q.io/a\n",
       Strings{}},
      {"ALineBetween",
       "  - name: a\n    command: [x] # prefetchctl: ignore=PF201 not about the image\n    image: q.io/a\n",
       Strings{"p.yaml:7:18 PF002", "p.yaml:8:5 PF201"}},
      {"Several", "  - image: a # prefetchctl: ignore=PF101,PF303 because\n", {}},
      {"InLowerCase", "  - image: q.io/a # prefetchctl: ignore=pf201 because\n", {}},
      {"WithoutBlanks", "  - image: q.io/a #prefetchctl:ignore=PF201 because\n", {}},
      {"AnotherRule", "  - image: q.io/a # prefetchctl: ignore=PF202 because\n",
       Strings{"p.yaml:6:5 PF201", "p.yaml:6:19 PF002"}},
      {"NoReason", "  - image: q.io/a # prefetchctl: ignore=PF201\n",
       Strings{"p.yaml:6:5 PF201", "p.yaml:6:19 PF001"}},
      {"NoId", "  - image: q.io/a # prefetchctl: ignore because\n",
       Strings{"p.yaml:6:5 PF201", "p.yaml:6:19 PF001"}},
      {"ABeginningIsNoId", "  - image: q.io/a # prefetchctl: ignore=PF2 because\n",
       Strings{"p.yaml:6:5 PF201", "p.yaml:6:19 PF001"}},
      {"NoComment", "  - image: \"q.io/a#prefetchctl:ignore=PF201 x\"\n", {"p.yaml:6:5 PF304"}},
      {"ProseIsNoIgnore", "  - image: q.io/a # prefetchctl: see the list\n", {"p.yaml:6:5 PF201"}},
  };
  for (const IgnoreCase& row : rows) {
    SCOPED_TRACE(row.name);
    LintResult result =
        LintFiles("q.io/a", {{"p.yaml", Pod(row.containers)}}, {}, *Selection::Make({}, {"PF102"}));
    EXPECT_EQ(tests::Short(result), row.expect);
  }
}

TEST(Lint, AnIgnoreOfARuleThatIsOffIsNotIdle) {
  Files files = {{"p.yaml", Pod("  - image: q.io/a:v1 # prefetchctl: ignore=PF201 because\n")}};
  EXPECT_EQ(tests::Short(LintFiles("q.io/a:v1", files)), std::vector<std::string>{"p.yaml:6:22 PF002"});
  EXPECT_EQ(tests::Short(LintFiles("q.io/a:v1", files, {}, *Selection::Make({}, {"PF201"}))),
            std::vector<std::string>());
}

struct SelectionCase {
  std::string name;
  std::vector<std::string> select, ignore;
  std::string expect;  // the ids, or what the mistake says
};
TEST(LintSelectionTest, Is) {
  std::string all;
  for (const Rule& rule : kRules) all += (all.empty() ? "" : " ") + std::string(rule.id);
  const SelectionCase rows[] = {
      {"All", Strings{}, Strings{}, all},
      {"Some", {"PF101", "pf2"}, {}, "PF101 PF201 PF202 PF203 PF204"},
      {"WithCommas", {"PF101, PF102"}, {}, "PF101 PF102"},
      {"NotThese", {"PF1"}, {"PF102,PF104"}, "PF101 PF103 PF105 PF106 PF107 PF108 PF109"},
      {"NoSuchRule", {"PF9"}, {}, "--select: there is no rule PF9; see prefetchctl lint --rules"},
      {"Empty", {}, {"PF1,"}, "--ignore: there is no rule ; see prefetchctl lint --rules"},
  };
  for (const SelectionCase& row : rows) {
    SCOPED_TRACE(row.name);
    auto selection = Selection::Make(row.select, row.ignore);
    std::string ids;
    if (!selection) ids = selection.error().message();
    for (const Rule& rule : kRules) {
      if (selection && selection->Has(rule.rule)) ids += (ids.empty() ? "" : " ") + std::string(rule.id);
    }
    EXPECT_EQ(ids, row.expect);
  }
}

TEST(LintRules, AreOneRowEachAndSayWhatToDo) {
  std::string last;
  for (const Rule& rule : kRules) {
    EXPECT_EQ(&RuleOf(rule.rule), &rule);
    EXPECT_EQ(FindRule(rule.id), &rule);
    EXPECT_GT(std::string(rule.id), last);
    EXPECT_FALSE(rule.summary.empty() || rule.help.empty() || rule.name.empty());
    last = rule.id;
  }
  EXPECT_EQ(FindRule("PF1"), nullptr);
}

TEST(CheckContainer, IsOneByItsName) {
  auto is_check = [](const std::string& name, const std::string& pod_name,
                     UseKind kind = UseKind::kContainer) {
    ImageUse use;
    use.name = name;
    use.kind = kind;
    manifest::Pod pod;
    pod.name = pod_name;
    use.pod = std::make_shared<const manifest::Pod>(pod);
    return IsCheckContainer(use);
  };
  for (const char* name :
       {"check", "image-check", "Preflight", "precheck_0", "imagecheck", "verify.images", "prepull-3"}) {
    EXPECT_TRUE(is_check(name, "")) << name;
    EXPECT_TRUE(is_check("c", name)) << name;
  }
  for (const char* name : {"", "app", "checkout", "checksum", "verified", "prefetchd"}) {
    EXPECT_FALSE(is_check(name, name)) << name;
  }
  EXPECT_FALSE(is_check("check", "", UseKind::kImageVolume));
}

TEST(MovingTag, IsOneByItsName) {
  for (const char* tag : {"latest", "main", "Nightly", "edge"}) EXPECT_TRUE(IsMovingTag(tag)) << tag;
  for (const char* tag : {"v1", "1.27", "main-20241120", "latest-alpine", ""})
    EXPECT_FALSE(IsMovingTag(tag)) << tag;
}

}  // namespace
}  // namespace prefetch::manifest::lint::lint_test
