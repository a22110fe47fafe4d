#include "registry/access.h"

#include <utility>

#include "registry/config_roots.h"

namespace prefetch::registry {
namespace {

constexpr const char* kContainerd = "containerd";
constexpr const char* kEverything = "*";
constexpr const char* kDeclared = "declared";
constexpr const char* kRuntime = "runtime";
constexpr const char* kDefault = "default";

image::RegistryAccess OnlyByPull(const char* source) {
  return {.by_pull = {kEverything}, .by_pull_source = source};
}

void FindConfigPath(const DeclaredAccess& declared, const RuntimeFacts& runtime,
                    image::RegistryAccess& access) {
  const image::RuntimeRegistries& told = runtime.registries;
  if (!declared.config_path.empty()) {
    access.config_path = declared.config_path;
    access.config_path_source = kDeclared;
    if (!told.told || told.config_path == declared.config_path) return;
    access.notes.push_back("containerd tells " +
                           (told.config_path.empty() ? "that it has no config_path"
                                                     : "that its config_path is " + told.config_path) +
                           "; " + declared.config_path + " is declared, and counts");
    return;
  }
  if (told.told) {
    access.config_path = told.config_path;
    access.config_path_source = kRuntime;
    return;
  }
  access.config_path = DefaultConfigPath(runtime.version);
  access.config_path_source = kDefault;
}

}  // namespace

image::RegistryAccess DecideAccess(const DeclaredAccess& declared, const RuntimeFacts& runtime) {
  if (declared.by_pull) return OnlyByPull(kDeclared);
  if (runtime.name != kContainerd) return OnlyByPull(runtime.name.empty() ? "" : kRuntime);
  image::RegistryAccess access;
  FindConfigPath(declared, runtime, access);
  access.by_pull = runtime.registries.in_tables;
  if (!access.by_pull.empty()) access.by_pull_source = kRuntime;
  return access;
}

}  // namespace prefetch::registry
