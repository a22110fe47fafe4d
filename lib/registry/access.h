// DecideAccess: what is declared of a node's registries, what its runtime tells, and what the runtime's
// configuration files say -> which of them can be asked as the runtime would ask, and which only by pulling
// (R34 to R36). Pure.
#pragma once

#include <string>
#include <string_view>

#include "image/registry_access.h"
#include "registry/containerd_config.h"
#include "registry/registries_files.h"

namespace prefetch::registry {

inline constexpr std::string_view kCrioRuntime = "cri-o";  // as it calls itself

// By the operator; it wins over what is told, and that over what the file says.
struct DeclaredAccess {
  bool by_pull = false;
  std::string config_path;         // empty: nothing is declared
  bool split_config_path = false;  // a build of containerd that takes "a:b" for two folders everywhere
};

struct RuntimeFacts {
  std::string name, version;  // empty: not connected yet
  image::RuntimeRegistries registries;

  friend bool operator==(const RuntimeFacts&, const RuntimeFacts&) = default;
};

// The facts of configuration files; {} where the agent does not read them.
struct FileFacts {
  ContainerdWord containerd;
  RegistriesWord crio;
};

image::RegistryAccess DecideAccess(const DeclaredAccess& declared, const RuntimeFacts& runtime,
                                   const FileFacts& files);

}  // namespace prefetch::registry
