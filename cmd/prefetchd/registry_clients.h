// RegistryClients: makes the registry client at the first question, when the runtime is known. The servers
// that it asks depend on the runtime's version and configuration, so a change of any of these makes a new
// client.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/cluster/own_addresses.h"
#include "agent/fetching.h"
#include "agent/query_registry.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "config/agent_config.h"
#include "http/curl_client.h"
#include "registry/client.h"
#include "registry/node_access.h"

namespace prefetch {

// Owned by main, and outlives the agent. Thread-safe.
class RegistryClients {
 public:
  RegistryClients(const config::RegistryConfig& config, const base::Clock& clock);
  RegistryClients(const RegistryClients&) = delete;
  RegistryClients& operator=(const RegistryClients&) = delete;

  // The Node's own addresses. With a pod network, no interface here has them.
  void SetNodeAddresses(std::vector<std::string> addresses) { own_.SetNode(std::move(addresses)); }

  // Empty if no registry is to be asked.
  agent::RegistryResolver Resolver();
  agent::RegistryHosts Hosts();
  agent::RegistryAccessFor Access();
  agent::ContentSourceFor Contents();

 private:
  // A node that asks no registry pays for none of this.
  struct RuntimeRegistryClients {
    RuntimeRegistryClients(const config::RegistryConfig& config,
                           std::shared_ptr<const registry::DecidedAccess> by, const base::Clock& clock);

    const std::shared_ptr<const registry::DecidedAccess> by;  // how it asks
    http::CurlClient http;
    registry::Client client;
  };

  std::shared_ptr<const registry::DecidedAccess> Decided(const agent::RegistryQueryContext& runtime);
  std::shared_ptr<RuntimeRegistryClients> ClientsFor(std::shared_ptr<const registry::DecidedAccess> decided)
      PREFETCH_EXCLUDES(mutex_);

  const config::RegistryConfig& config_;
  const base::Clock& clock_;
  registry::NodeAccess access_;
  agent::OwnAddresses own_;
  base::Mutex mutex_;
  std::shared_ptr<RuntimeRegistryClients> clients_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace prefetch
