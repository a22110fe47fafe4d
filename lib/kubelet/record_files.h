// The files below kubelet's root directory, as they are (K14). Read only: nothing is locked or written, only
// image_manager itself is listed, and nothing else below the root is opened.
#pragma once

#include <string>
#include <vector>

#include "kubelet/possible_verdicts.h"

namespace prefetch::kubelet {

// <root>/image_manager/pulled/… for an image id, <root>/image_manager/pulling/… for a pod's literal image.
// kAbsent where the file or image_manager is not there; kUnreadable where the root is not there or
// image_manager was replaced, which tells nothing, where we may not read it, or it is no plain file, or
// longer than any record. Block only as a disk does. Any thread may call.
FileContent ReadRecordFile(const std::string& kubelet_root, const std::string& image_id);
FileContent ReadIntentFile(const std::string& kubelet_root, const std::string& image);

// Returns true if <root>/image_manager was deleted while it alone was mounted here. kubelet then keeps its
// records in a new folder, which this process cannot reach until the folder is mounted again.
bool RecordsFolderIsReplaced(const std::string& kubelet_root);

// The same for callers that have the file's name already (FileNameFor in records.h).
FileContent ReadRecordNamed(const std::string& kubelet_root, const std::string& file_name);
FileContent ReadIntentNamed(const std::string& kubelet_root, const std::string& file_name);

// Folders of image_manager that are neither `pulled` nor `pulling`: what a kubelet keeps there, only newer
// rules tell (K52). As paths that end with a slash.
std::vector<std::string> UnknownFolders(const std::string& kubelet_root);
// Whether one of them has a file about this image.
bool IsInUnknownDirectory(const std::string& kubelet_root, const std::string& image_id,
                          const std::string& image);

}  // namespace prefetch::kubelet
