// ProcessStat: what the kernel tells of a process in /proc/PID/stat (proc(5)).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace prefetch::base {

// The views are into the text that was parsed.
struct ProcessStat {
  std::string_view name;
  std::string_view state;    // "R", "S", "Z"
  std::string_view parent;   // its id
  std::string_view started;  // in the kernel's ticks since the boot

  // It has ended, and may wait to be reaped.
  bool IsGone() const { return state == "Z" || state == "X"; }
};

// nullopt: this is no such text.
std::optional<ProcessStat> ParseProcessStat(std::string_view text);

}  // namespace prefetch::base
