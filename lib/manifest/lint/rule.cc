#include "manifest/lint/rule.h"

#include "base/text.h"

namespace prefetch::manifest::lint {
namespace {

constexpr Rule kRules[] = {
    {RuleId::kBadIgnore, "PF001", "bad-ignore", Severity::kWarning,
     "A prefetchctl comment in a manifest is not understood, and ignores nothing.",
     "Write \"# prefetchctl: ignore=PF201 why it is right here\": ids with commas between them, then a "
     "reason."},
    {RuleId::kIdleIgnore, "PF002", "idle-ignore", Severity::kNote,
     "A prefetchctl comment ignores a rule that finds nothing there.",
     "What it was for is gone: take the comment away, so that it hides nothing later."},
    {RuleId::kNotListed, "PF101", "image-not-listed", Severity::kError,
     "An image is used but stands on no list.",
     "No node prefetches it: its pods wait for the registry, and fail with it. List the image, or the very "
     "name that the manifest has."},
    {RuleId::kListedOnly, "PF102", "entry-not-used", Severity::kNote,
     "An entry of the list is used by no manifest here.",
     "Every node pulls and keeps it for nothing, unless something that is not among these manifests uses "
     "it."},
    {RuleId::kNeverUnlisted, "PF103", "never-not-listed", Severity::kError,
     "A container has imagePullPolicy Never and an image that stands on no list.",
     "Nobody brings it to the node: its pods fail with ErrImageNeverPull wherever it is not by chance. List "
     "the image."},
    {RuleId::kOtherPlatform, "PF104", "other-platform", Severity::kWarning,
     "A pod asks for nodes of a platform on which the entry of its image is skipped.",
     "The entry's platforms do not have what the pod's nodeSelector, node affinity or os demands: add the "
     "platform to the entry, or take the demand away."},
    {RuleId::kNotReadyAs, "PF105", "not-ready-as", Severity::kWarning,
     "A pod lacks the secrets or the service account that the entry of its image names (readyAs).",
     "Nodes report the image ready by kubelet's answer to other pods; kubelet may refuse it to this one, or "
     "pull "
     "it. Give the pod what readyAs names, or list the image for this pod in another source."},
    {RuleId::kImplicitAlways, "PF201", "implicit-always", Severity::kWarning,
     "A listed image has no imagePullPolicy, and Kubernetes fills in Always.",
     "kubelet will ask the registry at every start although the image is on the node, and the pod fails when "
     "the registry does not answer. Say imagePullPolicy: IfNotPresent, or name another tag than latest."},
    {RuleId::kExplicitAlways, "PF202", "explicit-always", Severity::kWarning,
     "A listed image is used with imagePullPolicy Always.",
     "kubelet will ask the registry at every start although the image is on the node, and the pod fails when "
     "the registry does not answer. Say IfNotPresent, and let the list refresh the tag "
     "(refresh: IfDigestChanged)."},
    {RuleId::kNeverMovingTag, "PF203", "never-moving-tag", Severity::kWarning,
     "A tag that moves is used with imagePullPolicy Never, and the list does not refresh it.",
     "Each node keeps the image that it pulled first, and nodes differ. Name a version or a digest, or "
     "refresh "
     "the entry (refresh: IfDigestChanged)."},
    {RuleId::kWeakerCheck, "PF204", "weaker-check", Severity::kWarning,
     "A container that runs before another, to check or to prepare, has the same image and a weaker pull "
     "policy.",
     "It starts from a copy on the node that the other one will not accept: the check passes and the pod "
     "hangs. Give both the same policy, or check with prefetchctl check."},
    {RuleId::kTwoNames, "PF301", "two-names", Severity::kWarning,
     "One image goes by two names: in two registries or spellings, or by tag here and by digest there.",
     "The runtime and kubelet's records know an image by its name: what was pulled under one is refused, or "
     "pulled again, under the other, and a pull with a secret under one closes the other. Use one name "
     "everywhere, or list both: one list file may have several spellings, and the agent judges each."},
    {RuleId::kPullSecrets, "PF302", "needless-pull-secrets", Severity::kWarning,
     "A pod has imagePullSecrets although every image of it is on the list.",
     "The node pulls listed images by itself. When kubelet pulls one with a pod's secret, it records the "
     "image "
     "for that secret alone, and refuses it to pods without it. Take the secrets away."},
    {RuleId::kShortName, "PF303", "short-name", Severity::kWarning, "An image is named without its registry.",
     "Which registry is meant is up to the node (CRI-O's short names), and kubelet 1.36 keeps records by the "
     "name as it is written, so that nginx and docker.io/library/nginx are strangers. Write the whole name."},
    {RuleId::kInvalidReference, "PF304", "invalid-reference", Severity::kError,
     "An image's name is no valid reference.",
     "kubelet refuses it (InvalidImageName) and the pod never starts. Mend the name."},
};

}  // namespace

std::string_view SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "";
}

std::span<const Rule> Rules() {
  return kRules;
}

const Rule& RuleOf(RuleId rule) {
  return kRules[static_cast<std::size_t>(rule)];
}

const Rule* FindRule(std::string_view id) {
  for (const Rule& rule : kRules) {
    if (base::EqualsIgnoreCase(rule.id, id)) return &rule;
  }
  return nullptr;
}

}  // namespace prefetch::manifest::lint
