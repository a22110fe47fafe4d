#include "ctl/completion.h"

#include <algorithm>

#include "base/text.h"

namespace prefetch::ctl {
namespace {

// Quotes for bash and zsh.
std::string Quoted(const std::string& text) {
  return "'" + base::ReplaceAll(text, "'", "'\\''") + "'";
}

// Quotes for fish, where a backslash counts in single quotes.
std::string FishQuoted(const std::string& text) {
  return "'" + base::ReplaceAll(base::ReplaceAll(text, "\\", "\\\\"), "'", "\\'") + "'";
}

// The command so far, as a script keeps it: " list diff".
std::string CommandPath(const std::vector<std::string>& words) {
  std::string at;
  for (const std::string& word : words) at += " " + word;
  return at;
}

std::vector<const CompletionCommand*> Subcommands(const CompletionCommand& command,
                                                  const std::vector<CompletionCommand>& commands) {
  std::vector<const CompletionCommand*> below;
  for (const CompletionCommand& other : commands) {
    bool child = other.words.size() == command.words.size() + 1 &&
                 std::equal(command.words.begin(), command.words.end(), other.words.begin());
    if (child) below.push_back(&other);
  }
  return below;
}

// "' list'|' list diff'": every command by its words, for the loop that finds out where the line is.
std::string AllCommands(const std::vector<CompletionCommand>& commands) {
  std::vector<std::string> all;
  for (const CompletionCommand& command : commands) {
    if (!command.words.empty()) all.push_back(Quoted(CommandPath(command.words)));
  }
  return base::Join(all, "|");
}

// "' list diff --output'|' list diff -o'": an option, where it belongs.
std::string OptionPattern(const CompletionCommand& command, const CompletionOption& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names)
    names.push_back(Quoted(CommandPath(command.words) + " " + name));
  return base::Join(names, "|");
}

// Both scripts determine the position in the same way: which command, and behind which option that takes a
// value. In zsh, words are counted from 1.
std::string BashCommandCase(const CompletionCommand& command,
                            const std::vector<CompletionCommand>& commands) {
  std::vector<std::string> options, words = command.arguments;
  for (const CompletionOption& option : command.options) {
    options.insert(options.end(), option.names.begin(), option.names.end());
  }
  for (const CompletionCommand* below : Subcommands(command, commands)) words.push_back(below->words.back());
  // Files are offered only if nothing better is known.
  bool files = command.takes_arguments && words.empty();
  return "    " + Quoted(CommandPath(command.words)) + ") options=" + Quoted(base::Join(options, " ")) +
         " words=" + Quoted(base::Join(words, " ")) + (files ? " files=1" : "") + " ;;\n";
}

std::string BashValueCases(const CompletionCommand& command) {
  std::string text;
  for (const CompletionOption& option : command.options) {
    if (!option.takes_value) continue;
    text += "    " + OptionPattern(command, option) + ") words=" + Quoted(base::Join(option.values, " ")) +
            (option.values.empty() ? " files=1" : "") + " value=1 ;;\n";
  }
  return text;
}

std::string FirstPart(const std::string& help) {
  // Help texts state the essential before the first semicolon; menus have one line for each word.
  return help.substr(0, help.find_first_of(";\n"));
}

// "name:purpose", as _describe takes it.
std::string Described(const std::string& name, const std::string& help) {
  return Quoted(base::ReplaceAll(name, ":", "\\:") + ":" + base::ReplaceAll(FirstPart(help), ":", "\\:"));
}

std::string ZshCommandCase(const CompletionCommand& command, const std::vector<CompletionCommand>& commands) {
  std::string text = "    " + Quoted(CommandPath(command.words)) + ")\n      options=(";
  for (const CompletionOption& option : command.options) {
    for (const std::string& name : option.names) text += "\n        " + Described(name, option.help);
  }
  text += ")\n      words_here=(";
  for (const std::string& argument : command.arguments) text += "\n        " + Quoted(argument);
  for (const CompletionCommand* below : Subcommands(command, commands)) {
    text += "\n        " + Described(below->words.back(), below->help);
  }
  bool files = command.takes_arguments && command.arguments.empty() && Subcommands(command, commands).empty();
  return text + ")" + (files ? "\n      files=1" : "") + " ;;\n";
}

std::string ZshValueCases(const CompletionCommand& command) {
  std::string text;
  for (const CompletionOption& option : command.options) {
    if (!option.takes_value) continue;
    text += "    " + OptionPattern(command, option) + ") words_here=(";
    for (const std::string& value : option.values) text += Quoted(value) + " ";
    text += std::string(")") + (option.values.empty() ? " files=1" : "") + " value=1 ;;\n";
  }
  return text;
}

const CompletionCommand* FindCommand(const std::vector<std::string>& words,
                                     const std::vector<CompletionCommand>& commands) {
  auto found = std::find_if(commands.begin(), commands.end(),
                            [&](const CompletionCommand& command) { return command.words == words; });
  return found == commands.end() ? nullptr : &*found;
}

const CompletionOption* FindOption(const CompletionCommand& command, const std::string& name) {
  for (const CompletionOption& option : command.options) {
    if (std::find(option.names.begin(), option.names.end(), name) != option.names.end()) return &option;
  }
  return nullptr;
}

// Returns the command that the words before the last one name.
const CompletionCommand* CommandOf(const std::vector<std::string>& words,
                                   const std::vector<CompletionCommand>& commands) {
  std::vector<std::string> at;
  for (std::size_t i = 0; i + 1 < words.size(); i++) {
    at.push_back(words[i]);
    // Options and their values between the words of a command are skipped.
    if (FindCommand(at, commands) == nullptr) at.pop_back();
  }
  return FindCommand(at, commands);
}

}  // namespace

