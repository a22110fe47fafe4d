// StaleMounts: single-file mounts of this process's container whose file was replaced on the node: docker
// configs, CA bundles, lists. With or without a kubelet.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/timed_reader.h"

namespace prefetch::agent {

// One owner, one thread at a time.
class StaleMounts {
 public:
  // Where this process's mounts are listed; empty: not looked at.
  explicit StaleMounts(std::string mountinfo) : mountinfo_(std::move(mountinfo)) {}

  // A sentence for each such file. Looks anew every half minute: a node has thousands of mounts. Blocks for a
  // second at most: a mount may not answer.
  const std::vector<std::string>& Look(base::TimePoint now);

 private:
  const std::string mountinfo_;
  base::TimePoint next_;
  std::vector<std::string> problems_;
  std::unique_ptr<base::TimedReader> files_ = std::make_unique<base::TimedReader>();
};

}  // namespace prefetch::agent
