// DecideAccess: what is declared of a node's registries, and what its runtime tells -> which of them can be
// asked as the runtime would ask, and which only by pulling (spec/registry.md sections 7.2, 7.3, 7.5). Pure.
#pragma once

#include <string>

#include "image/registry_access.h"

namespace prefetch::registry {

// By the operator; it wins over what is told.
struct DeclaredAccess {
  bool by_pull = false;
  std::string config_path;  // empty: nothing is declared
};

struct RuntimeFacts {
  std::string name, version;  // empty: not connected yet
  image::RuntimeRegistries registries;
};

image::RegistryAccess DecideAccess(const DeclaredAccess& declared, const RuntimeFacts& runtime);

}  // namespace prefetch::registry