std::string BashCompletion(const std::vector<CompletionCommand>& commands) {
  std::string text =
      "# bash completion for prefetchctl; made by prefetchctl completion bash\n"
      "_prefetchctl() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local at='' options='' words='' files='' value='' i\n"
      "  COMPREPLY=()\n"
      "  # bash takes --output=js apart at the equals sign.\n"
      "  if [[ $cur == '=' ]]; then cur=''; elif [[ $prev == '=' ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; "
      "fi\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case \"$at ${COMP_WORDS[i]}\" in\n"
      "    " +
      AllCommands(commands) +
      ") at=\"$at ${COMP_WORDS[i]}\" ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$at\" in\n";
  for (const CompletionCommand& command : commands) text += BashCommandCase(command, commands);
  text += "  esac\n  case \"$at $prev\" in\n";
  for (const CompletionCommand& command : commands) text += BashValueCases(command);
  text +=
      "  esac\n"
      "  if [[ -z $value && $cur == -* ]]; then words=$options files=''; fi\n"
      "  if [[ -n $files ]]; then compopt -o default 2>/dev/null; return; fi\n"
      "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
      "}\n"
      "complete -F _prefetchctl prefetchctl\n";
  return text;
}

std::string ZshCompletion(const std::vector<CompletionCommand>& commands) {
  std::string text =
      "#compdef prefetchctl\n"
      "# zsh completion for prefetchctl; made by prefetchctl completion zsh\n"
      "_prefetchctl() {\n"
      "  local cur=${words[CURRENT]} prev=${words[CURRENT-1]} at='' files='' value='' i\n"
      "  local -a options words_here\n"
      "  if [[ $cur == --*=* ]]; then prev=${cur%%=*}; compset -P '*='; cur=''; fi\n"
      "  for ((i = 2; i < CURRENT; i++)); do\n"
      "    case \"$at ${words[i]}\" in\n"
      "    (" +
      AllCommands(commands) +
      ") at=\"$at ${words[i]}\" ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$at\" in\n";
  for (const CompletionCommand& command : commands) text += ZshCommandCase(command, commands);
  text += "  esac\n  case \"$at $prev\" in\n";
  for (const CompletionCommand& command : commands) text += ZshValueCases(command);
  text +=
      "  esac\n"
      "  if [[ -z $value && $cur == -* ]]; then _describe option options; return; fi\n"
      "  if [[ -n $files ]]; then _files; return; fi\n"
      "  _describe word words_here\n"
      "}\n"
      "# Sourced, or run by the completion system as a function of this name.\n"
      "if [[ $funcstack[1] == _prefetchctl ]]; then _prefetchctl; else compdef _prefetchctl prefetchctl; "
      "fi\n";
  return text;
}

