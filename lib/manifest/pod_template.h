// Where in an object its pod template stands. Internal to manifest/. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doc/reader.h"

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
  kPod,     // a `spec` with `containers`
  kTekton,  // `steps`, `stepTemplate`, `sidecars`: of these, Tekton makes a pod
  kArgo,    // `container`, `script` or `containerSet`, with `initContainers` and `sidecars`
};

// A pod template: a mapping that has the pod's `spec` in it; a Pod is its own.
struct FoundTemplate {
  doc::Reader value;
  // Found by a path that somebody gave for objects of any type: it need not be a pod template at all.
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

}  // namespace prefetch::manifest
