#include "commands/command.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "screen/text_layout.h"

namespace prefetch::ctl {

std::string Context::NamedAgent() const {
  if (!agent.empty()) return agent;
  const char* variable = std::getenv("PREFETCHD_AGENT");
  return variable == nullptr ? "" : variable;
}

base::Result<AgentClient> Context::Client() {
  const std::string named = NamedAgent();
  return AgentClient::Make(http, named.empty() ? kDefaultAgent : named);
}

void AgentOption(CLI::App& command, Context& context) {
  command.add_option(
      "--agent", context.agent,
      "The agent: unix:///path or http://host:port; default: PREFETCHD_AGENT of the environment, or " +
          std::string(kDefaultAgent));
}

CLI::Option* RepeatableOption(CLI::App& command, const std::string& flag, std::vector<std::string>& values,
                              const std::string& help) {
  return command.add_option(flag, values, help)->type_size(1)->allow_extra_args(false);
}

CLI::Option* TextOrJsonOption(CLI::App& command, bool& json) {
  auto set = [&json](const std::string& word) { json = word == "json"; };
  return command.add_option_function<std::string>("-o,--output", set, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->default_str("text");
}

std::array<CLI::Option*, 2> ClusterFlags(CLI::App& command, ClusterOptions& cluster) {
  return {command.add_option(
              "--kubeconfig", cluster.kubeconfig,
              "The kubeconfig; default: KUBECONFIG, ~/.kube/config, or this pod's service account"),
          command.add_option("--context", cluster.context,
                             "A context of the kubeconfig; default: the current one")};
}

void FilenameOption(CLI::App& command, std::vector<std::string>& files) {
  MultiValueOption(
      command, "-f,--filename", files,
      "Manifests: files, directories without hidden files, patterns; - is standard input (repeatable)");
}

void PodTemplatePathOption(CLI::App& command, std::vector<std::string>& paths) {
  RepeatableOption(command, "--pod-template-path", paths,
                   "Path of pod templates in custom resources, such as spec.tasks.template (repeatable)");
}

void AllowUnreadOption(CLI::App& command, std::vector<std::string>& kinds) {
  RepeatableOption(
      command, "--allow-unread", kinds,
      "Accept objects of this kind whose images are not seen: JobSet, or '*.acme.io' (repeatable)");
}

void ManifestFlagOptions(CLI::App& command, ManifestFlags& flags) {
  command.add_flag("--assume-always-pull", flags.read.policy.assume_always_pull,
                   "Treat every policy as Always, as the admission plugin AlwaysPullImages does");
  command.add_option("--default-policy", flags.default_policy,
                     "imagePullPolicy that a controller sets on containers without one");
  command.add_option("--default-check-policy", flags.default_check_policy,
                     "The same for the containers by which this controller checks images");
  PodTemplatePathOption(command, flags.read.pod_template_paths);
  AllowUnreadOption(command, flags.read.allow_unread);
}

CLI::Option* MultiValueOption(CLI::App& command, const std::string& flag, std::vector<std::string>& values,
                              const std::string& help) {
  return command.add_option(flag, values, help)->type_size(1);
}

base::Status PairImages(const CLI::App& command, const std::string& flag,
                        std::vector<CheckOptions::Image>& images) {
  // CLI11 keeps the values of each option apart. Only parse_order() has the sequence in which images and
  // policies appeared.
  const CLI::Option* image = command.get_option(flag);
  const CLI::Option* policy = command.get_option("--policy");
  std::size_t image_at = 0, policy_at = 0;
  for (const CLI::Option* option : command.parse_order()) {
    if (option == image) images.push_back({image->results().at(image_at++), {}});
    if (option != policy) continue;
    if (images.empty() || images.back().policy) {
      return base::InvalidArgument("--policy without an " + flag +
                                   " before it: put each --policy after its " + flag);
    }
    images.back().policy = policy->results().at(policy_at++);
  }
  return {};
}

namespace {

constexpr std::size_t kColumn = 34;
constexpr std::size_t kLongestLabel = 60;
constexpr std::size_t kMargin = 6;  // Indentation of wrapped rows.

// CLI11's own format also lists which options need or exclude each other. Groups and footers say that in
// words here.
class Format : public CLI::Formatter {
 public:
  Format() { column_width(kColumn); }

  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return "";
    std::string out = " " + get_label(ValueLabel(*option));
    if (!option->get_default_str().empty()) out += " [" + option->get_default_str() + "]";
    if (option->get_required()) out += " " + get_label("REQUIRED");
    return out;
  }
};

std::string WrappedParagraph(const std::vector<std::string_view>& lines, std::size_t width) {
  std::string text;
  for (std::string_view line : lines) text += std::string(line) + "\n";
  // A paragraph that fits keeps its line breaks, which its author chose.
  const bool fits =
      std::ranges::all_of(lines, [&](std::string_view line) { return screen::DisplayWidth(line) <= width; });
  if (fits) return text;
  std::ranges::replace(text, '\n', ' ');
  return base::Join(screen::Wrap(text, width), "\n") + "\n";
}

// Wraps " --flag TEXT description": the flag on its own line, and the description below it.
std::string WrappedRow(std::string_view row, std::size_t width) {
  const std::size_t begin = row.find_first_not_of(' ');
  std::size_t column = row.find("  ", begin);
  if (column == std::string_view::npos && row.size() > kColumn && row[kColumn - 1] == ' ')
    column = kColumn - 1;
  const std::string margin(std::min<std::size_t>(begin, kMargin), ' '), deeper(kMargin, ' ');
  std::string text;
  const auto add = [&](std::string_view words, const std::string& first) {
    for (const std::string& line : screen::Wrap(words, width - kMargin)) {
      text += (text.empty() ? first : deeper) + line + "\n";
    }
  };
  add(row.substr(begin, column == std::string_view::npos ? column : column - begin), margin);
  if (column != std::string_view::npos) add(row.substr(row.find_first_not_of(' ', column)), deeper);
  return text;
}

}  // namespace

std::vector<const CLI::Option*> ShownOptions(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) { return !option->get_group().empty(); });
}

