#include "status/words.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <set>
#include <utility>

#include "base/text.h"
#include "image/reference.h"
#include "plan/reason.h"

namespace prefetch::status {

std::vector<std::string> OtherNames(const std::string& image, const std::vector<std::string>& aliases) {
  std::set<std::string> tagged;  // repositories
  auto own = image::Reference::Parse(image);
  if (own) tagged.insert(own->Repository());
  for (const std::string& alias : aliases) {
    auto reference = image::Reference::Parse(alias);
    if (reference && !reference->has_digest()) tagged.insert(reference->Repository());
  }
  std::vector<std::string> names;
  for (const std::string& alias : aliases) {
    auto reference = image::Reference::Parse(alias);
    // A digest adds nothing beside a tag of the same repository: both name this content.
    bool is_redundant = reference && reference->has_digest() && tagged.count(reference->Repository()) != 0;
    if (!is_redundant) names.push_back(alias);
  }
  return names;
}

namespace {

// Returns "412 of 680 MB", with the unit once if it is the same.
std::string OfTotal(std::uint64_t done, std::uint64_t total) {
  std::string have = base::HumanBytes(done), all = base::HumanBytes(total);
  std::size_t unit = have.find(' ');
  if (have.substr(unit) == all.substr(all.find(' '))) have.resize(unit);
  return have + " of " + all;
}

}  // namespace

std::string TransferWords(std::uint64_t done, std::uint64_t total, std::uint64_t per_second) {
  std::string words = total == 0 ? base::HumanBytes(done) + " so far" : OfTotal(std::min(done, total), total);
  if (per_second == 0) return words;
  words += ", " + base::HumanBytes(per_second) + "/s";
  // Rounded up, so that a running pull never shows "0 s left".
  if (total > done) {
    const std::uint64_t seconds = (total - done + per_second - 1) / per_second;
    words += ", about " + base::HumanTime(std::chrono::seconds(seconds)) + " left";
  }
  return words;
}

namespace {

using plan::Reason;

std::string SplitCamelCase(std::string_view reason) {
  std::string words;
  for (char c : reason) {
    bool capital = c >= 'A' && c <= 'Z';
    if (capital && !words.empty()) words += ' ';
    words += capital ? static_cast<char>(c - 'A' + 'a') : c;
  }
  // A reason of a newer agent must fit into the column, too.
  if (words.empty()) return "unknown";
  return words.size() <= kStateColumns ? words : base::Truncate(words, kStateColumns - 1);
}

}  // namespace

ReasonDescription WordsFor(std::string_view reason) {
  const auto known = base::EnumNamed<Reason>(reason);
  if (!known) return {SplitCamelCase(reason), ""};
  const plan::ReasonRow& row = plan::RowOf(*known);
  return {std::string(row.state), std::string(row.advice)};
}

Actor ActorOf(std::string_view reason) {
  const auto known = base::EnumNamed<Reason>(reason);
  if (!known) return Actor::kNone;
  const plan::ReasonRow& row = plan::RowOf(*known);
  // The retry rule tells more than the group: what is retried at once is expected to pass.
  if (row.retry == plan::Retry::kTransient) return Actor::kRegistry;
  switch (row.group) {
    case plan::ReasonGroup::kFine:
    case plan::ReasonGroup::kUnderWay:
      return Actor::kNone;
    case plan::ReasonGroup::kRegistry:
      return Actor::kRegistry;
    case plan::ReasonGroup::kPull:
    case plan::ReasonGroup::kClosed:
    case plan::ReasonGroup::kNode:
      return Actor::kOperator;
  }
  std::abort();
}

namespace {

bool Contains(const std::string& error, std::string_view words) {
  return error.find(words) != std::string::npos;
}

// Chooses the advice by the words of containers/image: signature/policy_eval_simple.go,
// policy_eval_signedby.go and policy_eval_sigstore.go.
std::string CrioSignatureRemediation(const std::string& error) {
  if (Contains(error, "is rejected by policy")) {
    return "the rule has the type reject: allow the image there, or remove it from the list";
  }
  if (Contains(error, "no signature exists")) {
    return "sign it, or name the place of its signatures: lookaside or use-sigstore-attachments in "
           "/etc/containers/registries.d";
  }
  if (Contains(error, "signatures were accepted")) {
    return "it is signed, but not as the rule demands: compare key and signedIdentity of the rule with the "
           "signature";
  }
  return WordsFor(base::EnumName(plan::Reason::kSignatureRejected)).advice;
}

}  // namespace

// containers/image docker/policyconfiguration/naming.go.
std::vector<std::string> PolicyScopes(const image::Reference& reference) {
  std::vector<std::string> scopes = {reference.Normalized()};
  std::string name = reference.Repository();
  // The most specific scope comes first: the image's own name, then its folders, then its registry.
  while (true) {
    scopes.push_back(name);
    const std::size_t slash = name.rfind('/');
    if (slash == std::string::npos) break;
    name.resize(slash);
  }
  // Wildcards cover hosts without their ports.
  name.resize(std::min(name.find(':'), name.size()));
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.')) {
    name.erase(0, dot + 1);
    scopes.push_back("*." + name);
  }
  scopes.emplace_back();
  return scopes;
}

