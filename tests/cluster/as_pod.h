// The agent in the place of a pod of the shipped DaemonSet: what `prefetchctl generate` prints is applied,
// and the built program runs with the token of the shipped service account, bound to a real pod on this node.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cluster/real_node.h"

namespace prefetch::cluster {

// One thread owns it; the node outlives it. The objects are removed with it.
class AsPod {
 public:
  // Applies the manifests of the generic platform with `components`; the DaemonSet's own pods stay pending,
  // for nothing schedules. A failure fails the test.
  AsPod(RealNode& node, const std::vector<std::string>& components);
  ~AsPod();

  // A token of the service account that is bound to a pod on this node; without one if `node` is empty.
  std::string Token(const std::string& node);
  // As that account on the Node "n1".
  Api Agent() { return node_.control_plane().Admin().As(Token("n1")); }

  // Waits until a policy of the manifests is in force: until `refused` answers false.
  void WaitForPolicy(const std::string& message, const std::function<ApiAnswer()>& refused);

 private:
  std::string PodOn(const std::string& node);

  RealNode& node_;
  std::string manifests_;
};

}  // namespace prefetch::cluster
