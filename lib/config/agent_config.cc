#include "config/agent_config.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <tuple>
#include <type_traits>
#include <variant>

#include "base/enum_name.h"
#include "base/fs.h"
#include "base/go_url.h"
#include "base/label_syntax.h"
#include "base/redactor.h"
#include "config/config_file.h"
#include "doc/duration.h"
#include "image/pod_coordinates.h"
#include "image/reference.h"

namespace prefetch::config {

namespace {

constexpr std::uint64_t kHighestPort = 65535;

// Each of these returns an empty string if nothing is set.
std::string AbsolutePath(const SourcedText* given, Mistakes& mistakes) {
  if (!given) return "";
  if (!given->value.starts_with('/')) mistakes.Add(given->source, "must be an absolute path");
  return given->value;
}

// Command lines and environments are visible to other processes, so a proxy's password is accepted from the
// file only.
std::string ProxyUrl(const SourcedText* given, Mistakes& mistakes) {
  if (!given) return "";
  bool url = given->value.starts_with("http://") || given->value.starts_with("https://");
  if (!url) mistakes.Add(given->source, "must be a URL such as http://proxy.acme.io:3128");
  bool open = given->source.starts_with("--") || given->source.starts_with("PREFETCHD_");
  if (url && open && given->value.find('@') != std::string::npos) {
    mistakes.Add(given->source, "must not hold a password: put such a proxy into the configuration file");
  }
  return given->value;
}

// These return the default if nothing is set.
std::string SocketPath(const SourcedText* given, Mistakes& mistakes) {
  if (!given) return kDefaultLocal;
  std::string path = AbsolutePath(given, mistakes);
  // The limit of unix(7) (C8).
  if (path.size() > base::kLongestSocketPath)
    mistakes.Add(given->source, "the path of a socket has at most 107 bytes");
  return path;
}

ListenAddress ListenAt(const SourcedText* given, Mistakes& mistakes) {
  if (auto address = ParseHostPort(given ? given->value : kDefaultListen)) return *address;
  mistakes.Add(given ? given->source : "--listen", "must be host:port, such as 127.0.0.1:9477 or [::1]:9477");
  return {};
}

// Returns what `check` makes of the text; nullopt if nothing is set, or with a mistake added.
template <typename T>
std::optional<T> Checked(const SourcedText* given, base::Result<T> (*check)(std::string_view),
                         Mistakes& mistakes) {
  if (!given) return std::nullopt;
  base::Result<T> checked = check(given->value);
  if (checked) return *std::move(checked);
  mistakes.Add(given->source, checked.error().message());
  return std::nullopt;
}

// Sets the members that the rows of settings name. Absent settings leave the defaults.
void SetAsGiven(const RawConfig& raw, AgentConfig& config) {
  const auto parts = std::tie(config, config.registry, config.gate, config.declared);
  auto set = [&]<typename T, typename Part>(T Part::*member, const GivenValue& given) {
    std::get<Part&>(parts).*member = std::get<SourcedValue<T>>(given).value;
  };
  for (const auto& given : raw.given) {
    std::visit(
        [&](auto member) {
          if constexpr (!std::is_same_v<decltype(member), std::monostate>) set(member, given.second);
        },
        SettingNamed(given.first).sets);
  }
}

// Rejects relative paths among those of these settings that SetAsGiven takes.
void CheckPaths(const RawConfig& raw, std::span<const Setting> settings, Mistakes& mistakes) {
  for (const Setting& setting : settings) {
    const auto given = raw.given.find(setting.name);
    const bool is_path = setting.sets.index() != 0 && std::string_view(setting.pattern) == kPath;
    if (given == raw.given.end() || !is_path) continue;
    if (const auto* text = std::get_if<SourcedText>(&given->second)) AbsolutePath(text, mistakes);
  }
}

// Returns the enumerator that has the name of the given word; nullopt if nothing is set, or if it is none of
// the setting's words.
template <typename E>
std::optional<E> WordOf(const RawConfig& raw, NameOf<SettingKind::kText> name, Mistakes& mistakes) {
  const SourcedText* given = raw.Text(name);
  if (!given) return std::nullopt;
  const std::vector<std::string> words = WordsOf(SettingNamed(name.text));
  if (std::find(words.begin(), words.end(), given->value) != words.end())
    return base::EnumNamed<E>(given->value, base::EqualsIgnoreCase);
  mistakes.Add(given->source, "must be " + base::JoinOr({words.begin(), words.end()}));
  return std::nullopt;
}

void SetRegistry(const RawConfig& raw, RegistryConfig& config, Mistakes& mistakes) {
  // An unknown word counts as "none" for the rest of the validation, which then asks for nothing more.
  config.mode = WordOf<RegistryMode>(raw, "registry", mistakes)
                    .value_or(raw.Text("registry") ? RegistryMode::kNone : RegistryMode::kAuto);
  if (!config.config_path.empty() && !config.config_path.starts_with('/')) {
    mistakes.Add(raw.Text("registry-config-path")->source,
                 "must be containerd's config_path: absolute, or several with :");
  }
  CheckPaths(raw, kRegistrySettings, mistakes);
  config.http_proxy = ProxyUrl(raw.Text("registry-http-proxy"), mistakes);
  config.https_proxy = ProxyUrl(raw.Text("registry-https-proxy"), mistakes);
}

KubeletMode KubeletModeOf(const RawConfig& raw, Mistakes& mistakes) {
  if (WordOf<KubeletMode>(raw, "kubelet", mistakes) != KubeletMode::kNone) return KubeletMode::kAuto;
  // A declaration about a kubelet that does not exist shows a misunderstanding, so it is not ignored.
  auto must_be_unset = [&](const auto* given) {
    if (given) mistakes.Add(given->source, "needs a kubelet, and --kubelet=none declares that there is none");
  };
  must_be_unset(raw.Text("kubelet-root"));
  must_be_unset(raw.Text("kubelet-config"));
  must_be_unset(raw.Text("kubelet-config-dir"));
  must_be_unset(raw.Text("kubelet-verification"));
  must_be_unset(raw.Texts("kubelet-allowlist"));
  must_be_unset(raw.Text("kubelet-proc"));
  // Only "true" is a contradiction; files for a whole fleet may state the default.
  if (const SourcedSwitch* api = raw.Switch("kubelet-api"); api && api->value) must_be_unset(api);
  return KubeletMode::kNone;
}

// Judges the address of kubelet's own port and the authority of its certificate.
void CheckKubeletApi(const RawConfig& raw, AgentConfig& config, Mistakes& mistakes) {
  config.kubelet_ca = AbsolutePath(raw.Text("kubelet-ca"), mistakes);
  if (const SourcedText* given = raw.Text("kubelet-address")) {
    auto address = ParseHostPort(given->value);
    if (!address || address->host.empty() || address->port == 0) {
      mistakes.Add(given->source, "must be host:port, such as 10.0.0.7:10250");
    } else {
      config.kubelet_address = *address;
    }
  }
  // Settings that have no effect are mistakes: the operator expects one.
  if (config.kubelet_api) return;
  for (const SourcedText* given : {raw.Text("kubelet-address"), raw.Text("kubelet-ca")}) {
    if (given) mistakes.Add(given->source, "has a meaning only with --kubelet-api");
  }
}

// Rejects declared settings with which no kubelet would start, an allowlist included.
void CheckDeclared(const RawConfig& raw, const AgentConfig& config, Mistakes& mistakes) {
  const SourcedText* verification = raw.Text("kubelet-verification");
  const SourcedTexts* allowlist = raw.Texts("kubelet-allowlist");
  if (!verification && !allowlist) return;
  if (!verification) {
    mistakes.Add(allowlist->source, "needs --kubelet-verification NeverVerifyAllowlistedImages beside it");
    return;
  }
  kubelet::SettingsFacts facts{.policy = config.declared.policy, .allowlist = config.declared.allowlist};
  facts.rules = config.declared.rules;
  facts.version = config.declared.version;
  // kubelet itself would not start with these (K8), so the declaration cannot be true.
  if (auto possible = kubelet::PossibleSettings(facts); !possible) {
    mistakes.Add(allowlist ? allowlist->source : verification->source, possible.error().message());
  }
}

std::optional<std::chrono::nanoseconds> Timeout(const SourcedText* given, bool once, Mistakes& mistakes) {
  if (!given) return std::nullopt;
  std::optional<std::chrono::nanoseconds> timeout = doc::ParseDuration(given->value);
  if (!timeout || timeout->count() <= 0) {
    mistakes.Add(given->source, "must be a duration such as \"90s\" or \"1h30m\"");
    // A daemon does not end, so this setting would have no effect.
  } else if (!once) {
    mistakes.Add(given->source, "has a meaning only with --once");
  }
  return timeout;
}

void SetTouch(const RawConfig& raw, AgentConfig& config, Mistakes& mistakes) {
  SetRegistry(raw, config.registry, mistakes);
  config.fetch = WordOf<FetchMode>(raw, "fetch", mistakes).value_or(FetchMode::kRuntime);
  if (config.touch && config.kubelet == KubeletMode::kNone) {
    mistakes.Add(raw.Switch("touch")->source,
                 "needs a kubelet, and --kubelet=none declares that there is none");
  }
  if (config.touch_image_volumes && !config.touch) {
    mistakes.Add(raw.Switch("touch-image-volumes")->source, "has a meaning only with --touch");
  }
}

// Sets what concerns the agent's own Node, and derives whether the API server is needed.
void SetGate(const RawConfig& raw, AgentConfig& config, Mistakes& mistakes) {
  // Labels of Kubernetes' own domains steer schedulers and controllers.
  const SourcedText* label = raw.Text("node-result-label");
  if (label && !base::IsOwnLabelKey(config.gate.result_label)) {
    mistakes.Add(label->source, "must be a label of a domain of yours: example.com/name");
  }
  if (const SourcedText* key = raw.Text("startup-taint-key")) {
    if (!base::IsStartupTaintKey(config.gate.taint_key)) {
      mistakes.Add(key->source, base::kStartupTaintKeyRule);
    }
    if (!config.gate.taint) mistakes.Add(key->source, "has a meaning only with --startup-taint");
  }
  // Every feature that needs the API server turns it on; kube-api alone only reads kubelet's version.
  config.kube_api = config.kube_api || config.gate.Any() || config.kubelet_api ||
                    config.provider_service_account || config.touch || config.preflight.AdmitsAnybody() ||
                    config.fleet_tokens;
  if (const SourcedText* instance = raw.Text("instance"); instance && !base::IsLabelPart(instance->value)) {
    mistakes.Add(instance->source,
                 "must be a label's name: at most 63 letters, digits, dots, dashes, underscores");
  }
  const SourcedText* given = raw.Text("gate-timeout");
  if (!given) return;
  std::optional<std::chrono::nanoseconds> timeout = doc::ParseDuration(given->value);
  if (!timeout || timeout->count() <= 0) {
    mistakes.Add(given->source, "must be a duration such as \"15m\"");
  } else {
    // Rounded up: "500ms" must not become "no time".
    config.gate.timeout = std::chrono::ceil<std::chrono::seconds>(*timeout);
  }
}

void CheckAudit(const RawConfig& raw, const AgentConfig& config, Mistakes& mistakes) {
  if (config.audit_ignore.size() > kMostAuditPatterns) {
    mistakes.Add(raw.Texts("audit-ignore")->source,
                 "must be at most " + std::to_string(kMostAuditPatterns) + " patterns");
  }
  for (const std::string& pattern : config.audit_ignore) {
    if (base::Status good = image::CheckPattern(pattern); !good)
      mistakes.Add(raw.Texts("audit-ignore")->source, good.error().message());
  }
}

// Validates everything, even after a mistake, so that one start reports every mistake. An invalid setting has
// its default in the result, which is used only if there is no mistake.
AgentConfig MakeConfig(const RawConfig& raw, Mistakes& mistakes) {
  AgentConfig config;
  SetAsGiven(raw, config);
  if (config.lists.empty() && !(config.unpin && config.once))
    mistakes.Add("--list", "at least one file or directory is needed");
  for (const std::string& path : config.lists) {
    if (path.empty()) mistakes.Add(raw.Texts("list")->source, "must not be empty");
  }
  config.runtime_endpoint = RuntimeEndpoint(raw.Text("runtime-endpoint"), mistakes);
  CheckPaths(raw, kRuntimeSettings, mistakes);
  CheckProviderPair(raw, mistakes);
  for (const std::string& path : config.docker_configs) {
    if (!path.starts_with('/')) mistakes.Add(raw.Texts("docker-config")->source, "must be an absolute path");
  }
  config.kubelet = KubeletModeOf(raw, mistakes);
  config.declared.version = Checked(raw.Text("kubelet-version"), CheckedKubelet, mistakes);
  config.declared.rules = Checked(raw.Text("kubelet-rules"), CheckedKubeletRules, mistakes);
  CheckPaths(raw, kKubeletSettings, mistakes);
  config.declared.policy = WordOf<kubelet::VerificationPolicy>(raw, "kubelet-verification", mistakes);
  config.kubelet_proc = AbsolutePath(raw.Text("kubelet-proc"), mistakes);
  // After version and rules, since these decide which settings exist.
  if (config.kubelet == KubeletMode::kAuto) CheckDeclared(raw, config, mistakes);
  CheckKubeletApi(raw, config, mistakes);
  config.provider_service_account = raw.provider_service_account;
  config.preflight = raw.preflight;
  // Before the gate, which derives from its result whether the API server is needed.
  SetTouch(raw, config, mistakes);
  SetGate(raw, config, mistakes);
  CheckAudit(raw, config, mistakes);
  config.listen = ListenAt(raw.Text("listen"), mistakes);
  config.local = SocketPath(raw.Text("local"), mistakes);
  config.timeout = Timeout(raw.Text("timeout"), config.once, mistakes);
  config.log_level = WordOf<base::LogLevel>(raw, "log-level", mistakes).value_or(base::LogLevel::kInfo);
  config.log_format = WordOf<base::LogFormat>(raw, "log-format", mistakes);
  config.pull_secrets = raw.pull_secrets;
  config.provider_environment = raw.provider_environment.value_or(PluginEnvironment());
  config.limits = raw.limits;
  using Rows = std::span<const Setting>;
  for (Rows others : {Rows(kListSettings), Rows(kTouchSettings), Rows(kNodeSettings),
                      Rows(kEndpointsSettings), Rows(kOnceSettings)}) {
    CheckPaths(raw, others, mistakes);
  }
  if (config.limits.download_bytes_per_second > 0 && config.fetch != FetchMode::kAuto) {
    mistakes.Add("limits.downloadBytesPerSecond", "has a meaning only with fetch: auto");
  }
  return config;
}

}  // namespace

void CheckProviderPair(const RawConfig& raw, Mistakes& mistakes) {
  const SourcedText* config = raw.Text("image-credential-provider-config");
  const SourcedText* bin_dir = raw.Text("image-credential-provider-bin-dir");
  if (config && !bin_dir) mistakes.Add(config->source, "needs --image-credential-provider-bin-dir beside it");
  if (bin_dir && !config) mistakes.Add(bin_dir->source, "needs --image-credential-provider-config beside it");
}

std::string AgentConfig::LeaseOwner() const {
  // Two agents in containers of their own may have the same path, so a name of its own counts, too. An agent
  // without such a name keeps the owner of earlier releases, and so goes on with the leases that they have
  // left.
  if (gate.instance == plan::GateOptions().instance) return local;
  return local + "\n" + gate.instance;
}

namespace {

bool IsNumber(std::string_view part) {
  return part.size() <= 4 && base::ParseUint(part).has_value();
}

// "1.34.1" of "v1.34.1-eks-a1b2" and of "1.34.1+k3s1"; empty if it is no version.
std::string WithoutSuffix(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  // Distributions add their own builds (1.34.1-eks-a1b2, 1.34.1+k3s1) to the upstream version.
  text = text.substr(0, text.find_first_of("-+"));
  std::vector<std::string_view> parts = base::Split(text, '.');
  bool good = parts.size() >= 2 && parts.size() <= 3 && std::all_of(parts.begin(), parts.end(), IsNumber);
  return good ? std::string(text) : "";
}

}  // namespace

base::Result<image::KubeletVersion> CheckedKubelet(std::string_view text) {
  std::string version = WithoutSuffix(text);
  if (version.empty()) {
    const std::string newest(image::kNewestKnownName);
    return base::InvalidArgument("must be a version such as " + newest + " or " + newest + ".2");
  }
  auto parsed = image::KubeletVersion::Parse(version);
  if (!parsed || *parsed < image::kOldestKnownKubelet) {
    return base::InvalidArgument("must be " + image::kOldestKnownKubelet.ToString() +
                                 " or later: the rules of older kubelets are not known");
  }
  return *parsed;
}

base::Result<image::KubeletVersion> CheckedKubeletRules(std::string_view text) {
  std::string version = WithoutSuffix(text);
  auto parsed = image::KubeletVersion::Parse(version);
  if (version.empty() || !parsed) {
    return base::InvalidArgument("must be a version such as " + std::string(image::kNewestKnownName));
  }
  if (*parsed < image::kOldestKnownKubelet || image::IsNewerThanKnown(*parsed)) {
    return base::InvalidArgument("must be from " + std::string(image::kKnownKubelets) +
                                 ": other rules are not known");
  }
  return *parsed;
}

namespace {

constexpr std::size_t kLongestFile = 64 * 1024;

bool IsName(std::string_view name) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && letter(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

// False if a quote is not closed.
bool Unquote(std::string_view& value) {
  if (value.empty() || (value.front() != '"' && value.front() != '\'')) return true;
  if (value.size() < 2 || value.back() != value.front()) return false;
  value = value.substr(1, value.size() - 2);
  return true;
}

}  // namespace

PluginEnvironment ParseEnvironmentFile(std::string_view bytes, doc::Problems& problems) {
  PluginEnvironment environment;
  std::optional<std::string_view> text = doc::CheckText(bytes, kLongestFile, problems);
  std::uint32_t number = 0;
  for (std::string_view line : base::Split(text.value_or(""), '\n')) {
    number++;
    line = base::TrimSpace(line);
    if (line.empty() || line.starts_with('#') || line.starts_with(';')) continue;
    std::size_t equals = std::min(line.find('='), line.size());
    std::string_view name = base::TrimSpace(line.substr(0, equals));
    if (equals == line.size() || !IsName(name)) {
      problems.Add({number, 1}, "", "must be NAME=value");
      continue;
    }
    std::string_view value = base::TrimSpace(line.substr(equals + 1));
    if (!Unquote(value)) {
      // The rest of this secret may follow. Reading on could quote a part of it as the name of a variable.
      problems.Add({number, 1}, name, "has a quote that is not closed in its line; what follows is not read");
      break;
    }
    // The last of two counts, as with systemd.
    std::erase_if(environment, [&](const auto& other) { return other.first == name; });
    base::RememberVariable(name, value);
    environment.emplace_back(name, base::Secret(std::string(value)));
  }
  return environment;
}

// Where the agent's configuration comes from: flags, environment, and the files that they name.

namespace {

constexpr std::size_t kMostFileBytes = 1 << 20;

// Returns what `parse` makes of the file; an empty value if it cannot be read.
template <typename T>
T ReadNamedFile(const SourcedText& file, T (*parse)(std::string_view, doc::Problems&), Mistakes& mistakes) {
  base::Result<std::string> bytes = base::ReadFile(file.value, kMostFileBytes);
  if (!bytes) {
    mistakes.Add(file.source, bytes.error().message());
    return {};
  }
  doc::Problems problems(std::filesystem::path(file.value).filename().string());
  T content = parse(*bytes, problems);
  base::WipeString(*bytes);  // it may hold secrets of plugins
  mistakes.AddAll(problems);
  return content;
}

// Gathers the settings of all sources. Returns nullopt if the file cannot be read: absent settings are then
// no mistakes.
std::optional<RawConfig> Gather(const RawConfig& flags, const GetEnv& get_env, Mistakes& mistakes) {
  doc::Problems in_environment("environment");
  // Flags and environment come first, because one of them names the file.
  RawConfig raw = Overlay(ReadEnvironment(get_env, in_environment), flags);
  mistakes.AddAll(in_environment);
  if (const SourcedText* path = raw.Text("config")) {
    std::optional<RawConfig> file = ReadNamedFile(*path, ReadConfigFile, mistakes);
    if (!file) return std::nullopt;
    raw = Overlay(*file, raw);
  }
  if (raw.provider_environment_file) {
    // Read after the overlay, so that only the file that counts is opened.
    raw.provider_environment = ReadNamedFile(*raw.provider_environment_file, ParseEnvironmentFile, mistakes);
  }
  return raw;
}

}  // namespace

base::Result<AgentConfig> Validate(const RawConfig& raw) {
  Mistakes mistakes;
  AgentConfig config = MakeConfig(raw, mistakes);
  // All mistakes are reported at once, so that one start of the agent shows all of them.
  if (!mistakes.empty()) return mistakes.ToError();
  return config;
}

base::Result<AgentConfig> LoadAgentConfig(const RawConfig& flags, const GetEnv& get_env) {
  Mistakes mistakes;
  std::optional<RawConfig> raw = Gather(flags, get_env, mistakes);
  if (!raw) return mistakes.ToError();
  AgentConfig config = MakeConfig(*raw, mistakes);
  if (!mistakes.empty()) return mistakes.ToError();
  return config;
}

base::Result<RawConfig> LoadRawConfig(const RawConfig& flags, const GetEnv& get_env) {
  Mistakes mistakes;
  std::optional<RawConfig> raw = Gather(flags, get_env, mistakes);
  if (!mistakes.empty()) return mistakes.ToError();
  return *std::move(raw);
}

std::string RuntimeEndpoint(const SourcedText* given, Mistakes& mistakes) {
  if (!given) return "";
  auto path = base::ParseUnixSocket(given->value);
  if (!path) {
    mistakes.Add(given->source, path.error().message());
    return "";
  }
  return "unix://" + *path;
}

std::optional<ListenAddress> ParseHostPort(const std::string& text) {
  const base::HostAndPort parts = base::SplitHostPort(text);
  const std::optional<std::uint64_t> port = base::ParseUint(parts.port);
  if (!port || *port > kHighestPort || parts.host.find_first_of("[]") != std::string_view::npos ||
      text.starts_with("[]"))
    return std::nullopt;
  return ListenAddress{std::string(parts.host), static_cast<int>(*port)};
}

}  // namespace prefetch::config
