// Pod templates: their places in an object, and their images. The subjects, in order: FoundTemplate, Tekton
// and Argo (FindWorkflow), custom resources without rules (FindShapes), the images of one template
// (ReadPodImages), its nodes (ReadNodeDemand), a GitLab runner's configuration. Internal to manifest/. Pure.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "doc/node.h"
#include "doc/reader.h"
#include "manifest/image_use.h"
#include "manifest/known_kinds.h"

namespace prefetch::manifest {

// The names under which a template has its containers.
enum class TemplateShape {
  kPod,           // a `spec` with `containers`
  kImage,         // one image in the fields of `place`
  kJenkins,       // `containers` with `alwaysPullImage`
  kTekton,        // `steps`, `stepTemplate`, `sidecars`: of these, Tekton makes a pod
  kStepAction,    // `image`: of Tekton, a step for Tasks that refer to it
  kArgo,          // `container`, `script` or `containerSet`, with `initContainers` and `sidecars`
  kArgoDefaults,  // `initContainers` and `sidecars` of every such template
};

// The reason why something is taken for a template.
enum class Origin {
  kBuiltIn,     // the rules of a kind of Kubernetes
  kKnownKind,   // a row of KnownPlaces(), or the rules of Tekton and Argo
  kCustomPath,  // a user's path, which need not lead to a pod template
  kShape,       // it looks like one
};

// Replaces the variables of a template of OpenShift, Tekton or Argo, with the values that apply if nobody
// gives others. The forms are "$(params.image)", "$(params['image'])", "{{inputs.parameters.image}}",
// "${IMAGE}" and "${{IMAGE}}".
class Variables {
 public:
  // A later value of the same name replaces the earlier one.
  void Set(const std::string& name, std::string value) { values_[name] = std::move(value); }
  void SetAll(const Variables& others) {
    for (const auto& [name, value] : others.values_) values_[name] = value;
  }
  // Its value is unknown, also where another scope inherits it.
  void Unset(const std::string& name) { values_[name] = std::nullopt; }

  struct Resolved {
    std::string text;         // with the values of all variables that have one
    bool unresolved = false;  // a variable without a value is left in it
  };
  Resolved Resolve(std::string_view text) const;

 private:
  std::map<std::string, std::optional<std::string>> values_;
};

using Claimed = std::unordered_set<const doc::Node*>;

// A pod template: a mapping that has the pod's `spec` in it; a Pod is its own.
struct FoundTemplate {
  doc::Reader value;
  Origin origin = Origin::kBuiltIn;
  TemplateShape shape = TemplateShape::kPod;
  const KnownPlace* place = nullptr;  // of kImage; of others, if a row led here
  // Argo's templateDefaults: a template with fields for all others. With kImage: has the policy.
  std::optional<doc::Reader> defaults{};
  std::shared_ptr<const Variables> variables{};  // nullptr: texts have none
};

// Returns the mappings at `path`: names with dots between them. Sequences are walked through, and "*" is
// every key of a mapping ("spec.replicaSpecs.*.template").
std::vector<doc::Reader> AtPath(const doc::Reader& object, std::string_view path);

// Returns the template of a built-in kind; nullopt if the object has none. A value of a wrong type on the way
// is a mistake.
std::optional<doc::Reader> BuiltInTemplate(const doc::Reader& object, const BuiltInKind& kind);

// Returns the templates of Tekton's and Argo's kinds; nullopt for other kinds.
struct Workflow {
  std::vector<FoundTemplate> templates;
  std::vector<FoundTemplate> texts;     // manifests as text: `resource.manifest`
  std::vector<FoundTemplate> parts;     // the same, of actions that need only a part of an object: `patch`
  std::vector<FoundTemplate> patches;   // `podSpecPatch`: a pod's spec as text
  std::vector<doc::Reader> references;  // to other objects, which are not followed: `taskRef`, `templateRef`
};
std::optional<Workflow> FindWorkflow(const doc::Reader& object, const ObjectType& type,
                                     const std::shared_ptr<const Variables>& outer);

// An image in a field that is no container's, of an object whose controller decides what to make of it.
struct ImageField {
  std::string image;
  std::string path;
  doc::Position at, key_at, holder_at;
  std::optional<image::PullPolicy> policy{};  // of a field beside it
  bool unresolved = false;                    // there is a variable in it
};

// Parts of a custom resource, found by their shape alone.
struct Shapes {
  std::vector<FoundTemplate> pods;
  std::vector<doc::Reader> objects;  // with a kind and a spec of their own
  std::vector<ImageField> fields;
};
// Searches everything except `claimed`, metadata and status.
Shapes FindShapes(const doc::Reader& object, const Claimed& claimed);

// Returns the images in a ConfigMap's data: `queue-sidecar-image: registry/queue:1`.
std::vector<ImageField> FindDataImages(const doc::Reader& data);

// Returns the first list of containers below `value`; nullopt if there is none.
std::optional<doc::Reader> FirstContainerList(const doc::Reader& value);

// Appends the images that the pod of `found` uses, and its references to images elsewhere. Mistakes in the
// fields that are read go to its Problems; other fields are ignored. `object` is the pod's owner; its pull
// credentials are read here. The pod's spec; nullptr if it has none. nullopt: there is no pod here (only
// where a custom path led).
std::optional<const doc::Node*> ReadPodImages(const FoundTemplate& found, Pod object,
                                              const PolicyRules& rules, PodImages& images);

// Returns the values that a pod's nodeSelector, required node affinity and spec.os allow for kubernetes.io/os
// and kubernetes.io/arch (https://kubernetes.io/docs/reference/labels-annotations-taints/). Fields of a wrong
// type are ignored.
NodeDemand ReadNodeDemand(const doc::Node& spec);

// Returns the images of a runner's section `kubernetes`, but for those in its `pod_spec`.
std::vector<ImageField> FindRunnerImages(const doc::Node& kubernetes);

}  // namespace prefetch::manifest
