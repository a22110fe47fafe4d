// `generate init-container`: what it puts into which pods, and what it refuses.
#include "ctl/commands.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/text.h"
#include "ctl/ran.h"
#include "deploy/generate.h"
#include "deploy/kustomization.h"
#include "doc/node.h"
#include "doc/yaml.h"
#include "golden.h"
#include "manifest/read.h"
#include "temp_dir.h"
#include "text_of.h"

namespace prefetch::ctl::init_container_test {
namespace {

using Words = std::vector<std::string>;

class InitContainer : public testing::Test {
 protected:
  Ran Make() {
    return tests::Run([&](auto& out, auto& err) { return GenerateInitContainer(flags_, out, err); });
  }
  Ran MakeOf(const std::string& text) {
    flags_.file = folder_.Write("pods.yaml", text);
    return Make();
  }
  // Reads the inserted container of the first pod in `text`.
  Words ArgumentsIn(const std::string& text) {
    doc::Problems problems("made");
    const std::vector<doc::Node> documents = manifest::ParseManifests(text, problems);
    const std::vector<manifest::PodInTree> pods = manifest::FindPods(documents, problems);
    EXPECT_TRUE(problems.empty() && !pods.empty()) << text;
    Words words;
    if (pods.empty()) return words;
    for (const doc::Node& container : doc::ItemsAt(*pods[0].spec, {"initContainers"})) {
      if (doc::TextAt(container, {"name"}) != "check-images") continue;
      for (const doc::Node& word : doc::ItemsAt(container, {"args"})) words.push_back(word.text);
    }
    return words;
  }
  std::string Job(const std::string& in_spec, const std::string& in_pod) {
    return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: ci}\nspec:\n" + in_spec +
           "  template:\n    spec:\n" + in_pod +
           "      containers:\n      - {name: app, image: \"quay.io/a:v1\"}\n";
  }

