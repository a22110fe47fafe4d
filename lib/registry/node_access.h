// NodeAccess: how this node's registries are asked. Decided once, and again after each change of the runtime,
// its report, or its configuration files.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "registry/access.h"
#include "registry/config_roots.h"
#include "registry/containerd_files.h"
#include "registry/registries_files.h"

namespace prefetch::registry {

// A value.
struct DecidedAccess {
  RuntimeFacts runtime;
  image::RegistryAccess access;
  RuntimeConfig hosts;                               // where its hosts.toml files are looked for
  std::shared_ptr<const RegistriesConf> registries;  // of CRI-O, where that can be followed; else nullptr
  bool is_guess = false;  // nobody told containerd's settings: its release's defaults are taken for them
};

// Configuration files as the host calls them; empty: not looked at.
struct ConfigFiles {
  std::string containerd;  // containerd's config.toml
  std::string registries;  // CRI-O's registries.conf
};

// Any thread may call.
class NodeAccess {
 public:
  NodeAccess(DeclaredAccess declared, const ConfigFiles& files, const std::string& host_root);
  NodeAccess(const NodeAccess&) = delete;
  NodeAccess& operator=(const NodeAccess&) = delete;

  // Returns the same object while the decision is the same, so that callers can keep values derived from it.
  // Blocks for disk reads only.
  std::shared_ptr<const DecidedAccess> For(const RuntimeFacts& runtime) PREFETCH_EXCLUDES(mutex_);

 private:
  const DeclaredAccess declared_;
  std::optional<ContainerdFiles> containerd_;
  std::optional<RegistriesFiles> crio_;
  base::Mutex mutex_;
  std::shared_ptr<const DecidedAccess> decided_ PREFETCH_GUARDED_BY(mutex_);
  // The files' settings at the time of the decision.
  std::shared_ptr<const ContainerdSettings> of_containerd_ PREFETCH_GUARDED_BY(mutex_);
  std::shared_ptr<const RegistriesSettings> of_crio_ PREFETCH_GUARDED_BY(mutex_);
};

// Returns whether the agent may download content of this registry instead of the runtime. That needs more
// than a question does: it must not bypass a mirror that only the runtime knows, nor keep layers that the
// runtime is told to discard (the manifest that comes with them would). Pure.
bool MayDownload(const DecidedAccess& decided, std::string_view registry);

// Returns a sentence about why a registry of this node is only asked by pulling.
std::string ByPullWords(const image::RegistryAccess& access, const RuntimeFacts& runtime);

}  // namespace prefetch::registry
