#include "manifest/lint/rules.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "manifest/image_use.h"

namespace prefetch::manifest::lint {
namespace {

// Does it run before others, so that its start counts as a sign?
bool RunsAhead(const ImageUse& use) {
  return use.kind == UseKind::kInitContainer || IsCheckContainer(use);
}

// Does the list have an image of the pod for pods that bring one of its secrets (readyAs)?
bool ListWantsSecrets(std::span<const ImageUse> uses, const ListedImages& listed) {
  const std::vector<std::string>& brings = uses.front().pod->image_pull_secrets;
  auto is_brought = [&](const image::Coordinates& secret) {
    return std::find(brings.begin(), brings.end(), secret.name) != brings.end();
  };
  for (const ImageUse& use : uses) {
    if (!use.reference) continue;
    for (const ListedImage* entry : listed.Find(*use.reference)) {
      const std::vector<image::Coordinates>& secrets = entry->ready_as.secrets;
      if (std::any_of(secrets.begin(), secrets.end(), is_brought)) return true;
    }
  }
  return false;
}

}  // namespace

std::string WeakerCheckMessage(const ImageUse& weak, const std::string& strong, image::PullPolicy policy) {
  std::string name = weak.name.empty() ? "this container" : "container \"" + weak.name + "\"";
  return name + " has " + std::string(image::PullPolicyName(weak.policy)) + " where " + strong + " has " +
         std::string(image::PullPolicyName(policy)) + ", for the same image: " + weak.image;
}

void NeedlessPullSecrets(std::span<const ImageUse> uses, const ListedImages& listed, Findings& findings) {
  const Pod& pod = *uses.front().pod;
  if (pod.image_pull_secrets.empty() || !pod.image_pull_secrets_at) return;
  bool all = std::all_of(uses.begin(), uses.end(),
                         [&](const ImageUse& use) { return use.reference && listed.Has(*use.reference); });
  if (!all || ListWantsSecrets(uses, listed)) return;
  Finding finding{.rule = RuleId::kPullSecrets,
                  .place = {pod.source, *pod.image_pull_secrets_at},
                  .block = *pod.image_pull_secrets_at,
                  .message = "every image of " + PodTitle(pod) +
                             " is listed, so the node pulls it by itself; a pull with its secrets (" +
                             base::Join(pod.image_pull_secrets, ", ") + ") would close it to other pods"};
  findings.push_back(std::move(finding));
}

void WeakerCheckInPod(std::span<const ImageUse> uses, Findings& findings) {
  if (uses.size() < 2) return;
  for (const ImageUse& weak : uses) {
    if (!weak.reference || !RunsAhead(weak)) continue;
    auto strong = std::find_if(uses.begin(), uses.end(), [&](const ImageUse& other) {
      return other.reference == weak.reference && other.policy > weak.policy;
    });
    if (strong == uses.end()) continue;
    std::string who = strong->name.empty() ? "another" : "\"" + strong->name + "\"";
    Finding finding = AtPolicy(RuleId::kWeakerCheck, weak, WeakerCheckMessage(weak, who, strong->policy));
    finding.other = Place{strong->pod->source, strong->policy_key_at.value_or(strong->key_at)};
    finding.other_message = "the stronger policy";
    findings.push_back(std::move(finding));
  }
}

}  // namespace prefetch::manifest::lint
