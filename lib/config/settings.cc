#include "config/settings.h"

#include <array>
#include <cstdlib>

#include "base/constant_text.h"
#include "base/text.h"
#include "doc/duration.h"
#include "image/kubelet_version.h"

namespace prefetch::config {

const char* GroupTitle(SettingGroup group) {
  switch (group) {
    case SettingGroup::kList:
      return "List and configuration";
    case SettingGroup::kRuntime:
      return "Runtime and credentials";
    case SettingGroup::kKubelet:
      return "Kubelet: how it decides about pods";
    case SettingGroup::kRegistry:
      return "Registries: checks for changed tags";
    case SettingGroup::kTouch:
      return "Touch: images that kubelet has closed";
    case SettingGroup::kNode:
      return "Node object: state for the cluster";
    case SettingGroup::kEndpoints:
      return "Endpoints and logs";
    case SettingGroup::kOnce:
      return "One run";
  }
  std::abort();
}

// A name in the source that is in no row is an error of the program.
const Setting& SettingNamed(std::string_view name) {
  for (const Setting& setting : Settings()) {
    if (name == setting.name) return setting;
  }
  std::abort();
}

std::string FlagOf(const Setting& setting) {
  return std::string("--") + (setting.flag_name != nullptr ? setting.flag_name : setting.name);
}

std::string VariableOf(const Setting& setting) {
  std::string variable = "PREFETCHD_";
  for (const char* c = setting.name; *c != '\0'; c++) {
    variable += *c == '-' ? '_' : static_cast<char>(*c - 'a' + 'A');
  }
  return variable;
}

std::string FieldOf(const Setting& setting) {
  std::string field;
  bool capital = false;
  for (const char* c = setting.name; *c != '\0'; c++) {
    if (*c != '-') field += capital ? static_cast<char>(*c - 'a' + 'A') : *c;
    capital = *c == '-';
  }
  return field;
}

std::string HelpOf(const Setting& setting) {
  std::string help = setting.help;
  if (std::holds_alternative<Setting::Texts>(setting.member)) help += " (repeatable)";
  if (*setting.fallback != '\0') help += std::string(" [") + setting.fallback + "]";
  return help;
}

std::vector<std::string> WordsOf(const Setting& setting) {
  std::vector<std::string> words;
  if (*setting.words == '\0') return words;
  for (std::string_view word : base::Split(setting.words, '|')) words.emplace_back(word);
  return words;
}

// The rows of the table of settings.

namespace {

using Group = SettingGroup;
using Raw = RawConfig;
constexpr SettingPlace kFileFirst = SettingPlace::kFileFirst;

constexpr std::string_view kRulesHelp =
    "The rules to apply if kubelet is newer than those that the agent knows (";
constexpr std::string_view kRulesExample = "), such as ";

constexpr std::array kSettings = {
    // List and configuration
    Setting{.name = "list",
            .member = &Raw::list,
            .group = Group::kList,
            .help = "An image list: a file, or a directory of files",
            .divider = ':',
            .pattern = kNotEmpty},
    Setting{.name = "config",
            .member = &Raw::config_file,
            .group = Group::kList,
            .place = SettingPlace::kNotInFile,
            .help = "The configuration file, of kind AgentConfiguration"},
    Setting{.name = "audit-ignore",
            .member = &Raw::audit_ignore,
            .group = Group::kList,
            .place = kFileFirst,
            .help = "A pattern of images that need no list, such as registry.k8s.io/*",
            .pattern = kImagePattern},
    Setting{.name = "instance",
            .member = &Raw::instance,
            .group = Group::kList,
            .fallback = "prefetchd",
            .help = "A name that distinguishes several agents on one node",
            .pattern = kLabelName},
    // Runtime and credentials
    Setting{.name = "runtime-endpoint",
            .member = &Raw::runtime_endpoint,
            .group = Group::kRuntime,
            .fallback = "the usual sockets",
            .help = "The runtime's socket, unix:///…",
            .pattern = "^(unix:(//)?)?/"},
    Setting{.name = "image-credential-provider-config",
            .member = &Raw::image_credential_provider_config,
            .group = Group::kRuntime,
            .help = "Same as kubelet's flag: a file or a directory",
            .pattern = kPath},
    Setting{.name = "image-credential-provider-bin-dir",
            .member = &Raw::image_credential_provider_bin_dir,
            .group = Group::kRuntime,
            .help = "Same as kubelet's flag: the directory of the plugins",
            .pattern = kPath},
    Setting{.name = "docker-config",
            .member = &Raw::docker_config,
            .group = Group::kRuntime,
            .fallback = "kubelet's search paths",
            .help = "A docker config file",
            .divider = ':',
            .pattern = kPath},
    Setting{.name = "unpin",
            .member = &Raw::unpin,
            .group = Group::kRuntime,
            .help = "Take the pins of all agents off this node's images, and set none; with --once: exit "
                    "then"},
    // Kubelet
    Setting{.name = "kubelet",
            .member = &Raw::kubelet,
            .group = Group::kKubelet,
            .fallback = "auto",
            .help = "auto: learn from kubelet's files and from declarations; none: this host has no kubelet, "
                    "and presence alone decides",
            .words = "auto|none"},
    Setting{.name = "kubelet-root",
            .member = &Raw::kubelet_root,
            .group = Group::kKubelet,
            .fallback = "/var/lib/kubelet",
            .help = "kubelet's root directory",
            .pattern = kPath},
    Setting{.name = "kubelet-config",
            .member = &Raw::kubelet_config,
            .group = Group::kKubelet,
            .fallback = "the usual paths",
            .help = "kubelet's KubeletConfiguration file",
            .pattern = kPath},
    Setting{.name = "kubelet-config-dir",
            .member = &Raw::kubelet_config_dir,
            .group = Group::kKubelet,
            .help = "kubelet's directory of drop-ins (*.conf)",
            .pattern = kPath},
    Setting{.name = "kubelet-proc",
            .member = &Raw::kubelet_proc,
            .group = Group::kKubelet,
            .help = "The host's /proc, to read kubelet's command line",
            .pattern = kPath},
    Setting{.name = "kubelet-version",
            .member = &Raw::kubelet_version,
            .group = Group::kKubelet,
            .help = "Declares kubelet's version, 1.31 or later, instead of reading it from the Node",
            .pattern = kVersion},
    Setting{.name = "kubelet-rules",
            .member = &Raw::kubelet_rules,
            .group = Group::kKubelet,
            .help = base::ConstantText<kRulesHelp, image::kKnownKubelets, kRulesExample,
                                       image::kNewestKnownName>::kText,
            .pattern = kRules},
    Setting{.name = "kubelet-verification",
            .member = &Raw::kubelet_verification,
            .group = Group::kKubelet,
            .help = "Declares kubelet's imagePullCredentialsVerificationPolicy",
            .words = "NeverVerify|NeverVerifyPreloadedImages|NeverVerifyAllowlistedImages|AlwaysVerify"},
    Setting{.name = "kubelet-allowlist",
            .member = &Raw::kubelet_allowlist,
            .group = Group::kKubelet,
            .help = "Declares a pattern of kubelet's preloadedImagesVerificationAllowlist"},
    Setting{
        .name = "kubelet-api",
        .member = &Raw::kubelet_api,
        .group = Group::kKubelet,
        .help = "Ask kubelet's own port for its settings (needs the rights nodes/configz and nodes/metrics)"},
    Setting{.name = "kubelet-address",
            .member = &Raw::kubelet_address,
            .group = Group::kKubelet,
            .place = kFileFirst,
            .fallback = "port 10250 of this node",
            .help = "The address of kubelet's port",
            .pattern = kOtherHostPort},
    Setting{.name = "kubelet-ca",
            .member = &Raw::kubelet_ca,
            .group = Group::kKubelet,
            .place = kFileFirst,
            .fallback = "the cluster's own authority",
            .help = "The authority (PEM) that signed kubelet's certificate",
            .pattern = kPath},
    // Registries
    Setting{.name = "registry",
            .member = &Raw::registry,
            .group = Group::kRegistry,
            .fallback = "auto",
            .help = "How to check tags for changes: auto: as the runtime would ask, and by pulling again if "
                    "only the runtime can; pull: always by pulling again; none: never",
            .words = "auto|pull|none"},
    Setting{.name = "registry-config-path",
            .member = &Raw::registry_config_path,
            .group = Group::kRegistry,
            .fallback = "containerd's own, else its release's default",
            .help = "containerd's config_path: the directory of its hosts.toml files",
            .pattern = "^(/|$)"},
    Setting{.name = "registry-containerd-config",
            .member = &Raw::registry_containerd_config,
            .group = Group::kRegistry,
            .help = "containerd's configuration file, read with its imports: containerd 2 reports neither "
                    "its config_path nor mirrors in its own tables",
            .pattern = kPath},
    Setting{.name = "registries-conf",
            .member = &Raw::registries_conf,
            .group = Group::kRegistry,
            .help = "CRI-O's registries.conf, read with its drop-ins: mirrors, other locations, blocked "
                    "registries and short names",
            .pattern = kPath},
    Setting{.name = "registry-split-config-path",
            .member = &Raw::registry_split_config_path,
            .group = Group::kRegistry,
            .place = kFileFirst,
            .help = "Assume that containerd splits a config_path of several directories for all pulls; from "
                    "2.1 on, releases do so for local pulls only"},
    Setting{
        .name = "registry-host-root",
        .member = &Raw::registry_host_root,
        .group = Group::kRegistry,
        .place = kFileFirst,
        .help =
            "The mount of the host's root directory, for hosts.toml files and the runtime's configuration",
        .pattern = kPath},
    Setting{.name = "registry-ca",
            .member = &Raw::registry_ca,
            .group = Group::kRegistry,
            .place = kFileFirst,
            .fallback = "the system's",
            .help = "Authorities (PEM) of registries",
            .pattern = kPath},
    Setting{.name = "registry-http-proxy",
            .member = &Raw::registry_http_proxy,
            .group = Group::kRegistry,
            .place = kFileFirst,
            .help = "The runtime's HTTP_PROXY",
            .pattern = kProxy},
    Setting{.name = "registry-https-proxy",
            .member = &Raw::registry_https_proxy,
            .group = Group::kRegistry,
            .place = kFileFirst,
            .help = "The runtime's HTTPS_PROXY",
            .pattern = kProxy},
    Setting{.name = "registry-no-proxy",
            .member = &Raw::registry_no_proxy,
            .group = Group::kRegistry,
            .place = kFileFirst,
            .help = "The runtime's NO_PROXY"},
    Setting{.name = "registry-trusted-mirrors",
            .member = &Raw::registry_trusted_mirrors,
            .group = Group::kRegistry,
            .place = kFileFirst,
            .help = "A mirror (host:port) that may receive the node's credentials",
            .flag_name = "registry-trusted-mirror"},
    Setting{
        .name = "registry-trusted-realms",
        .member = &Raw::registry_trusted_realms,
        .group = Group::kRegistry,
        .place = kFileFirst,
        .help =
            "A token service (host) outside the registry's domain that may receive the node's credentials",
        .flag_name = "registry-trusted-realm"},
    Setting{.name = "registry-skip-mirrors",
            .member = &Raw::registry_skip_mirrors,
            .group = Group::kRegistry,
            .place = kFileFirst,
            .help = "Ask the registries themselves, never a mirror"},
    Setting{
        .name = "fetch",
        .member = &Raw::fetch,
        .group = Group::kRegistry,
        .fallback = "runtime",
        .help =
            "The downloader of images: runtime: always the container runtime; auto: the agent itself, where "
            "containerd 2.1 or later would be slower and the registry is not near",
        .words = "auto|runtime"},
    // Touch
    Setting{.name = "touch",
            .member = &Raw::touch,
            .group = Group::kTouch,
            .help = "Open closed images by pods in the namespace prefetchd-touch; every pod of this node may "
                    "use them from then on"},
    Setting{.name = "touch-image-volumes",
            .member = &Raw::touch_image_volumes,
            .group = Group::kTouch,
            .place = kFileFirst,
            .help = "Name the images of a touch as image volumes: faster, if kubelet and admission allow it"},
    // Node object
    Setting{
        .name = "kube-api",
        .member = &Raw::kube_api,
        .group = Group::kNode,
        .help =
            "Read this Node from the API server, with this pod's ServiceAccount, to learn kubelet's version"},
    Setting{.name = "node-label",
            .member = &Raw::node_label,
            .group = Group::kNode,
            .help = "Publish ready or notready in the label prefetchd.dev/INSTANCE of this Node"},
    Setting{.name = "node-result-label",
            .member = &Raw::node_result_label,
            .group = Group::kNode,
            .place = kFileFirst,
            .help = "Publish succeeded or failed in this label of this Node, once the result is final",
            .pattern = kLabelKey},
    Setting{.name = "node-condition",
            .member = &Raw::node_condition,
            .group = Group::kNode,
            .help = "Publish readiness in the condition ImagesPrefetched of this Node"},
    Setting{
        .name = "startup-taint",
        .member = &Raw::startup_taint,
        .group = Group::kNode,
        .help =
            "Remove the taint prefetchd.dev/not-ready from this Node once it is ready, or after gateTimeout"},
    Setting{.name = "startup-taint-key",
            .member = &Raw::startup_taint_key,
            .group = Group::kNode,
            .place = kFileFirst,
            .help = "Another key of the startup taint, such as one that the autoscaler knows; "
                    "prefetchd.dev/not-ready is removed as well",
            .pattern = kLabelKey},
    Setting{.name = "gate-timeout",
            .member = &Raw::gate_timeout,
            .group = Group::kNode,
            .place = kFileFirst,
            .fallback = "15m",
            .help = "The maximum time for which startupTaint keeps the taint",
            .pattern = doc::kPositiveDurationPattern},
    Setting{
        .name = "accept-fleet-wide-node-writes",
        .member = &Raw::accept_fleet_wide_node_writes,
        .group = Group::kNode,
        .place = kFileFirst,
        .help =
            "Write to the Node although the cluster (before 1.30) cannot limit this agent to its own Node"},
    // Endpoints and logs
    Setting{.name = "listen",
            .member = &Raw::listen,
            .group = Group::kEndpoints,
            .fallback = kDefaultListen,
            .help = "The TCP address of the endpoints, for probes, metrics and pods",
            .pattern = kHostPort},
    Setting{.name = "local",
            .member = &Raw::local,
            .group = Group::kEndpoints,
            .fallback = kDefaultLocal,
            .help = "The Unix socket of the endpoints, for root of this node",
            .pattern = kPath},
    Setting{.name = "check-pull",
            .member = &Raw::check_pull,
            .group = Group::kEndpoints,
            .help = "Let `prefetchctl check --pull` on this node pull unlisted images; every pod of this "
                    "node may use them from then on"},
    Setting{.name = "fleet-tokens",
            .member = &Raw::fleet_tokens,
            .group = Group::kEndpoints,
            .help = "Show the full /v1/status over TCP to tokens of the ServiceAccount prefetchd-fleet in "
                    "this pod's namespace (component fleet)"},
    Setting{.name = "core-dumps",
            .member = &Raw::core_dumps,
            .group = Group::kEndpoints,
            .help = "Allow core dumps and debuggers; a dump contains the passwords of this node"},
    Setting{.name = "log-level",
            .member = &Raw::log_level,
            .group = Group::kEndpoints,
            .fallback = "info",
            .help = "debug, info, warning or error",
            .words = "debug|info|warning|error"},
    Setting{.name = "log-format",
            .member = &Raw::log_format,
            .group = Group::kEndpoints,
            .fallback = "plain on a terminal, else json",
            .help = "json, plain or auto",
            .words = "auto|json|plain"},
    // One run
    Setting{
        .name = "once", .member = &Raw::once, .group = Group::kOnce, .help = "Pull, print the result, exit"},
    Setting{.name = "timeout",
            .member = &Raw::timeout,
            .group = Group::kOnce,
            .help = "The maximum time for --once: 90s, 10m, 1h",
            .pattern = doc::kPositiveDurationPattern},
};

// Every member of RawConfig that has no row here is one of those that only the file has.
// C++ cannot list the members of a struct, so their sizes are compared.
constexpr std::size_t SizeOfRows() {
  std::size_t size = 0;
  for (const Setting& setting : kSettings) {
    size += setting.member.index() == 0   ? sizeof(std::optional<SourcedValue<std::string>>)
            : setting.member.index() == 1 ? sizeof(std::optional<SourcedValue<bool>>)
                                          : sizeof(std::optional<SourcedValue<std::vector<std::string>>>);
  }
  return size;
}
static_assert(sizeof(RawConfig) == SizeOfRows() + sizeof(FileOnlyConfig), "a member of RawConfig has no row");

}  // namespace

std::span<const Setting> Settings() {
  return kSettings;
}

}  // namespace prefetch::config
