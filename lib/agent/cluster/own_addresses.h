// OwnAddresses: the addresses of this node and of the API server. A registry that only a pod names is not
// asked there.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "kube/cluster.h"

namespace prefetch::agent {

// Any thread may call.
class OwnAddresses {
 public:
  // `get_env` tells the API server's address or name, as kubelet sets it for each pod. `clock` outlives it.
  OwnAddresses(const kube::GetEnv& get_env, const base::Clock& clock);

  // Those of the Node object. With a pod network, no interface of this process has them.
  void SetNode(std::vector<std::string> addresses) PREFETCH_EXCLUDES(mutex_);

  // All of them. Blocks while a name is resolved, once a minute. A name that DNS does not know has the
  // addresses that it had last.
  std::vector<std::string> Get() PREFETCH_EXCLUDES(mutex_);

 private:
  const base::Clock& clock_;
  std::vector<std::string> api_server_;  // addresses and names
  base::Mutex mutex_;
  std::vector<std::string> node_ PREFETCH_GUARDED_BY(mutex_);
  std::vector<std::string> resolved_ PREFETCH_GUARDED_BY(mutex_);
  base::TimePoint resolve_at_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace prefetch::agent
