// One node of a real cluster: containerd, a registry, our binaries (system::Node), and a real kubelet.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/control_plane.h"
#include "cluster/kubelet.h"
#include "cluster/pods.h"
#include "cri/image_service.h"
#include "system/node.h"

namespace prefetch::cluster {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline constexpr const char* kHost = "acme.example.test:5000";  // wants a login; on containerd
// The node's user, and two of people.
inline const rig::User kNodeUser{"node", "s3cr3t-node-cluster"};
inline const rig::User kBob{"bob", "s3cr3t-bob-cluster"}, kCarl{"carl", "s3cr3t-carl-cluster"};

// The control plane of the whole test program, started when it is first asked for. nullptr if it cannot be
// started, which has failed the test.
ControlPlane* SharedControlPlane();
void EndSharedControlPlane();

// One thread owns it; one at a time.
class RealNode {
 public:
  // Starts all of it; a failure fails the test.
  explicit RealNode(ControlPlane& control_plane, const KubeletOptions& options = {},
                    const NodePaths& paths = {});
  ~RealNode();

  ControlPlane& control_plane() { return control_plane_; }
  system::Node& node() { return node_; }
  RealKubelet& kubelet() { return kubelet_; }
  PodAsker& pods() { return pods_; }
  Api& api() { return pods_.api(); }
  system::Host& host() { return *host_; }

  // The registry that wants a login, as references name it: kHost, or an address on other runtimes.
  const std::string& registry() const { return host_->host(); }
  // Pushes a small image there; `name` tells images apart: two repositories can have one image.
  std::string Push(const std::string& repository, const std::string& tag = "v1", const std::string& name = "",
                   std::uint64_t size = 100'000);
  // An image whose program waits to be ended.
  std::string PushPause(const std::string& repository);
  // The same to another registry that asks nobody for a password.
  static std::string PushPause(const std::string& repository, system::Host& to);

  // An image from an archive, such as deploy/image/build makes; its reference.
  std::string PushArchive(const std::string& archive, const std::string& repository);
  std::string pause_image() const { return pause_registry_->host() + "/pause:v1"; }
  // A registry that asks nobody for a password.
  system::Host& open_registry() { return *pause_registry_; }

  // The node's credentials for that registry: are they right? Kubelet and the agent ask the same plugin, each
  // time.
  void HasCredentials(bool right);
  // The agent with what it is told of this kubelet; `more` of its flags.
  void StartAgent(const std::vector<std::string>& more = {});
  // The same, but kubelet's version is what the Node object tells, and its process is looked for.
  void StartLearningAgent(const std::vector<std::string>& more = {});

  // Returns the runtime's id of the image; empty if it is not there under this name.
  std::string IdOf(const std::string& image);
  void RemoveImage(const std::string& image);
  // One of the verdicts of `prefetchctl verdict`, which is asked on a pod's behalf.
  struct Verdict {
    std::string result, reason;
  };
  struct VerdictsOf {
    std::string image_id;
    Verdict never, if_not_present, always;
  };
  VerdictsOf VerdictOf(const std::string& image, const std::vector<std::string>& pod_flags = {});

 private:
  ControlPlane& control_plane_;
  system::Node node_;
  std::unique_ptr<system::Host> pause_registry_, host_;
  RealKubelet kubelet_;
  std::unique_ptr<cri::ImageService> images_;
  PodAsker pods_;
};

}  // namespace prefetch::cluster
