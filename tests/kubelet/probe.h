// The recorded answers of a real kubelet: tests/testdata/kubelet/README.md.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kubelet/verdict.h"

namespace prefetch::tests {

struct Probe {
  std::string id;
  std::vector<std::pair<std::string, std::string>> files;  // below image_manager
  kubelet::VerdictQuestion question;                       // with the two files that matter
  std::string version, verification, pull_policy, observed;
  std::vector<std::string> allowlist;
};

// All lines; fails the test if one cannot be read.
std::vector<Probe> ReadProbes();

}  // namespace prefetch::tests
