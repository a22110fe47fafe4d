// `prefetchctl list export --for kubelet`: the settings of kubelet that exempt the images of a list.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace prefetch::ctl {

enum class AllowlistOutput {
  kYaml,       // a drop-in of kubelet's own configuration
  kOpenShift,  // a KubeletConfig of the Machine Config Operator, which writes kubelet's configuration there
};

// Options as written on the command line.
struct ExportOptions {
  std::vector<std::string> lists;              // files, and folders of them
  std::optional<std::string> kubelet_version;  // of an allowlist; else the newest that is known
  AllowlistOutput output = AllowlistOutput::kYaml;
  std::string name = "prefetchd";  // of a PinnedImageSet
  std::string pool = "worker";     // the MachineConfigPool whose nodes pin the images
};

// Prints all on `out`, or nothing there and all mistakes on `err`: lists that the agent would refuse, an
// empty list, a kubelet that has no allowlist, names that no pattern of it matches. Exit code: 0 or 2.
int ExportAllowlist(const ExportOptions& options, std::ostream& out, std::ostream& err);

// `prefetchctl list export --for openshift`: a list as OpenShift's own PinnedImageSet. By digest: the list's
// own, and for tags those of its lock (`prefetchctl list lock`). Exit code: 0 printed, 2 bad input and
// nothing printed: a tag without a digest, no image at all, more than OpenShift takes.
int ExportPinnedImageSet(const ExportOptions& options, std::ostream& out, std::ostream& err);

}  // namespace prefetch::ctl
