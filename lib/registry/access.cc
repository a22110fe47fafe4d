#include "registry/access.h"

#include <utility>

#include "registry/config_roots.h"

namespace prefetch::registry {
namespace {

constexpr const char* kContainerd = "containerd";
constexpr const char* kEverything = "*";
constexpr const char* kDeclared = "declared";
constexpr const char* kRuntime = "runtime";
constexpr const char* kFile = "file";
constexpr const char* kDefault = "default";
constexpr const char* kRegistriesConf = "registries.conf";

image::RegistryAccess OnlyByPull(const char* source) {
  return {.by_pull = {kEverything}, .by_pull_source = source};
}

// The access by CRI-O's registries.conf, if it is configured and can be followed.
image::RegistryAccess OfCrio(const RegistriesSettings& word) {
  if (word.file.empty()) return OnlyByPull(kRuntime);
  image::RegistryAccess access = word.conf ? image::RegistryAccess() : OnlyByPull(kFile);
  if (word.conf) {
    access.config_path = word.file;
    access.config_path_source = kRegistriesConf;
  }
  access.notes = word.notes;
  return access;
}

// The source that knows containerd's configuration: containerd itself, or else its file (R35).
struct Witness {
  const image::RuntimeRegistries& said;
  const char* name;
  const char* words;
};

// Notes that a declared path differs from the known one.
void NoteContradiction(const std::string& declared, const Witness& witness, image::RegistryAccess& access) {
  if (!witness.said.told || witness.said.config_path == declared) return;
  std::string note = witness.words;
  note += witness.said.config_path.empty() ? "that it has no config_path"
                                           : "that its config_path is " + witness.said.config_path;
  access.notes.push_back(note + "; " + declared + " is declared, and counts");
}

void FindConfigPath(const DeclaredAccess& declared, const std::string& version, const Witness& witness,
                    image::RegistryAccess& access) {
  const image::RuntimeRegistries& said = witness.said;
  if (!declared.config_path.empty()) {
    access.config_path = declared.config_path;
    access.config_path_source = kDeclared;
    NoteContradiction(declared.config_path, witness, access);
    return;
  }
  if (!said.told && !said.in_tables.empty()) return;  // only the runtime knows
  access.config_path = said.config_path;
  if (said.config_path.empty() && !said.has_mirrors) access.config_path = DefaultConfigPath(version);
  bool is_default = !said.told || access.config_path != said.config_path;
  access.config_path_source = is_default ? kDefault : witness.name;
}

}  // namespace

image::RegistryAccess DecideAccess(const DeclaredAccess& declared, const RuntimeFacts& runtime,
                                   const FileFacts& files) {
  if (declared.by_pull) return OnlyByPull(kDeclared);
  if (runtime.name == kCrioRuntime) return OfCrio(files.crio);
  // Only containerd and CRI-O have configurations that are followed here. An unknown runtime is asked by
  // pulling.
  if (runtime.name != kContainerd) return OnlyByPull(runtime.name.empty() ? "" : kRuntime);
  const Witness itself{runtime.registries, kRuntime, "containerd tells "};
  const ContainerdSettings& file = files.containerd;
  const Witness its_file{file.registries, kFile, "containerd's configuration file says "};
  const Witness& witness = runtime.registries.told ? itself : its_file;
  image::RegistryAccess access;
  if (!runtime.registries.told) access.notes = file.notes;
  FindConfigPath(declared, runtime.version, witness, access);
  access.local_pull = witness.said.local_pull;
  access.discards_layers = witness.said.discards_layers;
  // A file that cannot be used does not contradict a declared path.
  bool usable = witness.said.told || access.config_path_source.empty();
  if (usable) access.by_pull = witness.said.in_tables;
  if (!access.by_pull.empty()) access.by_pull_source = witness.name;
  return access;
}

}  // namespace prefetch::registry