  tests::TempDir folder_;
  InitContainerFlags flags_{
      .container = {.platform = "generic", .image = "registry.example/platform/prefetchd:0.1.0"}};
};

TEST_F(InitContainer, ReadsAsMuchAsOtherCommandsDo) {
  const std::string long_text(11 << 20, 'x');
  const Ran ran =
      MakeOf(Job("", "") + "---\napiVersion: v1\nkind: ConfigMap\ndata: {text: " + long_text + "}\n");
  EXPECT_TRUE(Prints(ran, kOk, "check-images"));
  EXPECT_HAS(ran.out, long_text);
}

// deploy/examples/check-init-container.yaml is what the command makes on every platform, but for OpenShift's
// users.
TEST_F(InitContainer, TheExampleIsItsOutputOnEachPlatform) {
  flags_.file = tests::Testdata() + "/ctl/checked-pod.yaml";
  const std::string example =
      tests::TextOf(tests::Testdata() + "/../../deploy/examples/check-init-container.yaml");
  const Words platforms = deploy::Platforms(deploy::EmbeddedFiles());
  EXPECT_GE(platforms.size(), 10U);
  for (const std::string& platform : platforms) {
    flags_.container.platform = platform;
    Ran ran = Make();
    EXPECT_EQ(ran.exit, kOk) << ran;
    const bool own_users = platform == "openshift";
    EXPECT_EQ(ran.out, own_users ? base::ReplaceAll(example, "      runAsUser: 65532\n", "") : example)
        << platform;
  }
}

TEST_F(InitContainer, AsksForEachImageAsItsStrongestUserDoesAndForNeverBeforeThat) {
  Ran ran = MakeOf(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  imagePullSecrets:\n  - name: team\n"
      "  volumes:\n  - name: models\n    image: {reference: \"quay.io/models:v1\", pullPolicy: Never}\n"
      "  initContainers:\n  - {name: first, image: \"quay.io/a:v1\", imagePullPolicy: Never}\n"
      "  containers:\n  - {name: app, image: \"quay.io/a:v1\", imagePullPolicy: Always}\n"
      "  - {name: db, image: postgres}\n");
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_EQ(ArgumentsIn(ran.out),
            (Words{"check", "--agent=http://[$(NODE_IP)]:9477", "--timeout=60s", "--image=quay.io/a:v1",
                   "--policy=Never", "--image=quay.io/a:v1", "--policy=Always", "--image=postgres",
                   "--policy=Always", "--image=quay.io/models:v1", "--policy=Never", "--pod-secret=team"}));
  EXPECT_HAS(ran.err, "the component preflight");
}

// The image of an inserted container is not one that the pod needs.
TEST_F(InitContainer, MadeAgainItIsTheSameAndTakesOverChanges) {
  const std::string first = MakeOf(Job("", "")).out;
  EXPECT_EQ(MakeOf(first).out, first);
  flags_.container.image = "registry.example/platform/prefetchd:0.2.0";
  flags_.container.port = 9478;
  const std::string second = MakeOf(first).out;
  EXPECT_EQ(base::ReplaceAll(base::ReplaceAll(second, ":0.2.0", ":0.1.0"), "9478", "9477"), first);
}

TEST_F(InitContainer, CommentsStayAndOnlyItsLinesAreNew) {
  const std::string before =
      "# the whole\n" + Job("  backoffLimit: 0 # once\n", "      # who\n      restartPolicy: Never\n");
  const std::string after = MakeOf(before).out;
  std::size_t at = 0;
  for (std::string_view line : base::Split(before, '\n')) {
    at = after.find(std::string(line) + (line.empty() ? "" : "\n"), at);
    ASSERT_NE(at, std::string::npos) << line << "\n" << after;
  }
  EXPECT_LACKS(MakeOf(before).err, "without its comments");
}

TEST_F(InitContainer, FlowStyleIsWrittenAnewAndThatIsTold) {
  Ran ran = MakeOf(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
      "spec: {containers: [{name: app, image: \"quay.io/a:v1\"}]}\n---\nkind: X\napiVersion: v1\n");
  EXPECT_TRUE(Complains(ran, kOk, "without its comments"));
  EXPECT_EQ(ArgumentsIn(ran.out).size(), 5U) << ran;
  EXPECT_HAS(ran.out, "kind: X");
}

// Kubernetes reads YAML 1.1: 0400 is a number there, and yes is true.
TEST_F(InitContainer, WhatIsWrittenAnewStaysWhatItIsForKubernetes) {
  const std::string pod =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  hostNetwork: yes\n"
      "  initContainers: [{name: first, image: \"quay.io/b:v1\"}]\n  containers:\n"
      "  - {name: app, image: \"quay.io/a:v1\"}\n  volumes:\n  - name: s\n    secret:\n"
      "      secretName: \"0400\"\n      defaultMode: 0400\n";
  const std::string made = MakeOf(pod).out;
  for (const char* line : {"hostNetwork: yes\n", "secretName: \"0400\"\n", "defaultMode: 0400\n"}) {
    EXPECT_HAS(made, line);
  }
}

TEST_F(InitContainer, PodsForWindowsAreLeftAsTheyAre) {
  const std::string pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n";
  const std::string containers = "  containers:\n  - {name: app, image: \"quay.io/a:v1\"}\n";
  Ran ran = MakeOf(pod + "  os: {name: windows}\n" + containers + "---\n" + pod + containers);
  EXPECT_TRUE(Complains(ran, kOk, "note: Pod p is left as it is: it is for Windows"));
  const std::size_t second = ran.out.find("---");
  EXPECT_LACKS(ran.out.substr(0, second), "check-images");
  EXPECT_NE(ran.out.find("check-images", second), std::string::npos) << ran;
}

TEST_F(InitContainer, ResourcesWithoutPodsAreToldApart) {
  const std::string other =
      "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: t}\nspec: {size: 3}\n";
  const std::string steps =
      "apiVersion: example.com/v1\nkind: Task\nmetadata: {name: t}\nspec:\n  steps:\n"
      "  - {name: a, image: \"quay.io/a:v1\"}\n";
  EXPECT_HAS(MakeOf(steps).err, "print the container with --check-image");
  EXPECT_HAS(MakeOf(other).err, "name their place with --pod-template-path");
  flags_.pod_template_paths = {"spec"};
  EXPECT_HAS(MakeOf(other).err, "print the container with --check-image");
}

TEST_F(InitContainer, EachObjectThatGetsNoCheckIsNamedOnce) {
  const std::string other = "---\napiVersion: example.com/v1\nkind: ";
  const std::string two = "[{name: a, image: \"quay.io/a:v1\"}, {name: b, image: \"quay.io/b:v1\"}]\n";
  flags_.pod_template_paths = {"spec.named"};
  Ran ran =
      MakeOf(Job("", "") + other + "Foo\nmetadata: {name: f}\nspec:\n  workers:\n    containers: " + two +
             other + "Bar\nmetadata: {name: b}\nspec:\n  named:\n    containers: " + two +
             "  more:\n    containers: " + two +
             "---\napiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: w}\nspec:\n" +
             "  templates:\n  - {name: m, container: {image: \"{{inputs.parameters.image}}\"}}\n" + other +
             "Service\nmetadata: {name: s}\n");
  EXPECT_TRUE(Complains(ran, kOk, "note: Foo f gets no check: if it has a pod template, name its place"));
  EXPECT_HAS(ran.err, "note: a part of Bar b gets no check");
  EXPECT_HAS(ran.err, "pods.yaml:31:27: container \"m\" of Workflow w has a variable");
  EXPECT_EQ(base::Split(ran.err, '\n').size(), 7U) << ran;
  EXPECT_LACKS(ran.err, "Job ci/j");
}

TEST_F(InitContainer, JsonStaysJson) {
  Ran ran = MakeOf(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},
    "spec":{"containers":[{"name":"app","image":"quay.io/a:v1"}]}})");
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_TRUE(ran.out.starts_with("{")) << ran;
  EXPECT_EQ(ArgumentsIn(ran.out).size(), 5U) << ran;
}