std::vector<const CLI::App*> ShownCommands(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App* below) { return !below->get_group().empty(); });
}

bool TakesValue(const CLI::Option& option) {
  return option.get_type_size_max() > 0 && option.get_expected_max() > 0;
}

// CLI11 has no list of an option's values, only a text: "{text,json}" of IsMember, or "value in
// {text->0,json->1} OR {0,1}" of a transformer. Both have the words in the first braces.
std::vector<std::string> ValuesOf(const CLI::Option& option) {
  std::string type = option.get_type_name();
  std::size_t begin = type.find('{'), end = type.find('}');
  std::vector<std::string> values;
  if (begin == std::string::npos || end == std::string::npos || end < begin) return values;
  for (std::string_view word : base::Split(std::string_view(type).substr(begin + 1, end - begin - 1), ',')) {
    values.emplace_back(word.substr(0, word.find("->")));
  }
  return values;
}

std::string ValueLabel(const CLI::Option& option) {
  std::string values = base::Join(ValuesOf(option), "|");
  // Longer lists, such as that of platforms, would fill the page. Descriptions contain them.
  if (!values.empty() && values.size() <= kLongestLabel) return values;
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

std::string WrappedHelp(const std::string& help, std::size_t width) {
  std::string text;
  std::vector<std::string_view> paragraph;
  const auto finish = [&] {
    text += WrappedParagraph(paragraph, width);
    paragraph.clear();
  };
  bool examples = false;
  for (std::string_view line : base::Split(std::string_view(help), '\n')) {
    const bool is_text = !line.empty() && line.front() != ' ';
    if (!is_text || line.starts_with("Usage:")) finish();
    // Examples are copied, so their lines are never wrapped. They are the end of every help text.
    examples = examples || line == "Examples:";
    if (is_text && !examples) {
      paragraph.push_back(line);
      if (line.starts_with("Usage:")) finish();
    } else {
      text += examples || screen::DisplayWidth(line) <= width ? std::string(line) + "\n"
                                                              : WrappedRow(line, width);
    }
  }
  finish();
  if (!text.empty()) text.pop_back();  // Split found an empty line after the last newline
  return text;
}

std::shared_ptr<CLI::FormatterBase> HelpFormat() {
  return std::make_shared<Format>();
}

namespace {

// "a, b or c" of a text that has "{a,b,c}"; empty if it has no braces.
std::string Choices(std::string_view text) {
  const std::size_t open = text.find('{'), close = text.find('}');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return "";
  return base::JoinOr(base::Split(text.substr(open + 1, close - open - 1), ','));
}

// The texts before and behind the first `between`; both empty if it is not there.
std::pair<std::string, std::string> SplitAt(const std::string& text, const std::string& between) {
  const std::size_t at = text.find(between);
  if (at == std::string::npos) return {};
  return {text.substr(0, at), text.substr(at + between.size())};
}

// A word that the command does not take. A flag among them is the likeliest mistake: behind it, its value is
// left over, too.
std::string UnexpectedWordText(const CLI::App& command, const std::string& what) {
  std::vector<std::string> words = command.remaining();
  auto flag = std::ranges::find_if(
      words, [](const std::string& word) { return word.starts_with("-") && word != "--"; });
  if (flag != words.end()) return "there is no option " + base::ToUtf8(flag->substr(0, flag->find('=')));
  return words.empty() ? what : "the argument " + base::ToUtf8(words.front()) + " is not expected";
}

std::string MissingCommandText(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* below : ShownCommands(command)) names.push_back(below->get_name());
  return "a command is missing: " + base::Join(names, ", ");
}

}  // namespace

