// Which files a Keyring reads, and how it interprets them.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "credentials/keyring_sources.h"
#include "credentials/registry_url.h"
#include "credentials/version_rules.h"

namespace prefetch::credentials {
namespace {

constexpr char kLastGoodReason[] =
    " (the last good configuration stays in force; a kubelet that restarts exits)";

// Before 1.33 kubelet sorts plugins by name, and its own name for the node docker config comes first
// (A19).
bool ByName(const std::shared_ptr<PluginAnswers>& a, const std::shared_ptr<PluginAnswers>& b) {
  return a->provider().name < b->provider().name;
}

// Warns once for each set of keys, not with every reading.
void WarnOfUnusableKeys(const NodeDockerConfig& now, const NodeDockerConfig* before) {
  if (before != nullptr && before->path == now.path &&
      before->index.unusable_keys() == now.index.unusable_keys()) {
    return;
  }
  for (const std::string& key : now.index.unusable_keys()) {
    base::Warn("key of a docker config is not an address, and is left out",
               {{"file", now.path}, {"key", ShownKey(key)}});
  }
}

// Reports named files that do not exist. The first usable one counts, as for kubelet; yet an absent one is a
// mistake or a missing mount, even if another one is used.
void AddAbsent(const std::vector<std::string>& named, const std::string& used,
               std::vector<std::string>& problems) {
  std::vector<std::string> absent;
  for (const std::string& path : named) {
    if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) absent.push_back(path);
  }
  if (absent.empty()) return;
  problems.push_back("there is no docker config: " + base::Join(absent, ", ") +
                     (used.empty() ? "" : "; " + used + " is used") +
                     "; mount it, or take it out of --docker-config");
}

// Adds the configuration and, if it is a folder, the files in it. The folder itself shows files that come and
// go.
void AddProviderFiles(const std::string& path, const image::KubeletVersion& version,
                      std::vector<std::string>& files) {
  if (path.empty()) return;
  files.push_back(path);
  base::Result<std::vector<std::string>> config = ProviderConfigFiles(path, version);
  if (config) files.insert(files.end(), config->begin(), config->end());
}

}  // namespace

void Keyring::Reload() {
  const base::TimePoint now = clock_.Now();
  Search search;
  std::shared_ptr<const Sources> before;
  {
    base::Lock lock(mutex_);
    search = search_;
    before = sources_;
  }
  std::shared_ptr<const Sources> sources = Read(search, before.get());
  base::Lock lock(mutex_);
  sources_ = std::move(sources);
  checked_at_ = read_at_ = now;
  // This happens under the same lock as the new sources, so that no caller sees the files without the change.
  if (std::exchange(gave_up_, false)) changes_++;
}

std::vector<std::string> Keyring::DockerConfigPaths(const Search& search) const {
  return options_.docker_configs.empty() ? DockerConfigCandidates(search.docker_config)
                                         : options_.docker_configs;
}

std::vector<std::string> Keyring::OwnFiles(const Search& search) const {
  std::vector<std::string> files = DockerConfigPaths(search);
  for (const PullSecret& secret : options_.pull_secrets) {
    for (std::string& file : PullSecretFiles(secret)) files.push_back(std::move(file));
  }
  AddProviderFiles(options_.provider_config, options_.kubelet_version, files);
  return files;
}

std::vector<std::string> Keyring::KubeletsFiles(const KubeletsProviders& kubelets) const {
  std::vector<std::string> files;
  if (kubelets.config.empty()) return files;
  AddProviderFiles(kubelets.config, options_.kubelet_version, files);
  // A program that comes, goes or is replaced shows in its folder.
  for (const std::string& folder : {kubelets.bin_dir, options_.provider_bin_dir}) {
    if (!folder.empty()) files.push_back(folder);
  }
  return files;
}

