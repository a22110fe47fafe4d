// DecideAccess: an operator's declarations, the runtime's report and the runtime's configuration files ->
// the registries that can be asked as the runtime would ask, and those that need a pull (R34 to R36).
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "image/registry_access.h"
#include "registry/containerd_config.h"
#include "registry/registries_files.h"

namespace prefetch::registry {

inline constexpr std::string_view kCrioRuntime = "cri-o";  // as it calls itself

// By the operator; it wins over the report, and that over the file.
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
  ContainerdSettings containerd;
  RegistriesSettings crio;
};

image::RegistryAccess DecideAccess(const DeclaredAccess& declared, const RuntimeFacts& runtime,
                                   const FileFacts& files);

}  // namespace prefetch::registry
