// AgentConfig: all settings of prefetchd, validated. Files that it names may still be missing on the node.
// LoadAgentConfig: reads them from flags, environment and configuration file.
// MakeConfig and the functions below it: validation of raw values; internal to config/.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "base/text.h"
#include "config/raw_config.h"
#include "doc/problems.h"
#include "image/kubelet_version.h"
#include "kubelet/settings.h"
#include "plan/caller.h"
#include "plan/limits.h"
#include "plan/node_gate.h"

namespace prefetch::config {

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

struct AgentConfig {
  std::vector<std::string> lists;                // files and directories; empty with unpin and once only
  std::string runtime_endpoint;                  // "unix:///…"; empty: the usual sockets are tried
  std::string image_credential_provider_config;  // both of these two, or neither
  std::string image_credential_provider_bin_dir;
  std::vector<std::string> docker_configs;
  KubeletMode kubelet = KubeletMode::kAuto;
  // Declarations about it; empty: none.
  std::string kubelet_version;  // "1.36" or "1.36.2"
  std::optional<image::KubeletVersion> kubelet_rules;
  std::string kubelet_root;
  std::string kubelet_config;
  std::string kubelet_config_dir;
  std::optional<kubelet::VerificationPolicy> kubelet_verification;
  std::vector<std::string> kubelet_allowlist;
  std::string kubelet_proc;  // where the host's /proc is mounted
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

// Returns the configuration, or all mistakes, a line each, with the source of the value: "--listen: must be
// host:port". Pure.
base::Result<AgentConfig> Validate(const RawConfig& raw);

// Loads the configuration: flags win over the environment, and both over the configuration file that one of
// the two names. Reads that file, and the EnvironmentFile that it may name. InvalidArgument with all mistakes
// of all three.
base::Result<AgentConfig> LoadAgentConfig(const RawConfig& flags, const GetEnv& get_env);

// Returns the settings of file, environment and flags laid over each other, not yet validated as a whole: for
// commands that need a part (prefetchctl credentials). InvalidArgument has all mistakes of the file and the
// environment.
base::Result<RawConfig> LoadRawConfig(const RawConfig& flags, const GetEnv& get_env);

// "v1.34.9", "1.34", "1.34.1-eks-a1b2" -> "1.34.9" and so on. InvalidArgument if it is no version, or older
// than 1.31. Pure.
base::Result<std::string> CheckedKubeletVersion(std::string_view text);
// Parses the version whose rules count for a newer kubelet. InvalidArgument if its rules are not known.
base::Result<image::KubeletVersion> CheckedKubeletRules(std::string_view text);

// The mistakes of a configuration; each begins with the source of the value.
class Mistakes {
 public:
  void Add(const std::string& source, std::string_view message) {
    lines_.push_back(source + ": " + std::string(message));
  }
  void AddAll(const doc::Problems& problems) {
    for (std::string& line : problems.Lines()) lines_.push_back(std::move(line));
  }
  bool empty() const { return lines_.empty(); }
  base::Error ToError() const { return base::InvalidArgument(base::Join(lines_, "\n")); }

 private:
  std::vector<std::string> lines_;
};

// Validates the raw settings. An invalid one adds a mistake, and has its default in the result.
AgentConfig MakeConfig(const RawConfig& raw, Mistakes& mistakes);

// Each function below converts one raw value to its type, or adds a mistake that names its source. Pure.

using SourcedText = std::optional<SourcedValue<std::string>>;

bool IsOn(const std::optional<SourcedValue<bool>>& given);

// These return an empty string if nothing is set.
std::string AbsolutePath(const SourcedText& given, Mistakes& mistakes);
std::string RuntimeEndpoint(const SourcedText& given, Mistakes& mistakes);
std::string ProxyUrl(const SourcedText& given, Mistakes& mistakes);

// These return the default if nothing is set.
std::string SocketPath(const SourcedText& given, Mistakes& mistakes);
ListenAddress ListenAt(const SourcedText& given, Mistakes& mistakes);
base::LogLevel LogLevelOf(const SourcedText& given, Mistakes& mistakes);
std::optional<base::LogFormat> LogFormatOf(const SourcedText& given, Mistakes& mistakes);

// "10.0.0.7:10250", "[::1]:9477", ":9477".
std::optional<ListenAddress> ParseHostPort(const std::string& text);

}  // namespace prefetch::config
