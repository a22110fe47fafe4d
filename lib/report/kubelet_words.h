// What is known of a node's kubelet, in a person's words. Pure.
#pragma once

#include <string>

#include "report/status_document.h"

namespace prefetch::report {

// "kubelet 1.36.2", "no kubelet", "kubelet of unknown version".
std::string KubeletWords(const StatusKubelet& kubelet);

// Of one that is there, also how it verifies images if that is known, and who says each: "1.36.2 (declared),
// NeverVerify (/var/lib/kubelet/config.yaml)".
std::string KubeletDetail(const StatusKubelet& kubelet);

}  // namespace prefetch::report
