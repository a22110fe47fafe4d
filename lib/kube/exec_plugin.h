// Credential plugins of a kubeconfig: the protocol, and one run of a plugin.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/call.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/secret.h"
#include "doc/reader.h"
#include "kube/cluster.h"

namespace prefetch::kube {

// A plugin's answer.
struct ExecCredential {
  base::Secret token;           // empty: a certificate only
  std::string certificate_pem;  // with its key, or both empty
  base::Secret key_pem;
  std::optional<base::WallTime> expires;  // nullopt: until the server refuses it
};

// The cluster as a plugin with provideClusterInfo sees it, beside its authorities.
struct PluginCluster {
  std::string server;  // as written
  std::string proxy;   // ProxyForPlugins
  bool disable_compression = false;
  const doc::Node* config = nullptr;  // the cluster's own settings for plugins; nullptr: none
};

enum class PluginUse {
  kActive,
  kOverridden,  // there is another credential: the plugin is checked, and not asked
  kPlainHttp,   // the server has no https: even a version is good that kubectl does not know
};

// The user entry's `exec` object. Mistakes go to the reader's Problems.
std::optional<ExecPlugin> DecodeExecPlugin(doc::ObjectReader& exec, const std::string& folder,
                                           const Cluster& cluster, const PluginCluster& described,
                                           const std::vector<std::string>& environment, const GetEnv& get_env,
                                           PluginUse use);

// Decodes the ExecCredential that a plugin wrote. InvalidArgument names the mistake, and never quotes a
// value. Pure.
base::Result<ExecCredential> DecodeExecCredential(std::string_view output, const std::string& api_version);

// Runs the plugin until the call's deadline. Returns Unavailable, with its stderr as one bounded line, if it
// fails, and NotFound, with its install hint, if it does not exist.
base::Result<ExecCredential> RunExecPlugin(const base::Call& call, const ExecPlugin& plugin);

}  // namespace prefetch::kube
