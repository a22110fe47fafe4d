// NodeAgent: makes the parts of prefetchd from its configuration, in the order in which they need each other.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/agent.h"
#include "agent/answers/endpoints.h"
#include "agent/answers/image_queries.h"
#include "agent/board.h"
#include "agent/cluster/client_authenticator.h"
#include "agent/cluster/kubelet_readers.h"
#include "agent/cluster/node_gate.h"
#include "agent/cluster/own_addresses.h"
#include "agent/cluster/periodic_thread.h"
#include "agent/runtime_view.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "config/agent_config.h"
#include "credentials/keyring.h"
#include "cri/content_service.h"
#include "cri/endpoint.h"
#include "cri/image_service.h"
#include "http/curl_client.h"
#include "http/server.h"
#include "kube/account_tokens.h"
#include "kube/http_api.h"
#include "kube/identity.h"
#include "list/watcher.h"
#include "plan/caller.h"
#include "pulling/fetching.h"
#include "pulling/query_registry.h"
#include "registry/client.h"
#include "registry/node_access.h"

namespace prefetch {

// Access to the API server, with this pod's service account, and to kubelet's own port. Pulls and readiness
// work without it. Created before its users. Thread-safe.
class ClusterAccess {
 public:
  // Returns nullptr, and writes a line to the log, if `config` needs an API server and there is none: this
  // node's images matter more. `config` and `clock` must outlive it.
  static std::unique_ptr<ClusterAccess> Make(const config::AgentConfig& config, std::string node,
                                             const base::Clock& clock);
  ClusterAccess(kube::Cluster cluster, const config::AgentConfig& config, std::string node,
                const base::Clock& clock);

  kube::Api& api() { return *api_; }
  const std::string& node() const { return node_; }
  plan::AgentLocation Location() const { return {node_, name_space_}; }
  // Returns the grants for Keyring; empty if no account is configured.
  credentials::GrantSource Grants();
  // Returns the access to this node's kubelet.
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
  std::unique_ptr<kube::Api> api_;
  std::optional<kube::AccountTokens> tokens_;
};

// Makes the registry client at the first question, when the runtime is known. The servers that it asks depend
// on the runtime's version and configuration, so a change of any of these makes a new client. Owned by main,
// and outlives the agent. Thread-safe.
class RegistryClients {
 public:
  RegistryClients(const config::RegistryConfig& config, const base::Clock& clock);
  RegistryClients(const RegistryClients&) = delete;
  RegistryClients& operator=(const RegistryClients&) = delete;

  // Sets the addresses of the Node. With a pod network, no interface here has them.
  void SetNodeAddresses(std::vector<std::string> addresses) { own_addresses_.SetNode(std::move(addresses)); }

  // Each returns an empty function if no registry is to be asked.
  pulling::RegistryResolver Resolver();
  agent::RegistryHosts Hosts();
  pulling::RegistryAccessFor Access();
  pulling::ContentSourceFor Contents();

 private:
  // A node that asks no registry pays for none of this.
  struct RuntimeRegistryClients {
    RuntimeRegistryClients(const config::RegistryConfig& config,
                           std::shared_ptr<const registry::DecidedAccess> by, const base::Clock& clock);

    const std::shared_ptr<const registry::DecidedAccess> by;  // how it asks
    http::CurlClient http;
    registry::Client client;
  };

  std::shared_ptr<RuntimeRegistryClients> ClientsFor(std::shared_ptr<const registry::DecidedAccess> decided)
      PREFETCH_EXCLUDES(mutex_);

  const config::RegistryConfig& config_;
  const base::Clock& clock_;
  registry::NodeAccess access_;
  agent::OwnAddresses own_addresses_;
  base::Mutex mutex_;
  std::shared_ptr<RuntimeRegistryClients> clients_ PREFETCH_GUARDED_BY(mutex_);
};

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
  void WatchCluster();
  agent::PullRequester RequestPulls();

  const config::AgentConfig& config_;
  const cri::Endpoint endpoint_;
  const base::Clock& clock_;
  std::unique_ptr<cri::ImageService> images_;
  std::unique_ptr<cri::ContentService> content_;
  const std::unique_ptr<ClusterAccess> cluster_;
  credentials::Keyring keyring_;
  RegistryClients registries_;
  // Null if no part learns it, so that no part waits for it.
  const std::shared_ptr<agent::LatestNodeReport> version_;
  const std::shared_ptr<agent::LatestKubeletStart> start_;
  const std::shared_ptr<agent::LatestKubeletSettings> learnt_settings_;
  agent::Agent agent_;
  agent::ImageQueryService image_queries_;
  agent::Retries retries_;
  std::optional<agent::ClientAuthenticator> authenticator_;  // where the configuration admits any
  std::unique_ptr<http::Server> local_, pod_network_;
  std::optional<list::ListWatcher> lists_;
  // They talk to the API server and to kubelet.
  std::optional<agent::VersionReader> version_reader_;
  std::optional<agent::NodeGate> gate_;
  std::optional<agent::KubeletClient> kubelet_client_;
  std::list<agent::PeriodicThread> threads_;  // of these three
  std::optional<agent::ImageWatch> images_watch_;
};

}  // namespace prefetch
