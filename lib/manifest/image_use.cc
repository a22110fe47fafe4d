#include "manifest/image_use.h"

#include <algorithm>
#include <unordered_map>

#include "base/text.h"

namespace prefetch::manifest {

std::string PodTitle(const Pod& pod) {
  std::string title = pod.kind;
  if (pod.name.empty()) return title;
  title += ' ';
  if (!pod.object_namespace.empty()) title += pod.object_namespace + "/";
  return title += pod.name;
}

std::string_view UseKindName(UseKind kind) {
  return base::EnumWord(kind, {"container", "init", "ephemeral", "volume", "field"});
}

std::string UnreadTitle(const UnreadObject& object) {
  return PodTitle(*object.pod) + " " + object.why;
}

namespace {

constexpr std::string_view kCheckWords[] = {"check",    "checker", "precheck", "preflight", "prepull",
                                            "prefetch", "warmup",  "verify",   "verifier"};

bool IsCheckName(std::string_view name) {
  std::string words = base::ToLower(name);
  std::ranges::replace_if(
      words, [](char c) { return c == '_' || c == '.'; }, '-');
  for (std::string_view part : base::Split(words, '-')) {
    for (std::string_view word : kCheckWords) {
      // The ending also finds "imagecheck".
      if (part == word || part.ends_with("check")) return true;
    }
  }
  return false;
}

}  // namespace

bool IsCheckContainer(const ImageUse& use) {
  if (use.kind == UseKind::kImageVolume || use.kind == UseKind::kField) return false;
  if (IsCheckName(use.name)) return true;
  return use.pod && IsCheckName(use.pod->name);
}

image::PullPolicy EffectivePolicy(std::optional<image::PullPolicy> explicit_policy,
                                  const std::optional<image::Reference>& reference, const PolicyRules& rules,
                                  Purpose purpose) {
  // In the order of the cluster: the admission plugin AlwaysPullImages replaces every policy, a controller
  // only fills in a missing one, and the API server's own default is last.
  if (rules.assume_always_pull) return image::PullPolicy::kAlways;
  if (explicit_policy) return *explicit_policy;
  if (purpose == Purpose::kCheck && rules.default_check_policy) return *rules.default_check_policy;
  if (rules.default_policy) return *rules.default_policy;
  // Without a valid reference there is no tag, and the pod never starts anyway.
  return reference ? image::DefaultPullPolicy(*reference) : image::PullPolicy::kIfNotPresent;
}

namespace {

// The blank separates invalid names from valid ones, since no normalised name begins with one.
std::string KeyOf(const ImageUse& use) {
  return use.reference ? use.reference->Normalized() : " " + use.image;
}

}  // namespace

std::vector<UsedImage> CombineUses(const std::vector<ImageUse>& uses) {
  std::vector<UsedImage> wanted;
  std::unordered_map<std::string, std::size_t> index;  // of an image in `wanted`
  for (const ImageUse& use : uses) {
    auto [known, is_new] = index.emplace(KeyOf(use), wanted.size());
    if (is_new) wanted.push_back({use.image, use.policy, {}});
    UsedImage& image = wanted[known->second];
    if (use.policy > image.policy) {
      image.image = use.image;
      image.policy = use.policy;
    }
    image.uses.push_back(use);
  }
  return wanted;
}

}  // namespace prefetch::manifest
