// Is the program that the agent runs for a credential provider the one that kubelet runs?
#pragma once

#include <string>

namespace prefetch::credentials {

enum class ProgramHere {
  kSame,     // or kubelet's is not to be seen here
  kAbsent,   // the agent has none
  kAnother,  // it has other bytes than kubelet's
};

// The path of a provider's program.
std::string ProgramIn(const std::string& bin_dir, const std::string& provider);

// Folders as they are reached here; kubelet's may be empty. Blocks as a disk does, and reads both programs
// where they are two files of one size.
ProgramHere CompareProgram(const std::string& own_bin_dir, const std::string& kubelets_bin_dir,
                           const std::string& provider);

}  // namespace prefetch::credentials
