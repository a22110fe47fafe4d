// All of prefetchctl's commands: each has help with examples that it would understand, and shells complete
// them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "base/text.h"
#include "must.h"
#include "rig/binary.h"
#include "rig/process.h"
#include "rig/scratch.h"
#include "rows.h"
#include "text_of.h"

namespace prefetch::system::commands_test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kWidest = 120;  // columns, as of the source that has it

using Words = std::vector<std::string>;

struct Help {
  Words words;  // of the command
  std::string text;
  Words below;  // its subcommands
};

// Returns the output of a call that ends well.
std::string Output(Words argv) {
  const auto ran = tests::Must(rig::RunProgram({std::move(argv), {}}, std::chrono::seconds(30)));
  EXPECT_EQ(ran->exit, (rig::Exit{0, 0})) << ran->out << ran->err;
  EXPECT_EQ(ran->err, "");
  return ran->out;
}

Words WordsOf(std::string_view text) {
  std::istringstream in{std::string(text)};
  return {std::istream_iterator<std::string>(in), {}};
}

std::string HelpOf(Words words) {
  words.insert(words.begin(), rig::Prefetchctl());
  words.emplace_back("--help");
  return Output(words);
}

// Headings of lists of commands.
const Words& Headings() {
  static const Words headings = {
      "Look at a node or a fleet", "Gate CI", "Lists", "Install", "More", "Commands", "Subcommands"};
  return headings;
}

// The words that begin the lines below the headings of lists of commands.
Words SubcommandsIn(const std::string& help) {
  Words below;
  bool listed = false;
  for (std::string_view line : base::Split(help, '\n')) {
    if (line.ends_with(':') && !line.starts_with(' ')) {
      line.remove_suffix(1);
      listed = std::find(Headings().begin(), Headings().end(), line) != Headings().end();
    } else if (line.empty()) {
      listed = false;
    } else if (listed && line.starts_with("  ") && line.substr(2, 1) != " ") {
      below.push_back(WordsOf(line).front());
    }
  }
  return below;
}

void Walk(const Words& words, std::vector<Help>& all) {
  Help help{words, HelpOf(words), {}};
  help.below = SubcommandsIn(help.text);
  all.push_back(help);
  for (const std::string& name : help.below) {
    Words longer = words;
    longer.push_back(name);
    Walk(longer, all);
  }
}

const std::vector<Help>& AllHelp() {
  static const std::vector<Help> all = [] {
    std::vector<Help> found;
    Walk({}, found);
    return found;
  }();
  return all;
}

std::string Title(const Words& words) {
  return base::Join(words, " ");
}

