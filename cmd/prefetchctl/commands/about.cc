// The options, examples and work of the commands about prefetchctl itself: completion, schema and version.
#include <iostream>
#include <iterator>

#include "commands/command.h"
#include "deploy/kustomization.h"

namespace prefetch::ctl {

namespace {

// The scripts have the program itself complete each word, by CLI11's own tree, so that it completes exactly
// the words that parse.
constexpr const char* kBashScript = R"(# bash completion for prefetchctl; made by prefetchctl completion bash
_prefetchctl() {
  local line=() word
  # bash takes --output=js apart at the equals sign.
  for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
    if [[ $word != '=' ]]; then line+=("$word"); fi
  done
  if [[ $word == '=' ]]; then line+=(''); fi
  COMPREPLY=()
  while IFS=$'\t' read -r word _; do
    case $word in
    :0) compopt -o default 2>/dev/null ;;
    :4) ;;
    *) COMPREPLY+=("$word") ;;
    esac
  done < <("${1:-prefetchctl}" __complete "${line[@]}" 2>/dev/null)
}
complete -F _prefetchctl prefetchctl
)";

constexpr const char* kZshScript = R"(#compdef prefetchctl
# zsh completion for prefetchctl; made by prefetchctl completion zsh
_prefetchctl() {
  local cur=${words[CURRENT]} word
  local -a line=("${(@)words[2,CURRENT-1]}") found
  if [[ $cur == --*=* ]]; then line+=("${cur%%=*}"); compset -P '*='; cur=''; fi
  # zsh compares what was typed with the words itself.
  if [[ $cur == -* ]]; then cur=-; else cur=''; fi
  for word in "${(@f)$("${(Q)words[1]}" __complete "${line[@]}" "$cur" 2>/dev/null)}"; do
    case $word in
    (:0) _files; return ;;
    (:4) ;;
    (*) found+=("${${word//:/\\:}/$'\t'/:}") ;;
    esac
  done
  _describe word found
}
# Sourced, or run by the completion system as a function of this name.
if [[ $funcstack[1] == _prefetchctl ]]; then _prefetchctl; else compdef _prefetchctl prefetchctl; fi
)";

constexpr const char* kFishScript = R"(# fish completion for prefetchctl; made by prefetchctl completion fish
function __prefetchctl_knows --description 'Gets the words that can follow; false if names of files can'
  set -l line (commandline -opc)
  set -g __prefetchctl_words ($line[1] __complete $line[2..] (commandline -ct) 2>/dev/null)
  set -l directive $__prefetchctl_words[-1]
  set -e __prefetchctl_words[-1]
  test "$directive" != ':0'
end
complete -c prefetchctl -n __prefetchctl_knows -f -a '$__prefetchctl_words'
)";

// Returns the command that the words before the last one name. Options and their values between the words of
// a command are skipped.
const CLI::App& CommandOf(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  for (std::size_t i = 0; i + 1 < words.size(); i++) {
    for (const CLI::App* below : ShownCommands(*command)) {
      if (below->get_name() != words[i]) continue;
      command = below;
      break;
    }
  }
  return *command;
}

// Returns the option of this name, "-o" or "--output", if it takes a value.
const CLI::Option* OptionWithValue(const CLI::App& command, const std::string& name) {
  if (!name.starts_with("-")) return nullptr;
  const CLI::Option* option = command.get_option_no_throw(name);
  return option != nullptr && TakesValue(*option) ? option : nullptr;
}

// Help texts state the essential before the first semicolon; menus have one line for each word.
std::string FirstPart(const std::string& help) {
  return help.substr(0, help.find_first_of(";\n"));
}

}  // namespace

bool PrintCompletions(const CLI::App& app, const std::vector<std::string>& words, std::ostream& out) {
  if (words.empty()) return false;
  const CLI::App& command = CommandOf(app, words);
  std::string typed = words.back(), fixed;  // "--output=j": its value, behind what stays
  const CLI::Option* before = words.size() < 2 ? nullptr : OptionWithValue(command, words[words.size() - 2]);
  // The shell replaces the whole word, so the part up to "=" must be in each candidate.
  if (const std::size_t equals = typed.find('='); typed.starts_with("--") && equals != std::string::npos) {
    before = OptionWithValue(command, typed.substr(0, equals));
    fixed = typed.substr(0, equals + 1);
    typed.erase(0, equals + 1);
  }
  const auto offer = [&](const std::string& word, const std::string& help) {
    if (!word.starts_with(typed)) return;
    out << fixed << word << (help.empty() ? "" : "\t" + FirstPart(help)) << "\n";
  };
  if (before != nullptr) {
    const std::vector<std::string> values = ValuesOf(*before);
    for (const std::string& value : values) offer(value, "");
    return values.empty();
  }
  bool files = false;
  for (const CLI::Option* option : ShownOptions(command)) {
    if (option->get_positional() && !typed.starts_with("-")) {
      const std::vector<std::string> values = ValuesOf(*option);
      for (const std::string& value : values) offer(value, "");
      files = values.empty();
    } else if (!option->get_positional() && typed.starts_with("-")) {
      for (const std::string& name : option->get_snames()) offer("-" + name, option->get_description());
      for (const std::string& name : option->get_lnames()) offer("--" + name, option->get_description());
    }
  }
  if (typed.starts_with("-")) return false;
  for (const CLI::App* below : ShownCommands(command)) {
    offer(below->get_name(), below->get_description());
    files = false;
  }
  return files;
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
  return [shell] {
    std::cout << (*shell == "bash" ? kBashScript : *shell == "zsh" ? kZshScript : kFishScript);
    return static_cast<int>(kOk);
  };
}

Command SchemaCommand(CLI::App& command, Context&) {
  const std::vector<std::string> documents(std::begin(deploy::kSchemas), std::end(deploy::kSchemas));
  auto document = std::make_shared<std::string>();
  command.add_option("DOCUMENT", *document, base::Join(documents, ", "))
      ->required()
      ->check(CLI::IsMember(documents));
  command.footer(R"(
Prints a JSON Schema (draft 2020-12), for editors and validators:
  list    image lists, kind ImageList
  agent   the agent's configuration, kind AgentConfiguration
  status  prefetchctl status -o json, and GET /v1/status
  check   request and answer of POST /v1/check, and prefetchctl check -o json

A schema does not know rules between fields: prefetchctl list check and the agent do. For editors with the
yaml-language-server, this comment in the first line names the schema:
  # yaml-language-server: $schema=list.schema.json

Exit code: 0 printed, 2 bad input.

Examples:
  prefetchctl schema list > list.schema.json
  prefetchctl schema agent > agent.schema.json)");
  return [document] {
    std::cout << deploy::EmbeddedFiles().at("schemas/" + *document + ".json");
    return kOk;
  };
}

Command VersionCommand(CLI::App& command, Context& context) {
  AgentOption(command, context);
  command.footer(R"(
Exit code:
  0  both are of one release
  1  they are not
  2  bad input
  4  the agent could not be asked

Examples:
  prefetchctl version)");
  return [&context]() -> int {
    std::cout << "prefetchctl " PREFETCH_VERSION "\n";
    auto agent = context.Client();
    if (!agent) return Fail(agent.error(), std::cerr);
    auto document = agent->Status(context.call);
    if (!document) return Fail(document.error(), std::cerr);
    const std::string& version = document->agent_version;
    std::cout << "agent " << (version.empty() ? "unknown" : version) << "\n";
    return version == PREFETCH_VERSION ? kOk : kNegative;
  };
}

}  // namespace prefetch::ctl
