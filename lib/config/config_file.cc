// ReadConfigFile: the AgentConfiguration document.
#include "config/config_file.h"

#include <algorithm>
#include <array>

#include "base/redactor.h"
#include "base/text.h"
#include "doc/reader.h"
#include "doc/yaml.h"
#include "image/reference.h"

namespace prefetch::config {

namespace {

using doc::Need;
using doc::ObjectReader;
using doc::Reader;
using std::chrono::seconds;

std::string Place(const Reader& value) {
  doc::Position at = value.node().at;
  // Values keep their place, since they are judged later, when flags and environment have been laid over
  // them.
  return value.problems().source() + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": " +
         value.path();
}

// Takes the field of one setting, if the document has it.
void Read(ObjectReader& object, const Setting& setting, RawConfig& raw) {
  std::optional<Reader> value = object.Find(FieldOf(setting));
  if (!value) return;
  switch (setting.kind()) {
    case SettingKind::kText:
      if (auto text = value->String()) raw.given[setting.name] = SourcedText{*std::move(text), Place(*value)};
      return;
    case SettingKind::kSwitch:
      if (auto flag = value->Bool()) raw.given[setting.name] = SourcedSwitch{*flag, Place(*value)};
      return;
    case SettingKind::kTexts:
      raw.given[setting.name] = SourcedTexts{value->Strings(), Place(*value)};
  }
}

PullSecret ReadPullSecret(const Reader& item) {
  ObjectReader object(item);
  PullSecret secret;
  secret.name = object.String("name", Need::kRequired).value_or("");
  secret.path = object.String("path", Need::kRequired).value_or("");
  secret.allow_repositories = object.Strings("allowRepositories", Need::kRequired);
  secret.sources = object.Strings("sources", Need::kRequired);
  if (object.Has("name") && secret.name.empty()) object.Fail("name", "must not be empty");
  if (object.Has("path") && !secret.path.starts_with('/')) object.Fail("path", "must be an absolute path");
  // Every pod of the node may use what is pulled with this secret (K28), so nothing is allowed by default.
  if (object.Has("allowRepositories") && secret.allow_repositories.empty()) {
    object.Fail(
        "allowRepositories",
        "must name at least one repository: every pod of the node can use images pulled with this secret");
  }
  for (const std::string& pattern : secret.allow_repositories) {
    // It would be a path on a host called https, which nothing matches.
    if (pattern.find("://") == std::string::npos) continue;
    object.Fail("allowRepositories", "must be repositories without a scheme, such as harbor.example/team");
  }
  if (object.Has("sources") && secret.sources.empty()) {
    object.Fail("sources",
                "must name at least one source of the list: nothing else is pulled with this secret");
  }
  object.Finish();
  return secret;
}

std::vector<PullSecret> ReadPullSecrets(const Reader& list) {
  std::vector<PullSecret> secrets;
  for (const Reader& item : list.Items()) {
    PullSecret secret = ReadPullSecret(item);
    auto same_name = [&](const PullSecret& other) {
      return !other.name.empty() && other.name == secret.name;
    };
    // Status and log name secrets by this name.
    if (std::any_of(secrets.begin(), secrets.end(), same_name))
      item.Fail("has the name of another pull secret");
    secrets.push_back(std::move(secret));
  }
  return secrets;
}

// Each ReadLimit takes one field of `limits`.
template <typename T>
void ReadLimit(ObjectReader& object, const LimitField& field, T& limit) {
  if (auto value = object.Int(field.name, {.least = field.least, .most = field.most})) {
    limit = static_cast<T>(*value);
  }
}

void ReadLimit(ObjectReader& object, const LimitField& field, seconds& limit) {
  if (auto value =
          object.Duration(field.name, {.least = seconds(field.least), .most = seconds(field.most)})) {
    // Rounded up: 500 ms must not become 0.
    limit = std::chrono::ceil<seconds>(*value);
  }
}

plan::Limits ReadLimits(ObjectReader object) {
  plan::Limits limits;
  const bool bounded = object.Has("parallelPulls") || object.Has("perRegistryPulls");
  const bool says_far = object.Has("parallelPullsFar");
  for (const LimitField& field : LimitFields()) {
    std::visit([&](auto member) { ReadLimit(object, field, limits.*member); }, field.member);
  }
  object.Finish();
  // An operator who limits pulls means all of them, also those from far registries.
  if (bounded && !says_far) limits.parallel_pulls_far = limits.parallel_pulls;
  if (limits.parallel_pulls_when_ready > limits.parallel_pulls) {
    object.Fail("parallelPullsWhenReady",
                "must not be more than parallelPulls, which is " + std::to_string(limits.parallel_pulls));
  }
  // No pull would ever count as stalled.
  if (limits.stall_timeout > limits.pull_limit) {
    object.Fail("stallTimeout", "must not be longer than pullLimit");
  }
  return limits;
}

std::vector<std::string> ReadPatterns(ObjectReader& object, std::string_view key) {
  std::vector<std::string> patterns;
  for (const Reader& item : object.Items(key)) {
    std::string pattern = item.String().value_or("");
    // A broken pattern would match nothing, and keep all pods out without a word.
    if (!image::CheckPattern(pattern)) item.Fail("must be a name, or a pattern with *");
    patterns.push_back(std::move(pattern));
  }
  if (patterns.size() > kMostPreflightPatterns) {
    object.Fail(key, "must have at most " + std::to_string(kMostPreflightPatterns) + " patterns");
  }
  return patterns;
}

plan::CallerRules ReadPreflight(ObjectReader object) {
  using plan::AnswerSource;
  using plan::PullFor;
  plan::CallerRules rules;
  rules.namespaces = ReadPatterns(object, "namespaces");
  rules.service_accounts = ReadPatterns(object, "serviceAccounts");
  for (const std::string& account : rules.service_accounts) {
    // A name alone would admit accounts of that name from every namespace.
    if (account.find('/') == std::string::npos) {
      object.Fail("serviceAccounts",
                  "must be patterns of NAMESPACE/NAME, and \"" + account + "\" has no slash");
    }
  }
  const doc::EnumNames<AnswerSource> sources = {{"known", AnswerSource::kKnown}, {"ask", AnswerSource::kAsk}};
  rules.always = object.Enum("always", sources).value_or(rules.always);
  rules.unlisted = object.Enum("unlisted", sources).value_or(rules.unlisted);
  rules.pull =
      object
          .Enum<PullFor>("pull",
                         {{"never", PullFor::kNever}, {"listed", PullFor::kListed}, {"any", PullFor::kAny}})
          .value_or(rules.pull);
  // A pull shows whether the image exists, which "known" is to hide.
  if (rules.pull == PullFor::kAny && rules.unlisted != AnswerSource::kAsk) {
    object.Fail("pull", "\"any\" needs unlisted: ask, since a pull reveals the image's state");
  }
  object.Finish();
  return rules;
}

ProviderServiceAccount ReadServiceAccount(ObjectReader object) {
  ProviderServiceAccount account{.name_space = object.String("namespace", Need::kRequired).value_or(""),
                                 .name = object.String("name", Need::kRequired).value_or("")};
  if (object.Has("namespace") && account.name_space.empty()) object.Fail("namespace", "must not be empty");
  if (object.Has("name") && account.name.empty()) object.Fail("name", "must not be empty");
  object.Finish();
  return account;
}

void ReadProviderEnvironment(const Reader& value, RawConfig& raw) {
  // A text is the path of an EnvironmentFile, a mapping the variables themselves.
  if (value.node().kind == doc::Node::Kind::kString) {
    raw.provider_environment_file = SourcedText{value.node().text, Place(value)};
    return;
  }
  raw.provider_environment.emplace();
  for (auto& [name, text] : value.StringMap()) {
    if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != std::string::npos) {
      value.Fail("must have names of environment variables as keys");
    }
    // Plugins get their passwords by such variables.
    base::RememberVariable(name, text);
    raw.provider_environment->emplace_back(name, base::Secret(std::move(text)));
  }
}

}  // namespace

