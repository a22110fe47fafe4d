// ImageUse: one place in a manifest that asks for an image, and the pod that it belongs to.
// EffectivePolicy: the pull policy that a container ends up with in a cluster.
// UsedImage: the uses of one image by several containers.
// Values and pure functions.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doc/node.h"
#include "image/pod_coordinates.h"
#include "image/reference.h"

namespace prefetch::manifest {

// The nodes that a pod can run on, by its own nodeSelector, required node affinity and spec.os.
struct NodeDemand {
  std::vector<std::string> operating_systems;  // any of these; empty: any
  std::vector<std::string> architectures;      // the same
  image::NodeLabels labels;                    // all of them, of nodeSelector alone
  std::optional<doc::Position> at;             // of the first such key

  friend bool operator==(const NodeDemand&, const NodeDemand&) = default;
};

// An object that is a pod or has a pod template, with the pull credentials and the nodes of its pods.
struct Pod {
  std::string source;  // the document's name, as Problems has it: "app.yaml"
  std::string kind;    // "Deployment"
  std::string object_namespace;
  std::string name;            // with "*" behind a generateName; may be empty
  bool from_template = false;  // no Pod itself: the API server fills its pods in later
  std::vector<std::string> image_pull_secrets;
  std::optional<doc::Position> image_pull_secrets_at;  // of the key
  std::string service_account_name;
  // The controller that makes the pod takes its secrets and account from elsewhere: a missing field above is
  // not known.
  bool identity_elsewhere = false;
  NodeDemand nodes;

  friend bool operator==(const Pod&, const Pod&) = default;
};

// "Deployment shop/web", "Pod web".
std::string PodTitle(const Pod& pod);

enum class UseKind {
  kContainer,
  kInitContainer,
  kEphemeralContainer,
  kImageVolume,
  kField,  // of a custom resource, whose controller makes containers of it: `spec.image`
};
std::string_view UseKindName(UseKind kind);  // "container", "init", "ephemeral", "volume", "field"

struct ImageUse {
  std::string image;                          // byte for byte as it is written
  std::optional<image::Reference> reference;  // nullopt: kubelet will say InvalidImageName
  std::optional<image::PullPolicy> explicit_policy;
  image::PullPolicy policy = image::PullPolicy::kIfNotPresent;  // the effective one
  // False if a controller or an unresolved variable decides; `policy` is then Kubernetes' default.
  bool policy_known = true;
  UseKind kind = UseKind::kContainer;
  std::string name;                            // of the container or volume; of a field its path
  doc::Position at;                            // of the image's value
  doc::Position key_at;                        // of its key
  std::string path;                            // of the same: "spec.template.spec.containers[0].image"
  std::optional<doc::Position> policy_key_at;  // of the explicit policy's key
  doc::Position holder_at;                     // where the container or volume begins
  std::shared_ptr<const Pod> pod;              // never null; shared by the uses of one pod
};

// An image that its manifest does not name: a variable stands for it, or nothing, or another object has it.
// Or an object that may run pods, and in which no image was found.
struct UnseenImage {
  std::string why;                 // `container "app" has a variable for its image: $(params.image)`
  doc::Position at;                // of the key; of an object, of its kind
  doc::Position holder_at;         // where the container, or the object, begins
  std::shared_ptr<const Pod> pod;  // never null; of an object, its owner, kind and name
  std::string type;                // of an object: "JobSet.jobset.x-k8s.io"; else empty
};

// The images that a manifest's pods use, in the order of the text.
struct PodImages {
  std::vector<ImageUse> uses;
  // Steps of Tekton Tasks that take their images from StepActions: objects of their own, perhaps in another
  // repository.
  std::vector<UnseenImage> references;
  std::vector<UnseenImage> unresolved;
};

// Returns whether this container checks the images of other containers before those start. A name is the only
// sign: that of the container or of its pod has one of the words check, precheck, preflight, prepull,
// prefetch, warmup or verify, between "-", "_" or ".", in any case ("image-check", "preflight-0"), or ends
// with "check" ("imagecheck").
bool IsCheckContainer(const ImageUse& use);

// The rules of the cluster that a manifest is applied to. They decide a container's pull policy beside its
// manifest.
struct PolicyRules {
  // The admission plugin AlwaysPullImages is on: Always for everything.
  bool assume_always_pull = false;
  // The default of a controller that sets the policy before Kubernetes does.
  std::optional<image::PullPolicy> default_policy;
  // Default policy of containers that such a controller adds to check the images of others
  // (IsCheckContainer). If absent, they have `default_policy`.
  std::optional<image::PullPolicy> default_check_policy;

  friend bool operator==(const PolicyRules&, const PolicyRules&) = default;
};

// A container's purpose, where its controller makes a difference.
enum class Purpose { kWork, kCheck };

// Returns the policy that kubelet's rule K2 gives. `reference` is nullopt for an image text that is no
// reference: the API server then finds no tag in it, and defaults to IfNotPresent. Pure.
image::PullPolicy EffectivePolicy(std::optional<image::PullPolicy> explicit_policy,
                                  const std::optional<image::Reference>& reference, const PolicyRules& rules,
                                  Purpose purpose = Purpose::kWork);

// The uses of one image by several containers, for one question about it.
struct UsedImage {
  std::string image;  // as these uses have written it
  image::PullPolicy policy = image::PullPolicy::kIfNotPresent;
  bool must_be_present = false;  // before anything of the pod pulls it
  std::vector<ImageUse> uses;    // never empty; in the order in which they were given
};

using PolicyOfUse = std::function<image::PullPolicy(const ImageUse&)>;

// Returns each spelling of an image once with the strongest policy of its uses (Always > IfNotPresent >
// Never). Uses with Never stand apart unless something that starts before them in their pod pulls the image:
// no pull helps them. Images are in the order of first use; spellings of one normalised name stand together.
// Pure.
std::vector<UsedImage> CombineUses(const std::vector<ImageUse>& uses, const PolicyOfUse& policy_of);

}  // namespace prefetch::manifest
