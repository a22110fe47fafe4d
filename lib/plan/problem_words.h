// The sentences about a node's kubelet and mounts that status, explain and readiness share. Pure.
#pragma once

#include <string>

#include "kubelet/records.h"

namespace prefetch::plan {

// A file that was mounted by itself, and replaced on the node.
std::string StaleMountWords(const std::string& file);

// The declared version of kubelet, and the one by its Node.
std::string VersionContradictionWords(const std::string& declared, const std::string& by_node);

// For KubeletStatus::records_note; empty: the records can be read. `gate_is_on`: of each kubelet that may run
// here, so that it keeps records.
std::string RecordsNote(const std::string& root, kubelet::RecordsAccess access, bool gate_is_on);

}  // namespace prefetch::plan