// containers/image signature/policy_config.go, through CRI-O: 'invalid policy in "FILE": …'.
bool IsBrokenPolicy(const std::string& error) {
  return Contains(error, "invalid policy in ");
}

std::vector<std::string> SignatureRemediation(const plan::ImageState& image,
                                              const plan::RuntimeStatus& runtime) {
  // containerd has no signature policy; external programs verify images there.
  if (runtime.name != "cri-o") {
    return {
        "an image verifier of containerd blocked it: look at the programs in bin_dir of the plugin "
        "io.containerd.image-verifier.v1.bindir (/opt/containerd/image-verifier/bin)"};
  }
  return {CrioSignatureRemediation(image.pull.last_error),
          "the policy is /etc/containers/policy.json, or the file that signature_policy in crio.conf names; "
          "the rule is the first of these below transports.docker, else default: \"" +
              base::Join(PolicyScopes(image.desired->reference), "\", \"") + "\"",
          "pods of a namespace with a file NAMESPACE.json in /etc/crio/policies (signature_policy_dir) have "
          "that policy instead"};
}

namespace {

constexpr std::size_t kMostNames = 5;

// Advice for a closed image. Only kubelet itself, or its settings, can open an image (kubelet's rules K29,
// K36).
std::vector<std::string> ClosedImageRemediation(const plan::ImageState& image) {
  const bool forbidden = image.desired->open == plan::Open::kNever;
  std::vector<std::string> helps = {
      forbidden ? "allow touches of it in the list: the entry has open: Never"
                : "let the agent touch it (--touch, deploy/touch): kubelet then pulls it once with the "
                  "node's own credentials, or with none, and every pod of this node may use it afterwards",
      "exempt the name from verification: prefetchctl list export --for kubelet prints the setting"};
  std::vector<std::string> spellings;
  for (const image::Reference& one : plan::SpellingsOf(image.desired)) spellings.push_back(one.written());
  // kubelet compares names as pods write them, so each spelling may need a record of its own (K17).
  if (spellings.size() > 1) {
    helps.push_back("the list writes it as " + base::JoinFirst(spellings, kMostNames) +
                    ": have all pods and the list write one of them");
  }
  std::vector<std::string> others = OtherNames(image.desired->reference.written(), image.aliases);
  if (image.reason == Reason::kRecordedUnderOtherName && !others.empty()) {
    helps.push_back("the same content is here as " + base::JoinFirst(others, kMostNames) +
                    ": have pods and the list use one name for it");
  }
  if (image.reason == Reason::kRecordedForOthers) {
    helps.emplace_back(
        "if all its pods have a secret or service account that the record names: name it in the list "
        "(readyAs)");
  }
  return helps;
}

// Advice if kubelet's record has several secrets with the name in readyAs.
std::vector<std::string> AmbiguousSecretRemediation(const plan::ImageState& image) {
  std::vector<std::string> helps = {
      "name the UID of the secret or service account in readyAs: kubelet tells them apart by it"};
  std::vector<std::string> open = ClosedImageRemediation(image);
  helps.insert(helps.end(), open.begin(), open.end());
  return helps;
}

// Returns a sentence for each obstacle; deploy/docs/touch.md has the same in a table.
std::string TouchRemediation(plan::TouchObstacle obstacle) {
  using plan::TouchObstacle;
  switch (obstacle) {
    case TouchObstacle::kNone:
      return "";
    case TouchObstacle::kNoNodeCredentials:
      return "give kubelet itself a credential for the registry: a credential provider, or config.json in "
             "its root directory";
    case TouchObstacle::kPullSecret:
      return "let its pods use a pull secret of their own, or exempt the name from verification: prefetchctl "
             "list export --for kubelet prints the setting";
    case TouchObstacle::kTokenProvider:
      return "exempt the name from verification (prefetchctl list export --for kubelet prints the setting): "
             "the "
             "provider's credentials are for one service account";
    case TouchObstacle::kRegistryTrouble:
      return "check the way from kubelet to the registry; the agent repeats the touch";
    case TouchObstacle::kPullFailed:
      return "find the error of kubelet's pull; the agent repeats the touch when the content or a credential "
             "changes";
    case TouchObstacle::kNotRecorded:
      return "look at kubelet's log for the namespace prefetchd-touch: it pulled, and recorded nothing";
    case TouchObstacle::kRecordsNeverMatch:
      return "update the container runtime, or exempt the name from verification: prefetchctl list export "
             "--for kubelet prints the setting";
    case TouchObstacle::kAdmission:
      return "let admission leave the namespace prefetchd-touch alone: no pull secrets, sidecars or other "
             "images";
    case TouchObstacle::kQuota:
      return "raise the ResourceQuota of the namespace prefetchd-touch";
    case TouchObstacle::kNamespaceMissing:
      return "apply deploy/touch: it makes the namespace of touch pods, with its rights";
    case TouchObstacle::kForbidden:
      return "bind this agent to the role of deploy/touch, and apply the component touch";
    case TouchObstacle::kApiServer:
      return "check the way from this node to the API server, and the agent's token; the agent tries again";
    case TouchObstacle::kPodNeverRan:
      return "check the pods in the namespace prefetchd-touch: kubelet does not run them; the agent tries "
             "again";
  }
  std::abort();
}

std::vector<std::string> OnlyIfAny(std::string advice) {
  return advice.empty() ? std::vector<std::string>() : std::vector{std::move(advice)};
}

}  // namespace

