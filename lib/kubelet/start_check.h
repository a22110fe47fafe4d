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

// Why it would not; empty: nothing here speaks against it. Without a version what depends on it is not
// checked. One sentence each.
//
// The surprise: kubelet fills in its default policy before it reads drop-ins and flags. One of these that
// turns the gate off leaves the policy that was filled in by itself, and turning it on leaves none; either is
// refused.
std::vector<std::string> WhyNotStarted(const KubeletConfig& config, const CommandLine& flags,
                                       std::optional<image::KubeletVersion> version);

}  // namespace prefetch::kubelet
