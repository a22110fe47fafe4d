// ReadConfigFile: the AgentConfiguration document.
#include <algorithm>

#include "base/text.h"
#include "config/raw_config.h"
#include "doc/reader.h"
#include "doc/yaml.h"

namespace prefetch::config {
namespace {

using doc::Need;
using doc::ObjectReader;
using doc::Reader;
using std::chrono::hours;
using std::chrono::seconds;

constexpr int kMostParallelPulls = 64;
constexpr std::int64_t kMostDiskBytes = std::int64_t{1} << 50;

std::string Place(const Reader& value) {
  doc::Position at = value.node().at;
  return value.problems().source() + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": " +
         value.path();
}

std::optional<Said<std::string>> Text(ObjectReader& object, std::string_view key) {
  std::optional<Reader> value = object.Find(key);
  std::optional<std::string> text = value ? value->String() : std::nullopt;
  if (!text) return std::nullopt;
  return Said<std::string>{*std::move(text), Place(*value)};
}

std::optional<Said<bool>> Flag(ObjectReader& object, std::string_view key) {
  std::optional<Reader> value = object.Find(key);
  std::optional<bool> flag = value ? value->Bool() : std::nullopt;
  if (!flag) return std::nullopt;
  return Said<bool>{*flag, Place(*value)};
}

std::optional<Said<std::vector<std::string>>> Texts(ObjectReader& object, std::string_view key) {
  std::optional<Reader> value = object.Find(key);
  if (!value) return std::nullopt;
  return Said<std::vector<std::string>>{value->Strings(), Place(*value)};
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
  if (object.Has("allowRepositories") && secret.allow_repositories.empty()) {
    object.Fail("allowRepositories",
                "must name at least one repository: whatever is pulled with this secret is "
                "usable by every pod of the node");
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
    if (std::any_of(secrets.begin(), secrets.end(), same_name))
      item.Fail("has the name of another pull secret");
    secrets.push_back(std::move(secret));
  }
  return secrets;
}

template <typename T>
void ReadInt(ObjectReader& object, std::string_view key, doc::IntRange range, T& field) {
  if (auto value = object.Int(key, range)) field = static_cast<T>(*value);
}

void ReadSeconds(ObjectReader& object, std::string_view key, seconds& field) {
  if (auto value = object.Duration(key, {.least = seconds(1), .most = hours(24)})) {
    field = std::chrono::ceil<seconds>(*value);
  }
}

plan::Limits ReadLimits(ObjectReader object) {
  plan::Limits limits;
  doc::IntRange pulls{.least = 1, .most = kMostParallelPulls};
  ReadInt(object, "parallelPulls", pulls, limits.parallel_pulls);
  ReadInt(object, "parallelPullsWhenReady", pulls, limits.parallel_pulls_when_ready);
  ReadInt(object, "perRegistryPulls", pulls, limits.per_registry_pulls);
  ReadInt(object, "largeImageBytes", {.least = 1, .most = kMostDiskBytes}, limits.large_image_bytes);
  ReadInt(object, "diskMinFreeBytes", {.least = 0, .most = kMostDiskBytes}, limits.disk_min_free_bytes);
  if (auto percent = object.Int("diskHighPercent", {.least = 1, .most = 100})) {
    limits.disk_high_percent = static_cast<int>(*percent);
  }
  ReadSeconds(object, "stallTimeout", limits.stall_timeout);
  ReadSeconds(object, "pullLimit", limits.pull_limit);
  if (auto jitter = object.Duration("startJitter", {.least = seconds(0), .most = hours(24)})) {
    limits.start_jitter = std::chrono::ceil<seconds>(*jitter);
  }
  object.Finish();
  if (limits.parallel_pulls_when_ready > limits.parallel_pulls) {
    object.Fail("parallelPullsWhenReady",
                "must not be more than parallelPulls, which is " + std::to_string(limits.parallel_pulls));
  }
  if (limits.stall_timeout > limits.pull_limit) {
    object.Fail("stallTimeout", "must not be longer than pullLimit");
  }
  return limits;
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
  if (value.node().kind == doc::Node::Kind::kString) {
    raw.provider_environment_file = Said<std::string>{value.node().text, Place(value)};
    return;
  }
  raw.provider_environment.emplace();
  for (auto& [name, text] : value.StringMap()) {
    if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != std::string::npos) {
      value.Fail("must have names of environment variables as keys");
    }
    raw.provider_environment->emplace_back(name, base::Secret(std::move(text)));
  }
}

}  // namespace

