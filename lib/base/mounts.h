// Mounts of this process whose source is gone: a file that is mounted by itself stays the old one when a tool
// replaces it by rename, as most do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace prefetch::base {

// The mount points in a /proc/PID/mountinfo whose source was deleted, or replaced by rename (the kernel's
// fs/dcache.c marks such a root by "//deleted"). In its order. Pure.
std::vector<std::string> DeletedMounts(std::string_view mountinfo);

// Returns those that are no directories; empty if the file cannot be read. Blocks as a disk does.
std::vector<std::string> ReplacedFiles(const std::string& mountinfo_path);

}  // namespace prefetch::base
