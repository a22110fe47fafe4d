// TouchPods: this agent's touch pods on the API server: made, looked at, taken away.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/call.h"
#include "credentials/keyring.h"
#include "image/reference.h"
#include "kube/api.h"
#include "kube/touch_pod.h"
#include "plan/touch.h"

namespace prefetch::agent {

struct TouchOptions {
  std::string node;      // the Node's name
  std::string instance;  // tells several agents of a node apart
  std::string name_space = kube::kTouchNamespace;
  std::string service_account = kube::kTouchServiceAccount;
  bool image_volumes = false;
};

// A pod is there, or `failed` says why not. Images that must not be touched are left out of it.
struct TouchBegun {
  std::string name, uid;  // empty: no pod
  plan::TouchResult failed;
  std::vector<std::pair<std::size_t, plan::TouchResult>> left_out;  // by index in the request
  bool pod_may_exist = false;  // it failed, and a pod of this name may be there all the same
};
struct TouchObserved {
  plan::PodObservation pod;
  plan::TouchResult failed;  // the API server did not say
};

// Everything that it is given outlives it. Keeps nothing; any thread may call. Each call blocks as the API
// server does, half a minute at most.
class TouchPods {
 public:
  TouchPods(TouchOptions options, kube::Api& api, credentials::Keyring& keyring)
      : options_(std::move(options)), api_(api), keyring_(keyring) {}

  // Returns the number of images that failed before which one pod may name: with image volumes, the first
  // that fails hides the rest.
  std::size_t MaxFailures() const { return options_.image_volumes ? 1 : plan::kMostImagesOfATouch; }

  // Deletes the pods that have our names, a previous agent's too. Returns the first failure; kNone: there are
  // none any more.
  plan::TouchResult Sweep(const base::Call& call);
  // An image of the touch pod.
  struct Target {
    image::Reference reference;
    bool always = false;  // kube::TouchImage::always
  };
  // Creates the pod, first as a dry run: if admission made another pod of it, none is created. `slot` chooses
  // the name.
  TouchBegun Begin(const base::Call& call, const std::vector<Target>& images, int slot);
  // `images`: those that Begin took in, in their order.
  TouchObserved Observe(const base::Call& call, const std::string& name, const std::string& uid,
                        const std::vector<image::Reference>& images);
  // Deletes the pod. Returns false if that fails: Sweep finds it later by its name.
  bool End(const base::Call& call, const std::string& name, const std::string& uid);

 private:
  std::optional<plan::TouchResult> SweepOne(const base::Call& call, int slot);
  TouchBegun Create(const base::Call& call, const kube::TouchPodSpec& spec, int slot);

  const TouchOptions options_;
  kube::Api& api_;
  credentials::Keyring& keyring_;
};

// The effect of a failed call on touches.
plan::TouchResult ResultOf(const kube::Failure& failure);

}  // namespace prefetch::agent
