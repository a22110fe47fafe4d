// ProcessStat: the facts of /proc/PID/stat about a process (proc(5)).
// LimitHeap and ReturnFreeMemory: the size of this process's heap.
// ReplacedFiles: mounts of this process whose source is gone.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace prefetch::base {

// The views are into the text that was parsed.
struct ProcessStat {
  std::string_view name;
  std::string_view state;    // "R", "S", "Z"
  std::string_view parent;   // its id
  std::string_view started;  // in the kernel's ticks since the boot

  // Returns true if it has ended. It may still wait to be reaped.
  bool HasExited() const { return state == "Z" || state == "X"; }
};

// Returns nullopt if the text is not of that form.
std::optional<ProcessStat> ParseProcessStat(std::string_view text);

// Returns when a process started, by ProcessStat::started and the text of /proc/stat, which has the time of
// the boot in whole seconds. nullopt if either says nothing. Pure.
std::optional<WallTime> StartOf(std::string_view started, std::string_view machine);

// Keeps the heap of a long-running program small. All threads, which mostly wait, share one heap, since each
// further one would hold a megabyte of free memory. Blocks over 128 KiB are apart from it, so that they go
// back to the system at once; by itself, glibc stops that after the first large block. Call it before the
// first thread starts.
void LimitHeap();

// Returns unused heap memory to the system. free() does so only at the heap's end; the rest of a burst of
// work would count against the pod's memory for as long as it lives. Costs about a millisecond and,
// later, a page fault for each page that is used again: for the calm after work, not for a loop. Any
// thread.
void ReturnFreeMemory();

// Returns the mount points in a /proc/PID/mountinfo whose source was deleted, or replaced by rename: a file
// that is mounted by itself stays the old one when a tool replaces it by rename, as most do. The kernel's
// fs/dcache.c marks such a root by "//deleted". In the order of the text. Pure.
std::vector<std::string> DeletedMounts(std::string_view mountinfo);

// Returns those that are no directories; empty if the file cannot be read. Blocks as a disk does.
std::vector<std::string> ReplacedFiles(const std::string& mountinfo_path);

}  // namespace prefetch::base
