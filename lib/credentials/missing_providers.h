// MissingProviders: the credential providers that kubelet uses and this agent lacks: entries of the
// configuration, their matchImages, and their programs. Without them, kubelet's pulls succeed while the
// agent's are refused. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "credentials/match.h"
#include "credentials/provider_config.h"

namespace prefetch::credentials {

// Why the agent lacks a provider of kubelet's.
enum class ProviderGap {
  kNoConfig,          // the agent has no configuration at all
  kNotConfigured,     // its configuration has others
  kNoProgram,         // its folder does not have the program
  kDifferentProgram,  // its program has other bytes than kubelet's
  kFewerImages,       // its provider of that name does not match all of these images
};

// Returns kNoProgram or kDifferentProgram; nullopt if the agent's program for the provider is kubelet's, or
// kubelet's is not to be seen here. Folders as they are reached here; kubelet's may be empty. Blocks as a
// disk does, and reads both programs where they are two files of one size.
std::optional<ProviderGap> CompareProgram(const std::string& own_bin_dir, const std::string& kubelets_bin_dir,
                                          const std::string& provider);

// kubelet's flags, as their paths are reached here. Empty: none, or not known.
struct KubeletProviderFlags {
  std::string config;
  std::string bin_dir;

  friend bool operator==(const KubeletProviderFlags&, const KubeletProviderFlags&) = default;
};

struct AgentProviders {
  struct Entry {
    std::string name;
    std::optional<ProviderGap> program = {};  // of CompareProgram
    std::vector<Pattern> match_images{};
  };

  std::string config;  // empty: none
  std::string bin_dir;
  std::vector<Entry> entries;  // in the configuration
};

struct MissingProviders {
  struct Missing {
    Provider provider;  // kubelet's
    ProviderGap gap = ProviderGap::kNoConfig;
    std::vector<Pattern> own_images{};  // if kFewerImages
  };

  KubeletProviderFlags kubelets;   // without a configuration: nothing is missing
  std::string unreadable;          // why the configuration cannot be read here; empty: it was read
  bool may_be_same_file = false;   // unreadable, and the agent's own may be that file, mounted elsewhere
  std::string own_config;          // empty: the agent has no configuration at all
  std::string bin_dir;             // the agent's
  std::vector<Missing> providers;  // none if it cannot be read

  // An unreadable file counts as one.
  std::size_t Count() const;
};

// `there` is what kubelet's configuration says. The agent's own may be the same file mounted elsewhere: the
// names and matchImages of its providers decide.
MissingProviders FindMissingProviders(const KubeletProviderFlags& kubelets, const ProviderConfig& there,
                                      const AgentProviders& own);

// Returns a sentence for each provider, for status and log.
std::vector<std::string> ProblemsOf(const MissingProviders& missing);

// For a pull of this image: the provider that kubelet would ask, and why the agent does not.
struct SkippedProvider {
  // Name of the provider; of kubelet's program, if ours is another; of the file, if it cannot be read.
  std::string name;
  std::string pattern;  // that matched; empty: not known
  std::string why;
};
std::vector<SkippedProvider> SkippedProviders(const MissingProviders& missing, const Target& target);

}  // namespace prefetch::credentials