std::string UsageErrorText(const CLI::App& command, const CLI::ParseError& error) {
  std::string what = error.what();
  // CLI11 begins the message with the option's name, which is empty for hidden options.
  if (what.starts_with(": ")) what.erase(0, 2);
  const auto [name, complaint] = SplitAt(what, ": ");
  switch (static_cast<CLI::ExitCodes>(error.get_exit_code())) {
    case CLI::ExitCodes::ExtrasError:
      return UnexpectedWordText(command, what);
    case CLI::ExitCodes::RequiredError:
      if (what != "A subcommand is required") return what;
      return command.remaining().empty() ? MissingCommandText(command) : UnexpectedWordText(command, what);
    case CLI::ExitCodes::ArgumentMismatch: {
      if (complaint.find("required but received") != std::string::npos) {
        return name + " is given more than once";
      }
      if (!complaint.ends_with("missing")) return what;
      const std::string choices = Choices(complaint);
      return name + " needs a value" + (choices.empty() ? "" : ": " + choices);
    }
    case CLI::ExitCodes::ValidationError: {
      const auto [value, allowed] = SplitAt(complaint, " not in ");
      return name + (value.empty() ? " " + complaint : " must be " + Choices(allowed) + ", not " + value);
    }
    case CLI::ExitCodes::ConversionError: {
      // "Could not convert: --port = x". Flags with values are numbers; all others are texts.
      const auto [option, value] = SplitAt(complaint, " = ");
      return option.empty() ? what : option + " must be a number, not " + value;
    }
    case CLI::ExitCodes::RequiresError: {
      const auto [option, needed] = SplitAt(what, " requires ");
      return option.empty() ? what : option + " needs " + needed;
    }
    case CLI::ExitCodes::ExcludesError: {
      const auto [option, other] = SplitAt(what, " excludes ");
      return option.empty() ? what : option + " and " + other + " exclude each other: leave out one";
    }
    default:  // mistakes in the program's own table of options
      return what;
  }
}

void RejectEmpty(CLI::Option* option) {
  option->check([](const std::string& value) { return value.empty() ? "must not be empty" : ""; }, "", "");
}

void RejectPortZero(CLI::Option* option) {
  option->check(
      [](const std::string& value) {
        return value.find_first_not_of('0') == std::string::npos ? "must be from 1 to 65535" : "";
      },
      "", "");
}

void FleetOptions(CLI::App& command, FleetFlags& flags) {
  CLI::Option* fleet =
      command.add_flag("--fleet", flags.fleet, "Ask the agents of all nodes, through the API server");
  auto add = [&](const char* name, std::string& value, const char* help) {
    return command.add_option(name, value, help)->needs(fleet)->group(kFleetGroup);
  };
  add("--nodes", flags.query.nodes, "Only nodes with these labels")->capture_default_str();
  RejectEmpty(
      add("-n,--namespace", flags.query.name_space, "Namespace of the agents")->capture_default_str());
  add("--selector", flags.query.pods, "Label selector of the agents' pods")->capture_default_str();
  RejectEmpty(
      add("--instance", flags.query.instance, "Instance of the agents, which names the label on nodes")
          ->capture_default_str());
  for (CLI::Option* option : ClusterFlags(command, flags.cluster)) option->needs(fleet)->group(kFleetGroup);
  // --fleet asks all agents, so naming one contradicts it.
  if (CLI::Option* agent = command.get_option_no_throw("--agent")) fleet->excludes(agent);
}

void UnreadyOption(CLI::App& command, FleetFlags& flags) {
  command
      .add_flag("--include-unready", flags.query.include_unready,
                "Count nodes that are dead or leaving like all others")
      ->needs("--fleet")
      ->group(kFleetGroup);
}

}  // namespace prefetch::ctl
