#include "ctl/node_credentials.h"

#include <filesystem>

#include "base/text.h"
#include "config/agent_config.h"

namespace prefetch::ctl {
namespace {

using Lines = std::vector<std::string>;

void AddLines(const base::Error& error, Lines& mistakes) {
  for (std::string_view line : base::Split(error.message(), '\n')) mistakes.emplace_back(line);
}

// Makes a path absolute: on a command line it may be relative, and the keyring runs plugins in their own
// folder (A8).
std::string Absolute(const std::string& path) {
  std::error_code ignored;
  std::filesystem::path absolute = std::filesystem::absolute(path, ignored);
  return path.empty() || ignored ? path : absolute.string();
}

}  // namespace

config::RawConfig LoadCredentialConfig(const config::RawConfig& flags, const config::GetEnv& get_env,
                                       Lines& mistakes) {
  auto raw = config::LoadRawConfig(flags, get_env);
  // With mistakes in file or environment, the flags alone are used, so that all other mistakes are found in
  // the same run.
  if (raw) return *std::move(raw);
  AddLines(raw.error(), mistakes);
  return flags;
}

image::KubeletVersion DeclaredKubeletVersion(const config::RawConfig& raw, Lines& mistakes) {
  const auto* given = raw.Text("kubelet-version");
  if (!given) return {};
  auto version = config::CheckedKubelet(given->value);
  if (version) return *version;
  mistakes.push_back(given->source + ": " + version.error().message());
  return {};
}

credentials::KeyringOptions ToKeyringOptions(const config::RawConfig& raw, Lines& mistakes) {
  credentials::KeyringOptions options;
  config::Mistakes unpaired;
  config::CheckProviderPair(raw, unpaired);
  if (!unpaired.empty()) AddLines(unpaired.ToError(), mistakes);
  if (const auto* config = raw.Text("image-credential-provider-config"))
    options.provider_config = Absolute(config->value);
  if (const auto* bin_dir = raw.Text("image-credential-provider-bin-dir"))
    options.provider_bin_dir = Absolute(bin_dir->value);
  if (const auto* root = raw.Text("kubelet-root"))
    options.docker_config_search.kubelet_root = Absolute(root->value);
  if (const auto* configs = raw.Texts("docker-config")) {
    for (const std::string& path : configs->value) options.docker_configs.push_back(Absolute(path));
  }
  if (raw.provider_environment) {
    for (const auto& [name, value] : *raw.provider_environment) {
      options.provider_environment[name] = std::string(value.Reveal());
    }
  }
  options.pull_secrets = raw.pull_secrets;
  options.kubelet_version = DeclaredKubeletVersion(raw, mistakes);
  return options;
}

}  // namespace prefetch::ctl
