#include "manifest/lint/rules.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace prefetch::manifest::lint {

namespace {

// Returns whether the container runs before others, so that its start counts as a check of the image.
bool RunsBeforeOthers(const ImageUse& use) {
  return use.kind == UseKind::kInitContainer || IsCheckContainer(use);
}

// Returns whether the list has an image of this pod for pods with one of its secrets (readyAs). The secrets
// are then needed.
bool ListNeedsSecrets(std::span<const ImageUse> uses, const ListedImages& listed) {
  const std::vector<std::string>& pod_secrets = uses.front().pod->image_pull_secrets;
  auto is_brought = [&](const image::Coordinates& secret) {
    return std::ranges::find(pod_secrets, secret.name) != pod_secrets.end();
  };
  for (const ImageUse& use : uses) {
    if (!use.reference) continue;
    for (const ListedImage* entry : listed.Find(*use.reference)) {
      const std::vector<image::Coordinates>& secrets = entry->ready_as.secrets;
      if (std::ranges::any_of(secrets, is_brought)) return true;
    }
  }
  return false;
}

}  // namespace

Finding WeakerCheck(const ImageUse& weak, const std::string& strong, image::PullPolicy policy,
                    const Place& strong_place) {
  std::string name = weak.name.empty() ? "this container" : "container \"" + weak.name + "\"";
  return AtPolicy(RuleId::kWeakerCheck, weak,
                  name + " has " + std::string(base::EnumName(weak.policy)) + " where " + strong + " has " +
                      std::string(base::EnumName(policy)) + ", for the same image: " + weak.image,
                  strong_place, "the stronger policy");
}

// Only if every image of the pod is listed: one image that is not may need the secret.
void NeedlessPullSecrets(std::span<const ImageUse> uses, const ListedImages& listed, Findings& findings) {
  const Pod& pod = *uses.front().pod;
  if (pod.image_pull_secrets.empty() || !pod.image_pull_secrets_at) return;
  bool all = std::ranges::all_of(
      uses, [&](const ImageUse& use) { return use.reference && listed.Has(*use.reference); });
  if (!all || ListNeedsSecrets(uses, listed)) return;
  Finding finding{.rule = RuleId::kPullSecrets,
                  .place = {pod.source, *pod.image_pull_secrets_at},
                  .block = *pod.image_pull_secrets_at,
                  .message = "every image of " + PodTitle(pod) +
                             " is listed, so the node pulls it by itself; a pull with its secrets (" +
                             base::Join(pod.image_pull_secrets, ", ") + ") would close it to other pods"};
  findings.push_back(std::move(finding));
}

// A container that runs ahead is often meant as a check. With a weaker policy it passes although a later
// container of the same image fails.
void WeakerCheckInPod(std::span<const ImageUse> uses, Findings& findings) {
  if (uses.size() < 2) return;
  for (const ImageUse& weak : uses) {
    if (!weak.reference || !RunsBeforeOthers(weak)) continue;
    auto strong = std::ranges::find_if(uses, [&](const ImageUse& other) {
      return other.reference == weak.reference && other.policy > weak.policy;
    });
    if (strong == uses.end()) continue;
    std::string who = strong->name.empty() ? "another" : "\"" + strong->name + "\"";
    findings.push_back(WeakerCheck(weak, who, strong->policy,
                                   {strong->pod->source, strong->policy_key_at.value_or(strong->key_at)}));
  }
}

