// deploy/docs/ci-systems.md and deploy/examples/ci: each example is clean by the command that the page shows
// for it, and each check is what prefetchctl generate makes.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "rows.h"
#include "system/command_folder.h"
#include "text_of.h"

namespace prefetch::system::ci_recipes_test {
namespace {

const char kAgentImage[] = "registry.example/platform/prefetchd:0.1.0";
const char kBuildImage[] = "quay.io/acme/build:v7";

std::string SourceFile(const std::string& name) {
  std::string text = tests::TextOf(tests::SourceRoot() / name);
  EXPECT_FALSE(text.empty()) << name;
  return text;
}

std::string Example(const std::string& name) {
  return SourceFile("deploy/examples/ci/" + name);
}

// The words behind "prefetchctl" of the page's lint commands that name the example, at the command or before
// its pipe.
std::vector<Words> CommandsFor(const std::string& example) {
  static const std::string kProgram = "prefetchctl ";
  const std::string page = base::ReplaceAll(SourceFile("deploy/docs/ci-systems.md"), "|\n", "| ");
  std::vector<Words> commands;
  for (std::string_view line : base::Split(page, '\n')) {
    const std::size_t at = line.find(kProgram + "lint -f ");
    if (at == std::string_view::npos || line.find(' ' + example + ' ') == std::string_view::npos) continue;
    Words words;
    for (std::string_view word : base::Split(line.substr(at + kProgram.size()), ' ')) {
      if (!word.empty()) words.emplace_back(word);
    }
    commands.push_back(std::move(words));
  }
  return commands;
}

class Recipes : public CommandFolder {
 protected:
  Recipes() { scratch_.Write("images.txt", Example("images.txt")); }

