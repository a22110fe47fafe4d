// The touch pod: a pod that makes kubelet pull images with the node's own credentials and record them for
// every pod of the node, and that never runs anything (kubelet's rules K36 to K39). And whether admission let
// it be one. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doc/node.h"
#include "kube/api.h"

namespace prefetch::kube {

inline constexpr const char* kTouchNamespace = "prefetchd-touch";
inline constexpr const char* kTouchServiceAccount = "prefetchd-touch";
// No image has it, so a container of any image fails to start, after its image was pulled.
inline constexpr const char* kTouchCommand = "/prefetchd/none";

struct TouchImage {
  std::string name;  // as the list writes it: the record's key is the literal text
  // imagePullPolicy Always instead of IfNotPresent: under kubelet's default policy it uses an image that was
  // merely preloaded as it is, and a use without a pull makes no record (K40).
  bool always = false;
};

struct TouchPodSpec {
  std::string name;
  std::string name_space = kTouchNamespace;
  std::string service_account = kTouchServiceAccount;
  std::string node, node_uid;  // where it runs, and its owner: when the node goes, so does the pod
  std::string instance;        // the value of a label that operators read
  std::vector<TouchImage> images;
  // All images but the first as image volumes of one container instead of containers of their own: half the
  // time (K38), where kubelet and the Pod Security Standard allow it.
  bool image_volumes = false;
};

// The object to create.
doc::Node TouchPod(const TouchPodSpec& spec);

// Names of the touch pods of one agent: fixed, so that what a dead agent left is found without listing. Two,
// so that the next pod does not wait for the last one's end.
constexpr int kTouchPodNames = 2;
std::string TouchPodName(std::string_view node, std::string_view instance, int slot);

// Names a difference between `spec` and `admitted`, the server's answer to its creation, that would falsify
// the touch: a pull secret (the record would be that secret's), an image, a container or a volume that was
// not asked for, another node or service account, a policy that does not pull. nullopt: nothing. `Always`
// instead of IfNotPresent (AlwaysPullImages) does no harm.
std::optional<std::string> FindAdmissionChange(const TouchPodSpec& spec, const Pod& admitted);

}  // namespace prefetch::kube
