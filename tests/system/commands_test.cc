// All of prefetchctl's commands: each has help with examples that it would understand, and shells complete
// them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "rig/expect_ok.h"
#include "rig/process.h"
#include "rig/scratch.h"
#include "system/commands_help.h"

namespace prefetch::system::commands_test {
namespace {

using commands_help::AllHelp;
using commands_help::Help;
using commands_help::HelpOf;
using commands_help::Output;
using commands_help::Program;
using commands_help::SubcommandsIn;
using commands_help::Title;
using commands_help::Words;
using commands_help::WordsOf;

constexpr std::size_t kWidest = 120;  // columns, as of the source that has it

TEST(Help, OfEveryCommandHasExamples) {
  std::size_t commands = 0;
  for (const Help& help : AllHelp()) {
    if (!help.below.empty()) continue;
    commands++;
    std::size_t at = help.text.find("\nExamples:\n");
    ASSERT_NE(at, std::string::npos) << Title(help.words);
    EXPECT_NE(help.text.find("prefetchctl " + Title(help.words), at), std::string::npos) << Title(help.words);
    EXPECT_NE(help.text.find("Exit code"), std::string::npos) << Title(help.words);
    // Lines that begin with an option may be long. All others are the command's own text, which the program
    // wraps only on a terminal.
    for (std::string_view line : base::Split(std::string_view(help.text), '\n')) {
      const std::size_t begin = line.find_first_not_of(' ');
      if (begin == std::string_view::npos || line[begin] == '-' || line.starts_with("Usage:")) continue;
      EXPECT_LE(line.size(), kWidest) << Title(help.words) << ": " << line;
    }
  }
  EXPECT_GE(commands, 17U);
}

// The first page has what people want in front, and leaves out what only programs call.
TEST(Help, FirstPageIsGrouped) {
  const std::string page = HelpOf({});
  EXPECT_EQ(SubcommandsIn(page),
            (Words{"status", "explain", "retry", "watch", "check", "wait", "lint", "list", "plan", "generate",
                   "uninstall", "audit", "credentials", "migrate", "schema", "completion"}));
  std::size_t at = 0;
  for (const char* heading : {"Look at a node or a fleet", "Gate CI", "Lists", "Install", "More"}) {
    std::size_t next = page.find("\n" + std::string(heading) + ":\n");
    ASSERT_NE(next, std::string::npos) << heading;
    EXPECT_GT(next, at) << heading;
    at = next;
  }
  EXPECT_NE(HelpOf({"verdict"}).find("\nExamples:\n"), std::string::npos);
}

// An example with an option that is gone, or was never there, sends people astray.
TEST(Help, ExamplesUseOptionsThatTheCommandHas) {
  for (const Help& help : AllHelp()) {
    std::size_t at = help.text.find("\nExamples:\n");
    if (!help.below.empty() || at == std::string::npos) continue;
    std::string examples = base::ReplaceAll(help.text.substr(at), "\\\n", " ");
    std::string own = "prefetchctl " + Title(help.words);
    for (std::string_view line : base::Split(examples, '\n')) {
      std::size_t begin = line.find(own);
      if (begin == std::string_view::npos) continue;
      line.remove_prefix(begin + own.size());
      for (std::string word : WordsOf(line.substr(0, line.find_first_of("|&>#")))) {
        if (!word.starts_with("--")) continue;
        word = word.substr(0, word.find('='));
        EXPECT_NE(help.text.substr(0, at).find(word), std::string::npos) << own << ": " << word;
      }
    }
  }
}

class Completion : public testing::Test {
 protected:
  Completion() {
    scratch_.Write("bash", Output({Program(), "completion", "bash"}));
    scratch_.Write("zsh", Output({Program(), "completion", "zsh"}));
    scratch_.Write("fish", Output({Program(), "completion", "fish"}));
  }
  // What bash would offer for the last of `words`.
  std::set<std::string> Bash(const Words& words) {
    std::string script = "source " + (scratch_ / "bash") +
                         "; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($#-1)); _prefetchctl; "
                         "printf '%s\\n' \"${COMPREPLY[@]}\"";
    Words argv = {"bash", "--norc", "-c", script, "bash"};
    argv.insert(argv.end(), words.begin(), words.end());
    Words offered = WordsOf(Output(argv));
    return {offered.begin(), offered.end()};
  }
  // The same of zsh; what it would show is printed instead, "FILES" for files. It matches by itself.
  std::set<std::string> Zsh(const Words& words) {
    std::string script =
        "compdef() {}; _files() { print FILES }; compset() {}; "
        "_describe() { local one; for one in \"${(@P)2}\"; do print -r -- ${one%%:*}; done }; "
        "source " +
        (scratch_ / "zsh") + "; words=(\"$@\"); CURRENT=$#; _prefetchctl";
    Words argv = {"zsh", "-f", "-c", script, "zsh"};
    argv.insert(argv.end(), words.begin(), words.end());
    Words offered = WordsOf(Output(argv));
    return {offered.begin(), offered.end()};
  }

