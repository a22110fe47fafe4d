// ReportedByKubelet: the settings that the running kubelet reports on its own port (K45, the strongest
// source). They are in force, whatever was written into files since kubelet started. Pure; kube/kubelet_api.h
// asks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kubelet/kubelet_config.h"

namespace prefetch::kubelet {

// As NodeFacts::sources name them.
constexpr const char* kConfigzSource = "configz";
constexpr const char* kMetricsSource = "kubelet's metrics";

struct ReportedByKubelet {
  std::optional<KubeletConfig> config;  // of /configz: after files, drop-ins and flags; `from` is "configz"
  std::optional<bool> gate;             // KubeletEnsureSecretPulledImages, of /metrics: its true value
  // Parts of its answer that do not fit, one sentence each.
  std::vector<std::string> remarks;

  friend bool operator==(const ReportedByKubelet&, const ReportedByKubelet&) = default;
};

// The `kubeletconfig` object of /configz, which has neither apiVersion nor kind. InvalidArgument if it is no
// KubeletConfiguration.
base::Result<KubeletConfig> DecodeConfigz(std::string_view json);

}  // namespace prefetch::kubelet
