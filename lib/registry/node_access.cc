#include "registry/node_access.h"

#include <utility>

namespace prefetch::registry {

NodeAccess::NodeAccess(DeclaredAccess declared, const std::string& containerd_config,
                       const std::string& host_root)
    : declared_(std::move(declared)) {
  if (!containerd_config.empty()) files_.emplace(containerd_config, host_root);
}

std::shared_ptr<const DecidedAccess> NodeAccess::For(const RuntimeFacts& runtime) {
  std::shared_ptr<const ContainerdWord> word = files_ ? files_->Look() : nullptr;
  base::Lock lock(mutex_);
  if (decided_ && decided_->runtime == runtime && word_ == word) return decided_;
  image::RegistryAccess access = DecideAccess(declared_, runtime, word ? *word : ContainerdWord{});
  RuntimeConfig hosts{.containerd_version = runtime.version,
                      .config_path = access.config_path,
                      .path_is_default = access.config_path_source == "default",
                      .local_pull = access.local_pull,
                      .split_config_path = declared_.split_config_path};
  decided_ = std::make_shared<const DecidedAccess>(
      DecidedAccess{.runtime = runtime, .access = std::move(access), .hosts = std::move(hosts)});
  word_ = std::move(word);
  return decided_;
}

std::string ByPullWords(const image::RegistryAccess& access, const RuntimeFacts& runtime) {
  if (access.by_pull_source == "declared")
    return "It is declared that only the runtime can follow its mirrors.";
  bool of_containerd = runtime.registries.told || !access.config_path_source.empty();
  if (of_containerd) {
    return "containerd has mirrors, certificates or credentials for it in its own configuration, not in "
           "hosts.toml: only it can follow them.";
  }
  if (access.by_pull_source == "file") {
    return "containerd's configuration file does not tell how it is reached: only containerd knows.";
  }
  return "This runtime's mirrors are not known: its registries are only asked by pulling.";
}

}  // namespace prefetch::registry
