// OwnAddresses: the addresses of this node and of the API server. A registry that only a pod names is not
// asked there.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/call.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/timed_reader.h"
#include "http/addresses.h"
#include "kube/cluster.h"

namespace prefetch::agent {

// Any thread may call.
class OwnAddresses {
 public:
  // `get_env` tells the API server's address or name, as kubelet sets it for each pod. `route` and
  // `ipv6_route` are /proc/net/route and /proc/net/ipv6_route. `clock` outlives it. `resolve` may hang:
  // see base::TimedReader.
  using Resolve = std::function<std::vector<std::string>(const std::string& name)>;
  OwnAddresses(const kube::GetEnv& get_env, const base::Clock& clock, std::string route = "",
               std::string ipv6_route = "", Resolve resolve = &http::ResolveHost);

  // Sets the addresses of the Node object. With a pod network, no interface of this process has them.
  void SetNode(std::vector<std::string> addresses) PREFETCH_EXCLUDES(mutex_);

  // Returns nullopt until DNS has named the API server: it could be at any address. Else returns all of them,
  // and the gateways unless an interface here has an address of the Node: on a pod network, the gateway is
  // the node. Names are resolved once a minute. One caller waits for that, for two seconds at most; the first
  // time, all callers wait, for ten. An address stays for an hour after DNS named it last, and as long as DNS
  // does not know the name.
  std::optional<std::vector<std::string>> Get(const base::Call& call) PREFETCH_EXCLUDES(mutex_);

 private:
  // Some name has no address yet.
  bool IsUnknown() const PREFETCH_REQUIRES(mutex_);
  void ResolveAll(base::TimePoint now) PREFETCH_EXCLUDES(mutex_);
  std::optional<std::vector<std::string>> Resolved(const base::Call& call) PREFETCH_EXCLUDES(mutex_);

  const base::Clock& clock_;
  const std::string route_, ipv6_route_;
  const Resolve resolve_;
  std::vector<std::string> api_server_;  // addresses
  base::Mutex mutex_;
  std::vector<std::string> node_ PREFETCH_GUARDED_BY(mutex_);
  // Each name's addresses, and when DNS named them last.
  std::map<std::string, std::map<std::string, base::TimePoint>> seen_ PREFETCH_GUARDED_BY(mutex_);
  base::TimePoint resolve_at_ PREFETCH_GUARDED_BY(mutex_);
  bool once_ PREFETCH_GUARDED_BY(mutex_) = false;  // all names have been resolved
  base::TimedReader resolver_;                     // last: its job uses what stands above
};

// The gateways of both files' texts: /proc/net/route has IPv4 addresses as the kernel has them in memory.
std::vector<std::string> GatewaysOf(std::string_view route, std::string_view ipv6_route);

}  // namespace prefetch::agent
