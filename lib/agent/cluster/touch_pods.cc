#include "agent/cluster/touch_pods.h"

#include "base/log.h"
#include "base/text.h"
#include "cri/classify.h"

namespace prefetch::agent {
namespace {

using plan::TouchObstacle;
using plan::TouchResult;

constexpr std::chrono::seconds kPodCallLimit{15};

// RBAC, quotas and admission all answer 403; only the message tells which it was.
TouchObstacle ForbiddenBy(const std::string& words) {
  auto says = [&](std::string_view part) { return base::ContainsIgnoreCase(words, part); };
  if (says("exceeded quota") || says("failed quota")) return TouchObstacle::kQuota;
  // RBAC's own: User "…" cannot create resource "pods" in API group "" in the namespace "…".
  return says("cannot ") && says(" resource ") ? TouchObstacle::kForbidden : TouchObstacle::kAdmission;
}

plan::ContainerObservation SeenOf(const kube::PodContainer& container, const image::Reference& image) {
  return {.waiting_reason = container.waiting_reason,
          .waiting_message = container.waiting_message,
          .terminated_reason = container.terminated_reason,
          .error = cri::Classify(cri::RpcCode::kUnknown, container.waiting_message,
                                 {image.written(), image.SpecImage(), image.Normalized()})};
}

}  // namespace

TouchResult ResultOf(const kube::Failure& failure) {
  using kube::ApiError;
  TouchObstacle obstacle = TouchObstacle::kApiServer;
  if (failure.kind == ApiError::kForbidden) obstacle = ForbiddenBy(failure.message);
  if (failure.kind == ApiError::kNotFound) obstacle = TouchObstacle::kNamespaceMissing;
  if (failure.kind == ApiError::kInvalid) obstacle = TouchObstacle::kAdmission;
  return {obstacle, failure.message};
}

std::optional<TouchResult> TouchPods::SweepOne(const base::Call& call, int slot) {
  std::string name = kube::TouchPodName(options_.node, options_.instance, slot);
  auto pod = api_.GetPod(call.Within(kPodCallLimit), options_.name_space, name);
  if (!pod) {
    if (pod.failure().kind == kube::ApiError::kNotFound) return std::nullopt;
    return ResultOf(pod.failure());
  }
  base::Info("touch pod found", {{"pod", name}, {"phase", pod->phase}});
  auto gone = api_.DeletePod(call.Within(kPodCallLimit), options_.name_space, name, pod->uid);
  if (gone || gone.failure().kind == kube::ApiError::kNotFound) return std::nullopt;
  return ResultOf(gone.failure());
}

TouchResult TouchPods::Sweep(const base::Call& call) {
  for (int slot = 0; slot < kube::kTouchPodNames; slot++) {
    if (auto failed = SweepOne(call, slot)) return *std::move(failed);
  }
  return {};
}

TouchBegun TouchPods::Create(const base::Call& call, const kube::TouchPodSpec& spec, int slot) {
  doc::Node pod = kube::TouchPod(spec);
  auto changed = [&](const kube::Pod& got) -> std::optional<TouchResult> {
    auto what = kube::FindAdmissionChange(spec, got);
    if (!what) return std::nullopt;
    return TouchResult{TouchObstacle::kAdmission, "this cluster's admission " + *what};
  };
  // Admission may add a pull secret, and kubelet would then open the image to that secret alone (K39). The
  // dry run shows this before a pod exists.
  auto made = api_.CreatePod(call.Within(kPodCallLimit), options_.name_space, pod, kube::DryRun::kYes);
  bool in_earnest = false;
  if (made) {
    if (auto what = changed(*made))
      return {.name = {}, .uid = {}, .failed = *std::move(what), .left_out = {}};
    in_earnest = true;
    made = api_.CreatePod(call.Within(kPodCallLimit), options_.name_space, pod, kube::DryRun::kNegative);
  }
  TouchBegun begun;
  if (!made) {
    // An earlier pod of this agent still has the name. It is deleted now, so that the next try finds the name
    // free.
    if (made.failure().kind == kube::ApiError::kConflict) SweepOne(call, slot);
    begun.failed = ResultOf(made.failure());
    // The pod may be there, and only its answer was lost.
    begun.pod_may_exist = in_earnest && begun.failed.obstacle == TouchObstacle::kApiServer;
    return begun;
  }
  // Admission may act differently without the dry run, so the real pod is checked as well.
  if (auto what = changed(*made)) {
    begun.pod_may_exist = !End(call, spec.name, made->uid);
    begun.failed = *std::move(what);
    return begun;
  }
  begun.name = spec.name;
  begun.uid = made->uid;
  return begun;
}

TouchBegun TouchPods::Begin(const base::Call& call, const std::vector<Target>& images, int slot) {
  TouchBegun begun;
  kube::TouchPodSpec spec{.name = kube::TouchPodName(options_.node, options_.instance, slot),
                          .name_space = options_.name_space,
                          .service_account = options_.service_account,
                          .node = options_.node,
                          .node_uid = {},
                          .instance = options_.instance,
                          .images = {},
                          .image_volumes = options_.image_volumes};
  for (std::size_t i = 0; i < images.size(); i++) {
    // kubelet would record the image for the pod's service account and for no other pod (K27).
    std::string provider = keyring_.TokenProviderFor(images[i].reference);
    if (provider.empty()) {
      spec.images.push_back({images[i].reference.written(), images[i].always});
      continue;
    }
    begun.left_out.push_back(
        {i,
         {TouchObstacle::kTokenProvider,
          "the credential provider \"" + provider +
              "\" has tokenAttributes, so the image would be recorded for the touch's service account "
              "only"}});
  }
  if (spec.images.empty()) return begun;
  // The pod's owner is the Node. With another uid, Kubernetes would delete the pod at once.
  auto node = api_.GetNode(call.Within(kPodCallLimit), options_.node);
  if (!node) {
    begun.failed = ResultOf(node.failure());
    if (begun.failed.obstacle == TouchObstacle::kNamespaceMissing)
      begun.failed.obstacle = TouchObstacle::kApiServer;
    return begun;
  }
  spec.node_uid = node->uid;
  TouchBegun created = Create(call, spec, slot);
  created.left_out = std::move(begun.left_out);
  return created;
}

TouchObserved TouchPods::Observe(const base::Call& call, const std::string& name, const std::string& uid,
                                 const std::vector<image::Reference>& images) {
  TouchObserved seen;
  auto pod = api_.GetPod(call.Within(kPodCallLimit), options_.name_space, name);
  if (!pod && pod.failure().kind != kube::ApiError::kNotFound) {
    seen.failed = ResultOf(pod.failure());
    return seen;
  }
  // A pod of the same name with another uid is not the one that was created.
  if (!pod || pod->uid != uid) {
    seen.pod.gone = true;
    return seen;
  }
  seen.pod.phase = pod->phase;
  seen.pod.reason = pod->reason;
  seen.pod.message = pod->message;
  for (std::size_t i = 0; i < images.size(); i++) {
    // With image volumes there is one container, and its state covers all of them.
    std::size_t container = options_.image_volumes ? 0 : i;
    if (container < pod->containers.size()) {
      seen.pod.containers.push_back(SeenOf(pod->containers[container], images[i]));
    }
  }
  return seen;
}

bool TouchPods::End(const base::Call& call, const std::string& name, const std::string& uid) {
  auto gone = api_.DeletePod(call.Within(kPodCallLimit), options_.name_space, name, uid);
  if (gone || gone.failure().kind == kube::ApiError::kNotFound) return true;
  base::Warn("touch pod not deleted", {{"pod", name}, {"error", gone.failure().message}});
  return false;
}

}  // namespace prefetch::agent