std::optional<RawConfig> ReadConfigFile(std::string_view bytes, doc::Problems& problems) {
  RawConfig raw;
  std::optional<doc::Node> root = doc::ParseYaml(bytes, problems);
  if (!root) return std::nullopt;
  ObjectReader object(Reader(*root, problems));
  object.Expect("apiVersion", "prefetchd.dev/v1alpha1");
  object.Expect("kind", "AgentConfiguration");
  raw.list = Texts(object, "list");
  raw.runtime_endpoint = Text(object, "runtimeEndpoint");
  raw.image_credential_provider_config = Text(object, "imageCredentialProviderConfig");
  raw.image_credential_provider_bin_dir = Text(object, "imageCredentialProviderBinDir");
  raw.docker_config = Texts(object, "dockerConfig");
  raw.kubelet = Text(object, "kubelet");
  raw.kubelet_version = Text(object, "kubeletVersion");
  raw.kubelet_root = Text(object, "kubeletRoot");
  raw.kubelet_config = Text(object, "kubeletConfig");
  raw.kubelet_config_dir = Text(object, "kubeletConfigDir");
  raw.kubelet_verification = Text(object, "kubeletVerification");
  raw.kubelet_allowlist = Texts(object, "kubeletAllowlist");
  raw.audit_ignore = Texts(object, "auditIgnore");
  raw.kubelet_proc = Text(object, "kubeletProc");
  raw.kubelet_api = Flag(object, "kubeletApi");
  raw.kubelet_address = Text(object, "kubeletAddress");
  raw.kubelet_ca = Text(object, "kubeletCa");
  raw.kube_api = Flag(object, "kubeApi");
  raw.registry = Text(object, "registry");
  raw.registry_config_path = Text(object, "registryConfigPath");
  raw.registry_containerd_config = Text(object, "registryContainerdConfig");
  raw.registry_split_config_path = Flag(object, "registrySplitConfigPath");
  raw.registry_host_root = Text(object, "registryHostRoot");
  raw.registry_ca = Text(object, "registryCa");
  raw.registry_http_proxy = Text(object, "registryHttpProxy");
  raw.registry_https_proxy = Text(object, "registryHttpsProxy");
  raw.registry_no_proxy = Text(object, "registryNoProxy");
  raw.registry_trusted_mirrors = Texts(object, "registryTrustedMirrors");
  raw.registry_trusted_realms = Texts(object, "registryTrustedRealms");
  raw.registry_skip_mirrors = Flag(object, "registrySkipMirrors");
  raw.touch = Flag(object, "touch");
  raw.touch_image_volumes = Flag(object, "touchImageVolumes");
  raw.node_label = Flag(object, "nodeLabel");
  raw.node_result_label = Text(object, "nodeResultLabel");
  raw.node_condition = Flag(object, "nodeCondition");
  raw.startup_taint = Flag(object, "startupTaint");
  raw.accept_fleet_wide_node_writes = Flag(object, "acceptFleetWideNodeWrites");
  raw.gate_timeout = Text(object, "gateTimeout");
  raw.instance = Text(object, "instance");
  raw.check_pull = Flag(object, "checkPull");
  raw.listen = Text(object, "listen");
  raw.local = Text(object, "local");
  raw.once = Flag(object, "once");
  raw.timeout = Text(object, "timeout");
  raw.log_level = Text(object, "logLevel");
  raw.log_format = Text(object, "logFormat");
  if (auto secrets = object.Find("pullSecrets")) raw.pull_secrets = ReadPullSecrets(*secrets);
  if (auto account = object.Object("providerServiceAccount")) {
    raw.provider_service_account = ReadServiceAccount(*std::move(account));
  }
  if (auto environment = object.Find("providerEnvironment")) ReadProviderEnvironment(*environment, raw);
  if (auto limits = object.Object("limits")) raw.limits = ReadLimits(*std::move(limits));
  object.Finish();
  return raw;
}

}  // namespace prefetch::config
