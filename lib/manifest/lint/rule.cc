#include "manifest/lint/rule.h"

#include <utility>

#include "base/text.h"
#include "doc/problems.h"

namespace prefetch::manifest::lint {

namespace {

// In the order of RuleId, since RuleOf uses the id as index. An id is never given to another rule: it stands
// in comments of manifests.
constexpr Rule kRules[] = {
    {RuleId::kBadIgnore, "PF001", "bad-ignore", Severity::kWarning,
     "A prefetchctl comment in a manifest is not valid, and ignores nothing.",
     "Write \"# prefetchctl: ignore=PF201 REASON\": ids, separated by commas, then a reason."},
    {RuleId::kIdleIgnore, "PF002", "idle-ignore", Severity::kNote,
     "A prefetchctl comment ignores a rule that has no finding there.",
     "Remove the comment, so that it hides nothing later."},
    {RuleId::kNotListed, "PF101", "image-not-listed", Severity::kError,
     "A pod uses an image that is on no list.",
     "No node prefetches it, so its pods wait for the registry, and fail in an outage. List the image under "
     "exactly the name in the manifest."},
    {RuleId::kListedOnly, "PF102", "entry-not-used", Severity::kNote,
     "None of these manifests uses this entry of the list.",
     "Every node pulls and keeps it. Remove the entry, unless another user exists."},
    {RuleId::kNeverUnlisted, "PF103", "never-not-listed", Severity::kError,
     "A container has imagePullPolicy Never and an image that is on no list.",
     "No agent brings the image to the node: the pod fails with ErrImageNeverPull on each node that lacks "
     "it. List the image."},
    {RuleId::kOtherPlatform, "PF104", "other-platform", Severity::kWarning,
     "A pod allows nodes of a platform on which the entry of its image is skipped.",
     "The entry's platforms lack what the pod's nodeSelector, node affinity or os demands. Add the platform "
     "to the entry, or remove the demand."},
    {RuleId::kNotReadyAs, "PF105", "not-ready-as", Severity::kWarning,
     "A pod lacks the secrets or the service account that the list names for its image (readyAs).",
     "Nodes report the image ready for other pods. kubelet may refuse it to this pod, or pull it. Give the "
     "pod what readyAs names, or list the image for this pod in another source."},
    {RuleId::kStepAction, "PF106", "image-in-step-action", Severity::kNote,
     "A Tekton step takes its image from a StepAction.",
     "Lint does not follow the reference. Lint the StepAction's manifest as well, and list its image."},
    {RuleId::kNotRead, "PF107", "object-not-read", Severity::kWarning,
     "An object may run pods, and lint finds no image in it.",
     "Its images are not judged. Name the place of its pod template (--pod-template-path), render it if it "
     "is "
     "a patch or a chart, or accept its kind (--allow-unread KIND)."},
    {RuleId::kUnresolvedImage, "PF108", "image-not-named", Severity::kNote,
     "A container has a variable for its image, or none, or the image is in another object.",
     "Lint does not know the image. Lint what fills it in as well, and list its images."},
    {RuleId::kImplicitAlways, "PF201", "implicit-always", Severity::kWarning,
     "A listed image has no imagePullPolicy, and Kubernetes fills in Always.",
     "kubelet contacts the registry at every start although the image is present, and the pod fails if the "
     "registry does not answer. Set imagePullPolicy: IfNotPresent, or use a tag other than latest."},
    {RuleId::kExplicitAlways, "PF202", "explicit-always", Severity::kWarning,
     "A pod uses a listed image with imagePullPolicy Always.",
     "kubelet contacts the registry at every start although the image is present, and the pod fails if the "
     "registry does not answer. Set IfNotPresent, and let the list refresh the tag (refresh: "
     "IfDigestChanged)."},
    {RuleId::kNeverMovingTag, "PF203", "never-moving-tag", Severity::kWarning,
     "A pod uses a moving tag with imagePullPolicy Never, and the list does not refresh it.",
     "Each node keeps its first pull, so nodes differ. Use a version or a digest, or refresh the entry "
     "(refresh: IfDigestChanged)."},
    {RuleId::kWeakerCheck, "PF204", "weaker-check", Severity::kWarning,
     "A check has a weaker pull policy than another container of the same image.",
     "The check starts from a stale copy on the node and passes. The other container does not accept that "
     "copy, so the pod hangs. Give both the same policy, or use prefetchctl check."},
    {RuleId::kTwoNames, "PF301", "two-names", Severity::kWarning,
     "One image has two names: in two registries or spellings, or by tag here and by digest there.",
     "The runtime and kubelet's records know images by name. An image that was pulled under one name is "
     "refused, or pulled again, under the other. A pull with a secret under one closes the other. Use one "
     "name everywhere, or list both: one list file may have several spellings, and the agent judges each."},
    {RuleId::kPullSecrets, "PF302", "needless-pull-secrets", Severity::kWarning,
     "A pod has imagePullSecrets although all its images are on the list.",
     "The node pulls listed images with its own credentials. If kubelet pulls one with a pod's secret, it "
     "records the image for that secret alone, and refuses it to pods without the secret. Remove the "
     "secrets."},
    {RuleId::kShortName, "PF303", "short-name", Severity::kWarning, "An image is named without its registry.",
     "The node's configuration chooses the registry (CRI-O's short names). kubelet 1.36 keeps records by the "
     "name as written: nginx and docker.io/library/nginx are different images to it. Write the full name."},
    {RuleId::kInvalidReference, "PF304", "invalid-reference", Severity::kError,
     "An image's name is not a valid reference.",
     "kubelet rejects it (InvalidImageName), and the pod never starts. Correct the name."},
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

Finding AtImage(RuleId rule, const ImageUse& use, std::string message) {
  return {.rule = rule,
          .place = {use.pod->source, use.key_at},
          .block = use.holder_at,
          .message = std::move(message)};
}

Finding AtPolicy(RuleId rule, const ImageUse& use, std::string message) {
  Finding finding = AtImage(rule, use, std::move(message));
  if (use.policy_key_at) finding.place.at = *use.policy_key_at;
  return finding;
}

std::string UseTitle(const ImageUse& use) {
  std::string what = use.kind == UseKind::kImageVolume ? "volume" : "container";
  if (use.kind == UseKind::kField) what = "field";
  const std::string unknown = use.policy_known ? "" : ", policy unknown";
  if (use.name.empty()) return use.image + " (a " + what + unknown + ")";
  return use.image + " (" + what + " \"" + use.name + "\"" + unknown + ")";
}

base::Result<std::bitset<Selection::kRules>> Selection::Parse(const std::vector<std::string>& words,
                                                              const char* flag) {
  std::bitset<kRules> rules;
  for (const std::string& list : words) {
    for (std::string_view word : base::Split(list, ',')) {
      std::string_view prefix = base::TrimSpace(word);
      bool known = false;
      for (const Rule& rule : Rules()) {
        if (prefix.empty() || !base::EqualsIgnoreCase(rule.id.substr(0, prefix.size()), prefix)) continue;
        rules.set(static_cast<std::size_t>(rule.rule));
        known = true;
      }
      if (!known) {
        return base::InvalidArgument(std::string(flag) + ": there is no rule " + std::string(prefix) +
                                     "; see prefetchctl lint --rules");
      }
    }
  }
  return rules;
}

base::Result<Selection> Selection::Make(const std::vector<std::string>& select,
                                        const std::vector<std::string>& ignore) {
  Selection selection;
  auto selected = Parse(select, "--select");
  if (!selected) return std::move(selected).error();
  auto ignored = Parse(ignore, "--ignore");
  if (!ignored) return std::move(ignored).error();
  if (!select.empty()) selection.rules_ = *selected;
  selection.rules_ &= ~*ignored;
  return selection;
}

namespace {

constexpr std::string_view kMarker = "prefetchctl:";
constexpr std::string_view kIgnore = "ignore";
// Maximum number of comments that are read. More of them make a hostile text, not a manifest.
constexpr std::size_t kMostComments = 10'000;

struct Found {
  std::size_t offset = 0;  // of the '#' in the line
  std::string_view words;  // what follows the marker
  bool alone = false;      // nothing stands before it
};

// In YAML, a comment begins with a '#' at the beginning of a line or after a blank. Elsewhere '#' is text.
std::optional<Found> FindComment(std::string_view line) {
  for (std::size_t hash = line.find('#'); hash != std::string_view::npos; hash = line.find('#', hash + 1)) {
    if (hash > 0 && line[hash - 1] != ' ' && line[hash - 1] != '\t') continue;
    std::string_view text = base::TrimSpace(line.substr(hash + 1));
    if (!text.starts_with(kMarker)) continue;
    text = base::TrimSpace(text.substr(kMarker.size()));
    if (!text.starts_with(kIgnore)) continue;
    return Found{hash, text.substr(kIgnore.size()), base::TrimSpace(line.substr(0, hash)).empty()};
  }
  return std::nullopt;
}

bool HasContent(std::string_view line) {
  std::string_view text = base::TrimSpace(line);
  return !text.empty() && !text.starts_with('#');
}

std::uint32_t NextLine(const std::vector<std::string_view>& lines, std::size_t from) {
  // Several comments in a row all cover the line after them.
  while (from < lines.size() && !HasContent(lines[from])) from++;
  return static_cast<std::uint32_t>(from + 1);
}

}  // namespace

Ignores Ignores::Read(const std::string& file, std::string_view text) {
  Ignores ignores;
  ignores.file_ = file;
  // Most files have no such comment, and need no second pass over their lines.
  if (text.find(kMarker) == std::string_view::npos) return ignores;
  std::vector<std::string_view> lines = base::Split(text, '\n');
  for (std::size_t i = 0; i < lines.size() && ignores.comments_.size() < kMostComments; i++) {
    std::optional<Found> found = FindComment(lines[i]);
    if (!found) continue;
    auto line = static_cast<std::uint32_t>(i + 1);
    std::size_t column = doc::CharactersIn(lines[i].substr(0, found->offset)) + 1;
    doc::Position at{line, static_cast<std::uint32_t>(column)};
    ignores.ReadComment(found->words, at, found->alone ? NextLine(lines, i + 1) : line);
  }
  return ignores;
}

void Ignores::ReadComment(std::string_view words, doc::Position at, std::uint32_t line) {
  if (!words.starts_with('=')) return AddInvalid(at, "write ignore=PF101 and a reason");
  words.remove_prefix(1);
  std::size_t end = std::min(words.find_first_of(" \t"), words.size());
  if (base::TrimSpace(words.substr(end)).empty()) return AddInvalid(at, "a reason is missing behind the ids");
  for (std::string_view id : base::Split(words.substr(0, end), ',')) {
    const Rule* rule = FindRule(id);
    if (rule != nullptr) comments_.push_back({rule->rule, at, line, false});
    if (rule == nullptr) AddInvalid(at, "there is no rule " + base::Truncate(base::ToUtf8(id), 40));
  }
}

void Ignores::AddInvalid(doc::Position at, std::string message) {
  invalid_.push_back({.rule = RuleId::kBadIgnore,
                      .place = {file_, at},
                      .block = at,
                      .message = "this comment ignores nothing: " + std::move(message)});
}

bool Ignores::Covers(const Finding& finding) {
  bool covered = false;
  for (Comment& comment : comments_) {
    bool here = comment.line == finding.place.at.line || comment.line == finding.block.line;
    if (comment.rule != finding.rule || !here) continue;
    comment.used = true;
    covered = true;
  }
  return covered;
}

std::vector<Finding> Ignores::Idle(const Selection& selection) const {
  std::vector<Finding> idle;
  for (const Comment& comment : comments_) {
    if (comment.used || !selection.Has(comment.rule)) continue;
    idle.push_back({.rule = RuleId::kIdleIgnore,
                    .place = {file_, comment.at},
                    .block = comment.at,
                    .message = std::string(RuleOf(comment.rule).id) + " finds nothing here to ignore"});
  }
  return idle;
}

}  // namespace prefetch::manifest::lint
