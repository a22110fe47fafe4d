// The kinds of objects that are known: where their pods and images stand, which policy their controllers fill
// in, and which kinds have no pods. A new kind is a row. Internal to manifest/.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace prefetch::manifest {

// Identifies a type of object: "Deployment" of "apps"; the core group is "".
struct ObjectType {
  std::string group;
  std::string kind;

  friend bool operator==(const ObjectType&, const ObjectType&) = default;
};

// "apps/v1" and "Deployment"; what stands behind the slash does not matter here.
ObjectType TypeOf(std::string_view api_version, std::string_view kind);
// Returns kubectl's name of the type: "Deployment.apps", "Pod".
std::string TypeName(const ObjectType& type);

// Kubernetes' own kinds with pods, and OpenShift's DeploymentConfig.
struct BuiltInKind {
  std::string_view kind, group;
  std::string_view path;  // of the pod template; "": the object itself
};
const BuiltInKind* FindBuiltIn(const ObjectType& type);

// The policy of a container without one.
enum class PolicyDefault {
  kKubernetes,    // the API server fills it in
  kIfNotPresent,  // the controller sets it, or names the image by its digest
  kUnknown,       // it is in settings that no manifest shows
};

enum class PlaceForm {
  kPod,    // a pod template, or a pod's spec
  kImage,  // a mapping that has the image in the field `image`, and its policy in the field `policy`
};

// A place of pods or images in a kind of a controller.
struct KnownPlace {
  std::string_view kind, group;
  std::string_view path;  // names with dots between them; sequences are walked through; "*" is every key
  PlaceForm form = PlaceForm::kPod;
  PolicyDefault policy_default = PolicyDefault::kKubernetes;
  std::string_view policy_path{};  // of the mapping that has the policy; "": the image's own
  std::string_view image = "image";
  std::string_view policy = "imagePullPolicy";
};
std::span<const KnownPlace> KnownPlaces();

// Kinds that run no pods, or only those of other objects.
bool IsPodless(const ObjectType& type);

}  // namespace prefetch::manifest
