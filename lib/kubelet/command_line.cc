#include "kubelet/command_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/fs.h"
#include "base/text.h"
#include "doc/duration.h"

namespace prefetch::kubelet {
namespace {

constexpr std::size_t kLongestShown = 200;

bool Has(const std::vector<std::string>& arguments, std::string_view wanted) {
  return std::find(arguments.begin(), arguments.end(), wanted) != arguments.end();
}

// Accepts the words of Go's strconv.ParseBool, with which kubelet reads its flags.
std::optional<bool> ParseBool(std::string_view text) {
  for (std::string_view word : {"1", "t", "T", "TRUE", "true", "True"}) {
    if (text == word) return true;
  }
  for (std::string_view word : {"0", "f", "F", "FALSE", "false", "False"}) {
    if (text == word) return false;
  }
  return std::nullopt;
}

// Reads "A=true,B=false". Returns false if kubelet would not accept it. Gates that are not known here are
// checked, too: kubelet does not start if one of them has no boolean value.
bool ReadGates(std::string_view text, FeatureGates& gates) {
  for (std::string_view pair : base::Split(text, ',')) {
    if (pair.empty()) continue;
    std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) return false;
    std::string_view name = base::TrimSpace(pair.substr(0, equals));
    std::optional<bool> value = ParseBool(base::TrimSpace(pair.substr(equals + 1)));
    if (!value) return false;
    if (name == "KubeletEnsureSecretPulledImages") gates.ensure_secret_pulled_images = value;
    if (name == "AllAlpha") gates.all_alpha = value;
    if (name == "AllBeta") gates.all_beta = value;
  }
  return true;
}

bool ReadPercent(std::string_view text, std::optional<int>& percent) {
  int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > 100) return false;
  percent = value;
  return true;
}

bool ReadAge(std::string_view text, std::optional<std::chrono::nanoseconds>& age) {
  std::optional<std::chrono::nanoseconds> value = doc::ParseDuration(text);
  if (!value || *value < std::chrono::nanoseconds(0)) return false;
  age = value;
  return true;
}

// Only flags that decide about images are read. kubelet has hundreds, and a new one must not become a mistake
// here.
constexpr std::array<std::pair<std::string_view, std::string CommandLine::*>, 7> kTexts = {{
    {"root-dir", &CommandLine::root_dir},
    {"config", &CommandLine::config},
    {"config-dir", &CommandLine::config_dir},
    {"image-credential-provider-config", &CommandLine::image_credential_provider_config},
    {"image-credential-provider-bin-dir", &CommandLine::image_credential_provider_bin_dir},
    {"container-runtime-endpoint", &CommandLine::container_runtime_endpoint},
    {"image-service-endpoint", &CommandLine::image_service_endpoint},
}};

using ReadFlag = bool (*)(std::string_view, CommandLine&);

constexpr std::array<std::pair<std::string_view, ReadFlag>, 4> kValues = {{
    {"feature-gates", [](std::string_view text, CommandLine& line) { return ReadGates(text, line.gates); }},
    {"image-gc-high-threshold",
     [](std::string_view text, CommandLine& line) { return ReadPercent(text, line.gc_high_percent); }},
    {"image-gc-low-threshold",
     [](std::string_view text, CommandLine& line) { return ReadPercent(text, line.gc_low_percent); }},
    {"minimum-image-ttl-duration",
     [](std::string_view text, CommandLine& line) { return ReadAge(text, line.gc_minimum_age); }},
}};

bool IsKnown(std::string_view name) {
  auto named = [&](const auto& flag) { return flag.first == name; };
  return std::any_of(kTexts.begin(), kTexts.end(), named) ||
         std::any_of(kValues.begin(), kValues.end(), named);
}

void Apply(std::string_view name, std::string_view value, CommandLine& line) {
  for (const auto& [flag, member] : kTexts) {
    if (flag == name) line.*member = value;
  }
  for (const auto& [flag, read] : kValues) {
    if (flag != name || read(value, line)) continue;
    line.problems.push_back("kubelet's flag --" + std::string(name) + " has a value that kubelet refuses: " +
                            base::Truncate(base::ToUtf8(value), kLongestShown));
  }
}

}  // namespace

std::vector<std::string> SplitArguments(std::string_view cmdline) {
  std::vector<std::string> arguments;
  if (cmdline.ends_with('\0')) cmdline.remove_suffix(1);
  if (cmdline.empty()) return arguments;
  for (std::string_view argument : base::Split(cmdline, '\0')) arguments.emplace_back(argument);
  return arguments;
}

bool IsKubelet(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return false;
  std::string program(base::BaseName(arguments.front()));
  // hyperkube is one program for all components, which its first argument selects.
  bool hyperkube = program == "hyperkube" && arguments.size() > 1 && arguments[1] == "kubelet";
  if (program != "kubelet" && !hyperkube) return false;
  // Such a process ends at once and serves no node.
  return !Has(arguments, "--version") && !Has(arguments, "--help") && !Has(arguments, "-h");
}

CommandLine ParseCommandLine(const std::vector<std::string>& arguments) {
  CommandLine line;
  for (std::size_t i = 1; i < arguments.size(); i++) {
    std::string_view argument = arguments[i];
    // Arguments behind "--" are no flags.
    if (argument == "--") break;
    if (!argument.starts_with("--")) continue;
    argument.remove_prefix(2);
    std::size_t equals = argument.find('=');
    // kubelet treats `_` and `-` in the names of flags alike.
    std::string name = base::ReplaceAll(argument.substr(0, equals), "_", "-");
    // The value of an unknown flag may be the next argument. That one does not begin with `--`, or is read as
    // a flag of its own.
    if (!IsKnown(name)) continue;
    if (equals != std::string_view::npos) {
      Apply(name, argument.substr(equals + 1), line);
    } else if (++i < arguments.size()) {
      Apply(name, arguments[i], line);
    } else {
      line.problems.push_back("kubelet's flag --" + name + " has no value");
    }
  }
  return line;
}

}  // namespace prefetch::kubelet
