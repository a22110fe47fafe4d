#include "commands/usage_mistake.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"

namespace prefetch::ctl {
namespace {

// "a, b or c" of a text that has "{a,b,c}"; empty if it has no braces.
std::string Choices(std::string_view text) {
  const std::size_t open = text.find('{'), close = text.find('}');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return "";
  return base::JoinOr(base::Split(text.substr(open + 1, close - open - 1), ','));
}

// The texts before and behind the first `between`; both empty if it is not there.
std::pair<std::string, std::string> Halves(const std::string& text, const std::string& between) {
  const std::size_t at = text.find(between);
  if (at == std::string::npos) return {};
  return {text.substr(0, at), text.substr(at + between.size())};
}

// A word that the command does not take. A flag among them is the likeliest mistake: behind it, its value is
// left over, too.
std::string Unexpected(const CLI::App& command, const std::string& what) {
  std::vector<std::string> words = command.remaining();
  auto flag = std::find_if(words.begin(), words.end(),
                           [](const std::string& word) { return word.starts_with("-") && word != "--"; });
  if (flag != words.end()) return "there is no option " + base::ToUtf8(flag->substr(0, flag->find('=')));
  return words.empty() ? what : "the argument " + base::ToUtf8(words.front()) + " is not expected";
}

std::string NamesCommands(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; })) {
    if (!below->get_group().empty()) names.push_back(below->get_name());
  }
  return "a command is missing: " + base::Join(names, ", ");
}

}  // namespace

std::string UsageMistake(const CLI::App& command, const CLI::ParseError& error) {
  std::string what = error.what();
  // CLI11 begins the message with the option's name, which is empty for hidden options.
  if (what.starts_with(": ")) what.erase(0, 2);
  const auto [name, complaint] = Halves(what, ": ");
  switch (static_cast<CLI::ExitCodes>(error.get_exit_code())) {
    case CLI::ExitCodes::ExtrasError:
      return Unexpected(command, what);
    case CLI::ExitCodes::RequiredError:
      if (what != "A subcommand is required") return what;
      return command.remaining().empty() ? NamesCommands(command) : Unexpected(command, what);
    case CLI::ExitCodes::ArgumentMismatch: {
      if (complaint.find("required but received") != std::string::npos) {
        return name + " is given more than once";
      }
      if (!complaint.ends_with("missing")) return what;
      const std::string choices = Choices(complaint);
      return name + " needs a value" + (choices.empty() ? "" : ": " + choices);
    }
    case CLI::ExitCodes::ValidationError: {
      const auto [value, allowed] = Halves(complaint, " not in ");
      return value.empty() ? what : name + " must be " + Choices(allowed) + ", not " + value;
    }
    case CLI::ExitCodes::ConversionError: {
      // "Could not convert: --port = x". Flags with values are numbers; all others are texts.
      const auto [option, value] = Halves(complaint, " = ");
      return option.empty() ? what : option + " must be a number, not " + value;
    }
    case CLI::ExitCodes::RequiresError: {
      const auto [option, needed] = Halves(what, " requires ");
      return option.empty() ? what : option + " needs " + needed;
    }
    case CLI::ExitCodes::ExcludesError: {
      const auto [option, other] = Halves(what, " excludes ");
      return option.empty() ? what : option + " and " + other + " exclude each other: leave out one";
    }
    default:  // mistakes in the program's own table of options
      return what;
  }
}

}  // namespace prefetch::ctl
