// The disk rule: after a pull the image filesystem must stay below kubelet's image GC threshold with some
// bytes free, so that a prefetch never makes kubelet evict (kubelet's rule K41). Pure.
#pragma once

#include <cstdint>
#include <string>

#include "plan/limits.h"

namespace prefetch::plan {

struct DiskSpace {
  bool known = false;  // false: the filesystem cannot be measured from here; then nothing is refused
  std::uint64_t capacity_bytes = 0;
  std::uint64_t available_bytes = 0;  // for an ordinary user: f_bavail
};

// Bytes that the rule keeps free. 0: the filesystem cannot be measured.
std::uint64_t KeptFree(const DiskSpace& disk, const Limits& limits);

// Bytes that may still be used before the rule says stop. 0: none.
std::uint64_t Usable(const DiskSpace& disk, const Limits& limits);

// The free room and the one limit that decides, with their values, for people: "19.0 GB of the image
// filesystem's 100 GB are free, and diskHighPercent (80 %) keeps 20.0 GB free". Empty: it cannot be measured.
std::string DecidingLimit(const DiskSpace& disk, const Limits& limits);

}  // namespace prefetch::plan