std::shared_ptr<const Keyring::Sources> Keyring::Read(const Search& search, const Sources* before) const {
  // Stamped before they are read: a file that changes in between is read once more.
  auto now = std::make_shared<Sources>(
      Sources{.own = Stamped(OwnFiles(search)), .kubelets = Stamped(KubeletsFiles(search.kubelets))});
  now->docker_config = ReadFirstDockerConfig(DockerConfigPaths(search));
  for (const std::string& problem : now->docker_config.problems)
    now->problems.push_back(problem + "; the file is left out, as kubelet does, until it is mended");
  AddAbsent(options_.docker_configs, now->docker_config.path, now->problems);
  WarnOfUnusableKeys(now->docker_config, before != nullptr ? &before->docker_config : nullptr);
  for (const PullSecret& secret : options_.pull_secrets) {
    now->pull_secrets.push_back(LoadPullSecret(secret));
    const LoadedPullSecret& loaded = now->pull_secrets.back();
    now->problems.insert(now->problems.end(), loaded.problems.begin(), loaded.problems.end());
  }
  if (!options_.provider_config.empty() || !options_.provider_bin_dir.empty()) {
    ReadProviders(*now, before);
  }
  Compare(search.kubelets, *now);
  return now;
}

void Keyring::ReadProviders(Sources& now, const Sources* before) const {
  ProviderConfig config =
      LoadProviderConfig(options_.provider_config, options_.provider_bin_dir, options_.kubelet_version);
  now.provider_config_hash = config.hash;
  now.provider_config_is_bad = !config.problems.empty();
  now.had_good_provider_config =
      !now.provider_config_is_bad || (before != nullptr && before->had_good_provider_config);
  if (now.provider_config_is_bad) {
    // kubelet reads its configuration once, so a running kubelet still has the last good one (A1).
    if (before != nullptr) now.providers = before->providers;
    std::string kept = now.had_good_provider_config ? kLastGoodReason : "";
    for (const std::string& problem : config.problems) now.problems.push_back(problem + kept);
    if (!now.had_good_provider_config) now.unusable_provider_config = config.problems.front();
    return;
  }
  for (Provider& provider : config.providers) {
    // A provider whose configuration did not change keeps its cached answers. Otherwise each change of any
    // file would run all plugins again.
    std::shared_ptr<PluginAnswers> kept = before != nullptr ? before->AnswersOf(provider) : nullptr;
    now.providers.push_back(kept ? kept
                                 : std::make_shared<PluginAnswers>(std::move(provider), Surroundings(),
                                                                   clock_, options_.run_plugin));
  }
  if (!SeparatesKeyrings(options_.kubelet_version)) {
    std::sort(now.providers.begin(), now.providers.end(), ByName);
  }
}

// Compares the agent's providers with kubelet's. The configuration is read without a look for the programs:
// one that is not in force, for want of a program, names its providers all the same.
void Keyring::Compare(const KubeletsProviders& kubelets, Sources& now) const {
  if (kubelets.config.empty()) return;
  OwnProviders own{.config = options_.provider_config, .bin_dir = options_.provider_bin_dir, .named = {}};
  if (!own.config.empty()) {
    const ProviderConfig config = LoadProviderConfig(own.config, std::nullopt, options_.kubelet_version);
    for (const Provider& provider : config.providers) {
      own.named.push_back({provider.name, CompareProgram(own.bin_dir, kubelets.bin_dir, provider.name),
                           provider.match_images});
    }
  }
  now.not_given = FindMissingProviders(
      kubelets, LoadProviderConfig(kubelets.config, std::nullopt, options_.kubelet_version), own);
  for (std::string& problem : ProblemsOf(now.not_given)) now.problems.push_back(std::move(problem));
}

PluginSurroundings Keyring::Surroundings() const {
  return {.bin_dir = options_.provider_bin_dir,
          .environment = options_.provider_environment,
          .working_directory = options_.provider_working_directory,
          .kubelet_version = options_.kubelet_version,
          .timeout = options_.provider_timeout};
}

}  // namespace prefetch::credentials
