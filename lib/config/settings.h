// Settings: the one place of what an operator may set. A setting is a row of its group and a member of
// AgentConfig. Flags, environment variables, fields of the configuration file, the overlay of these sources,
// --help and the reference page all derive from the row. A switch, path or text without a rule of its own is
// complete with these two; others have their check in config/agent_config.cc.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/constant_text.h"
#include "base/log.h"
#include "base/secret.h"
#include "doc/duration.h"
#include "doc/problems.h"
#include "image/kubelet_version.h"
#include "image/pull_secret.h"
#include "kubelet/node_facts.h"
#include "plan/caller.h"
#include "plan/limits.h"
#include "plan/node_gate.h"

namespace prefetch::config {

// A value and its source, for messages: "--listen", "PREFETCHD_LISTEN", "agent.yaml:3:9: listen".
template <typename T>
struct SourcedValue {
  T value;
  std::string source;
};

using image::PullSecret;  // its lists are never empty

// The account for which credential providers with tokenAttributes are asked (credentials' rule A24): kubelet
// asks for the pod's account, and the agent has no pod.
struct ProviderServiceAccount {
  std::string name_space, name;

  friend bool operator==(const ProviderServiceAccount&, const ProviderServiceAccount&) = default;
};

// Environment of credential plugins; values may be secrets.
using PluginEnvironment = std::vector<std::pair<std::string, base::Secret>>;

// How the agent learns what the node's kubelet would do.
enum class KubeletMode {
  kAuto,  // from its files, and from the declared settings
  kNone,  // there is none: presence is the verdict
};

// host:port.
struct ListenAddress {
  std::string host;  // as written, without brackets; empty: all addresses
  int port = 0;

  friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};

// How the agent asks registries about images that are here.
enum class RegistryMode {
  kAuto,  // as the runtime would, as far as that is known; else by pulling again
  kPull,  // always by pulling again: the runtime uses mirrors that only it can follow
  kNone,  // no registry is asked: lists that need one are rejected
};

struct RegistryConfig {
  RegistryMode mode = RegistryMode::kAuto;
  std::string config_path;         // containerd's `config_path`; empty: not declared
  std::string containerd_config;   // containerd's configuration file; empty: it is not looked at
  std::string registries_conf;     // CRI-O's registries.conf; empty: it is not looked at
  bool split_config_path = false;  // this containerd's transfer service splits `config_path` at ":"
  std::string host_root;           // where the host's root directory is mounted; empty: here
  std::string ca;                  // PEM of authorities, instead of the system's; empty: the system's
  std::string http_proxy, https_proxy, no_proxy;  // the first two may hold a password
  std::vector<std::string> trusted_mirrors, trusted_realms;
  bool skip_mirrors = false;

