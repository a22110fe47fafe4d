// RunPlugin: one execution of a credential plugin (A8).
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "base/call.h"
#include "base/result.h"
#include "credentials/plugin_identity.h"
#include "credentials/plugin_protocol.h"
#include "credentials/provider_config.h"

namespace prefetch::credentials {

constexpr std::chrono::seconds kPluginTimeout{60};  // as kubelet

// Settings that all plugins of a node share.
struct PluginSurroundings {
  std::string bin_dir;
  std::map<std::string, std::string> environment;  // instead of kubelet's own; a provider's env goes over it
  std::string working_directory = "/";             // kubelet's
  image::KubeletVersion kubelet_version;
  std::chrono::milliseconds timeout = kPluginTimeout;
};

// Asks the plugin for `image`, a repository, and for `identity` if it has a token. Thread-safe. Blocks until
// the plugin has answered, for `timeout` at most, and then kills its whole process group; kubelet kills only
// the process itself. An Error means that this provider has no credentials now; its message has the plugin's
// stderr without secrets.
base::Result<PluginResponse> RunPlugin(const base::Call& call, const Provider& provider,
                                       const PluginSurroundings& surroundings, const std::string& image,
                                       const PluginIdentity& identity = {});

// Runs plugins: RunPlugin, or a model of it.
using PluginRunner = std::function<base::Result<PluginResponse>(
    const base::Call& call, const Provider& provider, const PluginSurroundings& surroundings,
    const std::string& image, const PluginIdentity& identity)>;

}  // namespace prefetch::credentials
