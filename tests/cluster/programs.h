// The real programs that the suite runs: of the folder that PREFETCH_CLUSTER_BIN names, else of PATH.
#pragma once

#include <string>
#include <vector>

namespace prefetch::cluster {

struct MissingProgram {
  std::string name;
  std::string where;  // where people get it
};

// Puts the folder in front of PATH; from then on every program is looked up there first.
void UseFolder(const std::string& folder);
// The path of a program; empty if there is none.
std::string PathOf(const std::string& name);
// Those without which no cluster starts. The control plane and kubelet must be in `folder` itself.
std::vector<MissingProgram> MissingPrograms(const std::string& folder);
// One line: "kubelet v1.36.3, kube-apiserver v1.36.3, …".
std::string Versions();
// "1.36.3"
std::string KubeletVersion();
std::string VersionOfProgram(const std::string& path);
// The kubelet of an older release, for upgrades: of the folder that PREFETCH_CLUSTER_OLDER names. Empty:
// there is none.
std::string OlderKubelet();

}  // namespace prefetch::cluster
