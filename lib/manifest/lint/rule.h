// Rule: a rule of `prefetchctl lint`, one row each: stable ids, severities and words. A new one is an
// enumerator and a row here, and its check in rules.cc. deploy/docs/reference/lint.md shows the rows.
// Finding: one violation of a rule at one place.
// Selection: the rules that are checked.
// Ignores: the comments of one file that switch rules off.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "doc/node.h"
#include "manifest/image_use.h"

namespace prefetch::manifest::lint {

enum class Severity { kNote, kWarning, kError };
std::string SeverityName(Severity severity);  // "note", "warning", "error"

// In the order of their ids.
enum class RuleId {
  kBadIgnore,
  kIdleIgnore,
  kNotListed,
  kListedOnly,
  kNeverUnlisted,
  kOtherPlatform,
  kNotReadyAs,
  kStepAction,
  kNotRead,
  kUnresolvedImage,
  kOtherNodes,
  kImplicitAlways,
  kExplicitAlways,
  kNeverMovingTag,
  kWeakerCheck,
  kTwoNames,
  kPullSecrets,
  kShortName,
  kInvalidReference,
};

struct Rule {
  RuleId rule;
  std::string_view id;    // "PF101"; never given to another rule, since it stands in comments of manifests
  std::string_view name;  // "image-not-listed"
  Severity severity;
  std::string_view summary;  // one sentence
  std::string_view help;     // consequence and remedy
};

// In the order of RuleId.
inline constexpr std::array kRules = {
    Rule{RuleId::kBadIgnore, "PF001", "bad-ignore", Severity::kWarning,
         "A prefetchctl comment in a manifest is not valid, and ignores nothing.",
         "Write \"# prefetchctl: ignore=PF201 REASON\": ids, separated by commas, then a reason."},
    Rule{RuleId::kIdleIgnore, "PF002", "idle-ignore", Severity::kNote,
         "A prefetchctl comment ignores a rule that has no finding there.",
         "Remove the comment, so that it hides nothing later."},
    Rule{RuleId::kNotListed, "PF101", "image-not-listed", Severity::kError,
         "A pod uses an image that is on no list.",
         "No node prefetches it, so its pods wait for the registry, and fail in an outage. List the image "
         "under exactly the name in the manifest."},
    Rule{RuleId::kListedOnly, "PF102", "entry-not-used", Severity::kNote,
         "None of these manifests uses this entry of the list.",
         "Every node pulls and keeps it. Remove the entry, unless another user exists."},
    Rule{RuleId::kNeverUnlisted, "PF103", "never-not-listed", Severity::kError,
         "A container has imagePullPolicy Never and an image that is on no list.",
         "No agent brings the image to the node: the pod fails with ErrImageNeverPull on each node that "
         "lacks it. List the image."},
    Rule{RuleId::kOtherPlatform, "PF104", "other-platform", Severity::kWarning,
         "A pod allows nodes of a platform on which the entry of its image is skipped.",
         "The entry's platforms lack what the pod's nodeSelector, node affinity or os demands. Add the "
         "platform to the entry, or remove the demand."},
    Rule{RuleId::kNotReadyAs, "PF105", "not-ready-as", Severity::kWarning,
         "A pod lacks the secrets or the service account that the list names for its image (readyAs).",
         "Nodes report the image ready for other pods. kubelet may refuse it to this pod, or pull it. Give "
         "the pod what readyAs names, or list the image for this pod in another source."},
    Rule{RuleId::kStepAction, "PF106", "image-in-step-action", Severity::kNote,
         "A Tekton step takes its image from a StepAction.",
         "Lint does not follow the reference. Lint the StepAction's manifest as well, and list its image."},
    Rule{RuleId::kNotRead, "PF107", "object-not-read", Severity::kWarning,
         "An object may run pods, and lint finds no image in it.",
         "Its images are not judged. Name the place of its pod template (--pod-template-path), render it if "
         "it is a patch or a chart, or accept its kind (--allow-unread KIND)."},
    Rule{RuleId::kUnresolvedImage, "PF108", "image-not-named", Severity::kNote,
         "A container has a variable for its image, or none, or the image is in another object.",
         "Lint does not know the image. Lint what fills it in as well, and list its images."},
    Rule{RuleId::kOtherNodes, "PF109", "other-nodes", Severity::kWarning,
         "A pod demands nodes for which the list does not have its image.",
         "No node prefetches the image for this pod. Correct one of the two nodeSelectors."},
    Rule{RuleId::kImplicitAlways, "PF201", "implicit-always", Severity::kWarning,
         "A listed image has no imagePullPolicy, and Kubernetes fills in Always.",
         "kubelet contacts the registry at every start although the image is present, and the pod fails if "
         "the registry does not answer. Set imagePullPolicy: IfNotPresent, or use a tag other than latest."},
    Rule{RuleId::kExplicitAlways, "PF202", "explicit-always", Severity::kWarning,
         "A pod uses a listed image with imagePullPolicy Always.",
         "kubelet contacts the registry at every start although the image is present, and the pod fails if "
         "the registry does not answer. Set IfNotPresent, and let the list refresh the tag (refresh: "
         "IfDigestChanged)."},
    Rule{RuleId::kNeverMovingTag, "PF203", "never-moving-tag", Severity::kWarning,
         "A pod uses a moving tag with imagePullPolicy Never, and the list does not refresh it.",
         "Each node keeps its first pull, so nodes differ. Use a version or a digest, or refresh the entry "
         "(refresh: IfDigestChanged)."},
    Rule{RuleId::kWeakerCheck, "PF204", "weaker-check", Severity::kWarning,
         "A check has a weaker pull policy than another container of the same image.",
         "The check starts from a stale copy on the node and passes. The other container does not accept "
         "that copy, so the pod hangs. Give both the same policy, or use prefetchctl check."},
    Rule{RuleId::kTwoNames, "PF301", "two-names", Severity::kWarning,
         "One image has two names: in two registries or spellings, or by tag here and by digest there.",
         "The runtime and kubelet's records know images by name. An image that was pulled under one name is "
         "refused, or pulled again, under the other. A pull with a secret under one closes the other. Use "
         "one name everywhere, or list both: the agent judges each."},
    Rule{RuleId::kPullSecrets, "PF302", "needless-pull-secrets", Severity::kWarning,
         "A pod has imagePullSecrets although all its images are on the list.",
         "The node pulls listed images with its own credentials. If kubelet pulls one with a pod's secret, "
         "it records the image for that secret alone, and refuses it to pods without the secret. Remove the "
         "secrets."},
    Rule{RuleId::kShortName, "PF303", "short-name", Severity::kWarning,
         "An image is named without its registry.",
         "The node's configuration chooses the registry (CRI-O's short names). kubelet 1.36 keeps records by "
         "the name as written: nginx and docker.io/library/nginx are different images to it. Write the full "
         "name."},
    Rule{RuleId::kInvalidReference, "PF304", "invalid-reference", Severity::kError,
         "An image's name is not a valid reference.",
         "kubelet rejects it (InvalidImageName), and the pod never starts. Correct the name."},
};

constexpr const Rule& RuleOf(RuleId rule) {
  return kRules[static_cast<std::size_t>(rule)];
}
constexpr bool HasTheOrderOfRuleIds() {
  for (std::size_t i = 0; i < kRules.size(); i++) {
    if (kRules[i].rule != static_cast<RuleId>(i)) return false;
  }
  return true;
}
static_assert(HasTheOrderOfRuleIds(), "RuleOf uses the id as index");
// Returns the rule of that id, in any case; nullptr if there is none.
const Rule* FindRule(std::string_view id);

// A place in a file.
struct Place {
  std::string file;  // as it was named: "deploy/app.yaml", "stdin"
  doc::Position at;

