// Where what was declared of kubelet differs from what the node says. Pure. Internal to kubelet/.
#pragma once

#include <string>
#include <vector>

#include "kubelet/node_facts.h"

namespace prefetch::kubelet {

// One sentence each: "declared verification AlwaysVerify, but FILE says NeverVerify". `settings` are the
// node's. A version without the gate contradicts nothing, so that one declaration can serve nodes of several.
std::vector<std::string> SettingsContradictions(const Declared& declared, const KubeletConfig& config,
                                                const CommandLine& flags, const SettingsFacts& settings);

// Paths that were declared may lie below a mount of ours; they differ if they do not even end as kubelet's
// do.
std::vector<std::string> PathContradictions(const Declared& declared, const CommandLine& command_line,
                                            const std::string& host_root);

}  // namespace prefetch::kubelet