namespace {

using image::PullPolicy;

constexpr std::string_view kMovingTags[] = {
    "latest",   "main",       "master",      "trunk",   "head",    "edge",     "dev",
    "devel",    "develop",    "development", "nightly", "canary",  "snapshot", "stable",
    "unstable", "testing",    "next",        "current", "rolling", "lts",      "staging",
    "prod",     "production", "release",     "beta",    "alpha",   "rc",       "experimental"};

// Returns the pod's demand on nodes in one word: "linux/arm64", "arm64", "windows".
std::string DemandText(const std::string& os, const std::string& architecture) {
  if (os.empty()) return architecture;
  return architecture.empty() ? os : os + "/" + architecture;
}

// The entries of one image. Rules about listed images get one at least.
using Entries = std::vector<const ListedImage*>;

bool Covers(const Entries& entries, const std::string& os, const std::string& architecture) {
  auto is_for = [&](const image::Platform& platform) {
    return (os.empty() || platform.os == os) &&
           (architecture.empty() || platform.architecture == architecture);
  };
  return std::ranges::any_of(entries, [&](const ListedImage* entry) {
    return entry->platforms.empty() || std::ranges::any_of(entry->platforms, is_for);
  });
}

std::string PlatformsOf(const Entries& entries) {
  std::vector<std::string> names;
  for (const ListedImage* entry : entries) {
    for (const image::Platform& platform : entry->platforms) {
      std::string name = platform.ToString();
      if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    }
  }
  return base::Join(names, ", ");
}

// An empty value stands for any, so that both loops below run at least once.
std::vector<std::string> OrAny(std::vector<std::string> values) {
  if (values.empty()) values.emplace_back();
  return values;
}

// Returns why kubelet may decide differently for `pod` than for the pod of an entry's readyAs, as words after
// "Deployment web "; empty if `pod` has everything that the other one has.
std::string PodMismatchReason(const Pod& pod, const image::PodCredentialRefs& as) {
  if (as.empty()) return "";
  const std::string& name_space =
      as.secrets.empty() ? as.service_account->namespace_name : as.secrets.front().namespace_name;
  if (!pod.object_namespace.empty() && pod.object_namespace != name_space) {
    return "is in namespace " + pod.object_namespace;
  }
  // The credentials of such pods are in no manifest, so nothing can be said about them.
  if (pod.identity_elsewhere) return "";
  const std::string account = pod.service_account_name.empty() ? "default" : pod.service_account_name;
  if (as.service_account && as.service_account->name != account) return "has service account " + account;
  const std::vector<std::string>& has = pod.image_pull_secrets;
  // The API server gives the pull secrets of its service account to a pod that has none of its own
  // (kubernetes: plugin/pkg/admission/serviceaccount), which no manifest shows.
  if (as.service_account && has.empty()) return "";
  for (const image::Coordinates& secret : as.secrets) {
    if (std::ranges::find(has, secret.name) == has.end()) {
      return "does not name pull secret " + secret.name +
             (has.empty() ? " (if its service account brings it, name that one in readyAs, too)" : "");
    }
  }
  return "";
}

std::string AlwaysReason(const ImageUse& use) {
  if (use.explicit_policy == PullPolicy::kAlways) return "imagePullPolicy is Always";
  if (use.explicit_policy) return "AlwaysPullImages makes the policy Always";
  bool latest = use.reference->tag() == "latest";
  if (!latest) return "no imagePullPolicy, and the cluster fills in Always";
  bool written = use.image.find(":latest") != std::string::npos;
  return written ? "no imagePullPolicy and tag :latest"
                 : "no imagePullPolicy and no tag, which means :latest";
}

void InvalidReference(const ImageUse& use, Findings& findings) {
  auto parsed = image::Reference::Parse(use.image);
  std::string why = parsed ? use.image : parsed.error().message();
  std::string what = use.kind == UseKind::kField ? "field" : "container";
  std::string name = use.name.empty() ? "" : " (" + what + " \"" + use.name + "\")";
  findings.push_back(AtImage(RuleId::kInvalidReference, use, why + name));
}

// PF101, or PF103 for a policy of Never: the same lack, and the second fails for certain.
void NotListed(const ImageUse& use, const ListedImages& listed, Findings& findings) {
  bool never = use.policy == PullPolicy::kNever;
  std::string message =
      never ? "imagePullPolicy is Never and the image is not listed: " : "image is used but not listed: ";
  message += UseTitle(use);
  Finding finding = AtImage(never ? RuleId::kNeverUnlisted : RuleId::kNotListed, use, std::move(message));
  // A forgotten change of the tag is the usual reason.
  if (const ListedImage* similar = listed.SameRepository(*use.reference)) {
    finding.message += "; the list has " + similar->reference.written();
    finding.other = similar->place;
    finding.other_message = "the entry for another tag or digest of the same repository";
  }
  findings.push_back(std::move(finding));
}

// Reports the first platform that no entry covers. More findings for the same image would name the same
// mistake.
void OtherPlatform(const ImageUse& use, const Entries& entries, Findings& findings) {
  const NodeDemand& nodes = use.pod->nodes;
  if (!nodes.at) return;
  for (const std::string& os : OrAny(nodes.operating_systems)) {
    for (const std::string& architecture : OrAny(nodes.architectures)) {
      if (Covers(entries, os, architecture)) continue;
      findings.push_back(AtImage(RuleId::kOtherPlatform, use,
                                 "the pod may run on nodes of " + DemandText(os, architecture) +
                                     ", and the list has " + UseTitle(use) + " for " + PlatformsOf(entries) +
                                     " only",
                                 entries.front()->place, "the entry"));
      return;
    }
  }
}

// Reports the first label in which the first entry differs, if each entry differs in one.
void OtherNodes(const ImageUse& use, const Entries& entries, Findings& findings) {
  const image::NodeLabels& demanded = use.pod->nodes.labels;
  auto difference = [&](const ListedImage* entry) {
    return std::ranges::find_if(entry->node_selector, [&](const auto& label) {
      auto same = demanded.find(label.first);
      return same != demanded.end() && same->second != label.second;
    });
  };
  auto differs = [&](const ListedImage* entry) { return difference(entry) != entry->node_selector.end(); };
  if (!std::ranges::all_of(entries, differs)) return;
  const auto& [label, value] = *difference(entries.front());
  findings.push_back(AtImage(RuleId::kOtherNodes, use,
                             "the pod demands nodes with " + label + "=" + demanded.at(label) +
                                 ", and the list has " + UseTitle(use) + " for nodes with " + label + "=" +
                                 value,
                             entries.front()->place, "the entry"));
}

// PF105, where no entry of the image is for such a pod.
void NotReadyAs(const ImageUse& use, const Entries& entries, Findings& findings) {
  auto is_for = [&](const ListedImage* entry) {
    return PodMismatchReason(*use.pod, entry->ready_as).empty();
  };
  if (std::ranges::any_of(entries, is_for)) return;
  const image::PodCredentialRefs& as = entries.front()->ready_as;
  findings.push_back(AtImage(RuleId::kNotReadyAs, use,
                             "listed for pods " + image::DescribeCredentials(as) + " (readyAs), and " +
                                 PodTitle(*use.pod) + " " + PodMismatchReason(*use.pod, as) + ": " +
                                 UseTitle(use),
                             entries.front()->place, "the entry"));
}

// PF201 and PF202.
void AlwaysOfListed(const ImageUse& use, Findings& findings) {
  if (!use.policy_known || use.policy != PullPolicy::kAlways) return;
  RuleId rule =
      use.explicit_policy == PullPolicy::kAlways ? RuleId::kExplicitAlways : RuleId::kImplicitAlways;
  findings.push_back(AtPolicy(rule, use,
                              AlwaysReason(use) + ": kubelet will ask " + use.reference->domain() +
                                  " at every start although the image is on the node: " + UseTitle(use)));
}

// With a refresh, the agent pulls a moved tag again, so nodes do not keep their first pull.
void NeverOfMovingTag(const ImageUse& use, const Entries& entries, Findings& findings) {
  if (use.policy != PullPolicy::kNever || use.reference->has_digest() || !IsMovingTag(use.reference->tag()))
    return;
  bool refreshed = std::ranges::any_of(entries, &ListedImage::refreshed);
  if (refreshed) return;
  findings.push_back(AtPolicy(RuleId::kNeverMovingTag, use,
                              "imagePullPolicy is Never and the tag " + use.reference->tag() +
                                  " moves, and nodes keep their first pull: " + UseTitle(use)));
}

void ShortName(const ImageUse& use, Findings& findings) {
  if (image::NamesRegistry(use.image)) return;
  std::string_view name = image::WrittenName(use.image);
  std::string whole = use.reference->Repository() + use.image.substr(name.size());
  findings.push_back(AtImage(RuleId::kShortName, use,
                             "the name has no registry: write " + whole + " instead of " + UseTitle(use)));
}

}  // namespace

