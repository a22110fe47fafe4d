// Where distributions put kubelet's configuration (K50). Pure.
#pragma once

#include <string>
#include <vector>

namespace prefetch::kubelet {

struct UsualConfig {
  std::string file;      // empty: this distribution has drop-ins only
  std::string drop_ins;  // empty: no such folder

  friend bool operator==(const UsualConfig&, const UsualConfig&) = default;
};

// In the order in which they are tried. What is found there is a guess: flags may say more, and a file of
// such a name may be something else.
std::vector<UsualConfig> UsualConfigs();

}  // namespace prefetch::kubelet
