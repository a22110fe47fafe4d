// Keyring: which credentials this node has for an image, in the order in which kubelet would try them.
//
//   credentials::Keyring keyring(options, clock);
//   Lookup lookup = keyring.Find(call, {reference, entry.sources});
//   // pull with lookup.credentials[0]; with the next only if that one was refused; with none: anonymously
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/call.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mutex.h"
#include "base/timed_reader.h"
#include "credentials/docker_config.h"
#include "credentials/missing_providers.h"
#include "credentials/plugin.h"
#include "credentials/plugin_answers.h"
#include "credentials/provider_config.h"
#include "image/kubelet_version.h"
#include "image/reference.h"
#include "image/registry_question.h"

namespace prefetch::credentials {

enum class Source { kProvider, kDockerConfig, kPullSecret };
std::string_view SourceName(Source source);  // "provider", "docker-config", "pull-secret"

struct Credential {
  image::AuthConfig auth;
  Source source = Source::kProvider;
  std::string name;   // the provider, the file, or the pull secret's name
  std::string match;  // the key that matched, as DisplayKey shows it: "https://index.docker.io/v1/"
  // Not the node's own: a mounted pull secret's, or a named service account's. Every pod of the node may use
  // images that were pulled with it (kubelet's rule K28).
  bool exposes = false;
};

enum class ProviderOutcome {
  kOk,       // it answered with at least one key; that need not match the image
  kEmpty,    // it answered: no credentials
  kError,    // it failed; `error` says how
  kSkipped,  // it was not asked: no pattern matched, or `error` says why
};
std::string ProviderOutcomeName(ProviderOutcome outcome);  // "ok", "empty", "error", "skipped"

struct ProviderReport {
  std::string name;
  bool matched = false;
  std::string pattern;  // the entry of matchImages that matched
  ProviderOutcome outcome = ProviderOutcome::kSkipped;
  std::string error;  // scrubbed
  // It has tokenAttributes: its credentials are for pods of one service account, not for the node.
  bool token_attributes = false;
  bool for_account = false;       // it was asked with a token of the account that the configuration names
  bool missing_on_agent = false;  // it is kubelet's, and was not given here: skipped
  // How long its program ran for this lookup; none: it did not run (its answer was known, or another lookup's
  // run was shared).
  std::optional<base::Duration> ran_for;
};

struct Lookup {
  std::string repository;                 // the request: "docker.io/library/nginx"
  std::vector<Credential> credentials;    // in the order of attempts; empty: kubelet would pull anonymously
  std::vector<ProviderReport> providers;  // all of them, in the order of asking
};

// An image, and the pods for which credentials for it are looked up. A value.
struct LookupQuestion {
  image::Reference reference;
  // Names of the list's sources that have the entry: a pull secret serves only the sources that it names.
  std::vector<std::string> sources = {};
  // Only what kubelet would use for any pod of this node: neither mounted pull secrets nor providers that
  // serve one service account.
  bool for_any_pod = false;
};

// The problems of the files that a Keyring reads. A value.
struct KeyringHealth {
  std::vector<std::string> problems;  // one sentence each with file and place; empty: nothing
  // The first problem of a provider configuration that cannot be used, while no good one was read before: a
  // kubelet that starts now would exit. Empty otherwise: kubelet reads its configuration once, so one that
  // runs goes on with the last good one, as the Keyring does; and it passes over a docker config that is bad.
  std::string unusable_provider_config;
  // Number of kubelet's credential providers that are not among those that were given (MissingProviders).
  std::size_t missing_on_agent = 0;
  // Number of changes of the files: an image denied with the old ones is worth another try.
  std::uint64_t changes = 0;

  friend bool operator==(const KeyringHealth&, const KeyringHealth&) = default;
};

struct KeyringOptions {
  // Values of kubelet's flags. If both are empty, there are no plugins.
  std::string provider_config;
  std::string provider_bin_dir;
  // Instead of kubelet's environment (from `providerEnvironment`, an EnvironmentFile).
  std::map<std::string, std::string> provider_environment;
  PluginRunner run_plugin = RunPlugin;
  // Node docker config files in order. The first usable one wins, and one has to be there. Empty: the places
  // in which kubelet looks.
  std::vector<std::string> docker_configs;
  DockerConfigSearch docker_config_search;
  std::vector<PullSecret> pull_secrets;
  // For providers with tokenAttributes: the account that the configuration names, and where its tokens come
  // from. Without one, a provider that requires an account is skipped, and one that does not is asked
  // without.
  std::optional<ServiceAccountName> service_account;
  GrantSource grants;                     // empty: the API server is not asked here
  image::KubeletVersion kubelet_version;  // until SetKubeletVersion
};

// A resource. Owned by main; any thread may call, many at once. `clock` outlives it.
//
// The order is pull secrets, node docker config, plugins (A18, A19). A lookup reads changed files again, at
// most once a second. Files that do not answer, such as those of a dead NFS server, delay it by a second at
// most. The files that were read last then stay in force; after a start there are none. If kubelet would
// reject the provider configuration, problems() reports it, and the plugins of the last valid one stay in
// force, if there was one. The other sources are not affected.
class Keyring {
 public:
  Keyring(KeyringOptions options, const base::Clock& clock);
  Keyring(const Keyring&) = delete;
  Keyring& operator=(const Keyring&) = delete;
  ~Keyring();

