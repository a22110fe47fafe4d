#include "credentials/keyring.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "credentials/registry_url.h"
#include "credentials/version_rules.h"

namespace prefetch::credentials {
namespace {

constexpr std::chrono::seconds kLookInterval{1};
// kubelet reads the node's docker config anew after this time; here a change is seen sooner.
constexpr std::chrono::minutes kReadInterval{5};
constexpr char kNoAccountReason[] =
    "it wants a service account token (tokenAttributes); name an account with providerServiceAccount in the "
    "agent's configuration";
constexpr char kNoGrantsReason[] =
    "it wants a service account token (tokenAttributes), which only the agent asks the API server for";
constexpr char kLastGoodReason[] =
    " (the last good configuration stays in force; a kubelet that restarts exits)";

// Before 1.33 kubelet sorts plugins by name, and its own name for the node docker config comes first
// (A19).
bool ByName(const std::shared_ptr<PluginAnswers>& a, const std::shared_ptr<PluginAnswers>& b) {
  return a->provider().name < b->provider().name;
}

// One keyring: indexes, and what a credential of each is said to be from.
struct Layer {
  struct Origin {
    Source source;
    std::string name;
    bool exposes;
  };
  std::vector<const KeyIndex*> indexes;
  std::vector<Origin> origins;

  void Add(const KeyIndex& index, Source source, std::string name, bool exposes) {
    indexes.push_back(&index);
    origins.push_back({source, std::move(name), exposes});
  }
  void AppendTo(std::vector<Credential>& out, const Target& target) const {
    for (const KeyedMatch& match : LookUp(indexes, target)) {
      const Origin& origin = origins[match.from];
      out.push_back(
          {match.entry->auth, origin.source, origin.name, ShownKey(match.entry->key), origin.exposes});
    }
  }
};

const Pattern* FirstMatch(const Provider& provider, const Target& target) {
  auto found = std::find_if(provider.match_images.begin(), provider.match_images.end(),
                            [&](const Pattern& pattern) { return pattern.Matches(target); });
  return found == provider.match_images.end() ? nullptr : &*found;
}

// Is it asked with a token of the account that the configuration names?
bool NeedsGrant(const Provider& provider, const KeyringOptions& options) {
  return provider.token_attributes && options.service_account && options.grants;
}

// For whom the provider is asked; nullopt: it is not, and `report` says why.
std::optional<PluginIdentity> IdentityOf(const base::Call& call, const Provider& provider,
                                         const KeyringOptions& options, ProviderReport& report) {
  report.token_attributes = provider.token_attributes.has_value();
  if (!provider.token_attributes) return PluginIdentity{};
  const TokenAttributes& attributes = *provider.token_attributes;
  if (!options.service_account || !options.grants) {
    if (!attributes.require_service_account) return PluginIdentity{};
    report.error = options.service_account ? kNoGrantsReason : kNoAccountReason;
    return std::nullopt;
  }
  auto grant = options.grants(call, attributes.service_account_token_audience);
  if (!grant) {
    report.outcome = ProviderOutcome::kError;
    report.error =
        "no token of service account " + options.service_account->ToString() + ": " + grant.error().message();
    return std::nullopt;
  }
  auto identity = IdentityFor(attributes, *options.service_account, *grant);
  report.for_account = identity.ok();
  if (identity) return *std::move(identity);
  report.error = identity.error().message();
  return std::nullopt;
}

using Answered = base::Result<AnswerCache::Answer>;

// Once, not with every reading.
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

}  // namespace

std::string_view SourceName(Source source) {
  switch (source) {
    case Source::kProvider:
      return "provider";
    case Source::kDockerConfig:
      return "docker-config";
    case Source::kPullSecret:
      return "pull-secret";
  }
  return "";
}

std::string_view ProviderOutcomeName(ProviderOutcome outcome) {
  switch (outcome) {
    case ProviderOutcome::kOk:
      return "ok";
    case ProviderOutcome::kEmpty:
      return "empty";
    case ProviderOutcome::kError:
      return "error";
    case ProviderOutcome::kSkipped:
      return "skipped";
  }
  return "";
}

// Everything that was read, as of one moment. Immutable, but for the answers, which lock for themselves.
struct Keyring::Sources {
  std::vector<std::string> files;       // that it was read from, or would have been
  std::vector<base::FileStamp> stamps;  // of them
  std::vector<std::shared_ptr<PluginAnswers>> providers;
  bool provider_config_is_bad = false;
  bool had_good_provider_config = false;  // now or before: its providers are in force
  std::string unusable_provider_config;
  std::string provider_config_hash;
  NodeDockerConfig docker_config;
  std::vector<LoadedPullSecret> pull_secrets;
  std::vector<std::string> problems;

