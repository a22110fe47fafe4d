// KubeletProcess: finds the kubelet that runs here, and with which flags (K46). Internal to
// kubelet/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "kubelet/command_line.h"

namespace prefetch::kubelet {

// Part of one NodeFactsReader. Reads a process' stat and status, and its cmdline and cwd only if its name is
// kubelet's.
//
// A process counts only if it belongs to root (or to the agent's own user) and is in no container: anybody
// can name a process "kubelet", and a pod must not choose the files that the agent reads. Embedded kubelets
// (k3s, microshift) are not found. A child of kubelet looks like kubelet until it executes another program,
// and during a restart there are two for a moment.
class KubeletProcess {
 public:
  // `proc_dir` is /proc of the host's processes; empty: do not look. `root`, with the host's own path, is the
  // --root-dir of the kubelet that is meant; empty: none is declared. One kubelet alone counts whatever its
  // root.
  KubeletProcess(std::string proc_dir, std::string root);

  // Reads one file while the kubelet that was found runs. Otherwise lists the processes, and examines the new
  // ones and, at each 16th call, all. Returns true if a member below changed.
  bool Poll();

  // Which process runs, for telling it from the next; empty: none was seen yet. It stands like the command
  // line.
  const std::string& process() const { return process_; }
  // When it began, to the second; nullopt: none was seen, or the host's boot time cannot be read.
  std::optional<base::WallTime> BeganAt() const;
  // Its paths are absolute. Returns nullopt if no kubelet was ever seen, or if there are several. While
  // kubelet is away, returns the flags with which it ran last.
  const std::optional<CommandLine>& command_line() const { return command_line_; }
  // One sentence each.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  struct Found {
    std::string pid;
    std::string parent;   // the pid
    std::string started;  // in the kernel's ticks, as it was written
    CommandLine command_line;
  };

  bool StillRuns() const;
  bool IsMeant(const CommandLine& line) const;
  void LeaveOutOthers(std::vector<Found>& all) const;
  std::vector<Found> Scan();
  void LeaveOutPassing(std::vector<Found>& all) const;
  std::optional<Found> Examine(const std::string& pid) const;

  const std::string proc_dir_;
  const std::string root_;
  std::string pid_;  // empty: not found
  std::string started_;
  std::string process_;
  unsigned scans_ = 0;
  std::map<std::uint64_t, unsigned> others_;  // how often each process was no kubelet
  std::optional<CommandLine> command_line_;
  std::vector<std::string> problems_;
};

}  // namespace prefetch::kubelet
