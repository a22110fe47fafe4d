#include "config/agent_config.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "config/judge.h"
#include "config/raw_config.h"
#include "config/settings.h"
#include "doc/duration.h"
#include "image/name_pattern.h"

namespace prefetch::config {
namespace {

constexpr std::size_t kLongestSocketPath = 107;  // sun_path of sockaddr_un, without its zero
constexpr std::uint64_t kHighestPort = 65535;
constexpr std::size_t kMostAuditPatterns = 100;

using SaidText = std::optional<Said<std::string>>;
using SaidTexts = std::optional<Said<std::vector<std::string>>>;

std::string Path(const SaidText& said, Mistakes& mistakes) {
  if (!said) return "";
  if (!said->value.starts_with('/')) mistakes.Add(said->by, "must be an absolute path");
  return said->value;
}

std::string Endpoint(const SaidText& said, Mistakes& mistakes) {
  constexpr std::string_view kScheme = "unix://";
  if (!said) return "";
  std::string_view path = said->value;
  if (path.starts_with(kScheme)) path.remove_prefix(kScheme.size());
  if (!path.starts_with('/')) {
    mistakes.Add(said->by, "must be unix:// and the absolute path of the runtime's socket");
  } else if (path.size() > kLongestSocketPath) {
    mistakes.Add(said->by, "the path of a socket has at most 107 bytes");
  }
  return std::string(kScheme) + std::string(path);
}

std::string SocketPath(const SaidText& said, Mistakes& mistakes) {
  if (!said) return kDefaultLocal;
  std::string path = Path(said, mistakes);
  if (path.size() > kLongestSocketPath) mistakes.Add(said->by, "the path of a socket has at most 107 bytes");
  return path;
}

std::optional<ListenAddress> HostPort(const std::string& text) {
  std::size_t colon = text.rfind(':');
  std::string host = text.substr(0, colon == std::string::npos ? 0 : colon);
  std::optional<std::uint64_t> port;
  if (colon != std::string::npos) port = base::ParseUint(std::string_view(text).substr(colon + 1));
  bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  bool host_ok = bracketed || host.find_first_of(":[]") == std::string::npos;
  if (!port || *port > kHighestPort || !host_ok) return std::nullopt;
  return ListenAddress{host, static_cast<int>(*port)};
}

ListenAddress Listen(const SaidText& said, Mistakes& mistakes) {
  if (auto address = HostPort(said ? said->value : kDefaultListen)) return *address;
  mistakes.Add(said ? said->by : "--listen", "must be host:port, such as 127.0.0.1:9477 or [::1]:9477");
  return {};
}

bool IsOn(const std::optional<Said<bool>>& said) {
  return said && said->value;
}

RegistryMode WhichRegistry(const SaidText& said, Mistakes& mistakes) {
  if (!said || said->value == "auto") return RegistryMode::kAuto;
  if (said->value == "pull") return RegistryMode::kPull;
  if (said->value != "none") mistakes.Add(said->by, "must be auto, pull or none");
  return RegistryMode::kNone;
}

// What is said on a command line or in an environment is seen by others: no password there.
std::string Proxy(const SaidText& said, Mistakes& mistakes) {
  if (!said) return "";
  bool url = said->value.starts_with("http://") || said->value.starts_with("https://");
  if (!url) mistakes.Add(said->by, "must be a URL such as http://proxy.acme.io:3128");
  bool open = said->by.starts_with("--") || said->by.starts_with("PREFETCHD_");
  if (url && open && said->value.find('@') != std::string::npos) {
    mistakes.Add(said->by, "must not hold a password: put such a proxy into the configuration file");
  }
  return said->value;
}

RegistryConfig JudgeRegistry(const RawConfig& raw, Mistakes& mistakes) {
  RegistryConfig config;
  config.mode = WhichRegistry(raw.registry, mistakes);
  if (raw.registry_config_path) config.config_path = raw.registry_config_path->value;
  if (!config.config_path.empty() && !config.config_path.starts_with('/')) {
    mistakes.Add(raw.registry_config_path->by,
                 "must be containerd's config_path: absolute, or several with :");
  }
  config.containerd_config = Path(raw.registry_containerd_config, mistakes);
  config.registries_conf = Path(raw.registries_conf, mistakes);
  config.split_config_path = IsOn(raw.registry_split_config_path);
  config.host_root = Path(raw.registry_host_root, mistakes);
  config.ca = Path(raw.registry_ca, mistakes);
  config.http_proxy = Proxy(raw.registry_http_proxy, mistakes);
  config.https_proxy = Proxy(raw.registry_https_proxy, mistakes);
  if (raw.registry_no_proxy) config.no_proxy = raw.registry_no_proxy->value;
  if (raw.registry_trusted_mirrors) config.trusted_mirrors = raw.registry_trusted_mirrors->value;
  if (raw.registry_trusted_realms) config.trusted_realms = raw.registry_trusted_realms->value;
  config.skip_mirrors = IsOn(raw.registry_skip_mirrors);
  return config;
}

Kubelet WhichKubelet(const RawConfig& raw, Mistakes& mistakes) {
  if (!raw.kubelet || raw.kubelet->value == "auto") return Kubelet::kAuto;
  if (raw.kubelet->value != "none") {
    mistakes.Add(raw.kubelet->by, "must be none or auto");
    return Kubelet::kAuto;
  }
  auto must_be_open = [&](const auto& said) {
    if (said)
      mistakes.Add(said->by, "says something of a kubelet, and --kubelet=none says that there is none");
  };
  must_be_open(raw.kubelet_root);
  must_be_open(raw.kubelet_config);
  must_be_open(raw.kubelet_config_dir);
  must_be_open(raw.kubelet_verification);
  must_be_open(raw.kubelet_allowlist);
  must_be_open(raw.kubelet_proc);
  if (IsOn(raw.kubelet_api)) must_be_open(raw.kubelet_api);
  return Kubelet::kNone;
}

std::optional<kubelet::VerificationPolicy> Verification(const SaidText& said, Mistakes& mistakes) {
  if (!said) return std::nullopt;
  auto policy = kubelet::ParseVerificationPolicy(said->value);
  if (!policy) {
    mistakes.Add(said->by,
                 "must be NeverVerify, NeverVerifyPreloadedImages, NeverVerifyAllowlistedImages or "
                 "AlwaysVerify");
  }
  return policy;
}

// Where kubelet's own port is, and whom to believe that it is kubelet's.
void JudgeKubeletApi(const RawConfig& raw, AgentConfig& config, Mistakes& mistakes) {
  config.kubelet_api = IsOn(raw.kubelet_api);
  config.kubelet_ca = Path(raw.kubelet_ca, mistakes);
  if (raw.kubelet_address) {
    auto address = HostPort(raw.kubelet_address->value);
    if (!address || address->host.empty() || address->port == 0) {
      mistakes.Add(raw.kubelet_address->by, "must be host:port, such as 10.0.0.7:10250");
    } else {
      config.kubelet_address = *address;
    }
  }
  if (config.kubelet_api) return;
  for (const SaidText* said : {&raw.kubelet_address, &raw.kubelet_ca}) {
    if (*said) mistakes.Add((*said)->by, "has a meaning only with --kubelet-api");
  }
}

// What no kubelet would start with, a declared allowlist included.
void CheckDeclared(const RawConfig& raw, const AgentConfig& config, Mistakes& mistakes) {
  if (!raw.kubelet_verification && !raw.kubelet_allowlist) return;
  if (raw.kubelet_allowlist && !raw.kubelet_verification) {
    mistakes.Add(raw.kubelet_allowlist->by,
                 "needs --kubelet-verification NeverVerifyAllowlistedImages beside it");
    return;
  }
  kubelet::SettingsFacts facts{.policy = config.kubelet_verification, .allowlist = config.kubelet_allowlist};
  facts.rules = config.kubelet_rules;
  if (auto version = image::KubeletVersion::Parse(config.kubelet_version)) facts.version = *version;
  if (auto possible = kubelet::PossibleSettings(facts); !possible) {
    const std::string& by = raw.kubelet_allowlist ? raw.kubelet_allowlist->by : raw.kubelet_verification->by;
    mistakes.Add(by, possible.error().message());
  }
}

std::string KubeletVersion(const SaidText& said, Mistakes& mistakes) {
  if (!said) return "";
  base::Result<std::string> version = CheckedKubeletVersion(said->value);
  if (version) return *std::move(version);
  mistakes.Add(said->by, version.error().message());
  return "";
}

std::optional<image::KubeletVersion> KubeletRules(const SaidText& said, Mistakes& mistakes) {
  if (!said) return std::nullopt;
  base::Result<image::KubeletVersion> rules = CheckedKubeletRules(said->value);
  if (rules) return *rules;
  mistakes.Add(said->by, rules.error().message());
  return std::nullopt;
}

std::optional<std::chrono::nanoseconds> Timeout(const SaidText& said, bool once, Mistakes& mistakes) {
  if (!said) return std::nullopt;
  std::optional<std::chrono::nanoseconds> timeout = doc::ParseDuration(said->value);
  if (!timeout || timeout->count() <= 0) {
    mistakes.Add(said->by, "must be a duration such as \"90s\" or \"1h30m\"");
  } else if (!once) {
    mistakes.Add(said->by, "has a meaning only with --once");
  }
  return timeout;
}

base::LogLevel LogLevel(const SaidText& said, Mistakes& mistakes) {
  if (!said || said->value == "info") return base::LogLevel::kInfo;
  if (said->value == "debug") return base::LogLevel::kDebug;
  if (said->value == "warning") return base::LogLevel::kWarning;
  if (said->value == "error") return base::LogLevel::kError;
  mistakes.Add(said->by, "must be debug, info, warning or error");
  return base::LogLevel::kInfo;
}

std::optional<base::LogFormat> LogFormat(const SaidText& said, Mistakes& mistakes) {
  if (!said || said->value == "auto") return std::nullopt;
  if (said->value == "json") return base::LogFormat::kJson;
  if (said->value == "plain") return base::LogFormat::kPlain;
  mistakes.Add(said->by, "must be auto, json or plain");
  return std::nullopt;
}

void CheckProviderPair(const RawConfig& raw, Mistakes& mistakes) {
  const SaidText& config = raw.image_credential_provider_config;
  const SaidText& bin_dir = raw.image_credential_provider_bin_dir;
  if (config && !bin_dir) mistakes.Add(config->by, "needs --image-credential-provider-bin-dir beside it");
  if (bin_dir && !config) mistakes.Add(bin_dir->by, "needs --image-credential-provider-config beside it");
}

// A label's name (after its prefix): a qualified name (credentials' rule A6).
bool IsLabelName(const std::string& name) {
  auto fits = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  bool middle = std::all_of(name.begin(), name.end(),
                            [&](char c) { return fits(c) || c == '-' || c == '_' || c == '.'; });
  return !name.empty() && name.size() <= 63 && middle && fits(name.front()) && fits(name.back());
}

// With a prefix, and not one of Kubernetes' own: schedulers and controllers go by those.
bool IsLabelKey(const std::string& key) {
  std::size_t slash = key.find('/');
  if (slash == std::string::npos || slash > 253) return false;
  std::string prefix = key.substr(0, slash);
  auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'; };
  bool domain = prefix.find('.') != std::string::npos && std::all_of(prefix.begin(), prefix.end(), fits) &&
                prefix.front() != '.' && prefix.front() != '-' && prefix.back() != '.' &&
                prefix.back() != '-' && prefix.find("..") == std::string::npos;
  bool theirs = ("." + prefix).ends_with(".kubernetes.io") || ("." + prefix).ends_with(".k8s.io");
  return domain && !theirs && IsLabelName(key.substr(slash + 1));
}

void JudgeTouch(const RawConfig& raw, AgentConfig& config, Mistakes& mistakes) {
  config.registry = JudgeRegistry(raw, mistakes);
  config.touch = IsOn(raw.touch);
  config.touch_image_volumes = IsOn(raw.touch_image_volumes);
  config.check_pull = IsOn(raw.check_pull);
  if (config.touch && config.kubelet == Kubelet::kNone) {
    mistakes.Add(raw.touch->by, "lets kubelet record images, and --kubelet=none says that there is none");
  }
  if (config.touch_image_volumes && !config.touch) {
    mistakes.Add(raw.touch_image_volumes->by, "has a meaning only with --touch");
  }
}

void JudgeGate(const RawConfig& raw, AgentConfig& config, Mistakes& mistakes) {
  config.gate.label = IsOn(raw.node_label);
  if (raw.node_result_label) {
    config.gate.result_label = raw.node_result_label->value;
    if (!IsLabelKey(config.gate.result_label)) {
      mistakes.Add(raw.node_result_label->by, "must be a label of a domain of yours: example.com/name");
    }
  }
  config.gate.condition = IsOn(raw.node_condition);
  config.gate.taint = IsOn(raw.startup_taint);
  config.kube_api = IsOn(raw.kube_api) || config.gate.Any() || config.kubelet_api ||
                    config.provider_service_account || config.touch;
  config.accept_fleet_wide_node_writes = IsOn(raw.accept_fleet_wide_node_writes);
  if (raw.instance) {
    config.gate.instance = raw.instance->value;
    if (!IsLabelName(config.gate.instance)) {
      mistakes.Add(raw.instance->by,
                   "must be a label's name: at most 63 letters, digits, dots, dashes, underscores");
    }
  }
  if (!raw.gate_timeout) return;
  std::optional<std::chrono::nanoseconds> timeout = doc::ParseDuration(raw.gate_timeout->value);
  if (!timeout || timeout->count() <= 0) {
    mistakes.Add(raw.gate_timeout->by, "must be a duration such as \"15m\"");
  } else {
    config.gate.timeout = std::chrono::ceil<std::chrono::seconds>(*timeout);
  }
}

void JudgeAudit(const RawConfig& raw, AgentConfig& config, Mistakes& mistakes) {
  if (!raw.audit_ignore) return;
  config.audit_ignore = raw.audit_ignore->value;
  if (config.audit_ignore.size() > kMostAuditPatterns) {
    mistakes.Add(raw.audit_ignore->by, "must be at most " + std::to_string(kMostAuditPatterns) + " patterns");
  }
  for (const std::string& pattern : config.audit_ignore) {
    if (base::Status good = image::CheckPattern(pattern); !good)
      mistakes.Add(raw.audit_ignore->by, good.error().message());
  }
}

}  // namespace

AgentConfig Judge(const RawConfig& raw, Mistakes& mistakes) {
  AgentConfig config;
  if (raw.list) config.lists = raw.list->value;
  if (config.lists.empty()) mistakes.Add("--list", "at least one file or directory is needed");
  for (const std::string& path : config.lists) {
    if (path.empty()) mistakes.Add(raw.list->by, "must not be empty");
  }
  config.runtime_endpoint = Endpoint(raw.runtime_endpoint, mistakes);
  config.image_credential_provider_config = Path(raw.image_credential_provider_config, mistakes);
  config.image_credential_provider_bin_dir = Path(raw.image_credential_provider_bin_dir, mistakes);
  CheckProviderPair(raw, mistakes);
  if (raw.docker_config) config.docker_configs = raw.docker_config->value;
  for (const std::string& path : config.docker_configs) {
    if (!path.starts_with('/')) mistakes.Add(raw.docker_config->by, "must be an absolute path");
  }
  config.kubelet = WhichKubelet(raw, mistakes);
  config.kubelet_version = KubeletVersion(raw.kubelet_version, mistakes);
  config.kubelet_rules = KubeletRules(raw.kubelet_rules, mistakes);
  config.kubelet_root = Path(raw.kubelet_root, mistakes);
  config.kubelet_config = Path(raw.kubelet_config, mistakes);
  config.kubelet_config_dir = Path(raw.kubelet_config_dir, mistakes);
  config.kubelet_verification = Verification(raw.kubelet_verification, mistakes);
  if (raw.kubelet_allowlist) config.kubelet_allowlist = raw.kubelet_allowlist->value;
  config.kubelet_proc = Path(raw.kubelet_proc, mistakes);
  if (config.kubelet == Kubelet::kAuto) CheckDeclared(raw, config, mistakes);
  JudgeKubeletApi(raw, config, mistakes);
  config.provider_service_account = raw.provider_service_account;
  JudgeTouch(raw, config, mistakes);
  JudgeGate(raw, config, mistakes);
  JudgeAudit(raw, config, mistakes);
  config.listen = Listen(raw.listen, mistakes);
  config.local = SocketPath(raw.local, mistakes);
  config.once = raw.once && raw.once->value;
  config.timeout = Timeout(raw.timeout, config.once, mistakes);
  config.core_dumps = IsOn(raw.core_dumps);
  config.log_level = LogLevel(raw.log_level, mistakes);
  config.log_format = LogFormat(raw.log_format, mistakes);
  config.pull_secrets = raw.pull_secrets.value_or(std::vector<PullSecret>());
  config.provider_environment = raw.provider_environment.value_or(PluginEnvironment());
  config.limits = raw.limits.value_or(plan::Limits());
  return config;
}

std::string AgentConfig::LeaseOwner() const {
  // Two agents in containers of their own may have the same path. One without a name of its own goes on with
  // the leases that an agent before this release has left.
  if (gate.instance == plan::GateOptions().instance) return local;
  return local + "\n" + gate.instance;
}

}  // namespace prefetch::config
