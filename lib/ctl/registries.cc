#include "ctl/registries.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/text.h"
#include "base/workers.h"
#include "config/agent_config.h"
#include "credentials/lookup_words.h"
#include "ctl/cluster.h"
#include "http/curl_client.h"
#include "registry/client.h"

namespace prefetch::ctl {

namespace {

using Lines = std::vector<std::string>;

void AddLines(const base::Error& error, Lines& mistakes) {
  for (std::string_view line : base::Split(error.message(), '\n')) mistakes.emplace_back(line);
}

// Makes a path absolute: on a command line it may be relative, and the keyring runs plugins in their own
// folder (A8).
std::string Absolute(const std::string& path) {
  std::error_code ignored;
  std::filesystem::path absolute = std::filesystem::absolute(path, ignored);
  return path.empty() || ignored ? path : absolute.string();
}

}  // namespace

config::RawConfig LoadCredentialConfig(const config::RawConfig& flags, const config::GetEnv& get_env,
                                       Lines& mistakes) {
  auto raw = config::LoadRawConfig(flags, get_env);
  // With mistakes in file or environment, the flags alone are used, so that all other mistakes are found in
  // the same run.
  if (raw) return *std::move(raw);
  AddLines(raw.error(), mistakes);
  return flags;
}

image::KubeletVersion DeclaredKubeletVersion(const config::RawConfig& raw, Lines& mistakes) {
  const auto* given = raw.Text("kubelet-version");
  if (!given) return {};
  auto version = config::CheckedKubelet(given->value);
  if (version) return *version;
  mistakes.push_back(given->source + ": " + version.error().message());
  return {};
}

credentials::KeyringOptions ToKeyringOptions(const config::RawConfig& raw, Lines& mistakes) {
  credentials::KeyringOptions options;
  config::Mistakes unpaired;
  config::CheckProviderPair(raw, unpaired);
  if (!unpaired.empty()) AddLines(unpaired.ToError(), mistakes);
  if (const auto* config = raw.Text("image-credential-provider-config"))
    options.provider_config = Absolute(config->value);
  if (const auto* bin_dir = raw.Text("image-credential-provider-bin-dir"))
    options.provider_bin_dir = Absolute(bin_dir->value);
  if (const auto* root = raw.Text("kubelet-root"))
    options.docker_config_search.kubelet_root = Absolute(root->value);
  if (const auto* configs = raw.Texts("docker-config")) {
    for (const std::string& path : configs->value) options.docker_configs.push_back(Absolute(path));
  }
  if (raw.provider_environment) {
    for (const auto& [name, value] : *raw.provider_environment) {
      options.provider_environment[name] = std::string(value.Reveal());
    }
  }
  options.pull_secrets = raw.pull_secrets;
  options.kubelet_version = DeclaredKubeletVersion(raw, mistakes);
  return options;
}

namespace {

using image::RegistryAnswer;
using image::RegistryAnswerKind;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kMostQuestionsAtOnce = 16;  // over all registries
// Limits of this command's requests. They are larger than an agent's (R29), which every node of a fleet uses
// at the same time. An image takes two requests (R53).
constexpr registry::ThrottleLimits kTagThrottle{
    .checks = kMostQuestionsAtOnce, .requests_per_host = 8, .rate = {.per_second = 100, .burst = 100}};
// Added to the time that a registry names.
constexpr milliseconds kRetryMargin{50};

http::CurlOptions HttpFor(const config::GetEnv& get_env) {
  http::CurlOptions options = EnvironmentProxies(get_env);
  options.user_agent = "prefetchctl/" PREFETCH_VERSION;
  return options;
}

// One run. Its threads take one question after the other.
class TagResolver {
 public:
  TagResolver(const base::Call& call, const credentials::KeyringOptions& keyring,
              const config::GetEnv& get_env, const std::vector<TagQuery>& questions,
              const image::Platform& platform, std::ostream& err)
      : call_(call),
        questions_(questions),
        err_(err),
        http_(HttpFor(get_env)),
        keyring_(keyring, clock_),
        client_(http_, clock_, {.throttle = kTagThrottle}),
        crio_(http_, clock_, {.for_crio = true, .throttle = kTagThrottle}),
        platform_(platform) {
    const credentials::KeyringHealth health = keyring_.Health();
    lacks_providers_ = !health.unusable_provider_config.empty();
    for (const std::string& problem : health.problems) err_ << "warning: " << problem << "\n";
  }

  // Asks as `runtime` does. CRI-O's own rules for manifests are not known here, so a tag that CRI-O can ask
  // for is asked for in containerd's way, too, and a refusal of that becomes a warning.
  std::vector<RegistryAnswer> Run(NodeRuntime runtime) {
    return Each<RegistryAnswer>([this, runtime](const TagQuery& question) {
      const Asked of = Prepare(question);
      if (runtime == NodeRuntime::kContainerd) return Ask(client_, question, of);
      RegistryAnswer answer = Ask(crio_, question, of);
      if (answer.digest.empty()) return answer;
      RegistryAnswer strict = Ask(client_, question, of);
      if (strict.digest.empty()) answer.message = std::move(strict.message);
      return answer;
    });
  }