  // A container that the command prints for these images, each with IfNotPresent: its lines, without indents.
  std::set<std::string> CheckOf(const Words& images) {
    Words words = {"generate", "init-container", "--platform", "generic", "--image", kAgentImage};
    for (const std::string& image : images) {
      words.insert(words.end(), {"--check-image", image, "--policy", "IfNotPresent"});
    }
    rig::Ran ran = Run(words);
    EXPECT_EQ(ran.exit, (rig::Exit{0, 0})) << ran.err;
    std::set<std::string> lines = LinesOf(ran.out);
    EXPECT_TRUE(lines.contains("- name: check-images")) << ran.out;
    return lines;
  }
  static std::set<std::string> LinesOf(const std::string& text) {
    std::set<std::string> lines;
    for (std::string_view line : base::Split(text, '\n')) {
      if (!base::TrimSpace(line).empty()) lines.emplace(base::TrimSpace(line));
    }
    return lines;
  }
  static void ExpectAllOf(const std::set<std::string>& wanted, const std::string& text) {
    const std::set<std::string> lines = LinesOf(text);
    for (const std::string& line : wanted) EXPECT_TRUE(lines.contains(line)) << line;
  }
};

struct LintCase {
  std::string name, example;
  std::string policy, with_always;  // the control: this in the example or in the command, and what it becomes
  std::string finding;
  std::string summary = "clean: 1 file, 1 pod (";
};

class RecipesLint : public Recipes, public testing::WithParamInterface<LintCase> {
 protected:
  // By the page's command; the text is a file for -f NAME, and standard input for -f -.
  rig::Ran Lint(const Words& words, const std::string& text) {
    scratch_.Write(GetParam().example, text);
    return Run(words, text);
  }
};

TEST_P(RecipesLint, IsCleanAndWithAlwaysIsNot) {
  const LintCase& row = GetParam();
  const std::vector<Words> commands = CommandsFor(row.example);
  ASSERT_EQ(commands.size(), 1U);
  const std::string text = Example(row.example);
  rig::Ran clean = Lint(commands[0], text);
  EXPECT_EQ(clean.exit, (rig::Exit{0, 0})) << clean.out << clean.err;
  EXPECT_NE(clean.out.find(row.summary), std::string::npos) << clean.out;

  Words words = commands[0];
  for (std::string& word : words) {
    if (word == row.policy) word = row.with_always;
  }
  const std::string changed = base::ReplaceAll(text, row.policy, row.with_always);
  ASSERT_TRUE(words != commands[0] || changed != text);
  rig::Ran control = Lint(words, changed);
  EXPECT_EQ(control.exit, (rig::Exit{1, 0})) << control.out << control.err;
  EXPECT_NE(control.out.find(row.finding), std::string::npos) << control.out;
}

// The policies of a GitLab job's pod are in config.toml: an option of the command has them.
TEST_ROWS(
    All, RecipesLint,
    {"Buildkite", "buildkite.yaml", "imagePullPolicy: IfNotPresent", "imagePullPolicy: Always", "PF202"},
    {"Gitlab", "gitlab-pod.yaml", "IfNotPresent", "Always", "(container \"helper\")"},
    {"Arc", "arc.yaml", "imagePullPolicy: IfNotPresent", "imagePullPolicy: Always", "(container \"runner\")",
     // The workflow names the images of the job and its service.
     "2 notes in 1 file, 2 pods ("},
    {"Tekton", "tekton.yaml", "imagePullPolicy: IfNotPresent", "imagePullPolicy: Always",
     "(container \"unit\")"},
    {"Prow", "prow.yaml", "imagePullPolicy: IfNotPresent", "imagePullPolicy: Always", "(container \"test\")"},
    {"Jenkins", "jenkins.yaml", "imagePullPolicy: IfNotPresent", "imagePullPolicy: Always",
     "(container \"jnlp\")"});

// The controllers' own helper images are on the list: an example with its list shortened is not clean.
TEST_F(Recipes, TheListHasTheHelperImagesThatTheExamplesName) {
  const std::vector<std::pair<std::string, std::string>> helpers = {
      {"gitlab-pod.yaml", "gitlab-runner-helper:x86_64-"},
      {"arc.yaml", "ghcr.io/actions/actions-runner:"},
      {"jenkins.yaml", "docker.io/jenkins/inbound-agent:"}};
  for (const auto& [example, image] : helpers) {
    std::string shortened;
    const std::string list = Example("images.txt");
    for (std::string_view line : base::Split(list, '\n')) {
      if (line.find(image) == std::string_view::npos) shortened.append(line).append("\n");
    }
    scratch_.Write("images.txt", shortened);
    scratch_.Write(example, Example(example));
    const std::vector<Words> commands = CommandsFor(example);
    ASSERT_EQ(commands.size(), 1U) << example;
    rig::Ran ran = Run(commands[0]);
    EXPECT_EQ(ran.exit, (rig::Exit{1, 0})) << example << ran.out << ran.err;
    EXPECT_NE(ran.out.find("PF101 image is used but not listed"), std::string::npos) << ran.out;
    EXPECT_NE(ran.out.find(image), std::string::npos) << ran.out;
  }
  // Prow's are fields of decoration_config, which lint does not read.
  const std::string list = Example("images.txt"), prow = Example("prow.yaml");
  for (const char* name : {"clonerefs", "entrypoint", "initupload", "sidecar"}) {
    const std::size_t at = prow.find("      " + std::string(name) + ": ");
    ASSERT_NE(at, std::string::npos) << name;
    const std::size_t begin = prow.find(": ", at) + 2;
    const std::string image = prow.substr(begin, prow.find('\n', begin) - begin);
    EXPECT_NE(list.find("\n" + image + "\n"), std::string::npos) << image;
  }
}

// Run again on its own output, the command changes nothing.
TEST_F(Recipes, PodsHaveTheGeneratedCheck) {
  for (const char* name : {"buildkite.yaml", "jenkins.yaml"}) {
    scratch_.Write(name, Example(name));
    rig::Ran ran =
        Run({"generate", "init-container", "--platform", "generic", "--image", kAgentImage, "-f", name});
    EXPECT_EQ(ran.exit, (rig::Exit{0, 0})) << ran.err;
    EXPECT_EQ(ran.out, Example(name));
  }
}

TEST_F(Recipes, PatchesHaveTheGeneratedCheck) {
  const std::string toml = Example("gitlab-runner.toml");
  const std::string helper =
      "registry.gitlab.com/gitlab-org/gitlab-runner/gitlab-runner-helper:x86_64-v19.3.0";
  const std::set<std::string> gitlab = CheckOf({kBuildImage, helper});
  ExpectAllOf(gitlab, toml);
  ExpectAllOf(gitlab, Example("gitlab-pod.yaml"));
  ExpectAllOf({"image = \"" + std::string(kBuildImage) + "\"", "helper_image = \"" + helper + "\"",
               "pull_policy = [\"if-not-present\"]"},
              toml);
  ExpectAllOf(CheckOf({kBuildImage, "quay.io/acme/postgres:v16"}), Example("arc.yaml"));
}

// Steps of Tekton are no containers: one field has another name, one is missing, and there are no init
// containers.
TEST_F(Recipes, TheFirstStepIsTheGeneratedCheck) {
  std::set<std::string> step = CheckOf({kBuildImage});
  EXPECT_EQ(step.erase("initContainers:"), 1U);
  EXPECT_EQ(step.erase("resources:"), 1U);
  EXPECT_EQ(step.erase("terminationMessagePolicy: FallbackToLogsOnError"), 1U);
  step.insert("computeResources:");
  const std::string tekton = Example("tekton.yaml");
  ExpectAllOf(step, tekton);
  EXPECT_NE(tekton.find("\n  steps:\n  - name: check-images\n"), std::string::npos);
}

}  // namespace
}  // namespace prefetch::system::ci_recipes_test
