// Would a kubelet start with these files and flags? Checks across fields (K8,
// K44, K49); MergeKubeletConfigs checks single fields. Pure. Internal to
// kubelet/.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "image/kubelet_version.h"
#include "kubelet/command_line.h"
#include "kubelet/gc_forecast.h"
#include "kubelet/kubelet_config.h"

namespace prefetch::kubelet {

// Flags beat files, files beat kubelet's defaults.
GcRules GcRulesOf(const KubeletConfig& config, const CommandLine& flags);

// Returns the reasons why kubelet would not start, one sentence each; empty if there is none. Without a
// version, checks that depend on it are left out.
//
// Note that kubelet fills in its default policy before it reads drop-ins and flags. If one of these turns the
// gate off, the policy that kubelet filled in remains; if one turns it on, there is no policy. kubelet
// rejects both.
std::vector<std::string> WhyNotStarted(const KubeletConfig& config, const CommandLine& flags,
                                       std::optional<image::KubeletVersion> version);

}  // namespace prefetch::kubelet
