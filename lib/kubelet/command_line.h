// kubelet's command line: the flags that matter here (K46, credentials' rule A1). Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/settings.h"

namespace prefetch::kubelet {

// A value. An empty text and a nullopt: not given. There is no flag for imageMaximumGCAge, nor for the
// verification policy and its allowlist.
struct CommandLine {
  std::string root_dir;
  std::string config;      // the main configuration file
  std::string config_dir;  // the folder of drop-ins
  std::string image_credential_provider_config;
  std::string image_credential_provider_bin_dir;
  std::string container_runtime_endpoint;
  std::string image_service_endpoint;
  FeatureGates gates;
  std::optional<int> gc_high_percent;
  std::optional<int> gc_low_percent;
  std::optional<std::chrono::nanoseconds> gc_minimum_age;  // zero is zero here, unlike in a file
  // Flags with which kubelet would not start, one sentence each.
  std::vector<std::string> problems;

  friend bool operator==(const CommandLine&, const CommandLine&) = default;
};

// Returns the arguments in a /proc/PID/cmdline. A NUL ends each of them.
std::vector<std::string> SplitArguments(std::string_view cmdline);

// Returns true if this kubelet serves a node, and does not only print its version or help.
bool IsKubelet(const std::vector<std::string>& arguments);

// Reads flags as kubelet does: `--flag=value` and `--flag value`, `_` for `-` in names, the last of several
// counts, feature gates add up. Flags that are not named above are passed over.
CommandLine ParseCommandLine(const std::vector<std::string>& arguments);

}  // namespace prefetch::kubelet
