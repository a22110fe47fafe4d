// SlowReaders: an agent with a long list, and many clients that ask it for everything and read nothing, as
// any pod can.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "rig/process.h"
#include "rig/scratch.h"

namespace prefetch::system {

// Used by one thread.
class SlowReaders {
 public:
  // Returns when the agent answers; a failure is one of the test.
  void StartAgent();
  // Does it answer this path within five seconds, with these first bytes?
  bool Answers(const std::string& path, const std::string& begin) const;

  struct Probes {
    std::vector<double> seconds;  // of those that were answered
    int unanswered = 0;           // within five seconds
  };
  // Asks for /readyz again and again, while three hundred clients of two addresses ask for one of `paths`
  // each; those that are cut come back.
  Probes Attack(const std::vector<std::string>& paths, std::chrono::seconds time);

  bool AgentRuns() { return agent_.Running(); }
  std::uint64_t AgentPeakBytes() const { return agent_.PeakBytes(); }
  // The most memory that the kernel held for the agent's connections during attacks.
  std::uint64_t kernel_bytes() const { return kernel_; }

 private:
  void WriteList(const std::string& tag);

  rig::Scratch scratch_;
  rig::Process agent_;
  int port_ = 0;
  std::uint64_t kernel_ = 0;
};

}  // namespace prefetch::system