  // A provider whose configuration is still the same, with what it has answered so far.
  std::shared_ptr<PluginAnswers> AnswersOf(const Provider& provider) const {
    auto found = std::find_if(providers.begin(), providers.end(),
                              [&](const auto& answers) { return answers->provider() == provider; });
    return found == providers.end() ? nullptr : *found;
  }
};

Keyring::Keyring(KeyringOptions options, const base::Clock& clock)
    : options_(std::move(options)), clock_(clock), search_(options_.docker_config_search) {
  Reload();
}

Keyring::~Keyring() = default;

Lookup Keyring::Find(const base::Call& call, const image::Reference& reference,
                     const std::vector<std::string>& list_sources) {
  const Target target(reference.Repository());
  auto lookup = Gather(target, list_sources,
                       [&](PluginAnswers& provider, ProviderReport& report) -> std::optional<Answered> {
                         auto identity = IdentityOf(call, provider.provider(), options_, report);
                         if (!identity) return std::nullopt;
                         return provider.Get(call, target.repository(), &report.ran_for, *identity);
                       });
  return lookup ? *std::move(lookup) : Lookup{};
}

std::optional<Lookup> Keyring::FindNow(const image::Reference& reference,
                                       const std::vector<std::string>& list_sources) {
  const Target target(reference.Repository());
  return Gather(target, list_sources,
                [&](PluginAnswers& provider, ProviderReport& report) -> std::optional<Answered> {
                  // For a token the API server is asked.
                  if (NeedsGrant(provider.provider(), options_)) return std::nullopt;
                  auto identity = IdentityOf({}, provider.provider(), options_, report);
                  if (!identity) return std::nullopt;
                  return provider.GetNow(target.repository(), *identity);
                });
}

// What one provider has for this target; its answer goes to `answer`. nullopt: it may not run.
std::optional<ProviderReport> Keyring::Ask(PluginAnswers& provider, const Target& target,
                                           const AskProvider& ask, AnswerCache::Answer& answer) {
  ProviderReport report;
  report.name = provider.provider().name;
  const Pattern* pattern = FirstMatch(provider.provider(), target);
  if (pattern == nullptr) return report;
  report.matched = true;
  report.pattern = pattern->text();
  std::optional<Answered> result = ask(provider, report);
  if (!result && report.error.empty()) return std::nullopt;
  if (!result) return report;
  if (!*result) {
    report.outcome = ProviderOutcome::kError;
    report.error = result->error().message();
    return report;
  }
  answer = **result;
  report.outcome = answer->empty() ? ProviderOutcome::kEmpty : ProviderOutcome::kOk;
  return report;
}

std::optional<Lookup> Keyring::Gather(const Target& target, const std::vector<std::string>& list_sources,
                                      const AskProvider& ask) {
  std::shared_ptr<const Sources> sources = Current();
  Lookup lookup;
  lookup.repository = target.repository();

  Layer secrets, node;
  for (const LoadedPullSecret& secret : sources->pull_secrets) {
    if (secret.Serves(target, list_sources)) {
      secrets.Add(secret.index, Source::kPullSecret, secret.declared.name, true);
    }
  }
  node.Add(sources->docker_config.index, Source::kDockerConfig, sources->docker_config.path, false);

  std::vector<AnswerCache::Answer> answers;  // keeps what the layer points into
  Layer plugins;
  Layer& asked = SeparatesKeyrings(options_.kubelet_version) ? plugins : node;
  for (const std::shared_ptr<PluginAnswers>& provider : sources->providers) {
    AnswerCache::Answer answer;
    std::optional<ProviderReport> report = Ask(*provider, target, ask, answer);
    if (!report) return std::nullopt;
    lookup.providers.push_back(*std::move(report));
    if (!answer) continue;
    asked.Add(*answer, Source::kProvider, provider->provider().name, lookup.providers.back().for_account);
    answers.push_back(std::move(answer));
  }

  secrets.AppendTo(lookup.credentials, target);
  node.AppendTo(lookup.credentials, target);
  plugins.AppendTo(lookup.credentials, target);
  return lookup;
}

std::string Keyring::TokenProviderFor(const image::Reference& reference) {
  std::shared_ptr<const Sources> sources = Current();
  Target target(reference.Repository());
  for (const std::shared_ptr<PluginAnswers>& answers : sources->providers) {
    const Provider& provider = answers->provider();
    if (provider.token_attributes && FirstMatch(provider, target) != nullptr) return provider.name;
  }
  return "";
}

int Keyring::waiting() const {
  base::Lock lock(mutex_);
  int all = 0;
  for (const std::shared_ptr<PluginAnswers>& provider : sources_->providers) all += provider->waiting();
  return all;
}

std::vector<std::string> Keyring::problems() const {
  base::Lock lock(mutex_);
  return sources_->problems;
}

KeyringHealth Keyring::Health() {
  std::shared_ptr<const Sources> sources = Current();
  base::Lock lock(mutex_);
  return {sources->problems, sources->unusable_provider_config, changes_};
}

std::string Keyring::provider_config_hash() const {
  base::Lock lock(mutex_);
  return sources_->provider_config_hash;
}

void Keyring::Reload() {
  base::Lock lock(mutex_);
  sources_ = Read(sources_.get());
  looked_at_ = read_at_ = clock_.Now();
}

std::shared_ptr<const Keyring::Sources> Keyring::Current() {
  base::Lock lock(mutex_);
  base::TimePoint now = clock_.Now();
  if (now - looked_at_ < kLookInterval) return sources_;
  looked_at_ = now;
  // What makes a configuration bad may lie outside of the watched files (a folder's permissions), so a bad
  // one is always read again.
  bool was_bad = sources_->provider_config_is_bad;
  bool changed = WatchedFiles() != sources_->files || base::StampsOf(sources_->files) != sources_->stamps;
  if (!changed && !was_bad && now - read_at_ < kReadInterval) return sources_;
  sources_ = Read(sources_.get());
  if (changed || (was_bad && !sources_->provider_config_is_bad)) changes_++;
  read_at_ = now;
  return sources_;
}

void Keyring::UseKubeletRoot(const std::string& root) {
  base::Lock lock(mutex_);
  if (root.empty() || std::exchange(search_.kubelet_root, root) == root) return;
  looked_at_ = base::TimePoint();  // the next who asks sees what is there
}

std::vector<std::string> Keyring::DockerConfigPaths() const {
  return options_.docker_configs.empty() ? DockerConfigCandidates(search_) : options_.docker_configs;
}

std::vector<std::string> Keyring::WatchedFiles() const {
  std::vector<std::string> files = DockerConfigPaths();
  for (const PullSecret& secret : options_.pull_secrets) {
    for (std::string& file : PullSecretFiles(secret)) files.push_back(std::move(file));
  }
  if (options_.provider_config.empty()) return files;
  files.push_back(options_.provider_config);
  base::Result<std::vector<std::string>> config =
      ProviderConfigFiles(options_.provider_config, options_.kubelet_version);
  if (config) files.insert(files.end(), config->begin(), config->end());
  return files;
}

std::shared_ptr<const Keyring::Sources> Keyring::Read(const Sources* before) const {
  auto now = std::make_shared<Sources>();
  // Stamped before they are read: a file that changes in between is read once more.
  now->files = WatchedFiles();
  now->stamps = base::StampsOf(now->files);
  now->docker_config = ReadFirstDockerConfig(DockerConfigPaths());
  now->problems = now->docker_config.problems;
  // Of the files that are named the first usable one counts, as for kubelet, so one may be absent. Where
  // kubelet looks by itself there need not be any.
  if (!options_.docker_configs.empty() && now->problems.empty() && now->docker_config.path.empty()) {
    now->problems.push_back("there is no docker config: " + base::Join(options_.docker_configs, ", "));
  }
  WarnOfUnusableKeys(now->docker_config, before != nullptr ? &before->docker_config : nullptr);
  for (const PullSecret& secret : options_.pull_secrets) {
    now->pull_secrets.push_back(LoadPullSecret(secret));
    const LoadedPullSecret& loaded = now->pull_secrets.back();
    now->problems.insert(now->problems.end(), loaded.problems.begin(), loaded.problems.end());
  }
  if (!options_.provider_config.empty() || !options_.provider_bin_dir.empty()) {
    ReadProviders(*now, before);
  }
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
    if (before != nullptr) now.providers = before->providers;
    std::string kept = now.had_good_provider_config ? kLastGoodReason : "";
    for (const std::string& problem : config.problems) now.problems.push_back(problem + kept);
    if (!now.had_good_provider_config) now.unusable_provider_config = config.problems.front();
    return;
  }
  for (Provider& provider : config.providers) {
    std::shared_ptr<PluginAnswers> kept = before != nullptr ? before->AnswersOf(provider) : nullptr;
    now.providers.push_back(kept ? kept
                                 : std::make_shared<PluginAnswers>(std::move(provider), Surroundings(),
                                                                   clock_, options_.run_plugin));
  }
  if (!SeparatesKeyrings(options_.kubelet_version)) {
    std::sort(now.providers.begin(), now.providers.end(), ByName);
  }
}

PluginSurroundings Keyring::Surroundings() const {
  return {.bin_dir = options_.provider_bin_dir,
          .environment = options_.provider_environment,
          .working_directory = options_.provider_working_directory,
          .kubelet_version = options_.kubelet_version,
          .timeout = options_.provider_timeout};
}

}  // namespace prefetch::credentials
