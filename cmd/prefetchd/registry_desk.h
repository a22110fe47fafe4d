// RegistryDesk: the registry client, made when the first question comes and the runtime is known: which
// servers it asks follows from the runtime's version, and from what it tells of its own configuration.
#pragma once

#include <memory>
#include <string>

#include "agent/ask_registry.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "config/agent_config.h"
#include "http/curl_client.h"
#include "registry/client.h"

namespace prefetch {

// A resource of main, made before the agent, which it outlives. Any thread may ask.
class RegistryDesk {
 public:
  RegistryDesk(const config::RegistryConfig& config, const base::Clock& clock)
      : config_(config), clock_(clock) {}
  RegistryDesk(const RegistryDesk&) = delete;
  RegistryDesk& operator=(const RegistryDesk&) = delete;

  // Empty if no registry is to be asked.
  agent::RegistryAsker Asker();
  agent::RegistryHosts Hosts();
  agent::RegistryAccessFor Access();

 private:
  // A node that asks nobody pays for none of this.
  struct Clerk {
    Clerk(const config::RegistryConfig& config, const agent::AskingFor& runtime, const base::Clock& clock);

    agent::AskingFor runtime;
    image::RegistryAccess access;
    http::CurlClient http;
    registry::Client client;
  };

  std::shared_ptr<Clerk> For(const agent::AskingFor& runtime) EXCLUDES(mutex_);

  const config::RegistryConfig& config_;
  const base::Clock& clock_;
  base::Mutex mutex_;
  std::shared_ptr<Clerk> clerk_ GUARDED_BY(mutex_);
};

}  // namespace prefetch
