// Pod templates: where they stand in an object, and their images. Internal to manifest/. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doc/node.h"
#include "doc/reader.h"
#include "manifest/effective_policy.h"
#include "manifest/image_use.h"

namespace prefetch::manifest {

// Identifies a type of object: "Deployment" of "apps"; the core group is "".
struct ObjectType {
  std::string group;
  std::string kind;

  friend bool operator==(const ObjectType&, const ObjectType&) = default;
};

// "apps/v1" and "Deployment"; what stands behind the slash does not matter here.
ObjectType TypeOf(std::string_view api_version, std::string_view kind);
// As kubectl names it: "Deployment.apps", "Pod".
std::string TypeName(const ObjectType& type);

// The names under which a template has its containers.
enum class TemplateShape {
  kPod,         // a `spec` with `containers`
  kTekton,      // `steps`, `stepTemplate`, `sidecars`: of these, Tekton makes a pod
  kStepAction,  // `image`: of Tekton, a step for Tasks that refer to it
  kArgo,        // `container`, `script` or `containerSet`, with `initContainers` and `sidecars`
};

// A pod template: a mapping that has the pod's `spec` in it; a Pod is its own.
struct FoundTemplate {
  doc::Reader value;
  // Found by a user's path, which counts for objects of any type: it need not be a pod template.
  bool by_custom_path = false;
  TemplateShape shape = TemplateShape::kPod;
  std::optional<doc::Reader> defaults{};  // Argo's templateDefaults: a template with fields for all others
};

// The templates of one object of a type that Kubernetes itself, Tekton or Argo has, or else those that stand
// at one of `custom_paths`: names with dots between them, sequences are walked through, "*" is every key of a
// mapping
// ("spec.replicaSpecs.*.template"). nullopt: an object without pods. Values of a wrong type on the way are
// mistakes in Kubernetes' own objects only.
std::optional<std::vector<FoundTemplate>> FindTemplates(const doc::Reader& object, const ObjectType& type,
                                                        const std::vector<std::string>& custom_paths);

// Appends the images that the pod of `found` uses, and its references to images elsewhere. Mistakes in the
// fields that are read go to its Problems; other fields are ignored. `object` is the pod's owner; its pull
// credentials are read here. The pod's spec; nullptr if it has none, which is a mistake. nullopt: there is no
// pod here (only where a custom path led).
std::optional<const doc::Node*> ReadPodImages(const FoundTemplate& found, Pod object,
                                              const PolicyRules& rules, std::vector<ImageUse>& uses,
                                              std::vector<StepReference>& references);

// The values that a pod's nodeSelector, required node affinity and spec.os allow for kubernetes.io/os and
// kubernetes.io/arch (https://kubernetes.io/docs/reference/labels-annotations-taints/). Fields of a wrong
// type are ignored.
NodeDemand ReadNodeDemand(const doc::Node& spec);

}  // namespace prefetch::manifest
