#include "manifest/image_use.h"

#include <algorithm>
#include <iterator>
#include <map>
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

// kubelet pulls the images of volumes first, then starts init containers one after the other, then the
// others.
constexpr int kLastStage = 2;
int StageOf(const ImageUse& use) {
  if (use.kind == UseKind::kImageVolume) return 0;
  return use.kind == UseKind::kInitContainer ? 1 : kLastStage;
}

// The first uses that pull: by pod and spelling, with their stage and place.
using FirstPulls = std::map<std::pair<const Pod*, std::string_view>, std::pair<int, std::size_t>>;

FirstPulls FirstPullsOf(const std::vector<ImageUse>& uses, const PolicyOfUse& policy_of) {
  FirstPulls first;
  for (std::size_t i = 0; i < uses.size(); i++) {
    if (policy_of(uses[i]) == image::PullPolicy::kNever) continue;
    const std::pair<int, std::size_t> when{StageOf(uses[i]), i};
    auto [known, is_new] = first.emplace(std::pair(uses[i].pod.get(), std::string_view(uses[i].image)), when);
    known->second = std::min(known->second, when);
  }
  return first;
}

// Returns true if an earlier container of the same pod pulls the image of this use. Containers that start
// side by side count, too: kubelet tries a container with Never again.
bool IsPulledBefore(const FirstPulls& first, const ImageUse& use, std::size_t place) {
  auto found = first.find({use.pod.get(), use.image});
  if (found == first.end()) return false;
  const int stage = StageOf(use);
  return found->second < std::pair(stage, place) || (stage == kLastStage && found->second.first == stage);
}

}  // namespace

std::vector<UsedImage> CombineUses(const std::vector<ImageUse>& uses, const PolicyOfUse& policy_of) {
  const FirstPulls first_pulls = FirstPullsOf(uses, policy_of);
  std::vector<std::vector<UsedImage>> images;
  std::unordered_map<std::string, std::size_t> index;  // of an image in `images`
  for (std::size_t i = 0; i < uses.size(); i++) {
    const ImageUse& use = uses[i];
    auto [known, is_new] = index.emplace(KeyOf(use), images.size());
    if (is_new) images.emplace_back();
    std::vector<UsedImage>& questions = images[known->second];
    const bool never = policy_of(use) == image::PullPolicy::kNever && !IsPulledBefore(first_pulls, use, i);
    auto same = std::ranges::find_if(questions, [&](const UsedImage& other) {
      return other.image == use.image && other.must_be_present == never;
    });
    if (same == questions.end()) same = questions.insert(same, {use.image, policy_of(use), never, {}});
    same->policy = std::max(same->policy, policy_of(use));
    same->uses.push_back(use);
  }
  std::vector<UsedImage> wanted;
  for (std::vector<UsedImage>& questions : images) std::ranges::move(questions, std::back_inserter(wanted));
  return wanted;
}

}  // namespace prefetch::manifest
