// An Agent's options and its parts.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "agent/cluster/touch_pods.h"
#include "agent/fetching.h"
#include "agent/observe.h"
#include "agent/observe_kubelet.h"
#include "agent/query_registry.h"
#include "base/clock.h"
#include "credentials/keyring.h"
#include "cri/content_service.h"
#include "cri/image_service.h"
#include "image/platform.h"
#include "kube/api.h"
#include "plan/limits.h"

namespace prefetch::agent {

struct Options {
  plan::Limits limits;
  image::Platform platform = image::Platform::Host();
  std::string node;      // the node's name, shown in status
  std::string endpoint;  // the runtime's socket, shown in status and in the log
  // Tells this agent's leases from those of another one on the same node.
  std::string instance;
  // --fetch=auto: the agent may fetch content itself (agent/fetching.h).
  bool fetch = false;
  // --once: Run returns when every entry is ready or has failed for good.
  bool once = false;
  // --unpin: no entry is pinned. Pins from before are UnpinAll's to remove (agent/pinning.h).
  bool unpin = false;
  // This node's kubelet; none: presence is the verdict.
  std::optional<KubeletOptions> kubelet;
  // --touch; only with a kubelet and with Parts::api.
  std::optional<TouchOptions> touch;
  // Patterns of images that no list needs to have (image/name_pattern.h): plan/unlisted.h passes them over.
  std::vector<std::string> audit_ignore;
  // Where this process's mounts are listed; empty: replaced files among them are not noticed.
  std::string mountinfo;
  // Agent::SetNodeLabels is called once this Node was read, or could not be read for a minute.
  bool reads_labels = false;
  std::uint64_t seed = std::random_device{}();  // of the jitter
};

// The agent's tools; everything outlives it.
struct Parts {
  cri::ImageService& images;
  cri::ContentService& content;
  credentials::Keyring& keyring;
  const base::Clock& clock;
  DiskProbe disk = nullptr;             // empty: ProbeDisk, with patience
  kube::Api* api = nullptr;             // for touching; none: this is no cluster, or it is not enabled
  RegistryResolver registry = nullptr;  // empty: no registry is asked
  RegistryAccessFor access = nullptr;
  ContentSourceFor contents = nullptr;
};

}  // namespace prefetch::agent
