// A cluster around a Node: an API server and the kubelet's own port, both over TLS of the test's own
// authority, and the agent started as a pod of the DaemonSet that is shipped, with the rights that it has.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "doc/node.h"
#include "fakes/certificates.h"
#include "fakes/fake_api_server.h"
#include "fakes/front.h"
#include "http/server.h"
#include "system/node.h"

namespace prefetch::system {

// One thread owns it, beside its Node, which outlives it.
class Cluster {
 public:
  // `components` as `prefetchctl generate --component` names them: their RBAC is in force, nothing else is
  // granted. From now on the Node's agent runs as a pod on the Node "n1", which is there.
  Cluster(Node& node, const std::vector<std::string>& components);

  tests::FakeApiServer& api() { return api_; }
  // A string of the Node "n1" as it is stored; empty if it is not there.
  std::string OfNode(doc::Path path) const;

  // Sets the answers of kubelet's own port. The flags make the agent ask there.
  void KubeletSays(const std::string& configz, const std::string& metrics) PREFETCH_EXCLUDES(mutex_);
  std::vector<std::string> KubeletFlags() const;

 private:
  http::ServerResponse Kubelet(const http::ServerRequest& request) PREFETCH_EXCLUDES(mutex_);
  std::string Manifests(Node& node, const std::vector<std::string>& components) const;

  const base::SystemClock clock_;
  const std::string folder_;
  const tests::CertificateAuthority authority_;
  const tests::KeyPair certificate_;
  tests::FakeApiServer api_;
  base::Mutex mutex_;
  std::string configz_ PREFETCH_GUARDED_BY(mutex_), metrics_ PREFETCH_GUARDED_BY(mutex_);
  std::unique_ptr<http::Server> kubelet_;
  tests::Front kubelet_front_;  // last: cuts everybody off before the server goes
};

}  // namespace prefetch::system
