// The node's credential files, as a Keyring has read them.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "credentials/keyring.h"
#include "credentials/missing_providers.h"
#include "credentials/plugin_answers.h"

namespace prefetch::credentials {

// Reading them takes milliseconds where a disk is slow.
inline constexpr std::chrono::seconds kFilesTimeout{1};

// Files that were read, or would have been, as they were then.
struct Keyring::Stamped {
  explicit Stamped(std::vector<std::string> of) : files(std::move(of)), stamps(base::StampsOf(files)) {}
  friend bool operator==(const Stamped&, const Stamped&) = default;

  std::vector<std::string> files;
  std::vector<base::FileStamp> stamps;
};

// Everything that was read, as of one moment. Immutable, but for the answers, which lock for themselves.
struct Keyring::Sources {
  Stamped own;       // the agent's sources of credentials
  Stamped kubelets;  // only to compare with
  std::vector<std::shared_ptr<PluginAnswers>> providers;
  bool provider_config_is_bad = false;
  bool had_good_provider_config = false;  // now or before: its providers are in force
  std::string unusable_provider_config;
  std::string provider_config_hash;
  MissingProviders not_given;
  NodeDockerConfig docker_config;
  std::vector<LoadedPullSecret> pull_secrets;
  std::vector<std::string> problems;
  bool none_read = false;  // the files have not answered since the start

  // A provider whose configuration is unchanged, with its answers so far.
  std::shared_ptr<PluginAnswers> AnswersOf(const Provider& provider) const {
    auto found = std::find_if(providers.begin(), providers.end(),
                              [&](const auto& answers) { return answers->provider() == provider; });
    return found == providers.end() ? nullptr : *found;
  }
};

}  // namespace prefetch::credentials
