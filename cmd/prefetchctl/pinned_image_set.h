// `prefetchctl export pinned-image-set`: a list as OpenShift's own PinnedImageSet.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace prefetch::ctl {

struct ExportPinnedOptions {
  std::vector<std::string> lists;
  std::string name = "prefetchd";
  std::string pool = "worker";  // the MachineConfigPool whose nodes pin the images
};

// By digest: the list's own, and for tags those of its lock (`prefetchctl list lock`). Exit code: 0 printed,
// 2 bad input and nothing printed: a tag without a digest, no image at all, more than OpenShift takes.
int ExportPinnedImageSet(const ExportPinnedOptions& options, std::ostream& out, std::ostream& err);

}  // namespace prefetch::ctl
