#include "plan/problem_words.h"

namespace prefetch::plan {

std::string StaleMountWords(const std::string& file) {
  return file +
         " was replaced on the node, and the agent still has the old file mounted: restart the agent's pod, "
         "and mount the folder instead of the file";
}

std::string VersionContradictionWords(const std::string& declared, const std::string& by_node) {
  return "declared version " + declared + ", but the Node says " + by_node;
}

std::string RecordsNote(const std::string& root, kubelet::RecordsAccess access, bool gate_is_on) {
  switch (access) {
    case kubelet::RecordsAccess::kReadable:
      return "";
    case kubelet::RecordsAccess::kNoFolder:
      if (!gate_is_on) return "";
      return root +
             "/image_manager is not there, so kubelet has recorded nothing yet, or its root directory is "
             "another one: name it with --kubelet-root";
    case kubelet::RecordsAccess::kNoRoot:
      return "kubelet's root directory " + root +
             " is not there: mount it, name it with --kubelet-root, or declare --kubelet=none where no "
             "kubelet runs";
    case kubelet::RecordsAccess::kForbidden:
      return "kubelet's records in " + root +
             "/image_manager may not be read by this process: it needs to run as root";
    case kubelet::RecordsAccess::kReplaced:
      return root +
             "/image_manager was deleted while it was mounted here, so kubelet's records cannot be seen: the "
             "agent ends, and reads the new folder after its restart";
  }
  return "";
}

}  // namespace prefetch::plan
