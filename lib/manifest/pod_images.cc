#include "manifest/pod_template.h"

#include <utility>

#include "base/text.h"
#include "manifest/image_use.h"

namespace prefetch::manifest {
namespace {

using doc::Need;
using doc::ObjectReader;
using doc::Reader;
using image::PullPolicy;

struct ContainerList {
  std::string_view key;
  UseKind kind;
};
// In the order in which kubelet starts them.
constexpr ContainerList kContainerLists[] = {
    {"initContainers", UseKind::kInitContainer},
    {"containers", UseKind::kContainer},
    {"ephemeralContainers", UseKind::kEphemeralContainer},
};

// The pod of which the uses are read.
struct Context {
  std::shared_ptr<const Pod> pod;
  const PolicyRules& rules;
  std::vector<ImageUse>& uses;
  std::vector<StepReference>& references;
  TemplateShape shape = TemplateShape::kPod;
};

// The pod's spec: in a template, or right where a custom path led. nullopt: none is there.
std::optional<ObjectReader> SpecOf(const FoundTemplate& found) {
  ObjectReader holder(found.value);
  if (found.shape != TemplateShape::kPod) return holder;
  if (!found.by_custom_path) return holder.Object("spec");
  if (holder.Has("containers")) return holder;
  std::optional<Reader> spec = holder.Find("spec");
  if (!spec || spec->node().kind != doc::Node::Kind::kMapping) return std::nullopt;
  ObjectReader pod(*spec);
  return pod.Has("containers") ? std::optional<ObjectReader>(pod) : std::nullopt;
}

std::vector<std::string> PullSecrets(ObjectReader& spec) {
  std::vector<std::string> names;
  for (const Reader& item : spec.Items("imagePullSecrets")) {
    std::optional<std::string> name = ObjectReader(item).String("name");
    if (name && !name->empty()) names.push_back(std::move(*name));
  }
  return names;
}

// `serviceAccount` is the same field's name of old; kubelet knows the new one only, and so it goes first.
std::string ServiceAccount(ObjectReader& spec) {
  std::string old = spec.String("serviceAccount").value_or("");
  std::string name = spec.String("serviceAccountName").value_or("");
  return name.empty() ? old : name;
}

// A template may omit an image that another program fills in before there is a pod. Kubernetes leaves it to
// "higher level config management"; OpenShift writes " " for an image that a trigger sets.
bool MayBeBlank(const std::string& image, UseKind kind, bool from_template) {
  return from_template && (kind == UseKind::kImageVolume || !image.empty());
}

// "$(params.image)" of Tekton, "{{inputs.parameters.image}}" of Argo: known when it runs.
bool IsVariable(const std::optional<Reader>& value, TemplateShape shape) {
  if (!value || value->node().kind != doc::Node::Kind::kString) return false;
  const std::string_view mark = shape == TemplateShape::kArgo ? "{{" : "$(";
  return shape != TemplateShape::kPod && value->node().text.find(mark) != std::string::npos;
}

// A key, and the object that has it.
struct Field {
  ObjectReader& holder;
  std::string_view key;
};

void ReadUse(Field image_field, Field policy_field, ImageUse use, const Context& context) {
  std::optional<Reader> policy = policy_field.holder.Find(policy_field.key);
  std::optional<Reader> value = image_field.holder.Find(
      image_field.key, context.pod->from_template ? Need::kOptional : Need::kRequired);
  if (IsVariable(policy, context.shape) || IsVariable(value, context.shape)) return;
  if (policy && !(policy->node().kind == doc::Node::Kind::kString && policy->node().text.empty())) {
    use.explicit_policy = policy->Enum<PullPolicy>({{"Always", PullPolicy::kAlways},
                                                    {"IfNotPresent", PullPolicy::kIfNotPresent},
                                                    {"Never", PullPolicy::kNever}});
    use.policy_at = policy->node().at;
    use.policy_key_at = policy_field.holder.KeyAt(policy_field.key);
  }
  if (!value) return;
  std::optional<std::string> image = value->String();
  if (!image) return;
  if (base::TrimSpace(*image).empty()) {
    if (!MayBeBlank(*image, use.kind, context.pod->from_template)) value->Fail("must name an image");
    return;
  }
  if (auto reference = image::Reference::Parse(*image)) use.reference = *std::move(reference);
  use.pod = context.pod;
  Purpose purpose = IsCheckContainer(use) ? Purpose::kCheck : Purpose::kWork;
  use.policy = EffectivePolicy(use.explicit_policy, use.reference, context.rules, purpose);
  use.image = *std::move(image);
  use.at = value->node().at;
  use.key_at = image_field.holder.KeyAt(image_field.key).value_or(use.at);
  use.path = value->path();
  context.uses.push_back(std::move(use));
}

// `defaults` has the fields that the container lacks; nullptr: there are none. `name` is of one without.
void ReadContainer(const Reader& item, UseKind kind, const Context& context, ObjectReader* defaults = nullptr,
                   const std::string& name = "") {
  ObjectReader container(item);
  if (item.node().kind != doc::Node::Kind::kMapping) return;  // it has been complained about
  ImageUse use{.kind = kind, .name = container.String("name").value_or(name)};
  use.holder_at = item.node().at;
  auto field = [&](std::string_view key) {
    return Field{defaults != nullptr && !container.Has(key) ? *defaults : container, key};
  };
  ReadUse(field("image"), field("imagePullPolicy"), std::move(use), context);
}

void ReadList(ObjectReader& holder, std::string_view key, UseKind kind, const Context& context) {
  for (const Reader& item : holder.Items(key)) ReadContainer(item, kind, context);
}

void ReadContainers(ObjectReader& spec, const Context& context) {
  for (const ContainerList& list : kContainerLists) ReadList(spec, list.key, list.kind, context);
}

void ReadReference(const Reader& item, const Reader& action, const Context& context) {
  ObjectReader step(item);
  StepReference reference{.step = step.String("name").value_or(""), .pod = context.pod};
  reference.action = ObjectReader(action).String("name").value_or("");
  reference.at = step.KeyAt("ref").value_or(action.node().at);
  reference.holder_at = item.node().at;
  context.references.push_back(std::move(reference));
}

// A step gets the fields of stepTemplate that it lacks; one with `ref` has its image in a StepAction.
void ReadSteps(ObjectReader& task, const Context& context) {
  std::optional<ObjectReader> common;
  if (std::optional<Reader> value = task.Find("stepTemplate")) common.emplace(*value);
  for (const Reader& item : task.Items("steps")) {
    std::optional<Reader> action;
    if (item.node().kind == doc::Node::Kind::kMapping) action = ObjectReader(item).Find("ref");
    if (action) {
      ReadReference(item, *action, context);
    } else {
      ReadContainer(item, UseKind::kContainer, context, common ? &*common : nullptr);
    }
  }
  ReadList(task, "sidecars", UseKind::kContainer, context);
}

// In the order of an Argo template's pod. Of the defaults, its only container can have something.
void ReadArgoTemplate(ObjectReader& holder, const std::optional<Reader>& defaults, const Context& context) {
  const std::string name = holder.String("name").value_or("");
  ReadList(holder, "initContainers", UseKind::kInitContainer, context);
  for (const std::string_view key : {"container", "script"}) {
    std::optional<Reader> value = holder.Find(key);
    if (!value) continue;
    std::optional<Reader> common = defaults ? ObjectReader(*defaults).Find(key) : std::nullopt;
    std::optional<ObjectReader> fields;
    if (common) fields.emplace(*common);
    ReadContainer(*value, UseKind::kContainer, context, fields ? &*fields : nullptr, name);
  }
  if (std::optional<Reader> set = holder.Find("containerSet")) {
    ObjectReader containers(*set);
    ReadList(containers, "containers", UseKind::kContainer, context);
  }
  ReadList(holder, "sidecars", UseKind::kContainer, context);
}

void ReadImageVolumes(ObjectReader& spec, const Context& context) {
  for (const Reader& item : spec.Items("volumes")) {
    ObjectReader volume(item);
    std::optional<Reader> source = volume.Find("image");
    if (!source) continue;
    ObjectReader image(*source);
    ImageUse use{.kind = UseKind::kImageVolume, .name = volume.String("name").value_or("")};
    use.holder_at = item.node().at;
    ReadUse({image, "reference"}, {image, "pullPolicy"}, std::move(use), context);
  }
}

}  // namespace

std::optional<const doc::Node*> ReadPodImages(const FoundTemplate& found, Pod object,
                                              const PolicyRules& rules, std::vector<ImageUse>& uses,
                                              std::vector<StepReference>& references) {
  std::optional<ObjectReader> spec = SpecOf(found);
  if (!spec) return found.by_custom_path ? std::nullopt : std::optional<const doc::Node*>(nullptr);
  object.image_pull_secrets = PullSecrets(*spec);
  object.image_pull_secrets_at = spec->KeyAt("imagePullSecrets");
  object.nodes = ReadNodeDemand(spec->reader().node());
  object.service_account_name = ServiceAccount(*spec);
  object.identity_elsewhere = found.shape != TemplateShape::kPod;
  Context context{std::make_shared<const Pod>(std::move(object)), rules, uses, references, found.shape};
  switch (found.shape) {
    case TemplateShape::kPod:
      ReadContainers(*spec, context);
      break;
    case TemplateShape::kTekton:
      ReadSteps(*spec, context);
      break;
    case TemplateShape::kStepAction:
      ReadContainer(spec->reader(), UseKind::kContainer, context);
      break;
    case TemplateShape::kArgo:
      ReadArgoTemplate(*spec, found.defaults, context);
      break;
  }
  ReadImageVolumes(*spec, context);
  return &spec->reader().node();
}

}  // namespace prefetch::manifest
