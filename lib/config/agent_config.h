// LoadAgentConfig: reads the settings (config/settings.h) from flags, environment and configuration file, and
// validates them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "base/text.h"
#include "config/settings.h"
#include "doc/problems.h"
#include "image/kubelet_version.h"

namespace prefetch::config {

// Returns the configuration, or all mistakes, a line each, with the source of the value: "--listen: must be
// host:port". Pure.
base::Result<AgentConfig> Validate(const RawConfig& raw);

// Loads the configuration: flags win over the environment, and both over the configuration file that one of
// the two names. Reads that file, and the EnvironmentFile that it may name. InvalidArgument with all mistakes
// of all three.
base::Result<AgentConfig> LoadAgentConfig(const RawConfig& flags, const GetEnv& get_env);

// Returns the settings of file, environment and flags laid over each other, not yet validated as a whole: for
// commands that need a part (prefetchctl credentials). InvalidArgument has all mistakes of the file and the
// environment.
base::Result<RawConfig> LoadRawConfig(const RawConfig& flags, const GetEnv& get_env);

// Parses "v1.34.9", "1.34", "1.34.1-eks-a1b2". InvalidArgument if it is no version, or older than 1.31. Pure.
base::Result<image::KubeletVersion> CheckedKubelet(std::string_view text);
// Parses the version whose rules count for a newer kubelet. InvalidArgument if its rules are not known.
base::Result<image::KubeletVersion> CheckedKubeletRules(std::string_view text);

// A file of environment variables, as systemd's EnvironmentFile= reads the simple ones. Lines of NAME=value;
// blank ones and those that begin with # or ; are passed over. A value may stand in single or double quotes;
// nothing is expanded, and there are no lines that go on. The last of several values of a name counts.
// Mistakes go to `problems`, which never quotes a value. Pure.
PluginEnvironment ParseEnvironmentFile(std::string_view bytes, doc::Problems& problems);

// The mistakes of a configuration; each begins with the source of the value.
class Mistakes {
 public:
  void Add(const std::string& source, std::string_view message) {
    lines_.push_back(source + ": " + std::string(message));
  }
  void AddAll(const doc::Problems& problems) {
    for (std::string& line : problems.Lines()) lines_.push_back(std::move(line));
  }
  bool empty() const { return lines_.empty(); }
  base::Error ToError() const { return base::InvalidArgument(base::Join(lines_, "\n")); }

 private:
  std::vector<std::string> lines_;
};

// kubelet exits if the flags of credential providers do not both stand there (A1).
void CheckProviderPair(const RawConfig& raw, Mistakes& mistakes);

// Each function below converts one raw value to its type, or adds a mistake that names its source. Pure.

// Returns an empty string if nothing is set (nullptr).
std::string RuntimeEndpoint(const SourcedText* given, Mistakes& mistakes);

// "10.0.0.7:10250", "[::1]:9477", ":9477".
std::optional<ListenAddress> ParseHostPort(const std::string& text);

}  // namespace prefetch::config
