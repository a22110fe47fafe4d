#include "manifest/pod_template.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "image/reference.h"

namespace prefetch::manifest {

namespace {

using doc::Reader;
using Steps = std::vector<std::string_view>;

Steps StepsOf(std::string_view path) {
  return path.empty() ? Steps() : base::Split(path, '.');
}

// A list on the way is passed through, so a path names the parts of all its items.
void Walk(const Reader& at, const Steps& steps, std::size_t done, std::vector<Reader>& found) {
  if (at.node().kind == doc::Node::Kind::kSequence) {
    for (const Reader& item : at.Items()) Walk(item, steps, done, found);
  } else if (at.node().kind != doc::Node::Kind::kMapping) {
    return;
  } else if (done == steps.size()) {
    found.push_back(at);
  } else if (steps[done] == "*") {
    for (const auto& member : at.Members()) Walk(member.second, steps, done + 1, found);
  } else if (std::optional<Reader> next = doc::ObjectReader(at).Find(steps[done])) {
    Walk(*next, steps, done + 1, found);
  }
}

}  // namespace

std::vector<Reader> AtPath(const Reader& object, std::string_view path) {
  std::vector<Reader> found;
  Walk(object, StepsOf(path), 0, found);
  return found;
}

// Reports a step that is misspelt, because the images behind it would be missed.
std::optional<Reader> BuiltInTemplate(const Reader& object, const BuiltInKind& kind) {
  Reader value = object;
  for (std::string_view step : StepsOf(kind.path)) {
    doc::ObjectReader holder(value);
    std::optional<Reader> next = holder.Find(step);
    if (!next) {
      doc::ReportMisspelt(value, {step});
      return std::nullopt;
    }
    value = *next;
  }
  return value;
}

namespace {

using doc::Node;
using doc::ObjectReader;
using Values = std::vector<std::string>;
using PlatformPart = Values NodeDemand::*;

// Returns the part of a demand that a label is; nullptr if it is no label of platforms.
PlatformPart PartOf(std::string_view label) {
  if (label == "kubernetes.io/os" || label == "beta.kubernetes.io/os") return &NodeDemand::operating_systems;
  if (label == "kubernetes.io/arch" || label == "beta.kubernetes.io/arch") return &NodeDemand::architectures;
  return nullptr;
}

// Returns the values that the terms of an affinity allow; empty: any. The terms are alternatives, so a term
// without such a label allows every value.
Values AllowedBy(const std::vector<Node>& terms, PlatformPart part) {
  Values allowed;
  for (const Node& term : terms) {
    const std::vector<Node>* values = nullptr;
    for (const Node& expression : doc::ItemsAt(term, {"matchExpressions"})) {
      // Other operators only exclude values, and so leave more than one platform possible.
      const bool in = doc::TextAt(expression, {"operator"}) == "In";
      if (in && PartOf(doc::TextAt(expression, {"key"})) == part)
        values = &doc::ItemsAt(expression, {"values"});
    }
    if (values == nullptr) return {};
    for (const Node& value : *values) {
      const bool is_new = std::ranges::find(allowed, value.text) == allowed.end();
      if (value.kind == Node::Kind::kString && is_new) allowed.push_back(value.text);
    }
  }
  return allowed;
}

}  // namespace

NodeDemand ReadNodeDemand(const Node& spec) {
  NodeDemand nodes;
  auto set = [&](PlatformPart part, Values values, const char* key) {
    if (values.empty()) return;
    nodes.*part = std::move(values);
    if (!nodes.at) nodes.at = spec.FindMember(key)->at;
  };
  for (const doc::Member& label : doc::MembersAt(spec, {"nodeSelector"})) {
    if (label.value.kind != Node::Kind::kString) continue;
    nodes.labels[label.key] = label.value.text;
    if (PlatformPart part = PartOf(label.key)) set(part, {label.value.text}, "nodeSelector");
  }
  // Only the required affinity counts. A preferred one leaves the scheduler free to choose other nodes.
  const std::vector<Node>& terms = doc::ItemsAt(
      spec,
      {"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"});
  for (PlatformPart part : {&NodeDemand::operating_systems, &NodeDemand::architectures}) {
    // nodeSelector binds as well, and allows a single value.
    if ((nodes.*part).empty()) set(part, AllowedBy(terms, part), "affinity");
  }
  const std::string os = doc::TextAt(spec, {"os", "name"});
  if (!os.empty()) set(&NodeDemand::operating_systems, {os}, "os");
  return nodes;
}

// GitLab runner's config.toml.

namespace {

std::optional<image::PullPolicy> PolicyOf(const std::string& text) {
  if (text == "always") return image::PullPolicy::kAlways;
  if (text == "if-not-present") return image::PullPolicy::kIfNotPresent;
  if (text == "never") return image::PullPolicy::kNever;
  return std::nullopt;
}

}  // namespace

std::vector<ImageField> FindRunnerImages(const Node& kubernetes) {
  const Node* written = kubernetes.Find("pull_policy");
  // A job gets the first of several.
  if (written != nullptr && !written->items.empty()) written = &written->items.front();
  const auto policy = written == nullptr ? std::nullopt : PolicyOf(written->text);
  std::vector<ImageField> found;
  auto add = [&](const Node& holder, const std::string& section, const std::string& key) {
    const doc::Member* image = holder.FindMember(key);
    if (image == nullptr || image->value.text.empty()) return;
    const std::string& text = image->value.text;
    found.push_back({text, section + "." + key, image->at, image->at, image->at, policy,
                     text.find('$') != std::string::npos});
  };
  add(kubernetes, "runners.kubernetes", "image");
  add(kubernetes, "runners.kubernetes", "helper_image");
  for (const Node& service : doc::ItemsAt(kubernetes, {"services"}))
    add(service, "runners.kubernetes.services", "name");
  return found;
}

// Finds pods, objects and images in custom resources by their shape.

namespace {

constexpr std::string_view kListsOfPods[] = {"containers", "initContainers", "ephemeralContainers",
                                             "volumes"};
// Endings of pictures and disk images, which are no container images.
constexpr std::string_view kOtherImages[] = {".png", ".svg", ".jpg", ".jpeg", ".gif",
                                             ".ico", ".iso", ".img", ".qcow2"};

const Node* StringAt(const Node& value, const char* key) {
  const Node* found = value.Find(key);
  return found != nullptr && found->kind == Node::Kind::kString && !found->text.empty() ? found : nullptr;
}

bool IsPartOfPod(std::string_view key) {
  return std::ranges::find(kListsOfPods, key) != std::end(kListsOfPods);
}

// Accepts every scalar, since a tag may look like a number: `tag: 1.27`.
std::string WordAt(const Node& value, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const Node* found = value.Find(key);
    if (found != nullptr && found->items.empty() && found->members.empty() && !found->text.empty()) {
      return found->text;
    }
  }
  return "";
}

// Returns whether `value` is an object, and not a reference to one (ownerReferences, scaleTargetRef).
bool IsObject(const Node& value) {
  if (StringAt(value, "apiVersion") == nullptr || StringAt(value, "kind") == nullptr) return false;
  for (const char* key : {"metadata", "spec", "template", "items"}) {
    const Node* found = value.Find(key);
    if (found != nullptr && found->kind != Node::Kind::kString && found->kind != Node::Kind::kNull)
      return true;
  }
  return false;
}

bool IsImageKey(std::string_view key) {
  return key == "image" || key == "imageName" || key == "image_name" || key.ends_with("Image") ||
         key.ends_with("_image") || key == "imageRef" || key == "imageURI" || key == "dockerImageReference" ||
         // Properties of Spark and Flink: `spark.kubernetes.driver.container.image`.
         key.ends_with(".image") || key.ends_with(".image.ref");
}

bool HasVariable(std::string_view text) {
  return text.find("$(") != std::string_view::npos || text.find("{{") != std::string_view::npos ||
         text.find("${") != std::string_view::npos;
}

// Returns whether `value` is an operation of a JSON patch (RFC 6902) that writes an image.
bool ReplacesImage(const Node& value) {
  const Node* path = StringAt(value, "path");
  return path != nullptr && StringAt(value, "op") != nullptr && StringAt(value, "value") != nullptr &&
         IsImageKey(std::string_view(path->text).substr(path->text.rfind('/') + 1));
}

// Returns whether a field of this name and text names an image. The key `image` is sufficient; for other
// keys, the text must show it.
bool NamesImage(std::string_view key, const std::string& text) {
  const auto reference = image::Reference::Parse(text);
  if (!reference) return false;
  if (reference->has_tag_or_digest()) return true;
  for (const std::string_view ending : kOtherImages) {
    if (text.ends_with(ending)) return false;
  }
  return key == "image" || image::NamesRegistry(text);
}

// Returns whether `value` is a sequence of mappings that have a name, at least one of them with an image.
bool IsContainerList(const Node& value) {
  if (value.kind != Node::Kind::kSequence || value.items.empty()) return false;
  bool image = false;
  for (const Node& item : value.items) {
    // Every container of a pod needs a name. Requiring it keeps other lists with images out.
    if (StringAt(item, "name") == nullptr) return false;
    image = image || StringAt(item, "image") != nullptr;
  }
  return image;
}

class ShapeFinder {
 public:
  ShapeFinder(const Claimed& claimed, Shapes& found) : claimed_(claimed), found_(found) {}

