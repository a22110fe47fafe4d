#include "manifest/pod_template.h"

#include <utility>

#include "base/text.h"
#include "doc/spelling.h"
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
// The order in which kubelet starts them.
constexpr ContainerList kContainerLists[] = {
    {"initContainers", UseKind::kInitContainer},
    {"containers", UseKind::kContainer},
    {"ephemeralContainers", UseKind::kEphemeralContainer},
};

// The pod whose uses are read, and where they go.
struct Context {
  const FoundTemplate& found;
  std::shared_ptr<const Pod> pod;
  const PolicyRules& rules;
  PodImages& images;

  // Whether a missing image or a misspelt key is a mistake. In a mapping that only looks like a pod, it means
  // nothing.
  bool exact() const { return found.origin != Origin::kShape && found.shape != TemplateShape::kJenkins; }
};

// Returns the pod's spec: within a template, or directly at the end of a path. nullopt: there is none.
std::optional<ObjectReader> SpecOf(const FoundTemplate& found) {
  ObjectReader holder(found.value);
  if (found.shape != TemplateShape::kPod || found.origin == Origin::kShape) return holder;
  if (found.origin == Origin::kBuiltIn) {
    std::optional<Reader> spec = holder.Find("spec");
    if (!spec) {
      // A manifest without `spec` may be a patch. A misspelt `spec` is a mistake.
      doc::ReportMisspelt(found.value, {"spec"});
      return std::nullopt;
    }
    return ObjectReader(*spec);
  }
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

// `serviceAccount` is the deprecated name of the same field. kubelet reads only the new one, so it takes
// precedence.
std::string ServiceAccount(ObjectReader& spec) {
  std::string old = spec.String("serviceAccount").value_or("");
  std::string name = spec.String("serviceAccountName").value_or("");
  return name.empty() ? old : name;
}

// A template may omit an image that another program fills in before a pod exists. Kubernetes leaves it to
// "higher level config management"; OpenShift writes " " for an image that a trigger sets.
bool MayBeBlank(const std::string& image, UseKind kind, bool from_template) {
  return from_template && (kind == UseKind::kImageVolume || !image.empty());
}

// A key, and the object that has it.
struct Field {
  ObjectReader& holder;
  std::string_view key;
};

std::string UseWords(const ImageUse& use, const Context& context) {
  const std::string kind = use.kind == UseKind::kImageVolume ? "volume" : "container";
  return (use.name.empty() ? "a " + kind : kind + " \"" + use.name + "\"") + " of " + PodTitle(*context.pod);
}

void AddOpen(const ImageUse& use, doc::Position at, const std::string& why, const Context& context) {
  context.images.open.push_back(
      {.why = UseWords(use, context) + " " + why, .at = at, .holder_at = use.holder_at, .pod = context.pod});
}

// Jenkins' kubernetes plugin sets IfNotPresent unless `alwaysPullImage` is true.
PullPolicy PolicyOfFlag(const std::optional<Reader>& flag) {
  return flag && flag->node().boolean ? PullPolicy::kAlways : PullPolicy::kIfNotPresent;
}

void ReadPolicy(const std::optional<Reader>& policy, const Field& field, ImageUse& use,
                const Context& context) {
  if (context.found.shape == TemplateShape::kJenkins) {
    use.explicit_policy = PolicyOfFlag(policy);
  } else if (policy && !(policy->node().kind == doc::Node::Kind::kString && policy->node().text.empty())) {
    const std::initializer_list<std::pair<std::string_view, PullPolicy>> names = {
        {"Always", PullPolicy::kAlways},
        {"IfNotPresent", PullPolicy::kIfNotPresent},
        {"Never", PullPolicy::kNever}};
    const Variables* variables = context.found.variables.get();
    const bool text = variables != nullptr && policy->node().kind == doc::Node::Kind::kString;
    const Variables::Resolved resolved =
        text ? variables->Resolve(policy->node().text) : Variables::Resolved();
    // The variable's value comes from another object or a run, so no rule about policies applies.
    if (resolved.open) {
      use.policy_known = false;
    } else if (text) {
      // The resolved text is checked like a written one; the position stays that of the variable.
      doc::Node value = policy->node();
      value.text = resolved.text;
      use.explicit_policy = Reader(value, policy->problems(), policy->path()).Enum<PullPolicy>(names);
    } else {
      use.explicit_policy = policy->Enum<PullPolicy>(names);
    }
  } else {
    return;
  }
  if (!policy) return;
  use.policy_at = policy->node().at;
  use.policy_key_at = field.holder.KeyAt(field.key);
}

// Returns the rules with the policy that the controller of a known kind fills in. The user's --default-policy
// takes precedence.
PolicyRules RulesOf(const Context& context, ImageUse& use) {
  PolicyRules rules = context.rules;
  if (context.found.place == nullptr || rules.default_policy) return rules;
  switch (context.found.place->policy_default) {
    case PolicyDefault::kKubernetes:
      break;
    case PolicyDefault::kIfNotPresent:
      rules.default_policy = PullPolicy::kIfNotPresent;
      break;
    case PolicyDefault::kAlways:
      rules.default_policy = PullPolicy::kAlways;
      break;
    case PolicyDefault::kUnknown:
      if (!use.explicit_policy) use.policy_known = false;
      break;
  }
  return rules;
}

void ReadUse(Field image_field, Field policy_field, ImageUse use, const Context& context) {
  std::optional<Reader> policy = policy_field.holder.Find(policy_field.key);
  std::optional<Reader> value = image_field.holder.Find(
      image_field.key, context.pod->from_template ? Need::kOptional : Need::kRequired);
  // The policy is read even without an image, so that a mistake in it is reported.
  ReadPolicy(policy, policy_field, use, context);
  if (!value) {
    if (context.exact() && context.pod->from_template && use.kind != UseKind::kField) {
      AddOpen(use, use.holder_at, "has no image here", context);
    }
    return;
  }
  std::optional<std::string> image = value->String();
  if (!image) return;
  use.at = value->node().at;
  use.key_at = image_field.holder.KeyAt(image_field.key).value_or(use.at);
  use.path = value->path();
  if (context.found.variables) {
    Variables::Resolved resolved = context.found.variables->Resolve(*image);
    if (resolved.open) {
      return AddOpen(use, use.key_at, "has a variable for its image: " + base::Truncate(*image, 200),
                     context);
    }
    image = std::move(resolved.text);
  }
  if (base::TrimSpace(*image).empty()) {
    if (!MayBeBlank(*image, use.kind, context.pod->from_template))
      value->Fail("must name an image");
    else
      AddOpen(use, use.key_at, "has no image here", context);
    return;
  }
  // An invalid reference is kept as a use without reference: kubelet's answer to it (InvalidImageName) is a
  // finding.
  if (auto reference = image::Reference::Parse(*image)) use.reference = *std::move(reference);
  use.pod = context.pod;
  Purpose purpose = IsCheckContainer(use) ? Purpose::kCheck : Purpose::kWork;
  const PolicyRules rules = RulesOf(context, use);
  use.policy = EffectivePolicy(use.explicit_policy, use.reference, rules, purpose);
  use.image = *std::move(image);
  context.images.uses.push_back(std::move(use));
}

// `defaults` has the fields that the container lacks; nullptr if there are none. `name` stands for a missing
// name.
void ReadContainer(const Reader& item, UseKind kind, const Context& context, ObjectReader* defaults = nullptr,
                   const std::string& name = "") {
  ObjectReader container(item);
  if (item.node().kind != doc::Node::Kind::kMapping) return;  // ObjectReader has reported it.
  ImageUse use{.kind = kind, .name = container.String("name").value_or(name)};
  use.holder_at = item.node().at;
  auto field = [&](std::string_view key) {
    return Field{defaults != nullptr && !container.Has(key) ? *defaults : container, key};
  };
  for (const std::string_view key : {"image", "imagePullPolicy"}) {
    if (context.exact() && !container.Has(key)) doc::ReportMisspelt(item, {key});
  }
  const bool flag = context.found.shape == TemplateShape::kJenkins;
  ReadUse(field("image"), field(flag ? "alwaysPullImage" : "imagePullPolicy"), std::move(use), context);
}

void ReadList(ObjectReader& holder, std::string_view key, UseKind kind, const Context& context) {
  for (const Reader& item : holder.Items(key)) ReadContainer(item, kind, context);
}

void ReadContainers(ObjectReader& spec, const Context& context) {
  if (context.exact()) {
    doc::ReportMisspelt(spec.reader(), {"containers", "initContainers", "ephemeralContainers"});
  }
  for (const ContainerList& list : kContainerLists) ReadList(spec, list.key, list.kind, context);
}

void ReadReference(const Reader& item, const Reader& action, const Context& context) {
  ObjectReader step(item);
  StepReference reference{.step = step.String("name").value_or(""), .pod = context.pod};
  reference.action = ObjectReader(action).String("name").value_or("");
  reference.at = step.KeyAt("ref").value_or(action.node().at);
  reference.holder_at = item.node().at;
  context.images.references.push_back(std::move(reference));
}

// A step inherits the fields of stepTemplate that it lacks. A step with `ref` has its image in a StepAction.
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

// One image in a field. Its policy is in another field, perhaps of another mapping.
void ReadPlace(ObjectReader& holder, const Context& context) {
  const KnownPlace& place = *context.found.place;
  ImageUse use{.kind = UseKind::kField, .name = holder.reader().path()};
  use.name += (use.name.empty() ? "" : ".") + std::string(place.image);
  use.holder_at = holder.reader().node().at;
  std::optional<ObjectReader> elsewhere;
  if (context.found.defaults) elsewhere.emplace(*context.found.defaults);
  ReadUse({holder, place.image}, {elsewhere ? *elsewhere : holder, place.policy}, std::move(use), context);
}

// In the order of the pod that Argo makes. Only its main container inherits fields of the defaults.
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
                                              const PolicyRules& rules, PodImages& images) {
  std::optional<ObjectReader> spec = SpecOf(found);
  if (!spec)
    return found.origin == Origin::kBuiltIn ? std::optional<const doc::Node*>(nullptr) : std::nullopt;
  object.identity_elsewhere = found.shape != TemplateShape::kPod;
  object.nodes = ReadNodeDemand(spec->reader().node());
  if (found.shape != TemplateShape::kImage) {
    object.image_pull_secrets = PullSecrets(*spec);
    object.image_pull_secrets_at = spec->KeyAt("imagePullSecrets");
    object.service_account_name = ServiceAccount(*spec);
  }
  const Context context{found, std::make_shared<const Pod>(std::move(object)), rules, images};
  switch (found.shape) {
    case TemplateShape::kPod:
    case TemplateShape::kJenkins:
      ReadContainers(*spec, context);
      break;
    case TemplateShape::kImage:
      ReadPlace(*spec, context);
      return &spec->reader().node();
    case TemplateShape::kTekton:
      ReadSteps(*spec, context);
      break;
    case TemplateShape::kStepAction:
      ReadContainer(spec->reader(), UseKind::kContainer, context);
      break;
    case TemplateShape::kArgo:
      ReadArgoTemplate(*spec, found.defaults, context);
      break;
    case TemplateShape::kArgoDefaults:
      ReadList(*spec, "initContainers", UseKind::kInitContainer, context);
      ReadList(*spec, "sidecars", UseKind::kContainer, context);
      return &spec->reader().node();
  }
  ReadImageVolumes(*spec, context);
  return &spec->reader().node();
}

}  // namespace prefetch::manifest