std::optional<RawConfig> ReadConfigFile(std::string_view bytes, doc::Problems& problems) {
  RawConfig raw;
  std::optional<doc::Node> root = doc::ParseYaml(bytes, problems);
  if (!root) return std::nullopt;
  ObjectReader object(Reader(*root, problems));
  // A document of another kind would otherwise give dozens of errors about unknown fields.
  object.Expect("apiVersion", "prefetchd.dev/v1alpha1");
  object.Expect("kind", "AgentConfiguration");
  // The table of settings is the only list of fields; those that only the file has follow below.
  for (const Setting& setting : kSettings) {
    if (setting.place != SettingPlace::kNotInFile) Read(object, setting, raw);
  }
  if (auto secrets = object.Find("pullSecrets")) raw.pull_secrets = ReadPullSecrets(*secrets);
  if (auto account = object.Object("providerServiceAccount")) {
    raw.provider_service_account = ReadServiceAccount(*std::move(account));
  }
  if (auto environment = object.Find("providerEnvironment")) ReadProviderEnvironment(*environment, raw);
  if (auto limits = object.Object("limits")) raw.limits = ReadLimits(*std::move(limits));
  if (auto rules = object.Object("preflight")) raw.preflight = ReadPreflight(*std::move(rules));
  object.Finish();
  return raw;
}