  void Root(const Reader& object) {
    starts_models_ = doc::TextAt(object.node(), {"apiVersion"}).starts_with("serving.kserve.io/");
    const Node* containers = object.node().Find("containers");
    const bool pod = containers != nullptr && IsContainerList(*containers);
    if (pod) found_.pods.push_back({.value = object, .origin = Origin::kShape});
    if (ReplacesImage(object.node())) Operation(object);
    for (const auto& [key, value] : object.Members()) {
      if (key != "metadata" && key != "status" && !(pod && IsPartOfPod(key))) Member(object, key, value);
    }
  }

 private:
  void Value(const Reader& value) {
    if (claimed_.contains(&value.node())) return;
    if (value.node().kind == Node::Kind::kSequence) {
      for (const Reader& item : value.Items()) Value(item);
    } else if (value.node().kind == Node::Kind::kMapping) {
      Mapping(value);
    }
  }

  void Mapping(const Reader& value) {
    const Node& node = value.node();
    if (IsObject(node)) return found_.objects.push_back(value);
    const Node* containers = node.Find("containers");
    const bool pod = containers != nullptr && IsContainerList(*containers);
    if (pod) found_.pods.push_back({.value = value, .origin = Origin::kShape});
    if (ReplacesImage(node)) return Operation(value);
    const Node* kind = StringAt(node, "kind");
    for (const auto& [key, member] : value.Members()) {
      if (pod && IsPartOfPod(key)) continue;
      // OpenShift's builds refer to the builder's image in this way.
      const bool docker = kind != nullptr && kind->text == "DockerImage" && key == "name";
      if (docker && member.node().kind == Node::Kind::kString) {
        Text(value, key, member, member.node().text);
      } else {
        Member(value, key, member);
      }
    }
  }

