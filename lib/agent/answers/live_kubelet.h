// Kubelet's files about one image as they are at this moment.
#pragma once

#include <string>

#include "kubelet/possible_verdicts.h"
#include "plan/snapshot.h"
#include "status/check_document.h"

namespace prefetch::agent {

// Is enough known of kubelet to judge by its files?
bool KnowsKubelet(const plan::Snapshot& snapshot);

// Both need KnowsKubelet. `written`: the name as a pod writes it; `image_id` empty: the image is not here.
// The pod is any that has no credentials of its own.
kubelet::VerdictQuestion ReadKubeletFiles(const plan::Snapshot& snapshot, const std::string& written,
                                          const std::string& image_id);
// kubelet's verdict for exactly this pod.
kubelet::Verdict KubeletVerdict(const plan::Snapshot& snapshot, const std::string& image_id,
                                const status::CheckQuestion& question);

}  // namespace prefetch::agent
