#include "commands/program.h"

#include <sys/prctl.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <sstream>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/ascii_output.h"
#include "base/process_end.h"
#include "base/text.h"
#include "commands/command.h"
#include "ctl/exit_code.h"
#include "ctl/terminal.h"

namespace prefetch::ctl {

namespace {

// Lets SIGINT and SIGTERM stop the work in progress, which ends at once, but for reads of a pipe and parsers;
// a second signal, or LimitEnd, ends the process. Files are replaced as a whole, so none is left half
// written. Call it before any other thread exists, so that all threads inherit the blocked signals.
std::stop_source StopOnSignals() {
  std::stop_source stop;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::thread([set, stop]() mutable {
    int signal = 0;
    ::sigwait(&set, &signal);
    base::LimitEnd(kInterrupted);
    stop.request_stop();
    ::sigwait(&set, &signal);
    ::_exit(128 + signal);
  }).detach();
  base::LeaveEndToOtherThreads();
  // A closed pipe becomes an error of the write, which CheckOutputDelivered() reports.
  ::signal(SIGPIPE, SIG_IGN);
  return stop;
}

// Returns the arguments in reverse order, as CLI11 expects them. `--flag=` is an empty value; CLI11 would
// take the next argument for the value.
std::vector<std::string> Arguments(int argc, char** argv) {
  std::vector<std::string> out;
  for (int i = argc - 1; i > 0; i--) {
    std::string argument = argv[i];
    bool empty_value = argument.starts_with("--") && argument.find('=') == argument.size() - 1;
    if (empty_value) {
      out.emplace_back();
      argument.pop_back();
    }
    out.push_back(std::move(argument));
  }
  return out;
}

// Output that could not be written is a failure, whatever the command itself achieved.
int CheckOutputDelivered(int exit_code) {
  base::Status printed = base::StdoutDelivered();
  return printed ? exit_code : Fail(kUnreachable, printed.error(), std::cerr);
}

// Returns the name under which the user called the program: kubectl runs its plugins under a name of this
// form (https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/).
std::string CalledAs(const std::string& program) {
  return program == "kubectl-prefetch" ? "kubectl prefetch" : "prefetchctl";
}

// Returns the parent of the command `words`: the command that all but the last word name. It precedes `words`
// in the table.
CLI::App& ParentOf(CLI::App& app, const std::string& words) {
  const std::size_t last = words.rfind(' ');
  return last == std::string::npos ? app : *app.get_subcommand(words.substr(0, last));
}

}  // namespace

std::vector<Subcommand> AddCommands(CLI::App& app, Context& context) {
  std::vector<Subcommand> added;
  for (const CommandRow& row : kCommands) {
    const std::string words = row.words;
    CLI::App* command = ParentOf(app, words).add_subcommand(words.substr(words.rfind(' ') + 1), row.help);
    command->group(words.find(' ') == std::string::npos ? row.group : "Commands");
    if (row.setup == nullptr) {
      command->require_subcommand(1);
    } else {
      added.push_back({command, row.setup(*command, context)});
    }
  }
  return added;
}

namespace {

// Returns the word in the place of a command; empty if there is none. CLI11's own error would only say that a
// command is required.
std::string UnknownCommand(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining();
  const bool is_missing = app.get_require_subcommand_min() > 0;
  if (!is_missing || words.empty() || words.front().starts_with('-')) return "";
  // CLI11 leaves a word behind "--" to the program, also one that names a command.
  const bool is_command = std::ranges::any_of(
      app.get_subcommands({}), [&](const CLI::App* one) { return one->get_name() == words.front(); });
  return is_command ? "" : words.front();
}

// Returns the recognised command: the last one of the line. CLI11 looks for commands behind an unknown word,
// too, where they are this word's arguments.
const CLI::App& RecognisedCommand(const CLI::App& app) {
  const auto below = app.get_subcommands();
  return below.empty() || !UnknownCommand(app).empty() ? app : RecognisedCommand(*below.front());
}

// Returns "prefetchctl list check", for a hint that leads to the right page.
std::string WordsOf(const CLI::App& command, const std::string& called_as) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? called_as : WordsOf(*parent, called_as) + " " + command.get_name();
}

std::string HelpOf(const CLI::App& command, const std::string& called_as) {
  return " (see " + WordsOf(command, called_as) + " --help)";
}

// Returns the flag or command that `word` probably means; empty if it resembles none. Hidden commands are not
// suggested.
std::string SuggestedWord(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  if (word.starts_with("-")) {
    for (const CLI::Option* option : ShownOptions(app)) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  } else {
    for (const CLI::App* below : ShownCommands(app)) names.push_back(below->get_name());
  }
  return base::ClosestName(word.substr(0, word.find('=')), names);
}

// Prints the usage error as one sentence.
int PrintUsageError(const CLI::App& app, const CLI::ParseError& error, const std::string& called_as) {
  const CLI::App& command = RecognisedCommand(app);
  std::string word = UnknownCommand(command);
  std::string what =
      word.empty() ? UsageErrorText(command, error) : "there is no command " + base::ToUtf8(word);
  if (word.empty()) {
    // Only a flag among the unknown words can be compared with the command's flags.
    const std::vector<std::string> extras = command.remaining();
    auto flag = std::ranges::find_if(extras, [](const std::string& extra) { return extra.starts_with("-"); });
    if (flag != extras.end()) word = *flag;
  }
  if (const std::string meant = word.empty() ? "" : SuggestedWord(command, word); !meant.empty()) {
    what += "; did you mean " + meant + "?";
  }
  return Fail(kBadInput, base::InvalidArgument(what + HelpOf(command, called_as)), std::cerr);
}

// Returns the complaint about an option of a command that is not the one to run; empty if there is none. Its
// value would not be read.
std::string MisplacedOption(const CLI::App& app) {
  const auto below = app.get_subcommands();
  if (below.empty()) return "";
  const auto options = app.get_options();
  const auto given = std::ranges::find_if(options, [](const auto* option) { return option->count() > 0; });
  if (given == options.end()) return MisplacedOption(*below.front());
  const std::string name = (*given)->get_name();
  const bool moves = below.front()->get_option_no_throw(name) != nullptr;
  return name + (moves ? " must stand behind " : " is no option of ") + below.front()->get_name();
}

// Prints the help or the version, under the name with which the program was called.
int PrintRequestedHelp(const CLI::App& app, const CLI::ParseError& error, const std::string& called_as) {
  std::ostringstream out;
  const int exit_code = app.exit(error, out, std::cerr);
  // The script of `completion` completes the program's own name.
  const bool renames = error.get_name() == "CallForHelp" && !app.got_subcommand("completion");
  const std::string text = renames ? base::ReplaceAll(out.str(), "prefetchctl ", called_as + " ") : out.str();
  const Terminal terminal = StdoutTerminal();
  // Only a terminal has a width. Scripts and the reference pages get the lines as they are.
  std::cout << (terminal.interactive ? WrappedHelp(text, terminal.width) : text);
  return exit_code;
}

// Prints a word and its help on each line, and then what else the shell may do, as kubectl expects it of a
// plugin's kubectl_complete-NAME (https://github.com/spf13/cobra, ShellCompDirective).
int Complete(const CLI::App& app, const std::vector<std::string>& words) {
  constexpr const char* kFilesToo = ":0\n";
  constexpr const char* kNoFiles = ":4\n";
  const bool files = PrintCompletions(app, words, std::cout);
  std::cout << (files ? kFilesToo : kNoFiles);
  return kOk;
}

int Main(int argc, char** argv) {
  std::stop_source stop = StopOnSignals();
  base::TextOutput out(std::cout, base::NeedsAscii(STDOUT_FILENO));
  base::TextOutput err(std::cerr, base::NeedsAscii(STDERR_FILENO));
  // `credentials` and `explain` read passwords, which must not get into a core dump.
  ::prctl(PR_SET_DUMPABLE, 0);
  Context context;
  context.call.stop = stop.get_token();
  CLI::App app("prefetchctl queries prefetchd agents, and checks their image lists.");
  app.formatter(HelpFormat());
  const std::string program = argc > 0 ? std::string(argv[0]) : "";
  const std::string base_name = program.substr(program.rfind('/') + 1);
  const std::string called_as = CalledAs(base_name);
  app.name(called_as == "prefetchctl" ? program : called_as);
  app.set_version_flag("--version", "prefetchctl " PREFETCH_VERSION);
  app.require_subcommand(1);
  app.footer("\nprefetchctl COMMAND --help shows examples.");
  const std::vector<Subcommand> commands = AddCommands(app, context);
  // kubectl runs a program of this name to complete the words of the plugin.
  if (base_name == "kubectl_complete-prefetch") return Complete(app, {argv + 1, argv + argc});
  // The scripts of `completion` begin with this word.
  if (argc > 1 && std::string_view(argv[1]) == "__complete") return Complete(app, {argv + 2, argv + argc});
  try {
    app.parse(Arguments(argc, argv));
  } catch (const CLI::ParseError& error) {
    return error.get_exit_code() == 0 ? PrintRequestedHelp(app, error, called_as)
                                      : PrintUsageError(app, error, called_as);
  }
  if (const std::string misplaced = MisplacedOption(app); !misplaced.empty()) {
    return Fail(kBadInput, base::InvalidArgument(misplaced + HelpOf(RecognisedCommand(app), called_as)),
                std::cerr);
  }
  const auto parsed =
      std::ranges::find_if(commands, [](const Subcommand& command) { return command.app->parsed(); });
  const int exit_code = parsed->run();
  // A command that a signal ended may have its own code for work that is not done.
  return exit_code != kOk && context.call.Stopped() ? kInterrupted : exit_code;
}

}  // namespace

int RunProgram(int argc, char** argv) {
  base::OccupyStandardFiles();
  try {
    return CheckOutputDelivered(Main(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << "prefetchctl: " << error.what() << "\n";
    return kUnreachable;
  }
}

}  // namespace prefetch::ctl