  void Operation(const Reader& operation) {
    const Reader value = *doc::ObjectReader(operation).Find("value");
    Text(operation, "image", value, value.node().text);
  }

  void Member(const Reader& holder, const std::string& key, const Reader& value) {
    const Node& node = value.node();
    if (claimed_.contains(&node)) return;
    // KServe starts the image of a model. Elsewhere, this may be a chart.
    if (starts_models_ && (key == "storageUri" || key == "uri") && node.text.starts_with("oci://"))
      return Text(holder, "image", value, node.text.substr(std::string_view("oci://").size()));
    if (!IsImageKey(key)) return Value(value);
    if (node.kind == Node::Kind::kString)
      return Text(holder, key, value, Tagged(holder.node(), key, node.text));
    if (node.kind != Node::Kind::kMapping) return Value(value);
    // Image volumes are written like this: `image: {reference: …, pullPolicy: …}`.
    if (StringAt(node, "reference") != nullptr) {
      const Reader reference = *doc::ObjectReader(value).Find("reference");
      return Text(value, "image", reference, reference.node().text);
    }
    std::string name = WordAt(node, {"repository", "repo", "name"});
    const std::string registry = WordAt(node, {"registry"});
    if (!registry.empty() && !name.empty()) name.insert(0, registry + "/");
    if (name.empty()) return Value(value);
    const std::string tag = WordAt(node, {"tag"}), digest = WordAt(node, {"digest"});
    if (!tag.empty()) name += ":" + tag;
    if (!digest.empty()) name += "@" + digest;
    Text(value, "image", value, name);
  }

  // The tag may be in another field: `baseImage: quay.io/prometheus/prometheus`, `tag: v2`. In resources of
  // NVIDIA's operators, the registry is, too: `repository: nvcr.io/nvidia`, `image: dcgm`, `version: 4.2`.
  static std::string Tagged(const Node& holder, const std::string& key, const std::string& text) {
    const auto reference = image::Reference::Parse(text);
    if (!reference || reference->has_tag_or_digest()) return text;
    const std::string repository = WordAt(holder, {"repository"}), version = WordAt(holder, {"version"});
    std::string whole = repository + "/" + text + (version.starts_with("sha256:") ? "@" : ":") + version;
    if (key == "image" && !version.empty() && text.find('/') == std::string::npos &&
        image::NamesRegistry(whole) && image::Reference::Parse(whole)) {
      return whole;
    }
    const std::string tag =
        key == "baseImage" ? WordAt(holder, {"tag", "version"}) : WordAt(holder, {"tag", "imageTag"});
    return tag.empty() ? text : text + ":" + tag;
  }

