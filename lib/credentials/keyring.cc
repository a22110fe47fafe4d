#include "credentials/keyring.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/enum_name.h"
#include "base/log.h"
#include "base/text.h"
#include "credentials/match.h"

namespace prefetch::credentials {

// The node's credential files, as a Keyring has read them.

// Reading them takes milliseconds where a disk is slow.
inline constexpr std::chrono::seconds kFilesTimeout{1};

// Everything that was read, as of one moment. Immutable, but for the answers, which lock for themselves.
struct Keyring::Sources {
  base::StampedFiles own;       // that were read, or would have been: the agent's sources of credentials
  base::StampedFiles kubelets;  // only to compare with
  image::KubeletVersion kubelet_version;
  std::vector<std::shared_ptr<CachingProvider>> providers;
  bool provider_config_is_bad = false;
  bool had_good_provider_config = false;  // now or before: its providers are in force
  std::string unusable_provider_config;
  std::string provider_config_hash;
  MissingProviders missing_on_agent;
  NodeDockerConfig docker_config;
  std::vector<LoadedPullSecret> pull_secrets;
  std::vector<std::string> problems;
  bool never_read = false;  // the files have not answered since the start

  // A provider whose configuration is unchanged, with its answers so far.
  std::shared_ptr<CachingProvider> AnswersOf(const Provider& provider) const {
    auto found = std::find_if(providers.begin(), providers.end(),
                              [&](const auto& answers) { return answers->provider() == provider; });
    return found == providers.end() ? nullptr : *found;
  }
};

namespace {

constexpr std::chrono::seconds kPollInterval{1};
// kubelet reads the node's docker config anew after this time; here a change is seen sooner.
constexpr std::chrono::minutes kReadInterval{5};
constexpr char kFilesHang[] =
    "the credential files do not answer, and those that were read last stay in force: restore their "
    "filesystem, such as an NFS mount whose server is gone";
constexpr char kFilesHangAtStart[] =
    "the credential files do not answer, and none was read since the start: images are pulled without "
    "credentials; restore their filesystem, such as an NFS mount whose server is gone";
constexpr char kNoAccountReason[] =
    "it wants a service account token (tokenAttributes); name an account with providerServiceAccount in the "
    "agent's configuration";
constexpr char kNoGrantsReason[] =
    "it needs a service account token (tokenAttributes), and only the agent requests one";

// One keyring: its indexes, and the source that a credential of each index is reported with.
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
    for (const KeyedMatch& match : MatchAll(indexes, target)) {
      const Origin& origin = origins[match.from];
      out.push_back(
          {match.entry->auth, origin.source, origin.name, DisplayKey(match.entry->key), origin.exposes});
    }
  }
};

// Returns true if the provider is asked with a token of the configured account. Such a token comes from the
// API server, so the question may block.
bool NeedsGrant(const Provider& provider, const KeyringOptions& options) {
  return provider.token_attributes && options.service_account && options.grants;
}