  friend bool operator==(const RegistryConfig&, const RegistryConfig&) = default;
};

// The downloader of images.
enum class FetchMode {
  kAuto,  // the agent, where that is quicker (plan/fetch_order.h)
  kRuntime,
};

// All settings, validated. Files that it names may still be missing on the node.
struct AgentConfig {
  std::vector<std::string> lists;                // files and directories; empty with unpin and once only
  std::string runtime_endpoint;                  // "unix:///…"; empty: the usual sockets are tried
  std::string image_credential_provider_config;  // both of these two, or neither
  std::string image_credential_provider_bin_dir;
  std::vector<std::string> docker_configs;
  KubeletMode kubelet = KubeletMode::kAuto;
  kubelet::KubeletDeclarations declared;  // about it
  std::string kubelet_proc;               // where the host's /proc is mounted
  // Ask kubelet's own port for its settings (kube/kubelet_api.h).
  bool kubelet_api = false;
  ListenAddress kubelet_address{"", 10250};  // empty host: this node's
  std::string kubelet_ca;                    // signs its certificate; empty: the cluster's does
  plan::GateOptions gate;                    // writes to the Node object; none by default
  // Whether the agent calls the API server: for the gate, kubelet's version, kubelet's port, tokens of a
  // service account.
  bool kube_api = false;
  RegistryConfig registry;
  FetchMode fetch = FetchMode::kRuntime;
  bool touch = false;
  bool touch_image_volumes = false;
  bool accept_fleet_wide_node_writes = false;
  std::vector<std::string> audit_ignore;  // patterns of images that no list needs to have
  bool check_pull = false;                // a check over the local socket may have an image pulled
  ListenAddress listen;
  std::string local;  // path of the unix socket
  // Returns what distinguishes this agent's leases from those of another agent on the same node.
  std::string LeaseOwner() const;
  bool unpin = false;  // pins are taken off at the start, and none are set
  bool once = false;
  std::optional<std::chrono::nanoseconds> timeout;  // of --once
  bool core_dumps = false;                          // they hold passwords
  base::LogLevel log_level = base::LogLevel::kInfo;
  std::optional<base::LogFormat> log_format;  // none: plain on a terminal, else JSON
  std::vector<PullSecret> pull_secrets;
  std::optional<ProviderServiceAccount> provider_service_account;
  PluginEnvironment provider_environment;
  plan::Limits limits;
  plan::CallerRules preflight;  // of pods that ask in their own name
  bool fleet_tokens = false;    // they read the full status over the network
};

// Where a setting may be given. Every setting but --config has an environment variable and a field of the
// file.
enum class SettingPlace {
  kEverywhere,
  kNotInFile,  // it names the file
  kFileFirst,  // rarely set: neither --help nor the reference shows its flag
};

// The kinds of settings, in the order of GivenValue.
enum class SettingKind { kText, kSwitch, kTexts };

struct Setting {
  // The member of AgentConfig that takes the value as it is: of each part of AgentConfig a text, a switch and
  // texts. A text whose pattern is kPath must be an absolute path. Empty: agent_config.cc takes the value,
  // which is a text.
  using Target = std::variant<
      std::monostate, std::string AgentConfig::*, bool AgentConfig::*,
      std::vector<std::string> AgentConfig::*, std::string RegistryConfig::*, bool RegistryConfig::*,
      std::vector<std::string> RegistryConfig::*, std::string plan::GateOptions::*, bool plan::GateOptions::*,
      std::vector<std::string> plan::GateOptions::*, std::string kubelet::KubeletDeclarations::*,
      bool kubelet::KubeletDeclarations::*, std::vector<std::string> kubelet::KubeletDeclarations::*>;

  constexpr SettingKind kind() const {
    return sets.index() == 0 ? SettingKind::kText : static_cast<SettingKind>((sets.index() - 1) % 3);
  }

