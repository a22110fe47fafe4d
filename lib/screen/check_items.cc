#include "screen/check_items.h"

#include <algorithm>

#include "base/scrub.h"
#include "base/text.h"
#include "manifest/image_use.h"
#include "manifest/strongest.h"

namespace prefetch::screen {
namespace {

using manifest::ImageUse;

constexpr std::size_t kMostContainers = 3;

std::string NameOf(const ImageUse& use) {
  if (use.name.empty()) return "";
  std::string name = base::WithoutControls(base::ToUtf8(use.name));
  if (use.kind == manifest::UseKind::kContainer) return name;
  return name + " (" + std::string(manifest::UseKindName(use.kind)) + ")";
}

std::string ContainersOf(const std::vector<ImageUse>& uses) {
  std::vector<std::string> names;
  for (const ImageUse& use : uses) {
    std::string name = NameOf(use);
    bool known = std::find(names.begin(), names.end(), name) != names.end();
    if (!name.empty() && !known) names.push_back(std::move(name));
  }
  if (names.empty()) return "–";
  std::size_t more = names.size() > kMostContainers ? names.size() - kMostContainers : 0;
  // The column must stay readable for images that dozens of containers use.
  names.resize(names.size() - more);
  return base::Join(names, ", ") + (more == 0 ? "" : " +" + std::to_string(more));
}

// Returns true if a controller would check the image by a default of its own.
bool CheckedByDefault(const ImageUse& use, const manifest::PolicyRules& rules) {
  return !use.explicit_policy && !rules.assume_always_pull && rules.default_check_policy &&
         !manifest::IsCheckContainer(use);
}

image::PullPolicy PolicyOf(const ImageUse& use, const manifest::PolicyRules& rules) {
  // The stronger of the two counts: the controller's check and the pod itself must both pass.
  return CheckedByDefault(use, rules) ? std::max(use.policy, *rules.default_check_policy) : use.policy;
}

std::string OwnOrigin(const ImageUse& use, const manifest::PolicyRules& rules) {
  if (rules.assume_always_pull) return "AlwaysPullImages";
  if (use.explicit_policy) return "stated";
  // The image stands outside of a container, for example in an argument.
  if (!use.policy_known) return "unknown, as Kubernetes' default";
  if (rules.default_check_policy && manifest::IsCheckContainer(use)) return "assumed for checks";
  if (rules.default_policy) return "assumed default";
  bool latest = use.reference && use.reference->tag() == "latest";
  return latest ? "default for :latest" : "default";
}

std::string OriginOf(const ImageUse& use, const manifest::PolicyRules& rules) {
  std::string origin = OwnOrigin(use, rules);
  if (!CheckedByDefault(use, rules) || *rules.default_check_policy == use.policy) return origin;
  if (*rules.default_check_policy < use.policy) {
    return origin + "; checks have " + std::string(PullPolicyName(*rules.default_check_policy));
  }
  return "assumed for checks; the pod has " + std::string(PullPolicyName(use.policy));
}

// Names the other uses of the image, and a check among them that asks less.
std::string Others(const std::vector<ImageUse>& uses, const ImageUse& strongest) {
  std::string name = NameOf(strongest);
  auto asks_less = [&](const ImageUse& use) { return use.policy < strongest.policy; };
  if (name.empty() || std::none_of(uses.begin(), uses.end(), asks_less)) return "";
  auto check = std::find_if(uses.begin(), uses.end(), [&](const ImageUse& use) {
    return asks_less(use) && manifest::IsCheckContainer(use) && !NameOf(use).empty();
  });
  if (check == uses.end()) return " by " + name;
  return " by " + name + "; " + NameOf(*check) + " has " + std::string(PullPolicyName(check->policy));
}

// `uses` are those of one spelling and identity.
CheckItem ItemOf(const std::vector<ImageUse>& uses, const manifest::PolicyRules& rules,
                 const status::CheckIdentity& identity) {
  auto weaker = [&](const ImageUse& a, const ImageUse& b) { return PolicyOf(a, rules) < PolicyOf(b, rules); };
  const ImageUse& strongest = *std::max_element(uses.begin(), uses.end(), weaker);
  return {.question = {strongest.image, PolicyOf(strongest, rules), identity},
          .containers = ContainersOf(uses),
          .origin = OriginOf(strongest, rules) + Others(uses, strongest),
          .file = strongest.pod->source,
          .at = strongest.key_at};
}

// Returns `given` and the pod's own pull secrets. A secret that was given with its UID is not added again by
// its name alone.
status::CheckIdentity IdentityOf(const ImageUse& use, const status::CheckIdentity& given,
                                 const std::string& default_namespace) {
  status::CheckIdentity identity = given;
  const std::string& own = use.pod->object_namespace;
  for (const std::string& name : use.pod->image_pull_secrets) {
    status::ObjectCoordinates secret{own.empty() ? default_namespace : own, name, ""};
    bool known = std::any_of(identity.secrets.begin(), identity.secrets.end(), [&](const auto& other) {
      return other.namespace_name == secret.namespace_name && other.name == secret.name;
    });
    // kubelet needs namespace and name together (K25), and a pull secret is always in its pod's namespace.
    if (!known) identity.secrets.push_back(std::move(secret));
  }
  return identity;
}

struct SameAsk {
  status::CheckIdentity identity;
  std::vector<ImageUse> uses;  // never empty
};

// Groups the uses of one image by spelling and secrets, in the order of first use.
std::vector<SameAsk> GroupedBySpelling(const std::vector<ImageUse>& uses, const status::CheckIdentity& given,
                                       const std::string& default_namespace) {
  std::vector<SameAsk> all;
  for (const ImageUse& use : uses) {
    status::CheckIdentity identity = IdentityOf(use, given, default_namespace);
    auto known = std::find_if(all.begin(), all.end(), [&](const SameAsk& others) {
      return others.uses.front().image == use.image && others.identity == identity;
    });
    if (known == all.end()) known = all.insert(all.end(), SameAsk{std::move(identity), {}});
    known->uses.push_back(use);
  }
  return all;
}

}  // namespace

ImageUse ImageByItself(const std::string& image, std::optional<image::PullPolicy> policy,
                       const manifest::PolicyRules& rules) {
  ImageUse use;
  use.image = image;
  if (auto reference = image::Reference::Parse(image)) use.reference = *std::move(reference);
  use.explicit_policy = policy;
  use.policy = manifest::EffectivePolicy(policy, use.reference, rules);
  // The other code expects a pod behind each use.
  use.pod = std::make_shared<const manifest::Pod>();
  return use;
}

std::vector<CheckItem> CheckItems(const std::vector<ImageUse>& uses, const manifest::PolicyRules& rules,
                                  const status::CheckIdentity& identity,
                                  const std::string& default_namespace) {
  std::vector<CheckItem> items;
  for (const manifest::WantedImage& wanted : manifest::Strongest(uses)) {
    for (const SameAsk& same : GroupedBySpelling(wanted.wanted_by, identity, default_namespace)) {
      items.push_back(ItemOf(same.uses, rules, same.identity));
    }
  }
  return items;
}

}  // namespace prefetch::screen