std::string FishCompletion(const std::vector<CompletionCommand>& commands) {
  std::string text =
      "# fish completion for prefetchctl; made by prefetchctl completion fish\n"
      "function __prefetchctl_is --description 'The command line has this command so far'\n"
      "  set -l at ''\n"
      "  for word in (commandline -opc)[2..]\n"
      "    switch \"$at $word\"\n"
      "      case";
  for (const CompletionCommand& command : commands) {
    if (!command.words.empty()) text += " " + FishQuoted(CommandPath(command.words));
  }
  text +=
      "\n        set at \"$at $word\"\n"
      "    end\n"
      "  end\n"
      "  test \"$at\" = \"$argv[1]\"\n"
      "end\n"
      "complete -c prefetchctl -f\n";
  for (const CompletionCommand& command : commands) {
    const std::string here = "complete -c prefetchctl -n " +
                             FishQuoted("__prefetchctl_is " + FishQuoted(CommandPath(command.words)));
    for (const CompletionOption& option : command.options) {
      text += here;
      for (const std::string& name : option.names) {
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (option.takes_value && option.values.empty()) text += " -rF";
      if (option.takes_value && !option.values.empty()) {
        text += " -xa " + FishQuoted(base::Join(option.values, " "));
      }
      text += " -d " + FishQuoted(FirstPart(option.help)) + "\n";
    }
    const auto below = Subcommands(command, commands);
    for (const CompletionCommand* one : below) {
      text +=
          here + " -a " + FishQuoted(one->words.back()) + " -d " + FishQuoted(FirstPart(one->help)) + "\n";
    }
    if (!command.arguments.empty())
      text += here + " -a " + FishQuoted(base::Join(command.arguments, " ")) + "\n";
    if (command.takes_arguments && command.arguments.empty() && below.empty()) text += here + " -F\n";
  }
  return text;
}

Completions CompletionsOf(const std::vector<std::string>& words,
                          const std::vector<CompletionCommand>& commands) {
  Completions found;
  const CompletionCommand* command = CommandOf(words, commands);
  if (command == nullptr || words.empty()) return found;
  std::string typed = words.back(), fixed;  // "--output=j": its value, behind what stays
  const CompletionOption* before = words.size() < 2 ? nullptr : FindOption(*command, words[words.size() - 2]);
  // The shell replaces the whole word, so the part up to "=" must be in each candidate.
  if (const std::size_t equals = typed.find('='); typed.starts_with("--") && equals != std::string::npos) {
    before = FindOption(*command, typed.substr(0, equals));
    fixed = typed.substr(0, equals + 1);
    typed.erase(0, equals + 1);
  }
  auto offer = [&](const std::string& word, const std::string& help) {
    if (word.starts_with(typed)) found.words.emplace_back(fixed + word, FirstPart(help));
  };
  if (before != nullptr && before->takes_value) {
    for (const std::string& value : before->values) offer(value, "");
    found.files = before->values.empty();
    return found;
  }
  if (typed.starts_with("-")) {
    for (const CompletionOption& option : command->options) {
      for (const std::string& name : option.names) offer(name, option.help);
    }
    return found;
  }
  const auto below = Subcommands(*command, commands);
  for (const std::string& argument : command->arguments) offer(argument, "");
  for (const CompletionCommand* one : below) offer(one->words.back(), one->help);
  found.files = command->takes_arguments && command->arguments.empty() && below.empty();
  return found;
}

std::string PluginCompletion(const Completions& completions) {
  // cobra's directives: 0 lets the shell offer files, 4 forbids it.
  constexpr const char* kFilesToo = ":0\n";
  constexpr const char* kNoFiles = ":4\n";
  std::string text;
  for (const auto& [word, help] : completions.words) text += word + (help.empty() ? "" : "\t" + help) + "\n";
  return text + (completions.files ? kFilesToo : kNoFiles);
}

}  // namespace prefetch::ctl