  friend bool operator==(const Place&, const Place&) = default;
};

// One violation of a rule at one place. A value.
struct Finding {
  RuleId rule = RuleId::kNotListed;
  Place place;          // of the very key
  doc::Position block;  // where the container, volume or entry begins that the key belongs to
  std::string message;  // one sentence without its full stop; names image and container
  // The other end, of a finding with two.
  std::optional<Place> other;
  std::string other_message;

  friend bool operator==(const Finding&, const Finding&) = default;
};

// A finding at the key of a use's image.
Finding AtImage(RuleId rule, const ImageUse& use, std::string message, const std::optional<Place>& other = {},
                std::string other_message = "");
// At the key of its policy; where none is written, at the image's, where it would stand.
Finding AtPolicy(RuleId rule, const ImageUse& use, std::string message,
                 const std::optional<Place>& other = {}, std::string other_message = "");

// `quay.io/acme/app:v1 (container "app")`.
std::string UseTitle(const ImageUse& use);

// The rules that are checked; all by default. A value.
class Selection {
 public:
  Selection() { rules_.set(); }
  // Ids, or beginnings of them ("PF2"), with commas between them or one by one: those of `select` (all, if it
  // is empty) without those of `ignore`. InvalidArgument for one that is the beginning of no rule's id.
  static base::Result<Selection> Make(const std::vector<std::string>& select,
                                      const std::vector<std::string>& ignore);

  bool Has(RuleId rule) const { return rules_.test(static_cast<std::size_t>(rule)); }

 private:
  static base::Result<std::bitset<kRules.size()>> Parse(const std::vector<std::string>& words,
                                                        const char* flag);

  std::bitset<kRules.size()> rules_;
};

// The comments of one file that switch rules off where they stand.
//
//   image: quay.io/acme/app          # prefetchctl: ignore=PF201 the mirror is on this node
//
//   # prefetchctl: ignore=PF101,PF303 pulled by hand
//   - name: tool
//     image: tool:v1
//
// A comment at the end of a line applies to that line. A comment on its own line applies to the next line
// that is neither blank nor a comment. On the first line of a container, volume or list entry it applies to
// all of it.
//
// One owner, one thread: it remembers which of its comments have matched.
class Ignores {
 public:
  // `file` is how findings name it. JSON has no comments: nothing is found in it.
  static Ignores Read(const std::string& file, std::string_view text);

  bool empty() const { return comments_.empty() && invalid_.empty(); }
  const std::string& file() const { return file_; }
  // Returns whether a comment applies to this finding, and records that the comment has matched.
  bool Covers(const Finding& finding);

  // PF001: directives that cannot be parsed.
  const std::vector<Finding>& Invalid() const { return invalid_; }
  // PF002: the ids of checked rules that found nothing to ignore. Call it after the last Covers().
  std::vector<Finding> Idle(const Selection& selection) const;

 private:
  struct Comment {
    RuleId rule = RuleId::kBadIgnore;
    doc::Position at;
    std::uint32_t line = 0;  // that it applies to
  };

  void ReadComment(std::string_view words, doc::Position at, std::uint32_t line);
  void AddInvalid(doc::Position at, std::string message);

  std::string file_;
  std::vector<Comment> comments_;
  std::map<std::pair<std::uint32_t, RuleId>, bool> used_;  // by line and rule of the comments
  std::vector<Finding> invalid_;
};

}  // namespace prefetch::manifest::lint