namespace {

constexpr std::int64_t kMostParallelPulls = 64;
constexpr std::int64_t kMostDiskBytes = std::int64_t{1} << 50;
// Less would look like a registry that hangs.
constexpr std::int64_t kLeastDownloadRate = 1'000'000;
constexpr std::int64_t kMostSeconds = plan::kLongestLimit.count();

constexpr std::array kLimitFields = {
    LimitField{"parallelPulls", &plan::Limits::parallel_pulls, 1, kMostParallelPulls,
               "Pulls at a time, until every entry was usable once, or keeps failing"},
    LimitField{"parallelPullsWhenReady", &plan::Limits::parallel_pulls_when_ready, 1, kMostParallelPulls,
               "Pulls at a time afterwards, at most parallelPulls"},
    LimitField{"perRegistryPulls", &plan::Limits::per_registry_pulls, 1, kMostParallelPulls,
               "Pulls at a time from one registry"},
    LimitField{"parallelPullsFar", &plan::Limits::parallel_pulls_far, 1, kMostParallelPulls,
               "Pulls at a time, in all and from each far registry, until parallelPullsWhenReady counts. "
               "A registry is far if the first manifests take longer than 250 ms. parallelPulls or less: "
               "no more for far ones",
               "8, or parallelPulls if that or perRegistryPulls is set"},
    LimitField{"largeImageBytes", &plan::Limits::large_image_bytes, 1, kMostDiskBytes,
               "On a settled node, the agent pulls at most one image larger than this at a time"},
    LimitField{"diskMinFreeBytes", &plan::Limits::disk_min_free_bytes, 0, kMostDiskBytes,
               "Free bytes of the image filesystem that every pull must leave"},
    LimitField{"diskHighPercent", &plan::Limits::disk_high_percent, 1, 100,
               "Usage of the image filesystem that no pull may exceed. If kubelet's "
               "imageGCLowThresholdPercent is lower, that counts",
               "kubelet's threshold, or 80 if it is not known"},
    LimitField{"stallTimeout", &plan::Limits::stall_timeout, 1, kMostSeconds,
               "Time without progress after which the agent replaces a pull, if the runtime shows progress. "
               "At most pullLimit"},
    LimitField{"pullLimit", &plan::Limits::pull_limit, 1, kMostSeconds,
               "Maximum time of a pull whose progress the runtime shows"},
    LimitField{"startJitter", &plan::Limits::start_jitter, 0, kMostSeconds,
               "A node begins to pull a new list at a random moment within this time. For fleets of more "
               "than about 500 nodes"},
    LimitField{"downloadBytesPerSecond", &plan::Limits::download_bytes_per_second, kLeastDownloadRate,
               kMostDiskBytes,
               "Bytes a second that the agent itself downloads, with fetch: auto. 50000000 is 50 MB/s",
               "no limit"},
};

}  // namespace

std::span<const LimitField> LimitFields() {
  return kLimitFields;
}

}  // namespace prefetch::config
