// CredentialProviderConfig: kubelet's configuration of credential plugins
// (A1 to A5, A7).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "credentials/match.h"
#include "credentials/token_attributes.h"
#include "doc/problems.h"
#include "image/kubelet_version.h"

namespace prefetch::credentials {

// One plugin, validated.
struct Provider {
  std::string name;  // the executable's file name
  std::vector<Pattern> match_images;
  std::chrono::nanoseconds default_cache_duration{0};
  std::string api_version;  // of requests and responses: "credentialprovider.kubelet.k8s.io/v1"
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  std::optional<TokenAttributes> token_attributes;

  friend bool operator==(const Provider&, const Provider&) = default;
};

// A configuration as kubelet of some version would take it.
struct ProviderConfig {
  std::vector<Provider> providers;  // in the order of the files; empty if there are problems
  // All mistakes, one line each with file, place and path. kubelet would not start with one.
  std::vector<std::string> problems;
  std::string hash;  // as kubelet's metric has it: "sha256:…" over all files; empty if they cannot be read
};

// The providers of one file. Mistakes go to `problems`. Pure.
std::vector<Provider> DecodeProviderConfig(std::string_view text, image::KubeletVersion version,
                                           doc::Problems& problems);

// Reads `path`, a file or, from 1.34 on, a directory. With a `bin_dir` the plugins must be there too, as
// kubelet asks; without one (nullopt) they are not looked for. Blocks as a disk does.
ProviderConfig LoadProviderConfig(const std::string& path, const std::optional<std::string>& bin_dir,
                                  image::KubeletVersion version);

// The files that make up the configuration, in order. NotFound and the like.
base::Result<std::vector<std::string>> ProviderConfigFiles(const std::string& path,
                                                           image::KubeletVersion version);

}  // namespace prefetch::credentials