  const char* name;  // "kubelet-version"; the flag, the variable and the field are spelled from it
  Target sets = {};
  SettingPlace place = SettingPlace::kEverywhere;
  const char* fallback = "";  // the value if nothing is set, as the help shows it; empty: there is none
  const char* help;
  char divider = ',';               // between the values of the variable, where there may be several
  const char* flag_name = nullptr;  // another name of the flag, in the singular: "…-mirror"
  const char* words = "";           // "auto|none": all values that there are; empty: any
  const char* pattern = "";         // a regular expression (ECMA 262) that every valid value matches
};

// Defaults of what an operator may set. Those of the limits stand with them, in plan/limits.h.
constexpr const char* kDefaultListen = "127.0.0.1:9477";
// The exit codes of --once, as --help and the reference have them.
inline constexpr const char* kOnceExitCodes =
    "0 all ready, 1 not all ready (or the result could not be printed), 2 bad usage or input, 3 timed out, 4 "
    "the "
    "runtime could not be reached";
constexpr const char* kDefaultLocal = "/run/prefetchd/prefetchd.sock";

// Patterns of the values of settings, for the JSON Schema (ECMA 262), which knows no "absolute path" and no
// "text that is not empty". The complete rules are in config/agent_config.cc.

inline constexpr const char* kPath = "^/";
inline constexpr const char* kNotEmpty = "[^\\u0000]";
inline constexpr const char* kHostPort =
    "^(\\[[^\\[\\]]+\\]|[^:\\[\\]]*):0*(0|[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|"
    "655[0-2][0-9]|6553[0-5])$";
inline constexpr const char* kOtherHostPort =
    "^(\\[[^\\[\\]]+\\]|[^:\\[\\]]+):0*([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|"
    "655[0-2][0-9]|6553[0-5])$";
inline constexpr const char* kProxy = "^https?://";
// kVersion matches versions from image::kOldestKnownKubelet on, and kRules those whose rules are known.
// Numbers have four digits at most.
inline constexpr const char* kVersion =
    "^v?(0{0,3}1\\.(0{0,2}(3[1-9]|[4-9][0-9])|0?[1-9][0-9]{2}|[1-9][0-9]{3})|"
    "(0{0,3}[2-9]|0{0,2}[1-9][0-9]|0?[1-9][0-9]{2}|[1-9][0-9]{3})\\.[0-9]{1,4})(\\.[0-9]{1,4})?([+-]|$)";
static_assert(image::kOldestKnownKubelet.minor == 31 && image::kNewestKnownMinor < 40);
inline constexpr std::string_view kRulesBegin = "^v?0{0,3}1\\.0{0,2}3[1-";
inline constexpr std::string_view kRulesEnd = "](\\.[0-9]{1,4})?([+-]|$)";
inline constexpr std::string_view kNewestDigit = image::kNewestKnownName.substr(3);
inline constexpr const char* kRules = base::ConstantText<kRulesBegin, kNewestDigit, kRulesEnd>::kText;
inline constexpr const char* kImagePattern = "^[^\\u0000-\\u0020\\u007f]{1,500}$";
inline constexpr const char* kLabelKey = "^[a-z0-9.-]{1,253}/[A-Za-z0-9._-]{1,63}$";
inline constexpr const char* kLabelName = "^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$";

inline constexpr std::string_view kRulesHelp =
    "The rules to apply if kubelet is newer than those that the agent knows (";
inline constexpr std::string_view kRulesExample = "), such as ";

// The settings, group by group.

inline constexpr Setting kListSettings[] = {
    {.name = "list",
     .sets = &AgentConfig::lists,
     .help = "An image list: a file, or a directory of files",
     .divider = ':',
     .pattern = kNotEmpty},
    {.name = "config",
     .place = SettingPlace::kNotInFile,
     .help = "The configuration file, of kind AgentConfiguration"},
    {.name = "audit-ignore",
     .sets = &AgentConfig::audit_ignore,
     .place = SettingPlace::kFileFirst,
     .help = "A pattern of images that need no list, such as registry.k8s.io/*",
     .pattern = kImagePattern},
    {.name = "instance",
     .sets = &plan::GateOptions::instance,
     .fallback = "prefetchd",
     .help = "A name that distinguishes several agents on one node",
     .pattern = kLabelName},
};

inline constexpr Setting kRuntimeSettings[] = {
    {.name = "runtime-endpoint",
     .fallback = "the usual sockets",
     .help = "The runtime's socket, unix:///…",
     .pattern = "^(unix:(//)?)?/"},
    {.name = "image-credential-provider-config",
     .sets = &AgentConfig::image_credential_provider_config,
     .help = "Same as kubelet's flag: a file or a directory",
     .pattern = kPath},
    {.name = "image-credential-provider-bin-dir",
     .sets = &AgentConfig::image_credential_provider_bin_dir,
     .help = "Same as kubelet's flag: the directory of the plugins",
     .pattern = kPath},
    {.name = "docker-config",
     .sets = &AgentConfig::docker_configs,
     .fallback = "kubelet's search paths",
     .help = "A docker config file",
     .divider = ':',
     .pattern = kPath},
    {.name = "unpin",
     .sets = &AgentConfig::unpin,
     .help = "Take the pins of all agents off this node's images, and set none; with --once: exit then"},
};

inline constexpr Setting kKubeletSettings[] = {
    {.name = "kubelet",
     .fallback = "auto",
     .help = "auto: learn from kubelet's files and from declarations; none: this host has no kubelet, and "
             "presence alone decides",
     .words = "auto|none"},
    {.name = "kubelet-root",
     .sets = &kubelet::KubeletDeclarations::root,
     .fallback = image::kDefaultKubeletRoot,
     .help = "kubelet's root directory",
     .pattern = kPath},
    {.name = "kubelet-config",
     .sets = &kubelet::KubeletDeclarations::config_file,
     .fallback = "the usual paths",
     .help = "kubelet's KubeletConfiguration file",
     .pattern = kPath},
    {.name = "kubelet-config-dir",
     .sets = &kubelet::KubeletDeclarations::config_dir,
     .help = "kubelet's directory of drop-ins (*.conf)",
     .pattern = kPath},
    {.name = "kubelet-proc", .help = "The host's /proc, to read kubelet's command line", .pattern = kPath},
    {.name = "kubelet-version",
     .help = "Declares kubelet's version, 1.31 or later, instead of reading it from the Node",
     .pattern = kVersion},
    {.name = "kubelet-rules",
     .help =
         base::ConstantText<kRulesHelp, image::kKnownKubelets, kRulesExample, image::kNewestKnownName>::kText,
     .pattern = kRules},
    {.name = "kubelet-verification",
     .help = "Declares kubelet's imagePullCredentialsVerificationPolicy",
     .words = "NeverVerify|NeverVerifyPreloadedImages|NeverVerifyAllowlistedImages|AlwaysVerify"},
    {.name = "kubelet-allowlist",
     .sets = &kubelet::KubeletDeclarations::allowlist,
     .help = "Declares a pattern of kubelet's preloadedImagesVerificationAllowlist"},
    {.name = "kubelet-api",
     .sets = &AgentConfig::kubelet_api,
     .help = "Ask kubelet's own port for its settings (needs the rights nodes/configz and nodes/metrics)"},
    {.name = "kubelet-address",
     .place = SettingPlace::kFileFirst,
     .fallback = "port 10250 of this node",
     .help = "The address of kubelet's port",
     .pattern = kOtherHostPort},
    {.name = "kubelet-ca",
     .place = SettingPlace::kFileFirst,
     .fallback = "the cluster's own authority",
     .help = "The authority (PEM) that signed kubelet's certificate",
     .pattern = kPath},
};

inline constexpr Setting kRegistrySettings[] = {
    {.name = "registry",
     .fallback = "auto",
     .help = "How to check tags for changes: auto: as the runtime would ask, and by pulling again if only "
             "the runtime can; pull: always by pulling again; none: never",
     .words = "auto|pull|none"},
    {.name = "registry-config-path",
     .sets = &RegistryConfig::config_path,
     .fallback = "containerd's own, else its release's default",
     .help = "containerd's config_path: the directory of its hosts.toml files",
     .pattern = "^(/|$)"},
    {.name = "registry-containerd-config",
     .sets = &RegistryConfig::containerd_config,
     .help = "containerd's configuration file, read with its imports: containerd 2 reports neither its "
             "config_path nor mirrors in its own tables",
     .pattern = kPath},
    {.name = "registries-conf",
     .sets = &RegistryConfig::registries_conf,
     .help = "CRI-O's registries.conf, read with its drop-ins: mirrors, other locations, blocked registries "
             "and short names",
     .pattern = kPath},
    {.name = "registry-split-config-path",
     .sets = &RegistryConfig::split_config_path,
     .place = SettingPlace::kFileFirst,
     .help = "Assume that containerd splits a config_path of several directories for all pulls; from 2.1 on, "
             "releases do so for local pulls only"},
    {.name = "registry-host-root",
     .sets = &RegistryConfig::host_root,
     .place = SettingPlace::kFileFirst,
     .help = "The mount of the host's root directory, for hosts.toml files and the runtime's configuration",
     .pattern = kPath},
    {.name = "registry-ca",
     .sets = &RegistryConfig::ca,
     .place = SettingPlace::kFileFirst,
     .fallback = "the system's",
     .help = "Authorities (PEM) of registries",
     .pattern = kPath},
    {.name = "registry-http-proxy",
     .place = SettingPlace::kFileFirst,
     .help = "The runtime's HTTP_PROXY",
     .pattern = kProxy},
    {.name = "registry-https-proxy",
     .place = SettingPlace::kFileFirst,
     .help = "The runtime's HTTPS_PROXY",
     .pattern = kProxy},
    {.name = "registry-no-proxy",
     .sets = &RegistryConfig::no_proxy,
     .place = SettingPlace::kFileFirst,
     .help = "The runtime's NO_PROXY"},
    {.name = "registry-trusted-mirrors",
     .sets = &RegistryConfig::trusted_mirrors,
     .place = SettingPlace::kFileFirst,
     .help = "A mirror (host:port) that may receive the node's credentials",
     .flag_name = "registry-trusted-mirror"},
    {.name = "registry-trusted-realms",
     .sets = &RegistryConfig::trusted_realms,
     .place = SettingPlace::kFileFirst,
     .help = "A token service (host) outside the registry's domain that may receive the node's credentials",
     .flag_name = "registry-trusted-realm"},
    {.name = "registry-skip-mirrors",
     .sets = &RegistryConfig::skip_mirrors,
     .place = SettingPlace::kFileFirst,
     .help = "Ask the registries themselves, never a mirror"},
    {.name = "fetch",
     .fallback = "runtime",
     .help = "The downloader of images: runtime: always the container runtime; auto: the agent itself, where "
             "containerd 2.1 or later would be slower and the registry is not near",
     .words = "auto|runtime"},
};

inline constexpr Setting kTouchSettings[] = {
    {.name = "touch",
     .sets = &AgentConfig::touch,
     .help = "Open closed images by pods in the namespace prefetchd-touch; every pod of this node may use "
             "them from then on"},
    {.name = "touch-image-volumes",
     .sets = &AgentConfig::touch_image_volumes,
     .place = SettingPlace::kFileFirst,
     .help = "Name the images of a touch as image volumes: faster, if kubelet and admission allow it"},
};

inline constexpr Setting kNodeSettings[] = {
    {.name = "kube-api",
     .sets = &AgentConfig::kube_api,
     .help =
         "Read this Node from the API server, with this pod's ServiceAccount, to learn kubelet's version"},
    {.name = "node-label",
     .sets = &plan::GateOptions::label,
     .help = "Publish ready or notready in the label prefetchd.dev/INSTANCE of this Node"},
    {.name = "node-result-label",
     .sets = &plan::GateOptions::result_label,
     .place = SettingPlace::kFileFirst,
     .help = "Publish succeeded or failed in this label of this Node, once the result is final",
     .pattern = kLabelKey},
    {.name = "node-condition",
     .sets = &plan::GateOptions::condition,
     .help = "Publish readiness in the condition ImagesPrefetched of this Node"},
    {.name = "startup-taint",
     .sets = &plan::GateOptions::taint,
     .help =
         "Remove the taint prefetchd.dev/not-ready from this Node once it is ready, or after gateTimeout"},
    {.name = "startup-taint-key",
     .sets = &plan::GateOptions::taint_key,
     .place = SettingPlace::kFileFirst,
     .help = "Another key of the startup taint, such as one that the autoscaler knows; "
             "prefetchd.dev/not-ready is removed as well",
     .pattern = kLabelKey},
    {.name = "gate-timeout",
     .place = SettingPlace::kFileFirst,
     .fallback = "15m",
     .help = "The maximum time for which startupTaint keeps the taint",
     .pattern = doc::kPositiveDurationPattern},
    {.name = "accept-fleet-wide-node-writes",
     .sets = &AgentConfig::accept_fleet_wide_node_writes,
     .place = SettingPlace::kFileFirst,
     .help = "Write to the Node although the cluster (before 1.30) cannot limit this agent to its own Node"},
};

inline constexpr Setting kEndpointsSettings[] = {
    {.name = "listen",
     .fallback = kDefaultListen,
     .help = "The TCP address of the endpoints, for probes, metrics and pods",
     .pattern = kHostPort},
    {.name = "local",
     .fallback = kDefaultLocal,
     .help = "The Unix socket of the endpoints, for root of this node",
     .pattern = kPath},
    {.name = "check-pull",
     .sets = &AgentConfig::check_pull,
     .help = "Let `prefetchctl check --pull` on this node pull unlisted images; every pod of this node may "
             "use them from then on"},
    {.name = "fleet-tokens",
     .sets = &AgentConfig::fleet_tokens,
     .help = "Show the full /v1/status over TCP to tokens of the ServiceAccount prefetchd-fleet in this "
             "pod's namespace (component fleet)"},
    {.name = "core-dumps",
     .sets = &AgentConfig::core_dumps,
     .help = "Allow core dumps and debuggers; a dump contains the passwords of this node"},
    {.name = "log-level",
     .fallback = "info",
     .help = "debug, info, warning or error",
     .words = "debug|info|warning|error"},
    {.name = "log-format",
     .fallback = "plain on a terminal, else json",
     .help = "json, plain or auto",
     .words = "auto|json|plain"},
};

inline constexpr Setting kOnceSettings[] = {
    {.name = "once", .sets = &AgentConfig::once, .help = "Pull, print the result, exit"},
    {.name = "timeout",
     .help = "The maximum time for --once: 90s, 10m, 1h",
     .pattern = doc::kPositiveDurationPattern},
};

// A section of --help and of the reference.
struct SettingGroup {
  const char* title;
  std::span<const Setting> settings;
};

inline constexpr SettingGroup kSettingGroups[] = {
    {"List and configuration", kListSettings},
    {"Runtime and credentials", kRuntimeSettings},
    {"Kubelet: how it decides about pods", kKubeletSettings},
    {"Registries: checks for changed tags", kRegistrySettings},
    {"Touch: images that kubelet has closed", kTouchSettings},
    {"Node object: state for the cluster", kNodeSettings},
    {"Endpoints and logs", kEndpointsSettings},
    {"One run", kOnceSettings},
};

// The settings of all groups, in their order.
inline constexpr auto kSettings = [] {
  constexpr std::size_t kCount = [] {
    std::size_t count = 0;
    for (const SettingGroup& group : kSettingGroups) count += group.settings.size();
    return count;
  }();
  std::array<Setting, kCount> all{};
  auto* end = all.data();
  for (const SettingGroup& group : kSettingGroups) {
    end = std::copy(group.settings.begin(), group.settings.end(), end);
  }
  return all;
}();

// The row of this name; it must exist.
constexpr const Setting& SettingNamed(std::string_view name) {
  for (const Setting& setting : kSettings) {
    if (name == setting.name) return setting;
  }
  std::abort();
}
// The words of a setting, one by one; none: any value.
std::vector<std::string> WordsOf(const Setting& setting);

std::string FlagOf(const Setting& setting);      // "--kubelet-version"
std::string VariableOf(const Setting& setting);  // "PREFETCHD_KUBELET_VERSION"
std::string FieldOf(const Setting& setting);     // "kubeletVersion"
// One line for --help, with "(repeatable)" and the fallback.
std::string HelpOf(const Setting& setting);

using SourcedText = SourcedValue<std::string>;
using SourcedSwitch = SourcedValue<bool>;
using SourcedTexts = SourcedValue<std::vector<std::string>>;
using GivenValue = std::variant<SourcedText, SourcedSwitch, SourcedTexts>;

// The name of a setting of this kind. Any other word does not compile.
template <SettingKind kKind>
struct NameOf {
  consteval NameOf(const char* name) : text(name) {  // NOLINT: of a literal
    if (SettingNamed(name).kind() != kKind) std::abort();
  }
  std::string_view text;
};

// Settings of the configuration file alone.
struct FileOnlyConfig {
  std::vector<PullSecret> pull_secrets;
  std::optional<ProviderServiceAccount> provider_service_account;
  std::optional<PluginEnvironment> provider_environment;
  std::optional<SourcedText> provider_environment_file;
  plan::Limits limits;
  plan::CallerRules preflight;
};

// Unvalidated settings from file, environment and flags. The three are laid over each other; then Validate
// (config/agent_config.h) makes an AgentConfig of them.
struct RawConfig : FileOnlyConfig {
  // The values of the table's settings, by their names; each is of its setting's kind.
  std::map<std::string_view, GivenValue> given;