TEST_F(InitContainer, EveryPodOfAListHasIt) {
  const std::string pod =
      "- apiVersion: v1\n  kind: Pod\n  metadata: {name: p}\n  spec:\n    containers:\n"
      "    - {name: app, image: \"quay.io/a:v1\"}\n";
  Ran ran = MakeOf("apiVersion: v1\nkind: List\nitems:\n" + pod + pod);
  EXPECT_EQ(ran.exit, kOk) << ran;
  std::size_t found = 0;
  for (std::string_view line : base::Split(ran.out, '\n'))
    found += line == "    - name: check-images" ? 1 : 0;
  EXPECT_EQ(found, 2U) << ran;
}

struct TimeoutCase {
  std::string in_spec, in_pod, wish;
  std::string expect;  // empty: refused
};

TEST_F(InitContainer, EndsWellBeforeTheJob) {
  const TimeoutCase rows[] = {
      {"", "", "", "60s"},
      {"  activeDeadlineSeconds: 3600\n", "", "", "60s"},
      {"  activeDeadlineSeconds: 40\n", "", "", "20s"},
      {"  activeDeadlineSeconds: 3600\n", "      activeDeadlineSeconds: 30\n", "", "15s"},
      {"  activeDeadlineSeconds: 100\n", "", "90s", "90s"},
      {"  activeDeadlineSeconds: 90\n", "", "90s", ""},
      {"  activeDeadlineSeconds: 8\n", "", "", ""},
  };
  for (const TimeoutCase& row : rows) {
    flags_.timeout = row.wish.empty() ? std::nullopt : std::optional<std::string>(row.wish);
    Ran ran = MakeOf(Job(row.in_spec, row.in_pod));
    EXPECT_EQ(ran.exit, row.expect.empty() ? kBadInput : kOk) << ran;
    if (row.expect.empty()) {
      EXPECT_HAS(ran.err, "activeDeadlineSeconds of Job ci/j");
    } else {
      EXPECT_EQ(ArgumentsIn(ran.out).at(2), "--timeout=" + row.expect) << ran;
    }
  }
}

TEST_F(InitContainer, ASecretForTheCheckItselfIsThePodsToo) {
  flags_.image_pull_secrets = {"agent", "other"};
  flags_.container.pod_secrets = {"of-account"};
  Ran ran = MakeOf(Job("", "      imagePullSecrets:\n      - name: agent\n"));
  EXPECT_EQ(ran.exit, kOk) << ran;
  const Words words = ArgumentsIn(ran.out);
  EXPECT_EQ(Words(words.end() - 3, words.end()),
            (Words{"--pod-secret=of-account", "--pod-secret=agent", "--pod-secret=other"}));
  EXPECT_HAS(ran.out, "      imagePullSecrets:\n      - name: other\n      - name: agent\n");
}

