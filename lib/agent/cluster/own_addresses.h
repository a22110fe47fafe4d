// OwnAddresses: the addresses of this node and of the API server. A registry that only a pod names is not
// asked there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "kube/cluster.h"

namespace prefetch::agent {

// Any thread may call.
class OwnAddresses {
 public:
  // `get_env` tells the API server's address or name, as kubelet sets it for each pod. `route` and
  // `ipv6_route` are /proc/net/route and /proc/net/ipv6_route. `clock` outlives it.
  OwnAddresses(const kube::GetEnv& get_env, const base::Clock& clock, std::string route = "",
               std::string ipv6_route = "");

  // Those of the Node object. With a pod network, no interface of this process has them.
  void SetNode(std::vector<std::string> addresses) PREFETCH_EXCLUDES(mutex_);

  // All of them, and the gateways: with a pod network, the gateway is the node. Blocks while a name is
  // resolved, once a minute. A name that DNS does not know has the addresses that it had last.
  std::vector<std::string> Get() PREFETCH_EXCLUDES(mutex_);

 private:
  const base::Clock& clock_;
  const std::string route_, ipv6_route_;
  std::vector<std::string> api_server_;  // addresses and names
  base::Mutex mutex_;
  std::vector<std::string> node_ PREFETCH_GUARDED_BY(mutex_);
  std::vector<std::string> resolved_ PREFETCH_GUARDED_BY(mutex_);
  base::TimePoint resolve_at_ PREFETCH_GUARDED_BY(mutex_);
};

// The gateways of both files' texts: /proc/net/route has IPv4 addresses as the kernel has them in memory.
std::vector<std::string> GatewaysOf(std::string_view route, std::string_view ipv6_route);

}  // namespace prefetch::agent
