// NodeAccess: how this node's registries are asked. Decided once, and again after each change of the runtime,
// its report, or its configuration files.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/fs.h"
#include "base/mutex.h"
#include "image/registry_access.h"
#include "registry/containerd_config.h"
#include "registry/host_files.h"
#include "registry/registries_conf.h"

namespace prefetch::registry {

// DecideAccess: an operator's declarations, the runtime's report and the runtime's configuration files ->
// the registries that can be asked as the runtime would ask, and those that need a pull (R34 to R36).
// Pure.

inline constexpr std::string_view kCrioRuntime = "cri-o";  // as it calls itself

// By the operator; it wins over the report, and that over the file.
struct DeclaredAccess {
  bool by_pull = false;
  std::string config_path;         // empty: nothing is declared
  bool split_config_path = false;  // a build of containerd that takes "a:b" for two folders everywhere
};

// The facts of configuration files; {} where the agent does not read them.
struct FileFacts {
  ContainerdSettings containerd;
  RegistriesSettings crio;
};

// Decides how registries are asked: by the declared settings, else by those that the runtime reports or has
// in its files. An unknown runtime is asked by pulls alone. Pure.
image::RegistryAccess DecideAccess(const DeclaredAccess& declared, const image::RuntimeInfo& runtime,
                                   const FileFacts& files);

// A value.
struct DecidedAccess {
  image::RuntimeInfo runtime;
  image::RegistryAccess access;
  RuntimeConfig hosts;                               // where its hosts.toml files are looked for
  std::shared_ptr<const RegistriesConf> registries;  // of CRI-O, where that can be followed; else nullptr
  bool is_guess = false;  // nobody told containerd's settings: its release's defaults are taken for them
};

// Paths of configuration files on the host; empty: not read.
struct ConfigFiles {
  std::string containerd;  // containerd's config.toml
  std::string registries;  // CRI-O's registries.conf
};

// Any thread may call.
class NodeAccess {
 public:
  NodeAccess(DeclaredAccess declared, ConfigFiles files, std::string host_root)
      : declared_(std::move(declared)), files_(std::move(files)), host_root_(std::move(host_root)) {}
  NodeAccess(const NodeAccess&) = delete;
  NodeAccess& operator=(const NodeAccess&) = delete;

  // Returns the same object while the decision is the same, so that callers can keep values derived from it.
  // Each call checks the files, and reads them again if one of them, or a folder of such files, has changed.
  // Blocks for disk reads only.
  std::shared_ptr<const DecidedAccess> For(const image::RuntimeInfo& runtime) PREFETCH_EXCLUDES(mutex_);

 private:
  const DeclaredAccess declared_;
  const ConfigFiles files_;
  const std::string host_root_;
  base::Mutex mutex_;
  base::CachedFromFiles<ContainerdSettings> containerd_ PREFETCH_GUARDED_BY(mutex_);
  base::CachedFromFiles<RegistriesSettings> crio_ PREFETCH_GUARDED_BY(mutex_);
  std::shared_ptr<const DecidedAccess> decided_ PREFETCH_GUARDED_BY(mutex_);
  // The files' settings at the time of the decision.
  std::shared_ptr<const ContainerdSettings> containerd_settings_ PREFETCH_GUARDED_BY(mutex_);
  std::shared_ptr<const RegistriesSettings> crio_settings_ PREFETCH_GUARDED_BY(mutex_);
};

// Returns whether the agent may download content of this registry instead of the runtime. That needs more
// than a question does: it must not bypass a mirror that only the runtime knows, nor keep layers that the
// runtime is told to discard (the manifest that comes with them would). Pure.
bool MayDownload(const DecidedAccess& decided, std::string_view registry);

// Returns a sentence about why a registry of this node is only asked by pulling.
std::string ByPullReason(const image::RegistryAccess& access, const image::RuntimeInfo& runtime);

}  // namespace prefetch::registry
