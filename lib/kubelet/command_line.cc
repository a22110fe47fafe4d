#include "kubelet/command_line.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/fs.h"
#include "base/text.h"
#include "doc/duration.h"
#include "doc/kubernetes_yaml.h"

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

// Each of these sets a member from a flag's value. Returns false if kubelet would not accept it.

template <auto kMember>
bool SetText(std::string_view text, CommandLine& line) {
  line.*kMember = text;
  return true;
}

// "A=true,B=false". Gates that are not known here are checked, too: kubelet does not start if one of them has
// no boolean value.
bool SetGates(std::string_view text, CommandLine& line) {
  for (std::string_view pair : base::Split(text, ',')) {
    if (pair.empty()) continue;
    std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) return false;
    std::string_view name = base::TrimSpace(pair.substr(0, equals));
    std::optional<bool> value = ParseBool(base::TrimSpace(pair.substr(equals + 1)));
    if (!value) return false;
    for (const GateName& known : kGateNames) {
      if (name == known.name) line.gates.*known.gate = value;
    }
  }
  return true;
}

template <auto kMember>
bool SetPercent(std::string_view text, CommandLine& line) {
  const std::optional<std::int64_t> value = doc::ParseGoInteger(text);
  if (!value || *value < 0 || *value > 100) return false;
  line.*kMember = static_cast<int>(*value);
  return true;
}

bool SetMinimumAge(std::string_view text, CommandLine& line) {
  std::optional<std::chrono::nanoseconds> value = doc::ParseDuration(text);
  if (!value || *value < std::chrono::nanoseconds(0)) return false;
  line.gc_minimum_age = value;
  return true;
}

// Only flags that decide about images are read. kubelet has hundreds, and a new one must not become a mistake
// here.
struct Flag {
  std::string_view name;
  bool (*set)(std::string_view text, CommandLine& line);
};
constexpr std::array kFlags = std::to_array<Flag>({
    {"root-dir", SetText<&CommandLine::root_dir>},
    {"config", SetText<&CommandLine::config>},
    {"config-dir", SetText<&CommandLine::config_dir>},
    {"image-credential-provider-config", SetText<&CommandLine::image_credential_provider_config>},
    {"image-credential-provider-bin-dir", SetText<&CommandLine::image_credential_provider_bin_dir>},
    {"container-runtime-endpoint", SetText<&CommandLine::container_runtime_endpoint>},
    {"image-service-endpoint", SetText<&CommandLine::image_service_endpoint>},
    {"feature-gates", SetGates},
    {"image-gc-high-threshold", SetPercent<&CommandLine::gc_high_percent>},
    {"image-gc-low-threshold", SetPercent<&CommandLine::gc_low_percent>},
    {"minimum-image-ttl-duration", SetMinimumAge},
});

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
    const auto flag =
        std::find_if(kFlags.begin(), kFlags.end(), [&](const Flag& one) { return one.name == name; });
    if (flag == kFlags.end()) continue;
    if (equals == std::string_view::npos && ++i == arguments.size()) {
      line.problems.push_back("kubelet's flag --" + name + " has no value");
      break;
    }
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view(arguments[i]) : argument.substr(equals + 1);
    if (flag->set(value, line)) continue;
    line.problems.push_back("kubelet's flag --" + name + " has a value that kubelet refuses: " +
                            base::Truncate(base::ToUtf8(value), kLongestShown));
  }
  return line;
}

}  // namespace prefetch::kubelet