// The help of the command that the words begin with: the longest that there is.
const Help* HelpFor(const Words& words) {
  static const Help verdict = {{"verdict"}, HelpOf({"verdict"}), {}};  // for programs, and on no first page
  const Help* best = words.size() > 1 && words[1] == "verdict" ? &verdict : nullptr;
  for (const Help& help : AllHelp()) {
    bool begins = help.words.size() < words.size() &&
                  std::equal(help.words.begin(), help.words.end(), words.begin() + 1);
    if (begins && (best == nullptr || help.words.size() > best->words.size())) best = &help;
  }
  return best;
}

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
                   "uninstall", "audit", "credentials", "migrate", "schema", "completion", "version"}));
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
    scratch_.Write("bash", Output({rig::Prefetchctl(), "completion", "bash"}));
    scratch_.Write("zsh", Output({rig::Prefetchctl(), "completion", "zsh"}));
    scratch_.Write("fish", Output({rig::Prefetchctl(), "completion", "fish"}));
    fs::create_directory(scratch_ / "bin");
    fs::create_symlink(fs::absolute(rig::Prefetchctl()), scratch_ / "bin/prefetchctl");
  }
  // Runs a shell that finds the program on its PATH, as the scripts do.
  std::string Run(Words shell) {
    shell.insert(shell.begin(), {"env", "PATH=" + (scratch_ / "bin") + ":" + std::getenv("PATH")});
    return Output(std::move(shell));
  }
  // Returns what bash would offer for the last of `words`.
  std::set<std::string> Bash(const Words& words) {
    std::string script =
        "source " + (scratch_ / "bash") +
        "; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($#-1)); _prefetchctl; printf '%s\\n' \"${COMPREPLY[@]}\"";
    Words argv = {"bash", "--norc", "-c", script, "bash"};
    argv.insert(argv.end(), words.begin(), words.end());
    Words offered = WordsOf(Run(argv));
    return {offered.begin(), offered.end()};
  }
  // The same of zsh; what it would show is printed instead, "FILES" for files. It matches by itself.
  std::set<std::string> Zsh(const Words& words) {
    std::string script =
        "compdef() {}; _files() { print FILES }; compset() {}; _describe() { local one; for one in "
        "\"${(@P)2}\"; do print -r -- ${one%%:*}; done }; source " +
        (scratch_ / "zsh") + "; words=(\"$@\"); CURRENT=$#; _prefetchctl";
    Words argv = {"zsh", "-f", "-c", script, "zsh"};
    argv.insert(argv.end(), words.begin(), words.end());
    Words offered = WordsOf(Run(argv));
    return {offered.begin(), offered.end()};
  }

  // The same of fish, which completes a command line and prints help behind a tab.
  std::set<std::string> Fish(const Words& words) {
    const Words argv = {"fish", "--no-config", "-c",
                        "source " + (scratch_ / "fish") + "; complete -C $argv[1]", base::Join(words, " ")};
    const std::string text = Run(argv);
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
TEST_TABLE_F(CompletionRow, Offers, Completion, CompletionCase) {
  EXPECT_EQ(Bash(row.words), row.bash);
  EXPECT_EQ(Zsh(row.words), row.zsh);
}
using Set = std::set<std::string>;

TEST_F(Completion, FishOffersValues) {
  EXPECT_EQ(Fish({"prefetchctl", "lint", "-o", ""}), (Set{"text", "json", "github", "sarif"}));
  EXPECT_EQ(Fish({"prefetchctl", "list", "import", "-o", "t"}), Set{"txt"});
  EXPECT_EQ(Fish({"prefetchctl", "completion", ""}), (Set{"bash", "zsh", "fish"}));
  EXPECT_EQ(Fish({"prefetchctl", "lint", "--output=j"}), Set{"--output=json"});
}

TEST_ROWS(All, CompletionRow,
          {"ValuesOfAnOption", Words{"prefetchctl", "lint", "-f", "deploy", "-o", ""},
           Set{"text", "json", "github", "sarif"}, Set{"text", "json", "github", "sarif"}},
          {"TheBeginningOfOne", Words{"prefetchctl", "list", "import", "-o", "t"}, Set{"txt"},
           Set{"yaml", "txt", "json"}},
          {"AShell", Words{"prefetchctl", "completion", ""}, Set{"bash", "zsh", "fish"},
           Set{"bash", "zsh", "fish"}},
          {"Files", {"prefetchctl", "lint", "--list", ""}, Set{}, Set{"FILES"}},
          {"FilesAsArguments", Words{"prefetchctl", "list", "diff", "a.yaml", ""}, Set{}, Set{"FILES"}});

// The command reports each mistake in one sentence.
struct WrongCase {
  std::string name;
  Words words;
  std::string says;
  std::string help;  // the command whose help is named: "list check "
};
TEST(Wrong, IsASentence) {
  const WrongCase rows[] = {
      {"NoCommand", {"list"}, "a command is missing: check, diff, export, import, lock, print", "list "},
      {"AFlagOfNoCommand", {"--nosuch"}, "there is no option --nosuch"},
      {"AnArgumentTooMany", {"status", "x"}, "the argument x is not expected", "status "},
      {"AnArgumentTooFew", {"explain"}, "IMAGE is required", "explain "},
      {"AnOptionTooFew", Words{"list", "export", "--for", "kubelet"}, "--list is required", "list export "},
      {"NoValue", {"wait", "--timeout"}, "--timeout needs a value", "wait "},
      {"NoValueOfSome", {"check", "-o"}, "--output needs a value: github, json or text", "check "},
      {"NoNumber", {"plan", "--nodes", "x"}, "--nodes must be a number, not x", "plan "},
      {"AVariableThatIsNotSet", {"status", "--fleet", "-n", ""}, "--namespace must not be empty", "status "},
      {"AnInstanceThatIsNotSet",
       {"uninstall", "--nodes", "--instance="},
       "--instance must not be empty",
       "uninstall "},
      {"PortZero", {"generate", "--port", "0"}, "--port must be from 1 to 65535", "generate "},
      {"Twice", {"status", "--agent", "a", "--agent", "b"}, "--agent is given more than once", "status "},
      {"OnlyWithAnother", {"status", "--nodes", "a=b"}, "--nodes needs --fleet", "status "},
      {"ShortHash",
       {"wait", "--hash", "9d9521"},
       "--hash must be a whole hash, as list print -o hash prints it",
       "wait "},
      {"AHashThatIsNotSet",
       {"wait", "--hash="},
       "--hash must be a whole hash, as list print -o hash prints it",
       "wait "},
      {"NotTogether", Words{"wait", "--hash", "sha256:" + std::string(64, 'a'), "--list", "b"},
       "--list and --hash exclude each other: leave out one", "wait "},
      {"NoSuchCommand", {"stauts"}, "there is no command stauts; did you mean status?"},
      {"NoSuchCommandBelow", Words{"list", "chekc", "a.txt"},
       "there is no command chekc; did you mean check?", "list "},
      {"NoSuchFlag", {"status", "--nosuch"}, "there is no option --nosuch", "status "},
      {"AMisspeltFlag", Words{"wait", "--timout", "5m"},
       "there is no option --timout; did you mean --timeout?", "wait "},
      {"AMisspeltFlagWithItsValue", Words{"wait", "--fali-fast=x"},
       "there is no option --fali-fast; did you mean --fail-fast?", "wait "},
      {"NothingIsNear", {"zzzzzz"}, "there is no command zzzzzz"},
      {"NoSuchCommandBeforeACommand", Words{"lisst", "check", "images.yaml"},
       "there is no command lisst; did you mean list?"},
      {"NoSuchCommandBeforeACommandsOption", Words{"foo", "lint", "--rules"}, "there is no command foo"},
      {"NoSuchCommandBeforeOneBelow", Words{"list", "foo", "print"}, "there is no command foo", "list "},
      {"ACommandBehindTwoDashes", Words{"list", "--", "check", "x"},
       "a command is missing: check, diff, export, import, lock, print", "list "},
      {"AnOptionBeforeItsCommand",
       Words{"generate", "--node-selector", "a=b", "touch-daemonset", "--list", "x"},
       "--node-selector must stand behind touch-daemonset", "generate touch-daemonset "},
      {"AnOptionOfAnotherCommand", Words{"generate", "--instance", "ci", "touch-daemonset", "--list", "x"},
       "--instance is no option of touch-daemonset", "generate touch-daemonset "},
      {"CheckOutput", {"check", "-o", "x"}, "--output must be github, json or text, not x", "check "},
      {"LintOutput", {"lint", "-o", "x"}, "--output must be github, json, sarif or text, not x", "lint "},
      {"PrintOutput", Words{"list", "print", "-o", "x", "a.txt"},
       "--output must be hash, json or yaml, not x", "list print "},
      {"ANumberIsNoWord", Words{"list", "print", "-o", "1", "a.txt"},
       "--output must be hash, json or yaml, not 1", "list print "},
      {"ExportOutput", Words{"list", "export", "--for", "kubelet", "--list", "a.txt", "-o", "json"},
       "--output must be yaml or openshift, not json", "list export "},
      {"Gate", {"generate", "--gate", "x"}, "--gate must be condition, label or taint, not x", "generate "},
  };
  for (const WrongCase& row : rows) {
    SCOPED_TRACE(row.name);
    Words argv = row.words;
    argv.insert(argv.begin(), rig::Prefetchctl());
    const auto ran = tests::Must(rig::RunProgram({argv, {}}, std::chrono::seconds(20)));
    EXPECT_EQ(ran->exit, (rig::Exit{2, 0}));
    EXPECT_EQ(ran->out, "");
    EXPECT_EQ(ran->err, "prefetchctl: " + row.says + " (see prefetchctl " + row.help + "--help)\n");
  }
}

TEST(Wrong, TwoPlatformsOfAMigrationAreToldApart) {
  Words words = {rig::Prefetchctl(), "migrate",   "image-prefetcher", "a",   "--namespace", "n",
                 "--image",          "q.io/p:v1", "--k8s-flavor",     "ocp", "--platform"};
  for (const char* platform : {"eks", "openshift"}) {
    words.emplace_back(platform);
    const auto ran = tests::Must(rig::RunProgram({words, {}}, std::chrono::seconds(20)));
    const bool agree = platform == std::string_view("openshift");
    EXPECT_EQ(ran->exit, (rig::Exit{agree ? 0 : 2, 0})) << ran->err;
    EXPECT_EQ(ran->err.starts_with("prefetchctl: --k8s-flavor ocp means the platform openshift, and another "
                                   "option eks: leave one out\n"),
              !agree)
        << ran->err;
    words.pop_back();
  }
}

// A read of a pipe cannot be stopped; a second signal is not needed all the same.
TEST(Interrupted, WhileItReadsAPipeThatStaysOpenTheProgramEnds) {
  rig::Scratch scratch;
  const std::string pipe = scratch / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const base::Fd end(::open(pipe.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::write(end.get(), "q.io/a:v1\n", 10), 10);
  for (int signal : {SIGINT, SIGTERM}) {
    rig::Process process;
    const std::string script = "exec \"$0\" list check - <\"$1\"";
    ASSERT_TRUE(process.Start({{"sh", "-c", script, rig::Prefetchctl(), pipe}, {}}, scratch / "log"));
    // An empty pipe shows that the program reads, and so handles signals.
    int unread = 1;
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (unread > 0 && std::chrono::steady_clock::now() < limit) {
      ASSERT_EQ(::ioctl(end.get(), FIONREAD, &unread), 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    process.Signal(signal);
    EXPECT_EQ(process.Wait(std::chrono::seconds(30)), (rig::Exit{130, 0})) << signal;
    ASSERT_EQ(::write(end.get(), "q.io/a:v1\n", 10), 10);
  }
}

// kubectl finds its plugins by their names on PATH, and runs them with the words behind that name.
TEST(Plugin, OfKubectlIsTheSameProgramUnderItsOtherNames) {
  rig::Scratch scratch;
  const std::string plugin = scratch / "kubectl-prefetch";
  std::filesystem::create_symlink(std::filesystem::absolute(rig::Prefetchctl()), plugin);
  EXPECT_EQ(Output({plugin, "--version"}), Output({rig::Prefetchctl(), "--version"}));
  const std::string help = Output({plugin, "list", "check", "--help"});
  EXPECT_NE(help.find("Usage: kubectl prefetch list check"), std::string::npos) << help;
  EXPECT_NE(help.find("\n  kubectl prefetch list check"), std::string::npos) << help;
  EXPECT_EQ(help.find("prefetchctl "), std::string::npos) << help;
  EXPECT_EQ(Output({plugin, "completion", "--help"}).find("/usr/local/bin/kubectl prefetch"),
            std::string::npos);
  const auto wrong = tests::Must(rig::RunProgram({{plugin, "list", "chek"}, {}}, std::chrono::seconds(20)));
  EXPECT_NE(wrong->err.find("(see kubectl prefetch list --help)"), std::string::npos) << wrong->err;
}

struct PluginCase {
  Words words;  // the last one as far as it is typed
  std::string expect;
};
TEST(Plugin, CompletesForKubectl) {
  rig::Scratch scratch;
  const std::string completer = scratch / "kubectl_complete-prefetch";
  std::filesystem::create_symlink(std::filesystem::absolute(rig::Prefetchctl()), completer);
  const PluginCase rows[] = {
      {Words{"list", "di"}, "diff\tCompare two lists, or a list with this node\n:4\n"},
      {Words{"completion", ""}, "bash\nzsh\nfish\n:4\n"},
      {Words{"generate", "--platform", "k"}, "k3s\nkind\n:4\n"},
      {Words{"list", "print", "--s"}, "--sorted\tSort by name\n:4\n"},
      {Words{"list", "print", "-o", "y"}, "yaml\n:4\n"},
      {Words{"list", "print", "--output=y"}, "--output=yaml\n:4\n"},
      {Words{"lint", "--list", ""}, ":0\n"},
      {Words{"list", "print", "-o", "yaml", ""}, ":0\n"},
      {Words{"list", "check", ""}, ":0\n"},
      {Words{"x"}, ":4\n"},
      {Words{}, ":4\n"},
  };
  for (const PluginCase& row : rows) {
    Words argv = row.words;
    argv.insert(argv.begin(), completer);
    EXPECT_EQ(Output(argv), row.expect) << Title(row.words);
  }
}

// Compares the commands on the pages of the documentation with the help.

std::string Page(const std::string& name) {
  const std::string text = tests::TextOf(tests::SourceRoot() / name);
  EXPECT_FALSE(text.empty()) << name;
  return base::ReplaceAll(text, "\\\n", " ");
}

// Every command of ours in a page: lines of ```sh blocks, up to a comment, a pipe or a redirection, and words
// in backticks.
std::vector<std::string> CommandsOf(const std::string& page) {
  std::vector<std::string> commands;
  bool shell = false, block = false;
  for (std::string_view line : base::Split(page, '\n')) {
    if (line.starts_with("```")) {
      shell = !block && line == "```sh";
      block = !block;
      continue;
    }
    std::string_view rest = line;
    while (!block && rest.find('`') != std::string_view::npos) {
      rest.remove_prefix(rest.find('`') + 1);
      std::size_t end = rest.find('`');
      if (end == std::string_view::npos) break;
      commands.emplace_back(rest.substr(0, std::min(end, rest.find(" | "))));
      rest.remove_prefix(end + 1);
    }
    if (!shell) continue;
    for (std::string_view part : base::Split(line.substr(0, line.find(" #")), '|')) {
      std::size_t begin = part.find("prefetch");
      if (begin == std::string_view::npos || (begin > 0 && part[begin - 1] != ' ' && part[begin - 1] != '('))
        continue;
      commands.emplace_back(part.substr(begin, part.find_first_of(">)", begin) - begin));
    }
  }
  std::erase_if(commands, [](const std::string& one) {
    return !one.starts_with("prefetchctl ") && !one.starts_with("prefetchd --");
  });
  return commands;
}

// README, the pages of lib and every page below deploy/.
std::vector<std::string> PagesForPeople() {
  std::vector<std::string> pages = {"README.md", "lib/README.md", "lib/DESIGN.md"};
  const fs::path root = tests::SourceRoot();
  for (const auto& file : std::filesystem::recursive_directory_iterator(root / "deploy")) {
    if (file.path().extension() == ".md") pages.push_back(std::filesystem::relative(file.path(), root));
  }
  std::sort(pages.begin(), pages.end());
  return pages;
}

TEST_TABLE(Pages, ShowCommandsAndOptionsThatThereAre, std::string) {
  const std::string agent = Output({std::getenv("PREFETCHD"), "--help"});
  for (const std::string& command : CommandsOf(Page(row))) {
    SCOPED_TRACE(command);
    Words words = WordsOf(command);
    std::string options = agent;
    if (words[0] == "prefetchctl") {
      const Help* help = HelpFor(words);
      ASSERT_NE(help, nullptr);
      const bool names_no_other = words.size() == help->words.size() + 1 || help->below.empty() ||
                                  words[help->words.size() + 1].starts_with("-");
      EXPECT_TRUE(names_no_other) << "there is no such command";
      options = help->text.substr(0, help->text.find("\nExamples:\n"));
    }
    for (std::string word : words) {
      if (word.ends_with(',') || word.ends_with('.')) word.pop_back();
      if (!word.starts_with("-") || word == "-") continue;
      word = word.substr(0, word.find('='));
      const bool known =
          options.find(word + " ") != std::string::npos || options.find(word + ",") != std::string::npos ||
          options.find(word + "\n") != std::string::npos || options.find(word + "=") != std::string::npos;
      EXPECT_TRUE(known || word == "--help") << word << " is no option of it";
    }
  }
}
INSTANTIATE_TEST_SUITE_P(ForPeople, Pages, testing::ValuesIn(PagesForPeople()), [](const auto& row) {
  std::string name = row.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name;
});

TEST(PagesForPeople, HaveCommands) {
  EXPECT_GE(CommandsOf(Page("README.md")).size(), 9U);
  std::size_t guide = 0;
  for (const std::string& page : PagesForPeople()) {
    if (page.starts_with("deploy/docs/")) guide += CommandsOf(Page(page)).size();
  }
  EXPECT_GE(guide, 70U);
}

// Tests the output of both programs: warnings, mistakes, output that nobody can read.

// `command` is run by bash, with @ for the program.
rig::Ran Shell(const std::string& command) {
  return *tests::Must(rig::RunProgram(
      {{"bash", "-c", base::ReplaceAll(command, "@", rig::Prefetchctl())}, {}}, std::chrono::seconds(30)));
}

TEST(AgentFlags, ThatAreRarelySetWorkAndAreNotInTheHelp) {
  const std::string agent = std::getenv("PREFETCHD");
  const auto ran =
      tests::Must(rig::RunProgram({{agent, "--list", "none.txt", "--kubelet=none", "--registry-skip-mirrors",
                                    "--gate-timeout", "never", "--registry-trusted-mirror", "m:1"},
                                   {}},
                                  std::chrono::seconds(30)));
  EXPECT_EQ(ran->exit, (rig::Exit{2, 0}));
  EXPECT_EQ(ran->err, "prefetchd: --gate-timeout: must be a duration such as \"15m\"\n");
  const std::string help = Output({agent, "--help"});
  EXPECT_NE(help.find("--startup-taint"), std::string::npos);
  for (const char* flag : {"--gate-timeout", "--registry-skip-mirrors", "--audit-ignore", "--kubelet-ca"}) {
    EXPECT_EQ(help.find(flag), std::string::npos) << flag;
  }
}

class Printing : public testing::Test {
 protected:
  Printing() {
    std::string list;
    for (int i = 0; i < 4000; i++) list += "quay.io/acme/app" + std::to_string(i) + ":v1\n";
    scratch_.Write("list.txt", list);
  }
  rig::Scratch scratch_;
};

// A mistake in a file begins with its place; every other one says who complains.
TEST_F(Printing, MistakesSayWhereTheyAreOrWhoseTheyAre) {
  scratch_.Write("bad.txt", "good:v1\nBAD\n");
  scratch_.Write("bad.yaml", "kind: [\n");
  struct Row {
    std::string command, says;
  };
  const std::string none = scratch_ / "none";
  for (const Row& row : {
           Row{"list check " + (scratch_ / "bad.txt"),
               "bad.txt:2:1: image name \"BAD\": path must be lowercase\n"},
           Row{"list check " + none, "prefetchctl: " + none + ": there is no such file or folder\n"},
           Row{"list diff " + none + " --node",
               "prefetchctl: " + none + ": there is no such file or folder\n"},
           Row{"credentials X", "prefetchctl: image name \"X\": path must be lowercase\n"},
           Row{"credentials", "prefetchctl: an IMAGE is needed, or --check\n"},
           Row{"credentials --check --docker-config " + none,
               "prefetchctl: " + none + ": there is no such file\n"},
           Row{"check", "prefetchctl: name manifests with -f, or images with --image\n"},
           Row{"check -f " + none, "prefetchctl: " + none + ": there is no such file or folder\n"},
           Row{"check --image X --image Y --policy Never",
               "prefetchctl: --image X: image name \"X\": path must be lowercase\n"
               "prefetchctl: --image Y: image name \"Y\": path must be lowercase\n"},
           Row{"verdict --image a --image-id '' --kubelet-config " + none,
               "prefetchctl: open " + none + ": No such file or directory\n"},
       }) {
    rig::Ran ran = Shell("@ " + row.command);
    EXPECT_EQ(ran.exit, (rig::Exit{2, 0})) << row.command;
    EXPECT_EQ(ran.err, row.says) << row.command;
  }
  rig::Ran ran = Shell("@ verdict --image a --image-id '' --kubelet-config " + (scratch_ / "bad.yaml"));
  EXPECT_TRUE(ran.err.starts_with((scratch_ / "bad.yaml") + ":")) << ran.err;
}

// A list that was cut off is worse than none.
TEST_F(Printing, WhatCannotBeWrittenIsNoSuccess) {
  for (const std::string& command :
       {"list print " + (scratch_ / "list.txt"), std::string("--version"), std::string("status --help"),
        std::string("completion bash"), std::string("lint --rules")}) {
    rig::Ran full = Shell("@ " + command + " >/dev/full");
    EXPECT_EQ(full.exit, (rig::Exit{4, 0})) << command;
    EXPECT_EQ(full.err, "prefetchctl: standard output cannot be written to: is the disk full?\n") << command;
  }
  EXPECT_EQ(Shell("@ list print " + (scratch_ / "list.txt") + " >&-").exit, (rig::Exit{4, 0}));
}

TEST_F(Printing, AnInputThatCannotBeReadIsNoEmptyOne) {
  for (const std::string& command :
       {std::string("list check -"), "lint -f - --list " + (scratch_ / "list.txt")}) {
    for (const char* input : {" <&-", " </"}) {
      const rig::Ran ran = Shell("@ " + command + input);
      EXPECT_EQ(ran.exit, (rig::Exit{2, 0})) << command;
      EXPECT_EQ(ran.err, "prefetchctl: standard input cannot be read: is it closed, or a folder?\n");
    }
  }
}

TEST_F(Printing, AReaderThatHasEnoughIsNoFailure) {
  rig::Ran ran = Shell("@ list print " + (scratch_ / "list.txt") + " | head -1; exit ${PIPESTATUS[0]}");
  EXPECT_EQ(ran.exit, rig::Exit{}) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_TRUE(ran.out.starts_with("apiVersion: ")) << ran.out;
  // A watching command ends when its reader has gone.
  ran = Shell("@ status --watch --agent http://127.0.0.1:1 | head -1; exit ${PIPESTATUS[0]}");
  EXPECT_EQ(ran.exit, rig::Exit{}) << ran.err;
}

fs::path Deploy() {
  return tests::SourceRoot() / "deploy";
}

TEST(Schema, IsTheCommittedFile) {
  for (const char* document : {"list", "agent", "status", "check"}) {
    const std::string text = Output({rig::Prefetchctl(), "schema", document});
    EXPECT_EQ(text, tests::TextSoFar(Deploy() / "schemas" / (std::string(document) + ".json"))) << document;
    EXPECT_NE(text, "") << document;
  }
}

TEST(Reference, TheAgentsHelpHasTheSameExitCodes) {
  const std::string page = tests::TextSoFar(Deploy() / "docs/reference/exit-codes.md");
  const std::string help =
      std::regex_replace(Output({std::getenv("PREFETCHD"), "--help"}), std::regex("\\s+"), " ");
  std::string row = page.substr(page.find("| prefetchd with"));
  row = row.substr(0, row.find('\n'));
  const std::vector<std::string_view> cells = base::Split(row, '|');
  ASSERT_EQ(cells.size(), 8U) << row;
  for (int code = 0; code <= 4; code++) {
    const std::string meaning(base::TrimSpace(cells[static_cast<std::size_t>(code) + 2]));
    EXPECT_NE(help.find(std::to_string(code) + " " + meaning), std::string::npos) << meaning;
  }
}

}  // namespace
}  // namespace prefetch::system::commands_test
