// Defaults of what an operator may set. Those of the limits stand with them, in plan/limits.h.
#pragma once

namespace prefetch::config {

constexpr const char* kDefaultListen = "127.0.0.1:9477";
constexpr const char* kDefaultLocal = "/run/prefetchd/prefetchd.sock";

// The kubelets whose rules are known, 1.31 to 1.36 (spec/kubelet.md section 4).
constexpr unsigned kOldestKubeletMinor = 31;
constexpr unsigned kNewestKubeletMinor = 36;

}  // namespace prefetch::config
