// The credential configuration of this node, as prefetchd would take it from flags, environment and file.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"
#include "credentials/keyring.h"
#include "image/kubelet_version.h"

namespace prefetch::ctl {

// Flags, environment and file laid over each other; the flags alone, with the mistakes said, if those two
// have any.
config::RawConfig LoadCredentialConfig(const config::RawConfig& flags, const config::GetEnv& get_env,
                                       std::vector<std::string>& mistakes);
// The options of a Keyring; paths are absolute.
credentials::KeyringOptions ToKeyringOptions(const config::RawConfig& raw,
                                             std::vector<std::string>& mistakes);
image::KubeletVersion DeclaredKubeletVersion(const config::RawConfig& raw,
                                             std::vector<std::string>& mistakes);

}  // namespace prefetch::ctl
