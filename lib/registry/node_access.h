// NodeAccess: how this node's registries are asked, decided once and again whenever something has changed:
// the runtime, what it tells, or its configuration file.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "registry/access.h"
#include "registry/config_roots.h"
#include "registry/containerd_files.h"

namespace prefetch::registry {

// A value.
struct DecidedAccess {
  RuntimeFacts runtime;
  image::RegistryAccess access;
  RuntimeConfig hosts;  // where its hosts.toml files are looked for
};

// Any thread may call.
class NodeAccess {
 public:
  // `containerd_config`: its configuration file as the host calls it; empty: it is not looked at.
  NodeAccess(DeclaredAccess declared, const std::string& containerd_config, const std::string& host_root);
  NodeAccess(const NodeAccess&) = delete;
  NodeAccess& operator=(const NodeAccess&) = delete;

  // The same object as long as it is the same decision: whoever has made something of it need not do so
  // again. Blocks only as a disk does.
  std::shared_ptr<const DecidedAccess> For(const RuntimeFacts& runtime) PREFETCH_EXCLUDES(mutex_);

 private:
  const DeclaredAccess declared_;
  std::optional<ContainerdFiles> files_;
  base::Mutex mutex_;
  std::shared_ptr<const DecidedAccess> decided_ PREFETCH_GUARDED_BY(mutex_);
  std::shared_ptr<const ContainerdWord> word_
      PREFETCH_GUARDED_BY(mutex_);  // of the file, when that was decided
};

// Why a registry of this node is only asked by pulling, for people.
std::string ByPullWords(const image::RegistryAccess& access, const RuntimeFacts& runtime);

}  // namespace prefetch::registry