std::vector<std::string> RemediationFor(const plan::ImageState& image, const plan::RuntimeStatus& runtime) {
  // Advice about an image would rest on facts from before the outage.
  if (!runtime.up && !runtime.error.empty()) {
    return {WordsFor(base::EnumName(Reason::kRuntimeDown)).advice};
  }
  if (image.ready) return {};
  switch (image.reason) {
    case Reason::kRecordedForOthers:
    case Reason::kRecordedForNobody:
    case Reason::kRecordedUnderOtherName:
    case Reason::kVerificationAlways:
    case Reason::kNotAllowlisted:
    case Reason::kPullInterrupted:
      return ClosedImageRemediation(image);
    case Reason::kSecretAmbiguous:
      return AmbiguousSecretRemediation(image);
    case Reason::kTouching:  // what its newest try met, if it met anything
    case Reason::kTouchIneffective:
      return OnlyIfAny(TouchRemediation(image.touch->obstacle));
    case Reason::kRecordUnreadable:
      return {
          "let the agent read kubelet's folder (root, and the folder mounted), or remove a record that "
          "kubelet "
          "itself cannot read: a pod's next pull writes it anew"};
    case Reason::kFactsUnknown:
      if (!image.present) return {};  // a node that starts: the runtime is being asked
      return {
          "declare what the agent cannot learn: --kubelet-version, --kubelet-config, or "
          "--kubelet-verification"};
    case Reason::kSignatureRejected:
      return SignatureRemediation(image, runtime);
    case Reason::kRuntimeError:
      if (IsBrokenPolicy(image.pull.last_error)) {
        return {
            "repair the signature policy that the error names: CRI-O pulls no image before; the next try "
            "finds the repaired file"};
      }
      [[fallthrough]];
    default:  // a failed pull: advice beside the table
      return OnlyIfAny(WordsFor(base::EnumName(image.reason)).advice);
  }
}

}  // namespace prefetch::status