  std::vector<ManifestAnswer> Manifests() {
    return Each<ManifestAnswer>([this](const TagQuery& question) -> ManifestAnswer {
      const Asked of = Prepare(question);
      auto manifest = AskWithRetries<base::Result<image::ImageManifest>>(
          question, [&] { return client_.contents().FetchManifest(call_, of.question); },
          [&](const auto& got) { return got ? std::nullopt : client_.contents().RetryAfter(of.question); });
      if (!manifest) return {.manifest = std::nullopt, .error = Explain(manifest.error().message(), of)};
      return {.manifest = *std::move(manifest), .error = ""};
    });
  }

 private:
  struct Asked {
    image::RegistryQuestion question;
    credentials::Lookup lookup;
  };

  // Threads take questions one by one, so that a slow registry holds up only the threads that wait for it.
  template <typename Answer>
  std::vector<Answer> Each(const std::function<Answer(const TagQuery&)>& ask) {
    std::vector<Answer> answers(questions_.size());
    base::ParallelFor(kMostQuestionsAtOnce, questions_.size(),
                      [&](std::size_t i) { answers[i] = ask(questions_[i]); });
    return answers;
  }

  // Asks again for as long as the registry sends Retry-After, and the call has the time. `retry_after_of`
  // returns for how long.
  template <typename Answer>
  Answer AskWithRetries(const TagQuery& question, const std::function<Answer()>& ask,
                        const std::function<std::optional<base::Duration>(const Answer&)>& retry_after_of)
      PREFETCH_EXCLUDES(mutex_) {
    while (true) {
      Answer answer = ask();
      const std::optional<base::Duration> retry_after = retry_after_of(answer);
      // A wait beyond the deadline could only end without an answer.
      if (!retry_after || steady_clock::now() + *retry_after + kRetryMargin >= call_.deadline) return answer;
      ReportRateLimit(question.reference.domain(), std::chrono::ceil<milliseconds>(*retry_after));
      if (!base::Pause(call_, *retry_after + kRetryMargin)) return answer;
    }
  }

  // Names the plugins that gave no credential, which may be the reason.
  static std::string Explain(const std::string& message, const Asked& asked) {
    const std::string trouble = credentials::ProviderTrouble(asked.lookup);
    return trouble.empty() ? message : message + " (" + trouble + ")";
  }

  RegistryAnswer Ask(registry::Client& client, const TagQuery& question, const Asked& of) {
    if (steady_clock::now() >= call_.deadline)
      return {.kind = RegistryAnswerKind::kUnreachable, .message = Explain("no time was left to ask it", of)};
    auto answer = AskWithRetries<RegistryAnswer>(
        question, [&] { return client.Ask(call_, of.question); },
        [](const RegistryAnswer& got) -> std::optional<base::Duration> {
          return got.kind == RegistryAnswerKind::kRateLimited ? got.retry_after : std::nullopt;
        });
    if (answer.kind != RegistryAnswerKind::kAccessDenied) return answer;
    answer.message = Explain(answer.message, of);
    // The registry has seen no credential of a plugin that failed, so a pull may be admitted.
    answer.only_by_pull |= lacks_providers_ || credentials::LacksCredential(of.lookup);
    return answer;
  }

  Asked Prepare(const TagQuery& asked) {
    image::RegistryQuestion question{
        .reference = asked.reference, .local_digests = {}, .platform = platform_, .credentials = {}};
    question.fetches_manifest = true;  // a lock of what no node can pull would be worse than none
    // With the known digest, the client answers "same" or "moved", as for an image on a node.
    if (!asked.known_digest.empty()) question.local_digests.push_back(asked.known_digest);
    credentials::Lookup lookup = keyring_.Find(call_, {asked.reference, asked.sources});
    for (credentials::Credential& credential : lookup.credentials) {
      question.credentials.push_back(std::move(credential.auth));
    }
    return {std::move(question), std::move(lookup)};
  }

  // Reports a wait once for each time that a registry names, though several threads wait for it.
  void ReportRateLimit(const std::string& registry, milliseconds wait) PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    base::TimePoint until = steady_clock::now() + wait;
    base::TimePoint& reported_until = reported_until_[registry];
    if (until <= reported_until + kRetryMargin) return;
    reported_until = until;
    err_ << registry << " limits requests: continuing in "
         << base::HumanTime(std::chrono::ceil<std::chrono::seconds>(wait)) << std::endl;
  }

  const base::Call& call_;
  const std::vector<TagQuery>& questions_;
  std::ostream& err_;
  base::SystemClock clock_;
  http::CurlClient http_;
  credentials::Keyring keyring_;
  bool lacks_providers_ = false;  // their configuration cannot be used
  registry::Client client_, crio_;
  const image::Platform platform_;
  base::Mutex mutex_;
  std::map<std::string, base::TimePoint> reported_until_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace

std::vector<RegistryAnswer> ResolveTags(const base::Call& call, const credentials::KeyringOptions& keyring,
                                        const config::GetEnv& get_env, const std::vector<TagQuery>& questions,
                                        NodeRuntime runtime, std::ostream& err) {
  return TagResolver(call, keyring, get_env, questions, image::Platform::Host(), err).Run(runtime);
}

std::vector<ManifestAnswer> FetchManifests(const base::Call& call, const credentials::KeyringOptions& keyring,
                                           const config::GetEnv& get_env,
                                           const std::vector<TagQuery>& questions,
                                           const image::Platform& platform, std::ostream& err) {
  return TagResolver(call, keyring, get_env, questions, platform, err).Manifests();
}

}  // namespace prefetch::ctl
