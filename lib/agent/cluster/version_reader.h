// VersionReader: reads kubelet's version from this node's Node object.
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <string>

#include "agent/cluster/learnt_settings.h"
#include "agent/cluster/periodic_thread.h"
#include "base/call.h"
#include "base/clock.h"
#include "base/one_thread.h"
#include "kube/api.h"

namespace prefetch::agent {

// Independent of the loop, like the NodeGate, and only a reader. It asks at its start, once a minute with
// jitter, and whenever a new kubelet process was seen: then every second, and after 3 s every 3 s, until the
// Node was written by that kubelet, for a minute at most. An API server that does not answer is asked less
// and less often, as kube/retry.h has it. One that answered slowly gets more time for each question, until it
// answers fast or fails to answer in that time. A lasting failure is logged once.
//
// Owned by main. One thread alone calls Turn: the one that Start starts, or a test's.
class VersionReader {
 public:
  // All arguments outlive it. `learnt` is pending until the Node was read, reading it was refused, or
  // kLearnLimit has passed.
  VersionReader(std::string node, std::shared_ptr<LearntVersion> learnt, std::shared_ptr<SeenStart> start,
                kube::Api& api, const base::Clock& clock, std::uint64_t seed = std::random_device{}());
  VersionReader(const VersionReader&) = delete;
  VersionReader& operator=(const VersionReader&) = delete;

  // Once.
  void Start();

  // Asks if that is due. Returns when to come again, unless `start` changes before.
  base::TimePoint Turn(const base::Call& call);

 private:
  void Ask(const base::Call& call);
  void Failed(const kube::Failure& failure);
  base::Duration Limit() const;
  bool AwaitsConfirmation() const;
  base::Duration Pause();
  double Spread() { return std::uniform_real_distribution<double>(0, 1)(random_); }

  const std::string node_;
  const std::shared_ptr<LearntVersion> learnt_;
  const std::shared_ptr<SeenStart> start_;
  kube::Api& api_;
  const base::Clock& clock_;
  const base::TimePoint started_at_;
  base::OneThread one_thread_;  // calls Turn
  std::mt19937_64 random_;
  base::TimePoint now_;
  base::TimePoint next_;
  std::optional<plan::KubeletStart> kubelet_;  // the newest start that was heard of
  plan::NodeReport report_;                    // what `learnt` is told next
  unsigned failures_ = 0;
  bool slow_ = false;  // the newest answer took long
  std::string last_failure_;
  std::optional<PeriodicThread> thread_;  // last: it uses what stands above
};

}  // namespace prefetch::agent
