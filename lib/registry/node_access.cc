#include "registry/node_access.h"

#include <utility>

namespace prefetch::registry {

std::shared_ptr<const DecidedAccess> NodeAccess::For(const image::RuntimeInfo& runtime) {
  bool is_crio = runtime.name == kCrioRuntime;
  std::shared_ptr<const ContainerdSettings> containerd;
  std::shared_ptr<const RegistriesSettings> crio;
  base::Lock lock(mutex_);
  if (!is_crio && !files_.containerd.empty()) {
    containerd = containerd_.Get([this](base::StampedFiles& disk) {
      return LoadContainerdConfig(files_.containerd, host_root_, disk);
    });
  }
  if (is_crio && !files_.registries.empty()) {
    crio = crio_.Get(
        [this](base::StampedFiles& disk) { return LoadRegistriesConf(files_.registries, host_root_, disk); });
  }
  // Get() returns the same pointer while the files are unchanged, so comparing pointers is sufficient.
  bool same_files = containerd_settings_ == containerd && crio_settings_ == crio;
  if (decided_ && decided_->runtime == runtime && same_files) return decided_;
  FileFacts files;
  if (containerd) files.containerd = *containerd;
  if (crio) files.crio = *crio;
  DecidedAccess decided{
      .runtime = runtime, .access = DecideAccess(declared_, runtime, files), .registries = files.crio.conf};
  if (is_crio) {
    decided.hosts.containerd = false;
  } else {
    decided.hosts = {.containerd_version = runtime.version,
                     .config_path = decided.access.config_path,
                     .path_is_default = decided.access.config_path_source == "default",
                     .local_pull = decided.access.local_pull,
                     .split_config_path = declared_.split_config_path};
    // Nothing was declared, and neither containerd nor its file told anything: the defaults are an
    // assumption.
    decided.is_guess =
        declared_.config_path.empty() && !runtime.registries.known && !files.containerd.registries.known;
  }
  decided_ = std::make_shared<const DecidedAccess>(std::move(decided));
  containerd_settings_ = std::move(containerd);
  crio_settings_ = std::move(crio);
  return decided_;
}

bool MayDownload(const DecidedAccess& decided, std::string_view registry) {
  // Downloads must come from the same servers as the runtime's pulls, so a guess is not sufficient. They
  // would also keep layers that containerd is told to discard.
  return !decided.registries && !decided.is_guess && !decided.access.discards_layers &&
         !image::IsOnlyByPull(decided.access, registry);
}

std::string ByPullReason(const image::RegistryAccess& access, const image::RuntimeInfo& runtime) {
  if (access.by_pull_source == "declared")
    return "It is declared that only the runtime can follow its mirrors.";
  bool of_containerd = runtime.registries.known || !access.config_path_source.empty();
  if (of_containerd) {
    return "containerd has mirrors, certificates or credentials for it in its own configuration, not in "
           "hosts.toml: only it can follow them.";
  }
  if (access.by_pull_source == "file" && runtime.name == kCrioRuntime) {
    return "CRI-O's registries.conf cannot be followed here: only CRI-O knows.";
  }
  if (access.by_pull_source == "file") {
    return "containerd's configuration file does not name its servers: only containerd knows them.";
  }
  return "This runtime's mirrors are not known: its registries are only asked by pulling.";
}

namespace {

constexpr const char* kContainerd = "containerd";
constexpr const char* kAllRegistries = "*";
constexpr const char* kDeclared = "declared";
constexpr const char* kRuntime = "runtime";
constexpr const char* kFile = "file";
constexpr const char* kDefault = "default";
constexpr const char* kRegistriesConf = "registries.conf";

image::RegistryAccess OnlyByPull(const char* source) {
  return {.by_pull = {kAllRegistries}, .by_pull_source = source};
}

// The access by CRI-O's registries.conf, if it is configured and can be followed.
image::RegistryAccess CrioAccess(const RegistriesSettings& settings) {
  if (settings.file.empty()) return OnlyByPull(kRuntime);
  image::RegistryAccess access = settings.conf ? image::RegistryAccess() : OnlyByPull(kFile);
  if (settings.conf) {
    access.config_path = settings.file;
    access.config_path_source = kRegistriesConf;
  }
  access.notes = settings.notes;
  return access;
}

// The source that knows containerd's configuration: containerd itself, or else its file (R35).
struct ConfigSource {
  const image::RuntimeRegistries& registries;
  const char* name;
  const char* words;
};

// Notes that a declared path differs from the known one.
void NoteContradiction(const std::string& declared, const ConfigSource& source,
                       image::RegistryAccess& access) {
  if (!source.registries.known || source.registries.config_path == declared) return;
  std::string note = source.words;
  note += source.registries.config_path.empty() ? "that it has no config_path"
                                                : "that its config_path is " + source.registries.config_path;
  access.notes.push_back(note + "; " + declared + " is declared, and counts");
}

void FindConfigPath(const DeclaredAccess& declared, const std::string& version, const ConfigSource& source,
                    image::RegistryAccess& access) {
  const image::RuntimeRegistries& registries = source.registries;
  if (!declared.config_path.empty()) {
    access.config_path = declared.config_path;
    access.config_path_source = kDeclared;
    NoteContradiction(declared.config_path, source, access);
    return;
  }
  if (!registries.known && !registries.hosts_in_tables.empty()) return;  // only the runtime knows
  access.config_path = registries.config_path;
  if (registries.config_path.empty() && !registries.has_mirrors)
    access.config_path = DefaultConfigPath(version);
  bool is_default = !registries.known || access.config_path != registries.config_path;
  access.config_path_source = is_default ? kDefault : source.name;
}

}  // namespace

image::RegistryAccess DecideAccess(const DeclaredAccess& declared, const image::RuntimeInfo& runtime,
                                   const FileFacts& files) {
  if (declared.by_pull) return OnlyByPull(kDeclared);
  if (runtime.name == kCrioRuntime) return CrioAccess(files.crio);
  // Only containerd and CRI-O have configurations that are followed here. An unknown runtime is asked by
  // pulling.
  if (runtime.name != kContainerd) return OnlyByPull(runtime.name.empty() ? "" : kRuntime);
  const ConfigSource itself{runtime.registries, kRuntime, "containerd tells "};
  const ContainerdSettings& file = files.containerd;
  const ConfigSource its_file{file.registries, kFile, "containerd's configuration file says "};
  const ConfigSource& source = runtime.registries.known ? itself : its_file;
  image::RegistryAccess access;
  if (!runtime.registries.known) access.notes = file.notes;
  FindConfigPath(declared, runtime.version, source, access);
  access.local_pull = source.registries.local_pull;
  access.discards_layers = source.registries.discards_layers;
  // A file that cannot be used does not contradict a declared path.
  bool usable = source.registries.known || access.config_path_source.empty();
  if (usable) access.by_pull = source.registries.hosts_in_tables;
  if (!access.by_pull.empty()) access.by_pull_source = source.name;
  return access;
}

}  // namespace prefetch::registry