  void Text(const Reader& holder, const std::string& key, const Reader& value, const std::string& text) {
    const bool open = HasVariable(text);
    if (!open && !NamesImage(key, text)) return;
    ImageField field{.image = text, .path = value.path(), .at = value.node().at, .unresolved = open};
    const auto& members = holder.node().members;
    const auto member =
        std::ranges::find_if(members, [&](const doc::Member& one) { return &one.value == &value.node(); });
    field.key_at = member == members.end() ? field.at : member->at;
    field.holder_at = holder.node().at;
    field.policy =
        base::EnumNamed<image::PullPolicy>(WordAt(holder.node(), {"imagePullPolicy", "pullPolicy"}));
    found_.fields.push_back(std::move(field));
  }

  const Claimed& claimed_;
  Shapes& found_;
  bool starts_models_ = false;  // the object is KServe's
};

}  // namespace

std::optional<Reader> FirstContainerList(const Reader& value) {
  if (IsContainerList(value.node())) return value;
  if (value.node().kind == Node::Kind::kSequence) {
    for (const Reader& item : value.Items()) {
      if (auto found = FirstContainerList(item)) return found;
    }
  } else if (value.node().kind == Node::Kind::kMapping) {
    for (const auto& member : value.Members()) {
      if (auto found = FirstContainerList(member.second)) return found;
    }
  }
  return std::nullopt;
}

std::vector<ImageField> FindDataImages(const Reader& data) {
  std::vector<ImageField> found;
  for (const auto& [key, value] : data.Members()) {
    const Node& node = value.node();
    // A plain "image" in a ConfigMap may mean anything; an ending says what the image is for.
    const bool image = key != "image" && base::ToLower(key).ends_with("image");
    if (!image || node.kind != Node::Kind::kString || !NamesImage(key, node.text)) continue;
    found.push_back(
        {.image = node.text, .path = value.path(), .at = node.at, .key_at = node.at, .holder_at = node.at});
  }
  return found;
}

Shapes FindShapes(const Reader& object, const Claimed& claimed) {
  Shapes found;
  ShapeFinder(claimed, found).Root(object);
  return found;
}

namespace {

using doc::Need;
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
  bool is_strict() const { return found.origin != Origin::kShape && found.shape != TemplateShape::kJenkins; }
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

std::string UseText(const ImageUse& use, const Context& context) {
  const std::string kind = use.kind == UseKind::kImageVolume ? "volume" : "container";
  return (use.name.empty() ? "a " + kind : kind + " \"" + use.name + "\"") + " of " + PodTitle(*context.pod);
}

void AddUnresolved(const ImageUse& use, doc::Position at, const std::string& why, const Context& context) {
  context.images.unresolved.push_back(
      {.why = UseText(use, context) + " " + why, .at = at, .holder_at = use.holder_at, .pod = context.pod});
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
    if (resolved.unresolved) {
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
    if (context.is_strict() && context.pod->from_template && use.kind != UseKind::kField) {
      AddUnresolved(use, use.holder_at, "has no image here", context);
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
    if (resolved.unresolved) {
      return AddUnresolved(use, use.key_at, "has a variable for its image: " + base::Truncate(*image, 200),
                           context);
    }
    image = std::move(resolved.text);
  }
  if (base::TrimSpace(*image).empty()) {
    if (!MayBeBlank(*image, use.kind, context.pod->from_template))
      value->Fail("must name an image");
    else
      AddUnresolved(use, use.key_at, "has no image here", context);
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
    if (context.is_strict() && !container.Has(key)) doc::ReportMisspelt(item, {key});
  }
  const bool flag = context.found.shape == TemplateShape::kJenkins;
  ReadUse(field("image"), field(flag ? "alwaysPullImage" : "imagePullPolicy"), std::move(use), context);
}

void ReadList(ObjectReader& holder, std::string_view key, UseKind kind, const Context& context) {
  for (const Reader& item : holder.Items(key)) ReadContainer(item, kind, context);
}

void ReadContainers(ObjectReader& spec, const Context& context) {
  if (context.is_strict()) {
    doc::ReportMisspelt(spec.reader(), {"containers", "initContainers", "ephemeralContainers"});
  }
  for (const ContainerList& list : kContainerLists) ReadList(spec, list.key, list.kind, context);
}

void ReadReference(const Reader& item, const Reader& action, const Context& context) {
  ObjectReader step(item);
  const std::string name = step.String("name").value_or("");
  const std::string from = ObjectReader(action).String("name").value_or("");
  context.images.references.push_back(
      {.why = (name.empty() ? "a step" : "step \"" + name + "\"") + " of " + PodTitle(*context.pod) +
              " takes its image from " +
              (from.empty() ? "a StepAction that a resolver finds" : "the StepAction \"" + from + "\""),
       .at = step.KeyAt("ref").value_or(action.node().at),
       .holder_at = item.node().at,
       .pod = context.pod});
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
  object.identity_elsewhere = object.identity_elsewhere || found.shape != TemplateShape::kPod;
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
