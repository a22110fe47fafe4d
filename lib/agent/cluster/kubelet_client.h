// KubeletClient: asks kubelet's own port for its settings from time to time (kubelet's rule K45).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "agent/cluster/learnt_settings.h"
#include "agent/cluster/periodic_thread.h"
#include "base/call.h"
#include "base/clock.h"
#include "base/one_thread.h"
#include "kube/answer.h"
#include "kube/kubelet_api.h"

namespace prefetch::agent {

// The two questions, and the facts that the answers are compared with.
struct KubeletPort {
  std::function<kube::Answer<std::string>(const base::Call&)> config;  // kube::KubeletApi::GetConfig
  std::function<kube::Answer<kube::KubeletMetrics>(const base::Call&)> metrics;
  // The credential provider configuration that this agent reads, as kubelet hashes it; empty: it reads none.
  std::function<std::string()> provider_config_hash;
};

// Independent of the loop, like the NodeGate: what kubelet does not tell is learnt from files, as without it.
// The configuration is asked for once a minute, the (large) metrics after each change and every ten minutes.
// A kubelet that refuses, or has not answered for kLearnLimit after the start, is not waited for. A kubelet
// that does not answer any more has told nothing after three minutes: it may be starting again with other
// settings. A kubelet that was seen to start is asked each second until it answers, for at most a minute.
// A lasting failure is logged once.
//
// Owned by main. One thread alone calls Turn: the one that Start starts, or a test's.
class KubeletClient {
 public:
  // `clock` outlives it, and so does whatever `port` uses.
  KubeletClient(KubeletPort port, std::shared_ptr<LearntSettings> learnt, std::shared_ptr<SeenStart> start,
                const base::Clock& clock, std::uint64_t seed = std::random_device{}());
  KubeletClient(const KubeletClient&) = delete;
  KubeletClient& operator=(const KubeletClient&) = delete;

  // Once.
  void Start();

  // Asks the questions that are due. Returns the time of the next call.
  base::TimePoint Turn(const base::Call& call);

 private:
  void AskConfig(const base::Call& call);
  void AskMetrics(const base::Call& call);
  base::Duration Failed(const kube::Failure& failure);
  void Publish();

  const KubeletPort port_;
  const std::shared_ptr<LearntSettings> learnt_;
  const std::shared_ptr<SeenStart> start_;
  const base::Clock& clock_;
  const base::TimePoint started_at_;
  base::OneThread one_thread_;  // calls Turn
  std::mt19937_64 random_;
  std::optional<plan::KubeletStart> kubelet_;  // the newest start that was heard of
  base::TimePoint now_;
  base::TimePoint next_config_, next_metrics_;
  std::optional<base::TimePoint> answered_at_;  // the configuration
  std::string config_text_;
  std::optional<kubelet::KubeletConfig> config_;
  kube::KubeletMetrics metrics_;
  unsigned failures_ = 0;
  std::string last_failure_;
  std::optional<PeriodicThread> thread_;  // last: it uses what stands above
};

}  // namespace prefetch::agent
