// The init container with which a pod asks its node's agent about its own images, before they are needed.
// Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "doc/node.h"

namespace prefetch::deploy {

inline constexpr const char* kCheckContainer = "check-images";  // its name

struct CheckedImage {
  std::string image;   // as the pod writes it
  std::string policy;  // the strongest of its containers: "Never"
};

struct InitContainerOptions {
  std::string platform;  // a folder of overlays/
  std::string image;     // with prefetchctl in it: the agent's own
  std::uint16_t port = 9477;
  std::chrono::seconds timeout{60};  // of prefetchctl check
  std::vector<CheckedImage> images;
  std::vector<std::string> pod_secrets;  // names of Secrets that the pod pulls with
};

// Returns the init container of deploy/examples/check-init-container.yaml with this image and these
// questions. It meets the Pod Security Standard "restricted", asks the node's own address without DNS, and
// presents the token of TokenVolume().
doc::Node InitContainer(const InitContainerOptions& options);
// Returns a volume with a token of the pod for the audience of the agents. It is valid for ten minutes;
// kubelet renews it.
doc::Node TokenVolume();

}  // namespace prefetch::deploy