void CheckUse(const ImageUse& use, const ListedImages& listed, Findings& findings) {
  if (!use.reference) return InvalidReference(use, findings);
  const Entries entries = listed.Find(*use.reference);
  if (entries.empty()) {
    NotListed(use, listed, findings);
  } else {
    OtherPlatform(use, entries, findings);
    OtherNodes(use, entries, findings);
    NotReadyAs(use, entries, findings);
    AlwaysOfListed(use, findings);
  }
  NeverOfMovingTag(use, entries, findings);
  ShortName(use, findings);
}

bool IsMovingTag(std::string_view tag) {
  return std::ranges::find(kMovingTags, base::ToLower(tag)) != std::end(kMovingTags);
}

void ObjectNotRead(const UnseenImage& object, Findings& findings) {
  findings.push_back({.rule = RuleId::kNotRead,
                      .place = {object.pod->source, object.at},
                      .block = object.at,
                      .message = object.why + " (" + object.type + ")"});
}

void ImageNotNamed(RuleId rule, const UnseenImage& image, Findings& findings) {
  findings.push_back(
      {.rule = rule,
       .place = {image.pod->source, image.at},
       .block = image.holder_at,
       .message = image.why + (rule == RuleId::kStepAction ? ", which is not judged here" : "")});
}

ListedImages::ListedImages(std::vector<ListedImage> images) : images_(std::move(images)) {
  for (std::size_t i = 0; i < images_.size(); i++) {
    by_name_[images_[i].reference.Normalized()].push_back(i);
    by_repository_[images_[i].reference.Repository()].push_back(i);
  }
}

std::vector<const ListedImage*> ListedImages::Find(const image::Reference& reference) const {
  std::vector<const ListedImage*> found;
  auto known = by_name_.find(reference.Normalized());
  if (known == by_name_.end()) return found;
  for (std::size_t i : known->second) found.push_back(&images_[i]);
  return found;
}

const ListedImage* ListedImages::SameRepository(const image::Reference& reference) const {
  auto known = by_repository_.find(reference.Repository());
  return known == by_repository_.end() ? nullptr : &images_[known->second.front()];
}

}  // namespace prefetch::manifest::lint
