// prefetchctl: for people, CI steps and init containers. One table of subcommands.
#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/standard_output.h"
#include "base/text.h"
#include "commands/command.h"
#include "commands/help_format.h"
#include "ctl/exit_code.h"

namespace prefetch::ctl {

namespace {

// SIGINT and SIGTERM stop what is under way; before any other thread exists.
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
    stop.request_stop();
    ::sigwait(&set, &signal);
    ::_exit(128 + signal);
  }).detach();
  ::signal(SIGPIPE, SIG_IGN);
  return stop;
}

// The arguments, last one first, as CLI11 wants them. `--flag=` is an empty value; CLI11 would take the next
// argument for it.
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

// A word that stands where a command is expected; empty: there is none.
std::string UnknownCommand(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) {
    if (std::string word = UnknownCommand(*command); !word.empty()) return word;
  }
  if (app.get_require_subcommand_min() == 0 || !app.get_subcommands().empty()) return "";
  std::vector<std::string> words = app.remaining();
  return words.empty() || words.front().starts_with('-') ? "" : words.front();
}

int Delivered(int exit_code) {
  base::Status printed = base::StdoutDelivered();
  return printed ? exit_code : Fail(kUnreachable, printed.error());
}

// "prefetchctl list check --help", of what was understood.
std::string HelpOf(const CLI::App& app) {
  std::string words = "prefetchctl";
  std::vector<CLI::App*> below = app.get_subcommands();
  while (!below.empty()) {
    words += " " + below.front()->get_name();
    below = std::vector<CLI::App*>(below.front()->get_subcommands());
  }
  return words + " --help";
}

int Main(int argc, char** argv) {
  struct Row {
    const char* name;
    const char* help;
    Command (*setup)(CLI::App&, Context&);
  };
  const std::vector<Row> commands = {
      {"status", "This node's images on one screen", StatusCommand},
      {"explain", "Everything known about one image on this node, and what kubelet would do with it",
       ExplainCommand},
      {"check", "Would pods start on this node with these images?", CheckCommand},
      {"wait", "Wait until everything required is ready", WaitCommand},
      {"lint", "Manifests against lists, offline: what is not listed, what asks the registry all the same",
       LintCommand},
      {"audit", "Images that came to the nodes without being on the list", AuditCommand},
      {"credentials", "Which credentials this node has for an image; is their configuration good",
       CredentialsCommand},
      {"generate", "Manifests of the agent for a platform, with a list", GenerateCommand},
      {"uninstall", "Clear Node objects of what agents have said there", UninstallCommand},
      {"verdict", "What kubelet would say to a pod with this image, from its files alone", VerdictCommand},
  };
  const Row completion = {"completion", "A script by which bash or zsh completes all this",
                          CompletionsCommand};
  const std::vector<Row> list_commands = {
      {"check", "Validate list files", ListCheckCommand},
      {"diff", "What differs between two lists, or a list and this node", ListDiffCommand},
      {"import", "A list from manifests, a node's images, plain lists, marked lines", ListImportCommand},
      {"lock", "The digests of a list's tags, asked of the registries", ListLockCommand},
      {"print", "Canonical form and hash of list files", ListPrintCommand},
  };
  const std::vector<Row> export_commands = {
      {"kubelet-allowlist", "Settings of kubelet that exempt the images of a list from verification",
       ExportAllowlistCommand},
      {"pinned-image-set", "OpenShift's PinnedImageSet of a locked list", ExportPinnedCommand},
  };
  std::stop_source stop = StopOnSignals();
  Context context;
  context.call.stop = stop.get_token();
  CLI::App app("prefetchctl asks prefetchd, and checks its lists.");
  app.formatter(HelpFormat());
  if (argc > 0) app.name(argv[0]);
  app.set_version_flag("--version", "prefetchctl " PREFETCH_VERSION);
  app.require_subcommand(1);
  app.footer("\nprefetchctl COMMAND --help has examples.");
  int exit_code = kOk;
  auto add = [&](CLI::App& parent, const Row& row) {
    CLI::App* command = parent.add_subcommand(row.name, row.help);
    command->callback([&exit_code, run = row.setup(*command, context)] { exit_code = run(); });
  };
  for (const Row& row : commands) add(app, row);
  CLI::App* list = app.add_subcommand("list", "Check, compare, lock and make list files");
  list->require_subcommand(1);
  for (const Row& row : list_commands) add(*list, row);
  CLI::App* exports = app.add_subcommand("export", "Lists as the settings of others");
  exports->require_subcommand(1);
  for (const Row& row : export_commands) add(*exports, row);
  add(app, completion);
  try {
    app.parse(Arguments(argc, argv));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    if (std::string word = UnknownCommand(app); !word.empty()) {
      std::cerr << "prefetchctl: there is no command " << base::ToUtf8(word) << " (see " << HelpOf(app)
                << ")\n";
      return kBadInput;
    }
    std::cerr << "prefetchctl: " << error.what() << " (see " << HelpOf(app) << ")\n";
    return kBadInput;
  }
  return exit_code;
}

}  // namespace
}  // namespace prefetch::ctl

int main(int argc, char** argv) {
  try {
    return prefetch::ctl::Delivered(prefetch::ctl::Main(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << "prefetchctl: " << error.what() << "\n";
    return prefetch::ctl::kUnreachable;
  }
}