  // Blocks while plugins run, at most a minute each. Never fails: `providers` and problems() report a source
  // that fails.
  Lookup Find(const base::Call& call, const LookupQuestion& question) PREFETCH_EXCLUDES(mutex_);

  // Returns what Find would, if that neither runs a plugin nor waits for another call; else nullopt. Blocks
  // as a disk does.
  std::optional<Lookup> TryFind(const LookupQuestion& question) PREFETCH_EXCLUDES(mutex_);

  // The first provider with tokenAttributes that is for this image: what kubelet gets of it is for pods of
  // one service account. Empty: none. Runs no plugin; blocks as a disk does.
  std::string TokenProviderFor(const image::Reference& reference) PREFETCH_EXCLUDES(mutex_);

  // Returns the names of the providers for this image, in the order in which they are asked. Those that hang
  // delay the lookup. Runs no plugin; blocks as a disk does.
  std::vector<std::string> ProvidersFor(const image::Reference& reference) PREFETCH_EXCLUDES(mutex_);

  // Returns the number of calls of Find that wait for a plugin that another one runs. For tests in virtual
  // time.
  int waiting() const PREFETCH_EXCLUDES(mutex_);

  // Returns the problems that the files had when they were last read.
  std::vector<std::string> problems() const PREFETCH_EXCLUDES(mutex_);
  // Returns the present state of the files. Reads changed files as Find does, so that a corrected file is
  // noticed without a lookup. Blocks as a disk does.
  KeyringHealth Health() PREFETCH_EXCLUDES(mutex_);
  // Returns the hash of the configuration as kubelet's metric kubelet_credential_provider_config_info has it;
  // empty without a configuration.
  std::string provider_config_hash() const PREFETCH_EXCLUDES(mutex_);
  // kubelet's root directory, as learnt from the node. If the configuration names no docker config,
  // config.json is looked for there.
  void SetKubeletRoot(const std::string& root) PREFETCH_EXCLUDES(mutex_);
  // kubelet's version, as learnt from the node: how files are read, and in which order credentials are tried.
  void SetKubeletVersion(const image::KubeletVersion& version) PREFETCH_EXCLUDES(mutex_);
  // A provider that kubelet has and the agent lacks is a problem. Every lookup that would use it has that
  // problem, too.
  void SetKubeletProviders(const KubeletProviderFlags& providers) PREFETCH_EXCLUDES(mutex_);

 private:
  struct Sources;
  // Facts that decide which files are read, and compared.
  struct Search {
    DockerConfigSearch docker_config;
    KubeletProviderFlags kubelets;
    image::KubeletVersion kubelet_version;

    friend bool operator==(const Search&, const Search&) = default;
  };
  // `call` null: no plugin may run, nor any call be waited for.
  std::optional<Lookup> Collect(const base::Call* call, const LookupQuestion& question)
      PREFETCH_EXCLUDES(mutex_);
  std::optional<ProviderReport> Ask(const base::Call* call, CachingProvider& provider, const Target& target,
                                    bool for_any_pod, AnswerCache::Answer& answer) const;
  std::shared_ptr<const Sources> Current() PREFETCH_EXCLUDES(mutex_);
  void CheckFiles(base::TimePoint now) PREFETCH_EXCLUDES(mutex_);
  std::shared_ptr<const Sources> Read(const Search& search, const Sources* before) const;
  std::vector<std::string> DockerConfigPaths(const Search& search) const;
  void ReadProviders(Sources& now, const Sources* before) const;
  void Compare(const KubeletProviderFlags& kubelets, Sources& now) const;
  PluginContext MakePluginContext(const image::KubeletVersion& version) const;
  std::vector<std::string> OwnFiles(const Search& search) const;
  std::vector<std::string> KubeletsFiles(const Search& search) const;

  const KeyringOptions options_;
  const base::Clock& clock_;
  mutable base::Mutex mutex_;
  Search search_ PREFETCH_GUARDED_BY(mutex_);
  std::shared_ptr<const Sources> sources_ PREFETCH_GUARDED_BY(mutex_);
  base::TimePoint checked_at_ PREFETCH_GUARDED_BY(mutex_);
  base::TimePoint read_at_ PREFETCH_GUARDED_BY(mutex_);
  std::uint64_t changes_ PREFETCH_GUARDED_BY(mutex_) = 0;
  // Lookups began before the files were read for the first time.
  bool first_read_late_ PREFETCH_GUARDED_BY(mutex_) = false;
  base::TimedReader files_;  // last: its job uses what stands above
};

}  // namespace prefetch::credentials
