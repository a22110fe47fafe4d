// A node's processes and kubelet's files on it, as NodeFactsReader finds them.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "kubelet/node_facts_reader.h"
#include "temp_dir.h"

namespace prefetch::kubelet::kubelet_node {

inline const std::string kHead = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";

inline std::string Low(int percent) {
  return kHead + "imageGCLowThresholdPercent: " + std::to_string(percent) + "\n";
}

// A node: "proc" with processes, "host" with files.
class Node {
 public:
  std::string operator/(const std::string& name) const { return dir_ / name; }
  void Write(const std::string& name, const std::string& text) const { dir_.Write(name, text); }

  void AddProcess(const std::string& pid, const std::vector<std::string>& arguments,
                  const std::string& name = "kubelet", const std::string& started = "4242") const {
    std::string cmdline;
    for (const std::string& argument : arguments) cmdline += argument + '\0';
    Write("proc/" + pid + "/cmdline", cmdline);
    SetStat(pid, name, 'S', started);
    SetStatus(pid, "0", pid);
  }
  // Fields 4 to 21 are of no interest.
  void SetStat(const std::string& pid, const std::string& name, char state, const std::string& started,
               const std::string& parent = "1") const {
    Write("proc/" + pid + "/stat", pid + " (" + name + ") " + state + " " + parent +
                                       " 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 " + started + " 23 24\n");
  }
  void SetStatus(const std::string& pid, const std::string& uid, const std::string& pids) const {
    Write("proc/" + pid + "/status",
          "Name:\tx\nUid:\t" + uid + "\t0\t0\t0\nGid:\t0\t0\t0\t0\nNSpid:\t" + pids + "\nThreads:\t9\n");
  }
  void RemoveProcess(const std::string& pid) const { std::filesystem::remove_all(dir_ / ("proc/" + pid)); }

  NodeFactsReader Reader(KubeletDeclarations declared = {},
                         const std::vector<WellKnownConfig>& usual = WellKnownConfigs()) const {
    return NodeFactsReader(std::move(declared), dir_ / "proc", usual, dir_ / "host");
  }

 private:
  tests::TempDir dir_;
};

inline std::string Source(const NodeFacts& facts, const std::string& fact) {
  for (const auto& [name, source] : facts.sources) {
    if (name == fact) return source;
  }
  return "";
}

// The low threshold, or why there is none.
inline std::string LowOf(const NodeFacts& facts) {
  if (!facts.problems.empty()) return "problem";
  return facts.gc ? std::to_string(facts.gc->low_percent) : "unknown";
}

}  // namespace prefetch::kubelet::kubelet_node