  // The same of fish, which completes a command line and prints help behind a tab.
  std::set<std::string> Fish(const Words& words) {
    const Words argv = {"fish", "--no-config", "-c",
                        "source " + (scratch_ / "fish") + "; complete -C $argv[1]", base::Join(words, " ")};
    const std::string text = Output(argv);
    std::set<std::string> offered;
    for (std::string_view line : base::Split(std::string_view(text), '\n')) {
      if (!line.empty()) offered.emplace(line.substr(0, line.find('\t')));
    }
    return offered;
  }

  rig::Scratch scratch_;
};

TEST_F(Completion, TheScriptsAreGood) {
  EXPECT_EQ(Output({"bash", "-n", scratch_ / "bash"}), "");
  EXPECT_EQ(Output({"zsh", "-n", scratch_ / "zsh"}), "");
  EXPECT_EQ(Output({"fish", "--no-execute", scratch_ / "fish"}), "");
  EXPECT_EQ(Output({"shellcheck", "-s", "bash", scratch_ / "bash"}), "");
}

// Everything that --help names is offered, so that completion cannot go stale.
TEST_F(Completion, KnowsEveryCommandAndOption) {
  for (const Help& help : AllHelp()) {
    Words line = {"prefetchctl"};
    line.insert(line.end(), help.words.begin(), help.words.end());
    line.emplace_back("");
    if (!help.below.empty()) {
      std::set<std::string> below(help.below.begin(), help.below.end());
      EXPECT_EQ(Bash(line), below) << Title(help.words);
      EXPECT_EQ(Zsh(line), below) << Title(help.words);
      EXPECT_EQ(Fish(line), below) << Title(help.words);
    }
    line.back() = "--";
    std::set<std::string> bash = Bash(line), zsh = Zsh(line), fish = Fish(line);
    for (std::string_view row : base::Split(std::string_view(help.text), '\n')) {
      if (!row.starts_with("  -")) continue;
      std::string names = WordsOf(row).front();
      for (std::string_view name : base::Split(names, ',')) {
        name = name.substr(0, name.find('{'));  // of a flag that means false
        if (name.starts_with("--")) {
          EXPECT_TRUE(bash.contains(std::string(name))) << Title(help.words) << name;
          EXPECT_TRUE(fish.contains(std::string(name))) << Title(help.words) << name;
        }
        EXPECT_TRUE(zsh.contains(std::string(name))) << Title(help.words) << name;
      }
    }
  }
}

// bash hands over --unknown=f as three words, zsh as one.
TEST_F(Completion, BehindAnEqualsSign) {
  EXPECT_EQ(Bash({"prefetchctl", "check", "--unknown", "=", "f"}), std::set<std::string>{"fail"});
  EXPECT_EQ(Bash({"prefetchctl", "check", "--unknown", "="}), (std::set<std::string>{"fail", "pass"}));
  EXPECT_EQ(Zsh({"prefetchctl", "check", "--unknown=f"}), (std::set<std::string>{"fail", "pass"}));
}

struct CompletionCase {
  std::string name;
  Words words;
  std::set<std::string> bash, zsh;
};
class CompletionRow : public Completion, public testing::WithParamInterface<CompletionCase> {};
TEST_P(CompletionRow, Offers) {
  EXPECT_EQ(Bash(GetParam().words), GetParam().bash);
  EXPECT_EQ(Zsh(GetParam().words), GetParam().zsh);
}
using Set = std::set<std::string>;

TEST_F(Completion, FishOffersValues) {
  EXPECT_EQ(Fish({"prefetchctl", "lint", "-o", ""}), (Set{"text", "json", "github", "sarif"}));
  EXPECT_EQ(Fish({"prefetchctl", "list", "import", "-o", "t"}), Set{"txt"});
  EXPECT_EQ(Fish({"prefetchctl", "completion", ""}), (Set{"bash", "zsh", "fish"}));
  EXPECT_EQ(Fish({"prefetchctl", "lint", "--output=j"}), Set{"--output=json"});
}

INSTANTIATE_TEST_SUITE_P(
    All, CompletionRow,
    testing::Values(CompletionCase{"ValuesOfAnOption",
                                   {"prefetchctl", "lint", "-f", "deploy", "-o", ""},
                                   Set{"text", "json", "github", "sarif"},
                                   Set{"text", "json", "github", "sarif"}},
                    CompletionCase{"TheBeginningOfOne",
                                   {"prefetchctl", "list", "import", "-o", "t"},
                                   Set{"txt"},
                                   Set{"yaml", "txt", "json"}},
                    CompletionCase{"AShell",
                                   {"prefetchctl", "completion", ""},
                                   Set{"bash", "zsh", "fish"},
                                   Set{"bash", "zsh", "fish"}},
                    CompletionCase{"Files", {"prefetchctl", "lint", "--list", ""}, Set{}, Set{"FILES"}},
                    CompletionCase{"FilesAsArguments",
                                   {"prefetchctl", "list", "diff", "a.yaml", ""},
                                   Set{},
                                   Set{"FILES"}}),
    [](const auto& row) { return row.param.name; });

// What somebody writes wrongly is told in one sentence.
struct WrongCase {
  std::string name;
  Words words;
  std::string says;
  std::string help;  // of which command: "list check "
};
TEST(Wrong, IsASentence) {
  const WrongCase rows[] = {
      {"NoCommand", {"list"}, "a command is missing: check, diff, export, import, lock, print", "list "},
      {"AFlagOfNoCommand", {"--nosuch"}, "there is no option --nosuch"},
      {"AnArgumentTooMany", {"status", "x"}, "the argument x is not expected", "status "},
      {"AnArgumentTooFew", {"explain"}, "IMAGE is required", "explain "},
      {"NoValue", {"wait", "--timeout"}, "--timeout needs a value", "wait "},
      {"NoValueOfSome", {"check", "-o"}, "--output needs a value: github, json or text", "check "},
      {"NoNumber", {"plan", "--nodes", "x"}, "--nodes must be a number, not x", "plan "},
      {"Twice", {"status", "--agent", "a", "--agent", "b"}, "--agent is given more than once", "status "},
      {"OnlyWithAnother", {"status", "--nodes", "a=b"}, "--nodes needs --fleet", "status "},
      {"NotTogether",
       {"wait", "--hash", "a", "--list", "b"},
       "--list and --hash exclude each other: leave out one",
       "wait "},
      {"NoSuchCommand", {"stauts"}, "there is no command stauts; did you mean status?"},
      {"NoSuchCommandBelow",
       {"list", "chekc", "a.txt"},
       "there is no command chekc; did you mean check?",
       "list "},
      {"NoSuchFlag", {"status", "--nosuch"}, "there is no option --nosuch", "status "},
      {"AMisspeltFlag",
       {"wait", "--timout", "5m"},
       "there is no option --timout; did you mean --timeout?",
       "wait "},
      {"AMisspeltFlagWithItsValue",
       {"wait", "--fali-fast=x"},
       "there is no option --fali-fast; did you mean --fail-fast?",
       "wait "},
      {"NothingIsNear", {"zzzzzz"}, "there is no command zzzzzz"},
      {"CheckOutput", {"check", "-o", "x"}, "--output must be github, json or text, not x", "check "},
      {"LintOutput", {"lint", "-o", "x"}, "--output must be github, json, sarif or text, not x", "lint "},
      {"PrintOutput",
       {"list", "print", "-o", "x", "a.txt"},
       "--output must be hash, json or yaml, not x",
       "list print "},
      {"ANumberIsNoWord",
       {"list", "print", "-o", "1", "a.txt"},
       "--output must be hash, json or yaml, not 1",
       "list print "},
      {"Gate", {"generate", "--gate", "x"}, "--gate must be condition, label or taint, not x", "generate "},
  };
  for (const WrongCase& row : rows) {
    SCOPED_TRACE(row.name);
    Words argv = row.words;
    argv.insert(argv.begin(), Program());
    auto ran = rig::RunProgram({argv, {}}, std::chrono::seconds(20));
    ASSERT_OK(ran);
    EXPECT_EQ(ran->exit, (rig::Exit{2, 0}));
    EXPECT_EQ(ran->out, "");
    EXPECT_EQ(ran->err, "prefetchctl: " + row.says + " (see prefetchctl " + row.help + "--help)\n");
  }
}

// kubectl finds its plugins by their names on PATH, and runs them with the words behind that name.
TEST(Plugin, OfKubectlIsTheSameProgramUnderItsOtherNames) {
  rig::Scratch scratch;
  for (const char* name : {"kubectl-prefetch", "kubectl_complete-prefetch"}) {
    std::filesystem::create_symlink(std::filesystem::absolute(Program()), scratch / name);
  }
  const std::string plugin = scratch / "kubectl-prefetch";
  EXPECT_EQ(Output({plugin, "--version"}), Output({Program(), "--version"}));
  const std::string help = Output({plugin, "list", "check", "--help"});
  EXPECT_NE(help.find("Usage: kubectl prefetch list check"), std::string::npos) << help;
  EXPECT_NE(help.find("\n  kubectl prefetch list check"), std::string::npos) << help;
  EXPECT_EQ(help.find("prefetchctl "), std::string::npos) << help;
  EXPECT_EQ(Output({plugin, "completion", "--help"}).find("/usr/local/bin/kubectl prefetch"),
            std::string::npos);
  auto wrong = rig::RunProgram({{plugin, "list", "chek"}, {}}, std::chrono::seconds(20));
  ASSERT_OK(wrong);
  EXPECT_NE(wrong->err.find("(see kubectl prefetch list --help)"), std::string::npos) << wrong->err;
  const std::string completer = scratch / "kubectl_complete-prefetch";
  EXPECT_EQ(Output({completer, "list", "di"}), "diff\tCompare two lists, or a list with this node\n:4\n");
  EXPECT_EQ(Output({completer, "completion", ""}), "bash\nzsh\nfish\n:4\n");
  EXPECT_EQ(Output({completer, "generate", "--platform", "k"}), "k3s\nkind\n:4\n");
  EXPECT_TRUE(Output({completer, "list", "check", ""}).ends_with(":0\n"));
}

}  // namespace
}  // namespace prefetch::system::commands_test