// Returns the identity for which the provider is asked. nullopt if it is not asked, and `report` says why
// (A24).
std::optional<PluginIdentity> IdentityOf(const base::Call& call, const Provider& provider,
                                         const KeyringOptions& options, ProviderReport& report) {
  report.token_attributes = provider.token_attributes.has_value();
  if (!provider.token_attributes) return PluginIdentity{};
  const TokenAttributes& attributes = *provider.token_attributes;
  if (!options.service_account || !options.grants) {
    // A24: such a provider works without a token, and kubelet would ask it in this way for pods without an
    // account.
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

}  // namespace

std::string_view SourceName(Source source) {
  return base::EnumWord(source, {"provider", "docker-config", "pull-secret"});
}

std::string ProviderOutcomeName(ProviderOutcome outcome) {
  return base::ToLower(base::EnumName(outcome));
}

Keyring::Keyring(KeyringOptions options, const base::Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      search_{.docker_config = options_.docker_config_search,
              .kubelets = {},
              .kubelet_version = options_.kubelet_version},
      sources_(std::make_shared<const Sources>(Sources{.never_read = true})) {
  // The first reading has a time limit, too: an NFS mount that is gone must not keep the agent from starting.
  // `first_read_late_` makes the late result count as a change, so that images that were denied meanwhile are
  // tried again.
  if (files_.Run([this] { CheckFiles(clock_.Now()); }, kFilesTimeout)) return;
  base::Lock lock(mutex_);
  first_read_late_ = sources_->never_read;
}

Keyring::~Keyring() = default;

Lookup Keyring::Find(const base::Call& call, const LookupQuestion& question) {
  return Collect(&call, question).value_or(Lookup{});
}

std::optional<Lookup> Keyring::TryFind(const LookupQuestion& question) {
  return Collect(nullptr, question);
}

// Asks one provider; its answer goes to `answer`. nullopt if that would have to wait, and may not.
std::optional<ProviderReport> Keyring::Ask(const base::Call* call, CachingProvider& provider,
                                           const Target& target, bool for_any_pod,
                                           AnswerCache::Answer& answer) const {
  const Provider& asked = provider.provider();
  ProviderReport report;
  report.name = asked.name;
  // Patterns come before the program: a provider is never run for an image that it does not serve.
  const Pattern* pattern = FirstMatch(asked.match_images, target);
  if (pattern == nullptr) return report;
  report.matched = true;
  report.pattern = pattern->text();
  if (for_any_pod && asked.token_attributes) {
    // The credential of such a provider is that of the configured account. kubelet would not use it for any
    // pod.
    report.error = "it serves pods of one service account";
    return report;
  }
  // A token comes from the API server, which is a call that may block.
  if (call == nullptr && NeedsGrant(asked, options_)) return std::nullopt;
  auto identity = IdentityOf(call == nullptr ? base::Call() : *call, asked, options_, report);
  if (!identity) return report;
  std::optional<base::Result<AnswerCache::Answer>> result =
      call == nullptr ? provider.TryGet(target.repository(), *identity)
                      : provider.Get(*call, target.repository(), &report.ran_for, *identity);
  if (!result) return std::nullopt;
  if (!*result) {
    report.outcome = ProviderOutcome::kError;
    report.error = result->error().message();
    return report;
  }
  answer = **result;
  report.outcome = answer->empty() ? ProviderOutcome::kEmpty : ProviderOutcome::kOk;
  return report;
}

// Collects the credentials for one target in kubelet's order (A18). An earlier credential is tried first by
// every pull, so another order would pull with another one than kubelet. Returns nullopt if a plugin would
// have to run and may not.
std::optional<Lookup> Keyring::Collect(const base::Call* call, const LookupQuestion& question) {
  const Target target(question.reference.Repository());
  std::shared_ptr<const Sources> sources = Current();
  Lookup lookup;
  lookup.repository = target.repository();

  Layer secrets, node;
  for (const LoadedPullSecret& secret : sources->pull_secrets) {
    if (!question.for_any_pod && secret.Serves(target, question.sources)) {
      secrets.Add(secret.index, Source::kPullSecret, secret.declared.name, true);
    }
  }
  node.Add(sources->docker_config.index, Source::kDockerConfig, sources->docker_config.path, false);

  // Plugins are asked one after the other, in the order of the configuration, as by kubelet. Each may take a
  // minute.
  std::vector<AnswerCache::Answer> answers;  // keeps the objects that the layer points into
  Layer plugins;
  // A18, A19: up to 1.32, docker configuration and plugins are one keyring, so that the longer key wins over
  // the source. From 1.33 on, each source has its own, and the docker configuration comes first.
  Layer& provider_layer = sources->kubelet_version >= kFirstWithSeparateKeyrings ? plugins : node;
  for (const std::shared_ptr<CachingProvider>& provider : sources->providers) {
    AnswerCache::Answer answer;
    std::optional<ProviderReport> report = Ask(call, *provider, target, question.for_any_pod, answer);
    if (!report) return std::nullopt;
    lookup.providers.push_back(*std::move(report));
    if (!answer) continue;
    provider_layer.Add(*answer, Source::kProvider, provider->provider().name,
                       lookup.providers.back().for_account);
    answers.push_back(std::move(answer));
  }

  // Providers that only kubelet has are part of the report: they are the likely reason if the registry denies
  // this pull.
  for (SkippedProvider& skipped : SkippedProviders(sources->missing_on_agent, target)) {
    lookup.providers.push_back({.name = std::move(skipped.name),
                                .matched = true,
                                .pattern = std::move(skipped.pattern),
                                .error = std::move(skipped.why),
                                .missing_on_agent = true});
  }

  // A18: pull secrets, docker configuration, plugins.
  secrets.AppendTo(lookup.credentials, target);
  node.AppendTo(lookup.credentials, target);
  plugins.AppendTo(lookup.credentials, target);
  return lookup;
}

std::string Keyring::TokenProviderFor(const image::Reference& reference) {
  std::shared_ptr<const Sources> sources = Current();
  Target target(reference.Repository());
  for (const std::shared_ptr<CachingProvider>& answers : sources->providers) {
    const Provider& provider = answers->provider();
    if (provider.token_attributes && FirstMatch(provider.match_images, target) != nullptr)
      return provider.name;
  }
  return "";
}

std::vector<std::string> Keyring::ProvidersFor(const image::Reference& reference) {
  std::shared_ptr<const Sources> sources = Current();
  const Target target(reference.Repository());
  std::vector<std::string> names;
  for (const std::shared_ptr<CachingProvider>& answers : sources->providers) {
    if (FirstMatch(answers->provider().match_images, target) != nullptr)
      names.push_back(answers->provider().name);
  }
  return names;
}

int Keyring::waiting() const {
  base::Lock lock(mutex_);
  int all = 0;
  for (const std::shared_ptr<CachingProvider>& provider : sources_->providers) all += provider->waiting();
  return all;
}

std::vector<std::string> Keyring::problems() const {
  base::Lock lock(mutex_);
  return sources_->problems;
}

// Also reads the files if that is due, so a node without pulls notices changes, too.
KeyringHealth Keyring::Health() {
  std::shared_ptr<const Sources> sources = Current();
  KeyringHealth health{.problems = sources->problems,
                       .unusable_provider_config = sources->unusable_provider_config,
                       .missing_on_agent = sources->missing_on_agent.Count()};
  if (sources->never_read) {
    health.problems.emplace_back(kFilesHangAtStart);
  } else if (files_.Hangs(kFilesTimeout)) {
    health.problems.emplace_back(kFilesHang);
  }
  base::Lock lock(mutex_);
  health.changes = changes_;
  return health;
}

std::string Keyring::provider_config_hash() const {
  base::Lock lock(mutex_);
  return sources_->provider_config_hash;
}

// Returns the sources as they are now, or the last known ones if the files do not answer. Callers keep the
// pointer for a whole lookup, so a change meanwhile does not mix two configurations.
std::shared_ptr<const Keyring::Sources> Keyring::Current() {
  const base::TimePoint now = clock_.Now();
  {
    base::Lock lock(mutex_);
    // A burst of lookups shares one look at the files.
    if (now - checked_at_ < kPollInterval) return sources_;
  }
  files_.Run([this, now] { CheckFiles(now); }, kFilesTimeout);
  base::Lock lock(mutex_);
  return sources_;
}

// Runs without the lock, since the files may not answer.
void Keyring::CheckFiles(base::TimePoint now) {
  Search search;
  std::shared_ptr<const Sources> before;
  // The sources are read again after kReadInterval even without a change, as kubelet does.
  bool read = false;
  {
    base::Lock lock(mutex_);
    search = search_;
    before = sources_;
    read = before->never_read || now - read_at_ >= kReadInterval;
  }
  // A configuration may be bad because of something outside the watched files (a folder's permissions), so a
  // bad one is read again at each look.
  const bool was_bad = before->provider_config_is_bad;
  const bool changed = base::StampedFiles(OwnFiles(search)) != before->own;
  const bool kubelets_changed = base::StampedFiles(KubeletsFiles(search)) != before->kubelets;
  const bool settled = before->own.settled() && before->kubelets.settled();
  const bool other_version = search.kubelet_version != before->kubelet_version;
  read = read || changed || kubelets_changed || was_bad || !settled || other_version;
  std::shared_ptr<const Sources> sources = read ? Read(search, before.get()) : before;
  base::Lock lock(mutex_);
  if (search == search_) checked_at_ = now;  // else the next caller reads the files again
  if (!read) return;
  sources_ = std::move(sources);
  // Only the agent's own files count: a change of kubelet's files gives no new credential to try. This
  // happens under the same lock as the new sources, so that no caller sees the files without the change.
  const bool is_change =
      before->never_read ? first_read_late_ : changed || (was_bad && !sources_->provider_config_is_bad);
  if (is_change) changes_++;
  read_at_ = now;
}

void Keyring::SetKubeletRoot(const std::string& root) {
  base::Lock lock(mutex_);
  if (root.empty() || std::exchange(search_.docker_config.kubelet_root, root) == root) return;
  checked_at_ = base::TimePoint();  // the next caller reads the files again
}

void Keyring::SetKubeletProviders(const KubeletProviderFlags& providers) {
  base::Lock lock(mutex_);
  if (std::exchange(search_.kubelets, providers) == providers) return;
  checked_at_ = base::TimePoint();
}

void Keyring::SetKubeletVersion(const image::KubeletVersion& version) {
  base::Lock lock(mutex_);
  if (std::exchange(search_.kubelet_version, version) == version) return;
  checked_at_ = base::TimePoint();
}

// Which files a Keyring reads, and how it interprets them.

namespace {

constexpr char kLastValidNote[] =
    " (the last good configuration stays in force; a kubelet that restarts exits)";

// Before 1.33 kubelet sorts plugins by name, and its own name for the node docker config comes first
// (A19).
bool ByName(const std::shared_ptr<CachingProvider>& a, const std::shared_ptr<CachingProvider>& b) {
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
               {{"file", now.path}, {"key", DisplayKey(key)}});
  }
}

// Reports named files that do not exist. The first usable one counts, as for kubelet; yet an absent one is a
// mistake or a missing mount, even if another one is used.
void ReportAbsent(const std::vector<std::string>& named, const std::string& used,
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

std::vector<std::string> Keyring::DockerConfigPaths(const Search& search) const {
  return options_.docker_configs.empty() ? DockerConfigCandidates(search.docker_config)
                                         : options_.docker_configs;
}

std::vector<std::string> Keyring::OwnFiles(const Search& search) const {
  std::vector<std::string> files = DockerConfigPaths(search);
  for (const PullSecret& secret : options_.pull_secrets) {
    for (std::string& file : PullSecretFiles(secret)) files.push_back(std::move(file));
  }
  AddProviderFiles(options_.provider_config, search.kubelet_version, files);
  return files;
}

std::vector<std::string> Keyring::KubeletsFiles(const Search& search) const {
  const KubeletProviderFlags& kubelets = search.kubelets;
  std::vector<std::string> files;
  if (kubelets.config.empty()) return files;
  AddProviderFiles(kubelets.config, search.kubelet_version, files);
  // A program that comes, goes or is replaced shows in its folder.
  for (const std::string& folder : {kubelets.bin_dir, options_.provider_bin_dir}) {
    if (!folder.empty()) files.push_back(folder);
  }
  return files;
}

std::shared_ptr<const Keyring::Sources> Keyring::Read(const Search& search, const Sources* before) const {
  // The files are stamped before they are read: a file that changes in between is read once more.
  auto now = std::make_shared<Sources>(Sources{.own = base::StampedFiles(OwnFiles(search)),
                                               .kubelets = base::StampedFiles(KubeletsFiles(search)),
                                               .kubelet_version = search.kubelet_version});
  now->docker_config = ReadFirstDockerConfig(DockerConfigPaths(search));
  for (const std::string& problem : now->docker_config.problems)
    now->problems.push_back(problem + "; the file is left out, as kubelet does, until it is mended");
  ReportAbsent(options_.docker_configs, now->docker_config.path, now->problems);
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
  // A kubelet of another version has read the configuration for itself, by its own rules.
  if (before != nullptr && before->kubelet_version != now.kubelet_version) before = nullptr;
  ProviderConfig config =
      LoadProviderConfig(options_.provider_config, options_.provider_bin_dir, now.kubelet_version);
  now.provider_config_hash = config.hash;
  now.provider_config_is_bad = !config.problems.empty();
  now.had_good_provider_config =
      !now.provider_config_is_bad || (before != nullptr && before->had_good_provider_config);
  if (now.provider_config_is_bad) {
    // kubelet reads its configuration once, so a running kubelet still has the last good one (A1).
    if (before != nullptr) now.providers = before->providers;
    std::string kept = now.had_good_provider_config ? kLastValidNote : "";
    for (const std::string& problem : config.problems) now.problems.push_back(problem + kept);
    if (!now.had_good_provider_config) now.unusable_provider_config = config.problems.front();
    return;
  }
  for (Provider& provider : config.providers) {
    // A provider whose configuration did not change keeps its cached answers. Otherwise each change of any
    // file would run all plugins again.
    std::shared_ptr<CachingProvider> kept = before != nullptr ? before->AnswersOf(provider) : nullptr;
    now.providers.push_back(kept ? kept
                                 : std::make_shared<CachingProvider>(std::move(provider),
                                                                     MakePluginContext(now.kubelet_version),
                                                                     clock_, options_.run_plugin));
  }
  if (now.kubelet_version < kFirstWithSeparateKeyrings) {
    std::sort(now.providers.begin(), now.providers.end(), ByName);
  }
}

// Compares the agent's providers with kubelet's. The configuration is read without a look for the programs:
// one that is not in force, for want of a program, names its providers all the same.
void Keyring::Compare(const KubeletProviderFlags& kubelets, Sources& now) const {
  if (kubelets.config.empty()) return;
  AgentProviders own{.config = options_.provider_config, .bin_dir = options_.provider_bin_dir};
  if (!own.config.empty()) {
    const ProviderConfig config = LoadProviderConfig(own.config, std::nullopt, now.kubelet_version);
    for (const Provider& provider : config.providers) {
      own.entries.push_back({provider.name, CompareProgram(own.bin_dir, kubelets.bin_dir, provider.name),
                             provider.match_images});
    }
  }
  now.missing_on_agent = FindMissingProviders(
      kubelets, LoadProviderConfig(kubelets.config, std::nullopt, now.kubelet_version), own);
  for (std::string& problem : ProblemsOf(now.missing_on_agent)) now.problems.push_back(std::move(problem));
}

PluginContext Keyring::MakePluginContext(const image::KubeletVersion& version) const {
  return {.bin_dir = options_.provider_bin_dir,
          .environment = options_.provider_environment,
          .kubelet_version = version};
}

}  // namespace prefetch::credentials
