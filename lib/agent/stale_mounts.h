// StaleMounts: single-file mounts of this process's container whose file was replaced on the node: docker
// configs, CA bundles, lists. With or without a kubelet.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace prefetch::agent {

// One owner, one thread at a time.
class StaleMounts {
 public:
  // Where this process's mounts are listed; empty: not looked at.
  explicit StaleMounts(std::string mountinfo) : mountinfo_(std::move(mountinfo)) {}

  // A sentence for each such file. Looks anew every half minute: a node has thousands of mounts. Blocks as a
  // disk does.
  const std::vector<std::string>& Look(base::TimePoint now);

 private:
  const std::string mountinfo_;
  base::TimePoint next_;
  std::vector<std::string> problems_;
};

}  // namespace prefetch::agent
