#include "credentials/keyring.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.h"
#include "credentials/keyring_sources.h"
#include "credentials/registry_url.h"
#include "credentials/version_rules.h"

namespace prefetch::credentials {
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

using Answered = base::Result<AnswerCache::Answer>;

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

Keyring::Keyring(KeyringOptions options, const base::Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      search_{.docker_config = options_.docker_config_search, .kubelets = {}},
      sources_(std::make_shared<const Sources>(
          Sources{.own = Stamped({}), .kubelets = Stamped({}), .none_read = true})) {
  // The first reading has a time limit, too: an NFS mount that is gone must not keep the agent from starting.
  // `gave_up_` makes the late result count as a change, so that images that were denied meanwhile are tried
  // again.
  if (files_.Run([this] { Reload(); }, kFilesTimeout)) return;
  base::Lock lock(mutex_);
  gave_up_ = sources_->none_read;
}

Keyring::~Keyring() = default;

Keyring::AskProvider Keyring::AskAndWait(const base::Call& call, const Target& target) const {
  return [this, &call, &target](PluginAnswers& provider, ProviderReport& report) -> std::optional<Answered> {
    auto identity = IdentityOf(call, provider.provider(), options_, report);
    if (!identity) return std::nullopt;
    return provider.Get(call, target.repository(), &report.ran_for, *identity);
  };
}

Keyring::AskProvider Keyring::AskNow(const Target& target) const {
  return [this, &target](PluginAnswers& provider, ProviderReport& report) -> std::optional<Answered> {
    // A token comes from the API server, which is a call that may block.
    if (NeedsGrant(provider.provider(), options_)) return std::nullopt;
    auto identity = IdentityOf({}, provider.provider(), options_, report);
    if (!identity) return std::nullopt;
    return provider.GetNow(target.repository(), *identity);
  };
}

Keyring::AskProvider Keyring::ForAnyPod(AskProvider ask) {
  return [ask = std::move(ask)](PluginAnswers& provider, ProviderReport& report) -> std::optional<Answered> {
    if (!provider.provider().token_attributes) return ask(provider, report);
    report.outcome = ProviderOutcome::kSkipped;
    // The credential of such a provider is that of the configured account. kubelet would not use it for any
    // pod.
    report.error = "it serves pods of one service account";
    return std::nullopt;
  };
}

Lookup Keyring::Find(const base::Call& call, const image::Reference& reference,
                     const std::vector<std::string>& list_sources) {
  const Target target(reference.Repository());
  return Gather(target, &list_sources, AskAndWait(call, target)).value_or(Lookup{});
}

Lookup Keyring::FindForAnyPod(const base::Call& call, const image::Reference& reference) {
  const Target target(reference.Repository());
  return Gather(target, nullptr, ForAnyPod(AskAndWait(call, target))).value_or(Lookup{});
}

std::optional<Lookup> Keyring::FindNow(const image::Reference& reference,
                                       const std::vector<std::string>& list_sources) {
  const Target target(reference.Repository());
  return Gather(target, &list_sources, AskNow(target));
}

std::optional<Lookup> Keyring::FindNowForAnyPod(const image::Reference& reference) {
  const Target target(reference.Repository());
  return Gather(target, nullptr, ForAnyPod(AskNow(target)));
}

// Asks one provider about this target; its answer goes to `answer`. nullopt if its program would have to run,
// and may not.
std::optional<ProviderReport> Keyring::Ask(PluginAnswers& provider, const Target& target,
                                           const AskProvider& ask, AnswerCache::Answer& answer) {
  ProviderReport report;
  report.name = provider.provider().name;
  // Patterns come before the program: a provider is never run for an image that it does not serve.
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

// Collects the credentials for one target in kubelet's order (A18). An earlier credential is tried first by
// every pull, so another order would pull with another one than kubelet. Returns nullopt if a plugin would
// have to run and may not.
std::optional<Lookup> Keyring::Gather(const Target& target, const std::vector<std::string>* list_sources,
                                      const AskProvider& ask) {
  std::shared_ptr<const Sources> sources = Current();
  Lookup lookup;
  lookup.repository = target.repository();

  Layer secrets, node;
  for (const LoadedPullSecret& secret : sources->pull_secrets) {
    if (list_sources != nullptr && secret.Serves(target, *list_sources)) {
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
  Layer& provider_layer = SeparatesKeyrings(options_.kubelet_version) ? plugins : node;
  for (const std::shared_ptr<PluginAnswers>& provider : sources->providers) {
    AnswerCache::Answer answer;
    std::optional<ProviderReport> report = Ask(*provider, target, ask, answer);
    if (!report) return std::nullopt;
    lookup.providers.push_back(*std::move(report));
    if (!answer) continue;
    provider_layer.Add(*answer, Source::kProvider, provider->provider().name,
                       lookup.providers.back().for_account);
    answers.push_back(std::move(answer));
  }

  // Providers that only kubelet has are part of the report: they are the likely reason if the registry denies
  // this pull.
  for (SkippedProvider& skipped : SkippedProviders(sources->not_given, target)) {
    lookup.providers.push_back({.name = std::move(skipped.name),
                                .matched = true,
                                .pattern = std::move(skipped.pattern),
                                .error = std::move(skipped.why),
                                .not_given = true,
                                .ran_for = std::nullopt});
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
  for (const std::shared_ptr<PluginAnswers>& answers : sources->providers) {
    const Provider& provider = answers->provider();
    if (provider.token_attributes && FirstMatch(provider, target) != nullptr) return provider.name;
  }
  return "";
}

std::vector<std::string> Keyring::ProvidersFor(const image::Reference& reference) {
  std::shared_ptr<const Sources> sources = Current();
  const Target target(reference.Repository());
  std::vector<std::string> names;
  for (const std::shared_ptr<PluginAnswers>& answers : sources->providers) {
    if (FirstMatch(answers->provider(), target) != nullptr) names.push_back(answers->provider().name);
  }
  return names;
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

// Also reads the files if that is due, so a node without pulls notices changes, too.
KeyringHealth Keyring::Health() {
  std::shared_ptr<const Sources> sources = Current();
  KeyringHealth health{.problems = sources->problems,
                       .unusable_provider_config = sources->unusable_provider_config,
                       .not_given = sources->not_given.Count()};
  if (files_.Hangs(kFilesTimeout))
    health.problems.emplace_back(sources->none_read ? kFilesHangAtStart : kFilesHang);
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
    // A burst of look-ups shares one look at the files.
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
    read = now - read_at_ >= kReadInterval;
  }
  // A configuration may be bad because of something outside the watched files (a folder's permissions), so a
  // bad one is read again at each look.
  const bool was_bad = before->provider_config_is_bad;
  const bool changed = Stamped(OwnFiles(search)) != before->own;
  const bool kubelets_changed = Stamped(KubeletsFiles(search.kubelets)) != before->kubelets;
  read = read || changed || kubelets_changed || was_bad;
  std::shared_ptr<const Sources> sources = read ? Read(search, before.get()) : before;
  base::Lock lock(mutex_);
  if (search == search_) checked_at_ = now;  // else the next caller reads the files again
  if (!read) return;
  sources_ = std::move(sources);
  // Only the agent's own files count: a change of kubelet's files gives no new credential to try.
  if (changed || (was_bad && !sources_->provider_config_is_bad)) changes_++;
  read_at_ = now;
}

void Keyring::UseKubeletRoot(const std::string& root) {
  base::Lock lock(mutex_);
  if (root.empty() || std::exchange(search_.docker_config.kubelet_root, root) == root) return;
  checked_at_ = base::TimePoint();  // the next caller reads the files again
}

void Keyring::KubeletUses(const KubeletsProviders& providers) {
  base::Lock lock(mutex_);
  if (std::exchange(search_.kubelets, providers) == providers) return;
  checked_at_ = base::TimePoint();
}

}  // namespace prefetch::credentials