  // Each returns nullptr if nothing is set.
  const SourcedText* Text(NameOf<SettingKind::kText> name) const { return Find<SourcedText>(name.text); }
  const SourcedSwitch* Switch(NameOf<SettingKind::kSwitch> name) const {
    return Find<SourcedSwitch>(name.text);
  }
  const SourcedTexts* Texts(NameOf<SettingKind::kTexts> name) const { return Find<SourcedTexts>(name.text); }

 private:
  template <typename T>
  const T* Find(std::string_view name) const {
    const auto found = given.find(name);
    return found == given.end() ? nullptr : &std::get<T>(found->second);
  }
};

// Returns `over`, with its missing settings from `under`. A file lies under all else, so those that only it
// has are those of `under`.
RawConfig Overlay(const RawConfig& under, RawConfig over);

// Reads environment variables (config/settings.h); an empty one counts as unset. CONTAINER_RUNTIME_ENDPOINT
// counts if PREFETCHD_RUNTIME_ENDPOINT is not set. Others that begin with PREFETCHD_ are no mistakes:
// Kubernetes sets such variables for a Service named prefetchd. Mistakes go to `problems`.
using GetEnv = std::function<const char*(const char* name)>;  // ProcessEnv, or a test's
inline const char* ProcessEnv(const char* name) {
  return std::getenv(name);
}
RawConfig ReadEnvironment(const GetEnv& get, doc::Problems& problems);

}  // namespace prefetch::config
