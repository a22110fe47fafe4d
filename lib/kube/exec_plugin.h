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

// The user entry's `exec` object. The plugin gets `cluster` if it asks for that (provideClusterInfo),
// `cluster_config` the JSON text of the cluster's own settings for plugins, or empty. Mistakes go to the
// reader's Problems.
std::optional<ExecPlugin> DecodeExecPlugin(doc::ObjectReader& exec, const std::string& folder,
                                           const Cluster& cluster, const doc::Node* cluster_config,
                                           const std::vector<std::string>& environment,
                                           const GetEnv& get_env);

// The ExecCredential that a plugin wrote. InvalidArgument has the mistake, never the value.
// Pure.
base::Result<ExecCredential> DecodeExecCredential(std::string_view output, const std::string& api_version);

// Runs it, for at most a minute. Unavailable: it failed, with its stderr as one bounded line;
// NotFound: it is not there, with its install hint.
base::Result<ExecCredential> RunExecPlugin(const base::Call& call, const ExecPlugin& plugin);

}  // namespace prefetch::kube
