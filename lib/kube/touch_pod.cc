#include "kube/touch_pod.h"

#include <utility>

#include "base/sha256.h"

namespace prefetch::kube {
namespace {

using Value = doc::Node;

// A little more than the agent's own limit (plan/touch.h): a pod that is not deleted ends by itself.
constexpr int kActiveDeadlineSeconds = 300;
// The user nobody of distroless images. Any user but root passes `restricted` with every image.
constexpr int kNobody = 65532;
constexpr std::size_t kNameHashDigits = 20;

Value ContainerSecurity() {
  return Value::Mapping({{"allowPrivilegeEscalation", Value::Bool(false)},
                         {"capabilities", Value::Mapping({{"drop", Value::Strings({"ALL"})}})},
                         {"privileged", Value::Bool(false)},
                         {"readOnlyRootFilesystem", Value::Bool(true)}});
}

// All that `restricted` demands (K37), since the namespace or the cluster may enforce it.
Value PodSecurity() {
  return Value::Mapping({{"runAsNonRoot", Value::Bool(true)},
                         {"runAsUser", Value::Int(kNobody)},
                         {"runAsGroup", Value::Int(kNobody)},
                         {"seccompProfile", Value::Mapping({{"type", Value::String("RuntimeDefault")}})}});
}

// The pod needs next to nothing, but a namespace with a quota demands requests and limits.
Value Resources() {
  return Value::Mapping(
      {{"requests", Value::Mapping({{"cpu", Value::String("1m")}, {"memory", Value::String("1Mi")}})},
       {"limits", Value::Mapping({{"cpu", Value::String("10m")}, {"memory", Value::String("16Mi")}})}});
}

std::string NameOf(const char* kind, std::size_t i) {
  return std::string(kind) + "-" + std::to_string(i);
}

std::string PolicyOf(const TouchImage& image) {
  return image.always ? "Always" : "IfNotPresent";
}

// The command exists in no image (kTouchCommand), so the container never runs, whatever the image is (K37).
Value Container(std::size_t i, const TouchImage& image) {
  return Value::Mapping({{"name", Value::String(NameOf("image", i))},
                         {"image", Value::String(image.name)},
                         {"imagePullPolicy", Value::String(PolicyOf(image))},
                         {"command", Value::Strings({kTouchCommand})},
                         {"resources", Resources()},
                         {"securityContext", ContainerSecurity()}});
}

Value Metadata(const TouchPodSpec& spec) {
  // With the Node as its owner, the pod is collected when the Node goes, even if no agent is left to delete
  // it.
  Value owner = Value::Mapping({{"apiVersion", Value::String("v1")},
                                {"kind", Value::String("Node")},
                                {"name", Value::String(spec.node)},
                                {"uid", Value::String(spec.node_uid)}});
  return Value::Mapping(
      {{"name", Value::String(spec.name)},
       {"namespace", Value::String(spec.name_space)},
       {"labels", Value::Mapping({{"app.kubernetes.io/name", Value::String("prefetchd-touch")},
                                  {"app.kubernetes.io/instance", Value::String(spec.instance)}})},
       // Neither a drain by the cluster autoscaler nor the removal of the node has to wait for this
       // pod.
       {"annotations",
        Value::Mapping({{"cluster-autoscaler.kubernetes.io/safe-to-evict", Value::String("true")}})},
       {"ownerReferences", Value::Sequence({std::move(owner)})}});
}

Value Containers(const TouchPodSpec& spec) {
  std::vector<Value> containers;
  if (!spec.image_volumes) {
    for (std::size_t i = 0; i < spec.images.size(); i++) containers.push_back(Container(i, spec.images[i]));
    return Value::Sequence(std::move(containers));
  }
  // A pod needs one container. Its image is the first one, the others are volumes.
  Value only = Container(0, spec.images.front());
  std::vector<Value> mounts;
  for (std::size_t i = 1; i < spec.images.size(); i++) {
    mounts.push_back(Value::Mapping({{"name", Value::String(NameOf("image", i))},
                                     {"mountPath", Value::String("/" + NameOf("image", i))},
                                     {"readOnly", Value::Bool(true)}}));
  }
  if (!mounts.empty()) only.Set("volumeMounts", Value::Sequence(std::move(mounts)));
  containers.push_back(std::move(only));
  return Value::Sequence(std::move(containers));
}

// kubelet records image volumes like containers, in half the time (K38).
Value Volumes(const TouchPodSpec& spec) {
  std::vector<Value> volumes;
  for (std::size_t i = 1; i < spec.images.size(); i++) {
    volumes.push_back(Value::Mapping(
        {{"name", Value::String(NameOf("image", i))},
         {"image", Value::Mapping({{"reference", Value::String(spec.images[i].name)},
                                   {"pullPolicy", Value::String(PolicyOf(spec.images[i]))}})}}));
  }
  return Value::Sequence(std::move(volumes));
}

std::string Quoted(const std::string& text) {
  return "\"" + text + "\"";
}

std::optional<std::string> FindContainerChange(const TouchPodSpec& spec, const Pod& admitted) {
  std::size_t wanted = spec.image_volumes ? 1 : spec.images.size();
  for (const PodContainer& container : admitted.containers) {
    // An init container would run first, and the images might never be pulled.
    if (container.init) return "added the init container " + Quoted(container.name);
  }
  for (std::size_t i = 0; i < admitted.containers.size(); i++) {
    const PodContainer& container = admitted.containers[i];
    if (i >= wanted || container.name != NameOf("image", i)) {
      return "added the container " + Quoted(container.name);
    }
    if (container.image != spec.images[i].name) {
      return "changed the image " + Quoted(spec.images[i].name) + " to " + Quoted(container.image);
    }
    // AlwaysPullImages changes IfNotPresent to Always, which pulls as well.
    bool pulls = container.pull_policy == "Always" || container.pull_policy == PolicyOf(spec.images[i]);
    if (!pulls) return "set imagePullPolicy to " + Quoted(container.pull_policy);
  }
  if (admitted.containers.size() != wanted) return "took away a container";
  return std::nullopt;
}

}  // namespace

doc::Node TouchPod(const TouchPodSpec& spec) {
  // Every taint is tolerated, those of kubelet's own included: the node may just be starting, or be in
  // trouble.
  Value toleration = Value::Mapping({{"operator", Value::String("Exists")}});
  Value pod = Value::Mapping({{"nodeName", Value::String(spec.node)},
                              {"serviceAccountName", Value::String(spec.service_account)},
                              {"automountServiceAccountToken", Value::Bool(false)},
                              {"enableServiceLinks", Value::Bool(false)},
                              {"restartPolicy", Value::String("Never")},
                              {"activeDeadlineSeconds", Value::Int(kActiveDeadlineSeconds)},
                              {"terminationGracePeriodSeconds", Value::Int(0)},
                              {"tolerations", Value::Sequence({std::move(toleration)})},
                              {"securityContext", PodSecurity()},
                              {"containers", Containers(spec)}});
  if (spec.image_volumes && spec.images.size() > 1) pod.Set("volumes", Volumes(spec));
  return Value::Mapping({{"apiVersion", Value::String("v1")},
                         {"kind", Value::String("Pod")},
                         {"metadata", Metadata(spec)},
                         {"spec", std::move(pod)}});
}

std::string TouchPodName(std::string_view node, std::string_view instance, int slot) {
  // A node's name may be longer than a pod's name may be, and two agents of a node must not share one.
  std::string hash = base::Sha256Hex(std::string(node) + "/" + std::string(instance));
  return "touch-" + hash.substr(0, kNameHashDigits) + "-" + std::to_string(slot);
}

std::optional<std::string> FindAdmissionChange(const TouchPodSpec& spec, const Pod& admitted) {
  // K39: with a pull secret, kubelet records the image for that secret alone, so the touch would close it.
  if (!admitted.image_pull_secrets.empty()) {
    return "added the pull secret " + Quoted(admitted.image_pull_secrets.front()) +
           ", for which alone the image would be recorded";
  }
  if (auto changed = FindContainerChange(spec, admitted)) return changed;
  std::vector<std::string> volumes;
  for (std::size_t i = 1; spec.image_volumes && i < spec.images.size(); i++) {
    volumes.push_back(spec.images[i].name);
  }
  if (admitted.image_volumes != volumes) return "changed the image volumes";
  if (admitted.node != spec.node) return "moved it to the node " + Quoted(admitted.node);
  // A provider may give another account another credential (A24), and kubelet would record that account.
  if (admitted.service_account != spec.service_account) {
    return "changed the service account to " + Quoted(admitted.service_account);
  }
  return std::nullopt;
}

}  // namespace prefetch::kube
