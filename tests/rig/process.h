// A real program that a test runs: containerd, a registry, our own binaries.
//
// Not lib/base/subprocess: that one is what the product uses, and a test must not trust it.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "base/result.h"

namespace prefetch::rig {

struct Command {
  std::vector<std::string> argv;                         // argv[0] is looked up in PATH
  std::vector<std::pair<std::string, std::string>> env;  // set on top of the test's own environment
};

// For `env` of a program whose memory a test measures. `meson test` sets the variable for all programs, and
// glibc then writes to memory that is only set aside: an agent with 75 MiB at most had up to 104 MiB.
inline const std::pair<std::string, std::string> kNoMallocPerturb{"MALLOC_PERTURB_", "0"};

// How a program ended: `code` for exit(code), else the signal that killed it.
struct Exit {
  int code = 0;
  int signal = 0;
  friend bool operator==(const Exit&, const Exit&) = default;
};

// One running program in a process group of its own. The destructor kills the whole group, and the kernel
// kills the program if the thread that started it goes: start it from the thread that outlives it.
// One thread at a time may call.
class Process {
 public:
  Process() = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() { Kill(); }

  // Starts the program; stdout and stderr are appended to the file `log`, stdin is empty.
  // NotFound or PermissionDenied if it cannot be executed. Nothing may be running yet.
  base::Status Start(const Command& command, const std::string& log);
  // The same with descriptors for stdout and stderr, which stay the caller's.
  base::Status Start(const Command& command, int out, int err);

  // -1 when nothing was started, or it was waited for.
  pid_t pid() const { return pid_; }
  bool Running();
  // Returns the most resident memory that it has had so far; 0 if it does not run.
  std::uint64_t PeakBytes() const;
  // Returns how it ended, or nothing if it still runs after `limit`. Callers may ask again afterwards.
  std::optional<Exit> Wait(std::chrono::milliseconds limit);
  // To the program alone; does nothing when it has ended.
  void Signal(int signal) const;
  // SIGKILL to the whole group, then reaps it.
  void Kill();
  // SIGTERM, then after `grace` SIGKILL. Nothing if it had to be killed.
  std::optional<Exit> Stop(std::chrono::milliseconds grace);

 private:
  pid_t pid_ = -1;
  base::Fd pidfd_;
  std::optional<Exit> exit_;
};

struct Ran {
  Exit exit;
  std::string out;
  std::string err;
};

// Runs a program to its end. DeadlineExceeded (and the group is killed) after `limit`.
base::Result<Ran> RunProgram(const Command& command, std::chrono::milliseconds limit);

inline constexpr std::chrono::milliseconds kShortestPause{5}, kLongestPause{50};
void Pause(std::chrono::milliseconds time = kShortestPause);

// Waits until `done` is true, asking every few milliseconds: for what has no descriptor to wait on, such
// as a foreign daemon's socket. False after `limit`. After a second it asks twenty times a second, since a
// question may be a process.
template <typename Condition>
bool Eventually(std::chrono::milliseconds limit, Condition done) {
  const auto start = std::chrono::steady_clock::now();
  while (!done()) {
    const auto waited =
        std::chrono::floor<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
    if (waited >= limit) return false;
    Pause(std::clamp(waited / 20, kShortestPause, kLongestPause));
  }
  return true;
}

}  // namespace prefetch::rig
