// RawConfig: unvalidated settings from file, environment and flags. The three are laid over each other; then
// Validate (config/agent_config.h) makes an AgentConfig of them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "doc/problems.h"
#include "plan/caller.h"
#include "plan/limits.h"

namespace prefetch::config {

// A value and its source, for messages: "--listen", "PREFETCHD_LISTEN", "agent.yaml:3:9: listen".
template <typename T>
struct SourcedValue {
  T value;
  std::string source;
};

// A mounted pull secret, and its permitted uses. Any image pulled with it is usable by every pod of
// the node afterwards (kubelet's rule K28), so only the images named here use it.
struct PullSecret {
  std::string name;
  std::string path;                             // a .dockerconfigjson or .dockercfg file
  std::vector<std::string> allow_repositories;  // never empty
  std::vector<std::string> sources;             // of the list, by name: "team.yaml"; never empty

  friend bool operator==(const PullSecret&, const PullSecret&) = default;
};

// The account for which credential providers with tokenAttributes are asked (credentials' rule A24): kubelet
// asks for the pod's account, and the agent has no pod.
struct ProviderServiceAccount {
  std::string name_space, name;

  friend bool operator==(const ProviderServiceAccount&, const ProviderServiceAccount&) = default;
};

// Environment of credential plugins; values may be secrets.
using PluginEnvironment = std::vector<std::pair<std::string, base::Secret>>;

// Settings of the configuration file alone.
struct FileOnlyConfig {
  std::optional<std::vector<PullSecret>> pull_secrets;
  std::optional<ProviderServiceAccount> provider_service_account;
  std::optional<PluginEnvironment> provider_environment;
  std::optional<SourcedValue<std::string>> provider_environment_file;
  std::optional<plan::Limits> limits;
  std::optional<plan::CallerRules> preflight;
};

// A member here has its row in config/settings.cc.
struct RawConfig : FileOnlyConfig {
  std::optional<SourcedValue<std::string>> config_file;  // flag and environment only
  std::optional<SourcedValue<std::vector<std::string>>> list;
  std::optional<SourcedValue<std::string>> runtime_endpoint;
  std::optional<SourcedValue<std::string>> image_credential_provider_config;
  std::optional<SourcedValue<std::string>> image_credential_provider_bin_dir;
  std::optional<SourcedValue<std::vector<std::string>>> docker_config;
  std::optional<SourcedValue<std::string>> kubelet;
  std::optional<SourcedValue<std::string>> kubelet_version;
  std::optional<SourcedValue<std::string>> kubelet_rules;
  std::optional<SourcedValue<std::string>> kubelet_root;
  std::optional<SourcedValue<std::string>> kubelet_config;
  std::optional<SourcedValue<std::string>> kubelet_config_dir;
  std::optional<SourcedValue<std::string>> kubelet_verification;
  std::optional<SourcedValue<std::vector<std::string>>> kubelet_allowlist;
  std::optional<SourcedValue<std::string>> kubelet_proc;
  std::optional<SourcedValue<bool>> kubelet_api;
  std::optional<SourcedValue<std::string>> kubelet_address;
  std::optional<SourcedValue<std::string>> kubelet_ca;
  std::optional<SourcedValue<bool>> kube_api;
  std::optional<SourcedValue<bool>> fleet_tokens;
  std::optional<SourcedValue<std::string>> registry;
  std::optional<SourcedValue<std::string>> registry_config_path;
  std::optional<SourcedValue<std::string>> registry_containerd_config;
  std::optional<SourcedValue<std::string>> registries_conf;
  std::optional<SourcedValue<bool>> registry_split_config_path;
  std::optional<SourcedValue<std::string>> registry_host_root;
  std::optional<SourcedValue<std::string>> registry_ca;
  std::optional<SourcedValue<std::string>> registry_http_proxy;
  std::optional<SourcedValue<std::string>> registry_https_proxy;
  std::optional<SourcedValue<std::string>> registry_no_proxy;
  std::optional<SourcedValue<std::vector<std::string>>> registry_trusted_mirrors;
  std::optional<SourcedValue<std::vector<std::string>>> registry_trusted_realms;
  std::optional<SourcedValue<bool>> registry_skip_mirrors;
  std::optional<SourcedValue<std::string>> fetch;
  std::optional<SourcedValue<bool>> touch;
  std::optional<SourcedValue<bool>> touch_image_volumes;
  std::optional<SourcedValue<bool>> node_label;
  std::optional<SourcedValue<std::string>> node_result_label;
  std::optional<SourcedValue<bool>> node_condition;
  std::optional<SourcedValue<bool>> startup_taint;
  std::optional<SourcedValue<std::string>> startup_taint_key;
  std::optional<SourcedValue<bool>> accept_fleet_wide_node_writes;
  std::optional<SourcedValue<std::string>> gate_timeout;
  std::optional<SourcedValue<std::string>> instance;
  std::optional<SourcedValue<std::vector<std::string>>> audit_ignore;
  std::optional<SourcedValue<bool>> check_pull;
  std::optional<SourcedValue<std::string>> listen;
  std::optional<SourcedValue<std::string>> local;
  std::optional<SourcedValue<bool>> unpin;
  std::optional<SourcedValue<bool>> once;
  std::optional<SourcedValue<std::string>> timeout;
  std::optional<SourcedValue<bool>> core_dumps;
  std::optional<SourcedValue<std::string>> log_level;
  std::optional<SourcedValue<std::string>> log_format;
};

// Returns `over`, with its missing settings from `under`.
RawConfig Overlay(const RawConfig& under, RawConfig over);

// An `AgentConfiguration` file (prefetchd.dev/v1alpha1), YAML or JSON. Mistakes go to `problems`; nullopt if
// it is no YAML at all. Pure.
std::optional<RawConfig> ReadConfigFile(std::string_view bytes, doc::Problems& problems);

// Reads environment variables (config/settings.h); an empty one counts as unset. CONTAINER_RUNTIME_ENDPOINT
// counts if PREFETCHD_RUNTIME_ENDPOINT is not set. Others that begin with PREFETCHD_ are no mistakes:
// Kubernetes sets such variables for a Service named prefetchd. Mistakes go to `problems`.
using GetEnv = std::function<const char*(const char* name)>;  // std::getenv, or a test's
RawConfig ReadEnvironment(const GetEnv& get, doc::Problems& problems);

// A file of environment variables, as systemd's EnvironmentFile= reads the simple ones. Lines of NAME=value;
// blank ones and those that begin with # or ; are passed over. A value may stand in single or double quotes;
// nothing is expanded, and there are no lines that go on. The last of several values of a name counts.
// Mistakes go to `problems`, which never quotes a value. Pure.
PluginEnvironment ParseEnvironmentFile(std::string_view bytes, doc::Problems& problems);

}  // namespace prefetch::config
