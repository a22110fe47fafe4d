// NodeAgent: makes the parts of prefetchd from its configuration, in the order in which they need each other.
#pragma once

#include <memory>
#include <optional>

#include "agent/agent.h"
#include "agent/answers/inquiry.h"
#include "agent/answers/retries.h"
#include "agent/cluster/client_authenticator.h"
#include "agent/cluster/learnt_settings.h"
#include "agent/image_watch.h"
#include "base/clock.h"
#include "base/result.h"
#include "cluster_parts.h"
#include "config/agent_config.h"
#include "credentials/keyring.h"
#include "cri/endpoint.h"
#include "cri/grpc_content_service.h"
#include "cri/grpc_image_service.h"
#include "http/server.h"
#include "list/watcher.h"
#include "registry_clients.h"

namespace prefetch {

// A resource of main. Listen(), then Watch(), then main runs agent(); the threads of all parts end with this.
class NodeAgent {
 public:
  // `config` and `clock` outlive it.
  NodeAgent(const config::AgentConfig& config, const cri::Endpoint& endpoint, const base::Clock& clock);
  NodeAgent(const NodeAgent&) = delete;
  NodeAgent& operator=(const NodeAgent&) = delete;

  // Starts both servers. They answer like an agent that does not know its list yet.
  base::Status Listen();
  // Starts the threads that tell the loop about the list, kubelet, the cluster and the runtime's images.
  void Watch();

  agent::Agent& agent() { return agent_; }

 private:
  agent::Options LoopOptions() const;
  agent::PullRequester RequestPulls();

  const config::AgentConfig& config_;
  const cri::Endpoint endpoint_;
  const base::Clock& clock_;
  cri::GrpcImageService images_;
  cri::GrpcContentService content_;
  const std::unique_ptr<ClusterAccess> cluster_;
  credentials::Keyring keyring_;
  RegistryClients registries_;
  // Null if no part learns it, so that no part waits for it.
  const std::shared_ptr<agent::LearntVersion> version_;
  const std::shared_ptr<agent::SeenStart> start_;
  const std::shared_ptr<agent::LearntSettings> learnt_settings_;
  agent::Agent agent_;
  agent::Inquiry inquiry_;
  agent::Retries retries_;
  std::optional<agent::ClientAuthenticator> authenticator_;  // where the configuration admits any
  std::unique_ptr<http::Server> local_, pod_network_;
  std::optional<list::ListWatcher> lists_;
  std::optional<ClusterTalk> talk_;
  std::optional<agent::ImageWatch> images_watch_;
};

}  // namespace prefetch
