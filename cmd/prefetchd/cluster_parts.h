// The parts of the agent that talk to the cluster: to the API server with this pod's service account, and to
// kubelet's own port. Pulling images and readiness need none of them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "agent/board.h"
#include "agent/cluster/kubelet_client.h"
#include "agent/cluster/learnt_settings.h"
#include "agent/cluster/node_gate.h"
#include "agent/cluster/version_reader.h"
#include "base/clock.h"
#include "config/agent_config.h"
#include "credentials/keyring.h"
#include "http/curl_client.h"
#include "kube/account_tokens.h"
#include "kube/http_api.h"
#include "kube/identity.h"
#include "plan/caller.h"

namespace prefetch {

// Access to the cluster. Made by main before its users. Thread-safe.
class ClusterAccess {
 public:
  // Returns nullptr, and writes a line to the log, if `config` needs an API server and there is none: this
  // node's images matter more. `config` and `clock` must outlive it.
  static std::unique_ptr<ClusterAccess> Make(const config::AgentConfig& config, std::string node,
                                             const base::Clock& clock);
  ClusterAccess(kube::Cluster cluster, const config::AgentConfig& config, std::string node,
                const base::Clock& clock);

  kube::Api& api() { return api_; }
  const std::string& node() const { return node_; }
  plan::AgentPlace Place() const { return {node_, name_space_}; }
  // For Keyring; empty if no account is configured.
  credentials::GrantSource Grants();
  // This node's kubelet.
  agent::KubeletPort Kubelet(const credentials::Keyring& keyring);

 private:
  kube::KubeletApi KubeletApi();
  kube::KubeletAddress KubeletAddress() const;

  const config::AgentConfig& config_;
  const std::string node_;
  const base::Clock& clock_;
  const std::string cluster_ca_file_;
  const std::string name_space_;  // this pod's
  http::CurlClient client_;
  kube::Identity identity_;
  kube::HttpApi api_;
  std::optional<kube::AccountTokens> tokens_;
};

// The threads that talk to the API server, one for each part; they end with this object. A resource of main.
// The agent and all arguments outlive it.
class ClusterTalk {
 public:
  // The agent reads their results (KubeletOptions), and sets `start`. `word` is null unless
  // config.kubelet_api.
  ClusterTalk(ClusterAccess& access, const config::AgentConfig& config, const agent::Board& board,
              const credentials::Keyring& keyring, std::shared_ptr<agent::LearntVersion> version,
              std::shared_ptr<agent::SeenStart> start, std::shared_ptr<agent::LearntSettings> learnt_settings,
              std::function<void(std::string of, std::string problem)> report_problem,
              const base::Clock& clock);

 private:
  agent::VersionReader version_;
  std::optional<agent::NodeGate> gate_;
  std::optional<agent::KubeletClient> kubelet_client_;
};

}  // namespace prefetch
