#include "registry/node_access.h"

#include <utility>

namespace prefetch::registry {

NodeAccess::NodeAccess(DeclaredAccess declared, const ConfigFiles& files, const std::string& host_root)
    : declared_(std::move(declared)) {
  if (!files.containerd.empty()) containerd_.emplace(files.containerd, host_root);
  if (!files.registries.empty()) crio_.emplace(files.registries, host_root);
}

std::shared_ptr<const DecidedAccess> NodeAccess::For(const RuntimeFacts& runtime) {
  bool is_crio = runtime.name == kCrioRuntime;
  std::shared_ptr<const ContainerdSettings> containerd =
      containerd_ && !is_crio ? containerd_->Current() : nullptr;
  std::shared_ptr<const RegistriesSettings> crio = crio_ && is_crio ? crio_->Current() : nullptr;
  base::Lock lock(mutex_);
  // Current() returns the same pointer while the files are unchanged, so comparing pointers is sufficient.
  bool same_files = of_containerd_ == containerd && of_crio_ == crio;
  if (decided_ && decided_->runtime == runtime && same_files) return decided_;
  FileFacts files;
  if (containerd) files.containerd = *containerd;
  if (crio) files.crio = *crio;
  DecidedAccess decided{.runtime = runtime,
                        .access = DecideAccess(declared_, runtime, files),
                        .hosts = {},
                        .registries = files.crio.conf};
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
  of_containerd_ = std::move(containerd);
  of_crio_ = std::move(crio);
  return decided_;
}

bool MayDownload(const DecidedAccess& decided, std::string_view registry) {
  // Downloads must come from the same servers as the runtime's pulls, so a guess is not sufficient. They
  // would also keep layers that containerd is told to discard.
  return !decided.registries && !decided.is_guess && !decided.access.discards_layers &&
         !image::IsOnlyByPull(decided.access, registry);
}

std::string ByPullWords(const image::RegistryAccess& access, const RuntimeFacts& runtime) {
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

}  // namespace prefetch::registry
