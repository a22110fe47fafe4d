// KubeletClient: asks kubelet's own port for its settings from time to time (kubelet's rule K45).
// VersionReader: reads kubelet's version from this node's Node object.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "base/call.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "kube/answer.h"
#include "kube/api.h"
#include "kube/kubelet_api.h"
#include "kubelet/kubelet_config.h"
#include "plan/version_estimate.h"

namespace prefetch::agent {

// ---- Values that KubeletClient, VersionReader and NodeGate share with the KubeletObserver

// The newest version from this Node's object. The VersionReader fills it, and the NodeGate whenever it reads
// the Node for reasons of its own.
using LatestNodeReport = base::Latest<plan::NodeReport>;

// The newest process of kubelet's that took the place of another one: the KubeletObserver sees it, and the
// VersionReader asks until the Node has been written by it.
using LatestKubeletStart = base::Latest<std::optional<plan::KubeletStart>>;

// The newest answer of kubelet's own port. The KubeletClient fills it. The same pointer means that nothing
// has changed; null: kubelet has not answered for a while.
using LatestKubeletSettings = base::Latest<std::shared_ptr<const kubelet::KubeletReport>>;

// Time after the start at which a thread without an answer gives up; the agent then decides readiness without
// it.
constexpr std::chrono::seconds kFirstAnswerTimeout{60};

// Returns what the Node object tells: labels, addresses, kubelet's version and its newest heartbeat.
plan::NodeReport NodeReportOf(const kube::Node& node);

// Callbacks for kubelet's endpoints /configz and /metrics, and for the configuration to compare with.
struct KubeletPort {
  std::function<kube::Answer<std::string>(const base::Call&)> config;  // kube::KubeletApi::GetConfig
  std::function<kube::Answer<kube::KubeletMetrics>(const base::Call&)> metrics;
  // The credential provider configuration that this agent reads, as kubelet hashes it; empty: it reads none.
  std::function<std::string()> provider_config_hash;
};

// Independent of the loop, like the NodeGate: what kubelet does not tell is learnt from files, as without it.
// The configuration is asked for once a minute, the (large) metrics after each change and every ten minutes.
// A kubelet that refuses, or has not answered for kFirstAnswerTimeout after the start, is not waited for. A
// kubelet that does not answer any more has told nothing after three minutes: it may be starting again with
// other settings. A kubelet that was seen to start is asked each second until it answers, for at most a
// minute. A lasting failure is logged once.
//
// Owned by main. One thread alone calls Turn: its PeriodicThread, or a test's.
class KubeletClient {
 public:
  // `clock` outlives it, and so does whatever `port` uses.
  KubeletClient(KubeletPort port, std::shared_ptr<LatestKubeletSettings> learnt,
                std::shared_ptr<LatestKubeletStart> start, const base::Clock& clock,
                std::uint64_t seed = std::random_device{}());
  KubeletClient(const KubeletClient&) = delete;
  KubeletClient& operator=(const KubeletClient&) = delete;

  // Asks the questions that are due. Returns the time of the next call.
  base::TimePoint Turn(const base::Call& call);

 private:
  void AskConfig(const base::Call& call);
  void AskMetrics(const base::Call& call);
  base::Duration Failed(const kube::Failure& failure);
  void Publish();

  const KubeletPort port_;
  const std::shared_ptr<LatestKubeletSettings> latest_;
  const std::shared_ptr<LatestKubeletStart> start_;
  const base::Clock& clock_;
  const base::TimePoint started_at_;
  base::ThreadChecker one_thread_;  // calls Turn
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
};

// ---- VersionReader

// Independent of the loop, like the NodeGate, and only a reader. It asks at its start, once a minute with
// jitter, and whenever a new kubelet process was seen: then every second, and after 3 s every 3 s, until the
// Node was written by that kubelet, for a minute at most. An API server that does not answer is asked less
// and less often, as kube/answer.h has it. One that answered slowly gets more time for each question, until
// it answers fast or fails to answer in that time. A lasting failure is logged once.
//
// Owned by main. One thread alone calls Turn: its PeriodicThread, or a test's.
class VersionReader {
 public:
  // All arguments outlive it. `learnt` is pending until the Node was read, reading it was refused, or
  // kFirstAnswerTimeout has passed.
  VersionReader(std::string node, std::shared_ptr<LatestNodeReport> learnt,
                std::shared_ptr<LatestKubeletStart> start, kube::Api& api, const base::Clock& clock,
                std::uint64_t seed = std::random_device{}());
  VersionReader(const VersionReader&) = delete;
  VersionReader& operator=(const VersionReader&) = delete;

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
  const std::shared_ptr<LatestNodeReport> latest_;
  const std::shared_ptr<LatestKubeletStart> start_;
  kube::Api& api_;
  const base::Clock& clock_;
  const base::TimePoint started_at_;
  base::ThreadChecker one_thread_;  // calls Turn
  std::mt19937_64 random_;
  base::TimePoint now_;
  base::TimePoint next_;
  std::optional<plan::KubeletStart> kubelet_;  // the newest start that was heard of
  plan::NodeReport report_;                    // what `learnt` is told next
  unsigned failures_ = 0;
  bool slow_ = false;  // the newest answer took long
  std::string last_failure_;
};

}  // namespace prefetch::agent