TEST_F(InitContainer, WithoutAFileItPrintsWhatBelongsIntoAPod) {
  flags_.checked = {{"quay.io/a:v1", "Never"}, {"postgres", std::nullopt}};
  flags_.container.pod_secrets = flags_.image_pull_secrets = {"agent"};
  Ran ran = Make();
  EXPECT_EQ(ran.exit, kOk) << ran;
  doc::Problems problems("made");
  auto spec = doc::ParseYaml(ran.out, problems);
  ASSERT_TRUE(spec && problems.empty());
  const doc::Node* arguments = &doc::ItemsAt(*spec, {"initContainers"}).at(0);
  Words words;
  for (const doc::Node& word : doc::ItemsAt(*arguments, {"args"})) words.push_back(word.text);
  EXPECT_EQ(Words(words.begin() + 3, words.end()),
            (Words{"--image=quay.io/a:v1", "--policy=Never", "--image=postgres", "--policy=Always",
                   "--pod-secret=agent"}));
  EXPECT_EQ(doc::TextAt(doc::ItemsAt(*spec, {"imagePullSecrets"}).at(0), {"name"}), "agent");
  EXPECT_EQ(doc::TextAt(doc::ItemsAt(*spec, {"volumes"}).at(0), {"name"}), "prefetchd-token");
}

TEST_F(InitContainer, SaysWhatIsWrongWithAManifest) {
  const std::pair<std::string, std::string> rows[] = {
      {"kind: ConfigMap\napiVersion: v1\n", "no pod in it names an image"},
      {"apiVersion: tekton.dev/v1\nkind: Task\nspec: {steps: [{image: a:1}]}\n",
       "no pod template in it can take the check: print the container with --check-image"},
      {Job("", "      nodeSelector: {kubernetes.io/os: windows}\n"), "no pod in it is for nodes with agents"},
      {base::ReplaceAll(Job("", ""), "quay.io/a:v1", "${IMAGE}"),
       "pods.yaml:8:28: spec.template.spec.containers[0].image: is not an image name"},
      {"kind: [\n", "pods.yaml:"},
      {base::ReplaceAll(Job("", ""), "image: \"quay.io/a:v1\"", "image: 5"), "must be a string"},
  };
  for (const auto& [text, words] : rows) {
    EXPECT_TRUE(OnlyComplains(MakeOf(text), kBadInput, words));
  }
}

// The texts of a ConfigMap have images, and no pod that could be changed.
TEST_F(InitContainer, PodsBehindATextGetTheirChecks) {
  for (const char* text :
       {"[[runners]]\n    [runners.kubernetes]\n    image = \"q.io/job:1\"\n",
        "jenkins: {clouds: [{kubernetes: {templates: [{containers: [{name: a, image: 'a:1'}]}]}}]}\n"}) {
    const Ran ran = MakeOf(std::string("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n") +
                           "data:\n  text: |\n    " + text + "---\n" + Job("", ""));
    EXPECT_EQ(ran.exit, kOk) << ran.err;
    EXPECT_HAS(ran.out, "check-images");
    EXPECT_HAS(ran.err, " gets no check");
  }
}

TEST_F(InitContainer, ARunnersConfigurationHasNoPods) {
  flags_.file = folder_.Write("config.toml", "concurrent = 4\n[[runners]]\n  name = \"x\"\n");
  EXPECT_TRUE(
      OnlyComplains(Make(), kBadInput,
                    "config.toml: TOML has no pods to change: print the container with --check-image\n"));
}

TEST_F(InitContainer, SaysAllThatIsWrongWithTheCommandLine) {
  flags_ = {.container = {.platform = "venus", .image = "A B"}, .timeout = "1s"};
  Ran ran = Make();
  EXPECT_EQ(ran.exit, kBadInput);
  for (const char* words :
       {"--platform must be one of", "--image must name", "--timeout must be", "-f, or the pod's images"}) {
    EXPECT_HAS(ran.err, words);
  }
}

TEST_F(InitContainer, WritesAFileAsAWhole) {
  flags_.output = folder_ / "out.yaml";
  Ran ran = MakeOf(Job("", ""));
  EXPECT_EQ(ran.out, "");
  const std::string written = tests::TextOf(flags_.output);
  flags_.output.clear();
  EXPECT_EQ(Make().out, written);
  flags_.output = "/dev/null";
  EXPECT_EQ(Make().exit, kOk);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null")) << "a device is no file to be replaced";
  flags_.output = folder_ / "none/out.yaml";
  EXPECT_EQ(Make().exit, kBadInput);
}

}  // namespace
}  // namespace prefetch::ctl::init_container_test
