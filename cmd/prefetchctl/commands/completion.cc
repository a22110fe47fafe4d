// The options and examples of `prefetchctl completion`. It reads CLI11's own tree, so that it completes
// exactly the words that parse.
#include "ctl/completion.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "commands/command.h"

namespace prefetch::ctl {
namespace {

CompletionOption OptionOf(const CLI::Option& option) {
  CompletionOption plain{.names = {}, .help = option.get_description(), .takes_value = false, .values = {}};
  for (const std::string& name : option.get_snames()) plain.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) plain.names.push_back("--" + name);
  plain.takes_value = option.get_type_size_max() > 0 && option.get_expected_max() > 0;
  if (plain.takes_value) plain.values = ValuesOf(option);
  return plain;
}

void Collect(const CLI::App& app, const std::vector<std::string>& words,
             std::vector<CompletionCommand>& commands) {
  CompletionCommand command{.words = words, .help = app.get_description(), .options = {}, .arguments = {}};
  for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
    if (option->get_group().empty()) continue;  // Hidden options still work, but are not offered.
    if (option->get_positional()) {
      command.takes_arguments = true;
      for (std::string& value : ValuesOf(*option)) command.arguments.push_back(std::move(value));
    } else {
      command.options.push_back(OptionOf(*option));
    }
  }
  commands.push_back(std::move(command));
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (below->get_group().empty()) continue;
    std::vector<std::string> longer = words;
    longer.push_back(below->get_name());
    Collect(*below, longer, commands);
  }
}

}  // namespace

void CompleteForKubectl(const CLI::App& app, const std::vector<std::string>& words, std::ostream& out) {
  std::vector<CompletionCommand> commands;
  Collect(app, {}, commands);
  out << PluginCompletion(CompletionsOf(words, commands));
}

Command CompletionsCommand(CLI::App& command, Context&) {
  auto shell = std::make_shared<std::string>();
  command.add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember(std::vector<std::string>{"bash", "zsh", "fish"}));
  command.footer(R"(
Prints a script that completes commands, options and their values.

Exit code: 0 printed, 2 bad input.

Examples:
  source <(prefetchctl completion bash)
  prefetchctl completion bash > /usr/share/bash-completion/completions/prefetchctl
  prefetchctl completion zsh > "${fpath[1]}/_prefetchctl"
  prefetchctl completion fish > ~/.config/fish/completions/prefetchctl.fish

As a plugin of kubectl (kubectl prefetch status), completed by kubectl:
  ln -s /usr/local/bin/prefetchctl /usr/local/bin/kubectl-prefetch
  ln -s /usr/local/bin/prefetchctl /usr/local/bin/kubectl_complete-prefetch)");
  return [&command, shell] {
    std::vector<CompletionCommand> commands;
    Collect(*command.get_parent(), {}, commands);
    std::cout << (*shell == "bash"  ? BashCompletion(commands)
                  : *shell == "zsh" ? ZshCompletion(commands)
                                    : FishCompletion(commands));
    return static_cast<int>(kOk);
  };
}

}  // namespace prefetch::ctl
