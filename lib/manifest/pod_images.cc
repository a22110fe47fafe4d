#include "manifest/pod_images.h"

#include <utility>

#include "base/text.h"
#include "manifest/check_container.h"

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
};

// The pod's spec: in a template, or right where a custom path led. nullopt: none is there.
std::optional<ObjectReader> SpecOf(const FoundTemplate& found) {
  ObjectReader holder(found.value);
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

// An image may be left out where somebody fills it in before there is a pod. Kubernetes leaves it to "higher
// level config management" in templates; there OpenShift has " " for an image that a trigger sets.
bool MayBeBlank(const std::string& image, UseKind kind, bool from_template) {
  return from_template && (kind == UseKind::kImageVolume || !image.empty());
}

void ReadUse(ObjectReader& holder, std::string_view image_key, std::string_view policy_key, ImageUse use,
             const Context& context) {
  std::optional<Reader> policy = holder.Find(policy_key);
  if (policy && !(policy->node().kind == doc::Node::Kind::kString && policy->node().text.empty())) {
    use.explicit_policy = policy->Enum<PullPolicy>({{"Always", PullPolicy::kAlways},
                                                    {"IfNotPresent", PullPolicy::kIfNotPresent},
                                                    {"Never", PullPolicy::kNever}});
    use.policy_at = policy->node().at;
    use.policy_key_at = holder.KeyAt(policy_key);
  }
  std::optional<Reader> value =
      holder.Find(image_key, context.pod->from_template ? Need::kOptional : Need::kRequired);
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
  use.key_at = holder.KeyAt(image_key).value_or(use.at);
  use.path = value->path();
  context.uses.push_back(std::move(use));
}

void ReadContainers(ObjectReader& spec, const Context& context) {
  for (const ContainerList& list : kContainerLists) {
    for (const Reader& item : spec.Items(list.key)) {
      ObjectReader container(item);
      if (container.reader().node().kind != doc::Node::Kind::kMapping)
        continue;  // it has been complained about
      ImageUse use{.kind = list.kind, .name = container.String("name").value_or("")};
      use.holder_at = item.node().at;
      ReadUse(container, "image", "imagePullPolicy", std::move(use), context);
    }
  }
}

void ReadImageVolumes(ObjectReader& spec, const Context& context) {
  for (const Reader& item : spec.Items("volumes")) {
    ObjectReader volume(item);
    std::optional<Reader> source = volume.Find("image");
    if (!source) continue;
    ObjectReader image(*source);
    ImageUse use{.kind = UseKind::kImageVolume, .name = volume.String("name").value_or("")};
    use.holder_at = item.node().at;
    ReadUse(image, "reference", "pullPolicy", std::move(use), context);
  }
}

}  // namespace

std::optional<const doc::Node*> ReadPodImages(const FoundTemplate& found, Pod object,
                                              const PolicyRules& rules, std::vector<ImageUse>& uses) {
  std::optional<ObjectReader> spec = SpecOf(found);
  if (!spec) return found.by_custom_path ? std::nullopt : std::optional<const doc::Node*>(nullptr);
  object.image_pull_secrets = PullSecrets(*spec);
  object.image_pull_secrets_at = spec->KeyAt("imagePullSecrets");
  object.nodes = ReadNodeDemand(spec->reader().node());
  object.service_account_name = ServiceAccount(*spec);
  Context context{std::make_shared<const Pod>(std::move(object)), rules, uses};
  ReadContainers(*spec, context);
  ReadImageVolumes(*spec, context);
  return &spec->reader().node();
}

}  // namespace prefetch::manifest
