#include "kubelet/verdict.h"

#include <algorithm>
#include <set>

#include "base/scrub.h"
#include "base/text.h"

namespace prefetch::kubelet {

namespace {

// The deciding fact, before its consequence under each pull policy.
struct Finding {
  enum class Outcome { kUse, kMustPull, kUnknown };
  Outcome outcome = Outcome::kMustPull;
  VerdictReason reason = VerdictReason::kImageAbsent;
  std::string rule;
  std::string why;     // the first half of the sentence
  std::string remedy;  // what would change it; may be empty
};

using Outcome = Finding::Outcome;
using Reason = VerdictReason;
using image::KubeletVersion;
using image::PullPolicy;

// A patch release or a distribution's build may add kinds and fields since this version (K52; KEP-2535,
// preloaded records). kubelet may then know what cannot be decoded here.
constexpr KubeletVersion kMayDecodeMore{1, 37};
// K26: an entry with this many secrets accepts no rotated secret unseen, and kubelet adds secrets to it only
// by a pull.
constexpr std::size_t kMaxEntrySecrets = 100;

const char kOpenRecordRemedy[] =
    "a pull by kubelet with the node's own credentials would open it to every pod";

constexpr std::size_t kMostRepositories = 5;
constexpr std::size_t kLongestName = 300;

VerdictResult ResultOf(Outcome outcome, PullPolicy policy) {
  switch (outcome) {
    case Outcome::kUse:
      return VerdictResult::kStarts;
    case Outcome::kMustPull:
      return policy == image::PullPolicy::kNever ? VerdictResult::kRefused : VerdictResult::kPulls;
    case Outcome::kUnknown:
      return VerdictResult::kUnknown;
  }
  return VerdictResult::kUnknown;
}

std::string Consequence(VerdictResult result) {
  return base::EnumWord(result, {"so kubelet uses the image that is here",
                                 "so kubelet asks the registry with the pod's and the node's credentials",
                                 "so kubelet refuses the container (ErrImageNeverPull)",
                                 "so kubelet's decision cannot be predicted"});
}

// Returns a name out of a file or a flag, fit for a terminal: no control characters, not endless.
std::string Printable(const std::string& name) {
  // A name may come from a file that others write, and could change what a terminal shows.
  return base::Truncate(base::InOneLine(name), kLongestName);
}

// "the node", "2 secrets and 1 service account", "nobody".
std::string GranteeOf(const CredentialEntry& entry) {
  if (entry.node_pods_accessible) return "the node";
  std::vector<std::string> parts;
  if (!entry.secrets.empty()) parts.push_back(base::Plural(entry.secrets.size(), "secret", "secrets"));
  if (!entry.service_accounts.empty()) {
    parts.push_back(base::Plural(entry.service_accounts.size(), "service account", "service accounts"));
  }
  return parts.empty() ? "nobody" : base::Join(parts, " and ");
}

// "reg.io/a (the node), reg.io/b (1 secret) and 3 more".
std::string RepositoriesOf(const PulledRecord& record) {
  std::vector<std::string> parts;
  for (const auto& [repository, entry] : record.mapping) {
    // A record may have hundreds of repositories, and this is one sentence.
    if (parts.size() == kMostRepositories) break;
    parts.push_back(Printable(repository) + " (" + GranteeOf(entry) + ")");
  }
  return base::JoinFirst(parts, kMostRepositories, record.mapping.size() - parts.size());
}

// Returns the finding as a verdict for a container of kNever or kIfNotPresent.
Verdict ToVerdict(const Finding& finding, image::PullPolicy policy) {
  VerdictResult result = ResultOf(finding.outcome, policy);
  std::string message = finding.why + ", " + Consequence(result);
  if (!finding.remedy.empty()) message += "; " + finding.remedy;
  return {result, finding.reason, finding.rule, message + "."};
}

// Steps 2a and 2c (K20): kubelet cannot decode its own file, which forces a pull.
Finding Undecodable(const std::string& file, const std::string& step, KubeletVersion version) {
  std::string rule = step + ": " + file + " readable";
  if (version >= kMayDecodeMore) {
    return {Outcome::kUnknown, Reason::kRecordUnreadable, rule,
            "kubelet's " + file + " for this image has a form that is not known here, and kubelet " +
                version.ToString() + " may know it",
            ""};
  }
  return {Outcome::kMustPull, Reason::kRecordUnreadable, rule,
          "kubelet cannot decode its own " + file + " for this image",
          "the next pull by kubelet that ends well replaces the file"};
}

// This process cannot read the file, and kubelet perhaps can: nothing is known.
Finding Unreadable(const std::string& file, const std::string& step) {
  return {Outcome::kUnknown, Reason::kRecordUnreadable, step + ": " + file + " readable",
          "kubelet's " + file + " for this image could not be read here",
          "reading it needs the rights of root on kubelet's folder"};
}

// Step 3 (K9): whether the policy lets the image pass without a record.
std::optional<Finding> ByPolicy(const image::Reference& image, bool tracked,
                                const KubeletSettings& settings) {
  const std::string rule = "3: verification policy";
  switch (settings.policy) {
    case VerificationPolicy::kNeverVerify:
      return Finding{Outcome::kUse, Reason::kVerificationNever, rule,
                     "kubelet verifies no image (NeverVerify)", ""};
    case VerificationPolicy::kNeverVerifyPreloadedImages:
      // `tracked`: there is a record, or an intent for this name. Either ends the image's being preloaded
      // (K9).
      if (tracked) return std::nullopt;
      return Finding{Outcome::kUse, Reason::kPreloaded, rule,
                     "kubelet has no record of pulling this image: it counts as preloaded for every pod",
                     "this ends when kubelet pulls the same image with a pod's credentials, under any name"};
    case VerificationPolicy::kNeverVerifyAllowlistedImages:
      if (!settings.allowlist.Matches(image)) return std::nullopt;
      return Finding{Outcome::kUse, Reason::kAllowlisted, rule,
                     Printable(image.written()) + " is on kubelet's allowlist", ""};
    case VerificationPolicy::kAlwaysVerify:
      return std::nullopt;
  }
  return std::nullopt;
}

// Step 4 (K22): verification is asked for, and there is no record.
Finding WithoutRecord(bool intent, VerificationPolicy policy) {
  const std::string rule = "4: record";
  if (intent) {
    return {Outcome::kMustPull, Reason::kPullInterrupted, rule,
            "kubelet began to pull this name and has not recorded an end",
            "the next attempt of kubelet to pull it clears that"};
  }
  if (policy == VerificationPolicy::kNeverVerifyAllowlistedImages) {
    return {Outcome::kMustPull, Reason::kNotAllowlisted, rule,
            "The name is not on kubelet's allowlist and kubelet has no record of pulling this image",
            kOpenRecordRemedy};
  }
  return {Outcome::kMustPull, Reason::kVerificationAlways, rule,
          "kubelet verifies every image (AlwaysVerify) and has no record of pulling this one",
          kOpenRecordRemedy};
}

// Step 6 (K23): the record has no entry for the pod's repository. An interrupted pull leaves a record without
// any entry (K32).
Finding UnderOtherName(const std::string& trimmed, const PulledRecord& record) {
  const std::string rule = "6: record has the repository";
  if (record.mapping.empty()) {
    return {Outcome::kMustPull, Reason::kPullInterrupted, rule,
            "kubelet's record of this image names no repository: an interrupted pull leaves such a record",
            kOpenRecordRemedy};
  }
  return {
      Outcome::kMustPull, Reason::kRecordedUnderOtherName, rule,
      "kubelet recorded the same image for " + RepositoriesOf(record) + " and not for " + Printable(trimmed) +
          ", which the pod names",
      "a pull by kubelet under the pod's name with the node's own credentials would open it to every pod"};
}

// A record without a hash proves nothing, so it equals no secret.
bool SameHash(const HashedSecret& pods, const HashedSecret& recorded) {
  return !recorded.hash.empty() && recorded.hash.SameAs(pods.hash);
}

// Step 10 (K25, K26). A rotated secret is accepted unseen while kubelet would still write its new hash down.
bool AcceptsSecret(const CredentialEntry& entry, const PodIdentity& pod) {
  for (const HashedSecret& mine : pod.secrets) {
    for (const HashedSecret& recorded : entry.secrets) {
      bool rotated = mine.secret == recorded.secret && entry.secrets.size() < kMaxEntrySecrets;
      if (SameHash(mine, recorded) || rotated) return true;
    }
  }
  return false;
}

// Step 11 (K27).
bool AcceptsServiceAccount(const CredentialEntry& entry, const PodIdentity& pod, KubeletVersion version) {
  if (version < kFirstWithServiceAccounts || !pod.service_account) return false;
  return std::find(entry.service_accounts.begin(), entry.service_accounts.end(), *pod.service_account) !=
         entry.service_accounts.end();
}

// A pod's specification names its secrets and its service account without their UIDs.
bool SameName(const Coordinates& a, const Coordinates& b) {
  return a.namespace_name == b.namespace_name && a.name == b.name;
}

// Returns how many UIDs the record has for a pull secret that the pod names without one. If there are several
// such secrets, the number that says most counts, which is one.
std::size_t UidsOfSecrets(const CredentialEntry& entry, const PodIdentity& pod) {
  if (entry.secrets.size() >= kMaxEntrySecrets) return 0;
  std::size_t found = 0;
  for (const HashedSecret& mine : pod.secrets) {
    if (!mine.secret.uid.empty()) continue;
    std::set<std::string> uids;
    for (const HashedSecret& recorded : entry.secrets) {
      if (SameName(recorded.secret, mine.secret)) uids.insert(recorded.secret.uid);
    }
    if (uids.size() == 1) return 1;
    found = std::max(found, uids.size());
  }
  return found;
}

// Returns the same for the pod's service account.
std::size_t UidsOfAccount(const CredentialEntry& entry, const PodIdentity& pod, KubeletVersion version) {
  if (version < kFirstWithServiceAccounts || !pod.service_account || !pod.service_account->uid.empty()) {
    return 0;
  }
  std::set<std::string> uids;
  for (const Coordinates& recorded : entry.service_accounts) {
    if (SameName(recorded, *pod.service_account)) uids.insert(recorded.uid);
  }
  return uids.size();
}

// The record has exactly one credential of that name. It may be an earlier one that was deleted and created
// again, so the finding says that this is assumed.
Finding Assumed(const std::string& rule, const std::string& repository, const std::string& what) {
  return {Outcome::kUse, Reason::kAssumedForPod, rule, "kubelet's record of " + repository + " names " + what,
          "the agent assumes that it is the same one, because kubelet also compares UIDs and none is given"};
}

// The record has several credentials of that name. The pod's own may be one of them or none, so nothing is
// known.
Finding Ambiguous(const std::string& rule, const std::string& repository, const std::string& what) {
  return {Outcome::kUnknown, Reason::kSecretAmbiguous, rule,
          "kubelet's record of " + repository + " names " + what + ", which differ by their UIDs", ""};
}

// Steps 10 and 11 for secrets and service accounts of unknown UID. One that can be assumed comes before
// several that cannot be told apart.
std::optional<Finding> ByName(const std::string& repository, const CredentialEntry& entry,
                              const PodIdentity& pod, KubeletVersion version) {
  const std::string secrets_rule = "10: pull secrets", account_rule = "11: service account";
  const std::size_t secrets = UidsOfSecrets(entry, pod);
  const std::size_t accounts = UidsOfAccount(entry, pod, version);
  if (secrets == 1) {
    return Assumed(secrets_rule, repository, "a pull secret with the namespace and name of one of the pod's");
  }
  if (accounts == 1) {
    return Assumed(account_rule, repository, "a service account with the namespace and name of the pod's");
  }
  if (secrets > 1) {
    return Ambiguous(
        secrets_rule, repository,
        std::to_string(secrets) + " pull secrets with the namespace and name of one of the pod's");
  }
  if (accounts > 1) {
    return Ambiguous(account_rule, repository,
                     std::to_string(accounts) + " service accounts with the namespace and name of the pod's");
  }
  return std::nullopt;
}

// Steps 7 to 12: the record has an entry for the repository.
Finding ByEntry(const std::string& trimmed, const CredentialEntry& entry, const PodIdentity& pod,
                KubeletVersion version) {
  const std::string repository = Printable(trimmed);
  if (entry.node_pods_accessible) {
    return {Outcome::kUse, Reason::kOpenToNode, "7: open to the node",
            "kubelet's record opens " + repository + " to every pod of this node", ""};
  }
  if (entry.secrets.empty() && entry.service_accounts.empty()) {
    return {Outcome::kMustPull, Reason::kRecordedForNobody, "8: record has credentials",
            "kubelet's record of " + repository + " names no credential", kOpenRecordRemedy};
  }
  if (AcceptsSecret(entry, pod)) {
    return {Outcome::kUse, Reason::kRecordedForPod, "10: pull secrets",
            "kubelet's record of " + repository + " names a pull secret of the pod", ""};
  }
  if (AcceptsServiceAccount(entry, pod, version)) {
    return {Outcome::kUse, Reason::kRecordedForPod, "11: service account",
            "kubelet's record of " + repository + " names the pod's service account", ""};
  }
  if (auto assumed = ByName(repository, entry, pod, version)) return *std::move(assumed);
  return {Outcome::kMustPull, Reason::kRecordedForOthers, "12: no credential matches",
          "kubelet's record opens " + repository + " to " + GranteeOf(entry) +
              " only, and the pod has none of them",
          kOpenRecordRemedy};
}

// The finding for a file in an unknown folder of kubelet.
Finding InUnknownFolder(KubeletVersion version) {
  return {
      Outcome::kUnknown, Reason::kRecordUnreadable, "2a: record readable",
      "kubelet's image_manager has a file about this image in a folder that is not known here, and kubelet " +
          version.ToString() + " may know it",
      ""};
}

// Judges from step 2 on: the image is present, and the gate is on.
Finding Verify(const VerdictFacts& facts, const image::Reference& image, const PodIdentity& pod,
               const KubeletSettings& settings) {
  // The order is that of kubelet's own procedure, whose step numbers `rule` shows. The file in an unknown
  // folder comes first: it may replace any of the steps (K52).
  if (facts.in_unknown_folder && settings.version >= kMayDecodeMore) return InUnknownFolder(settings.version);
  Reading record = facts.record.reading;
  if (record == Reading::kUnreadable) return Unreadable("record", "2a");
  if (record == Reading::kUndecodable) return Undecodable("record", "2a", settings.version);
  // K21: an intent counts only where there is no record.
  bool found = record == Reading::kFound;
  if (!found && facts.intent == Reading::kUnreadable) return Unreadable("pull intent", "2c");
  if (!found && facts.intent == Reading::kUndecodable) {
    return Undecodable("pull intent", "2c", settings.version);
  }
  bool intent = facts.intent == Reading::kFound;
  if (std::optional<Finding> exempt = ByPolicy(image, found || intent, settings)) return *exempt;
  if (!found) return WithoutRecord(intent, settings.policy);
  std::string trimmed = TrimmedImage(image, settings.version);
  auto entry = facts.record.record.mapping.find(trimmed);
  if (entry == facts.record.record.mapping.end()) return UnderOtherName(trimmed, facts.record.record);
  return ByEntry(trimmed, entry->second, pod, settings.version);
}

// The finding for a kubelet that is newer than the rules here. Its help names both ways out.
Finding NewerThanRules(KubeletVersion version) {
  const std::string newest = image::kNewestKnownKubelet.ToString();
  return {Outcome::kUnknown, Reason::kKubeletNewer, "0: rules known",
          "kubelet " + version.ToString() + " is newer than the rules that this agent knows (" +
              std::string(image::kKnownKubelets) + ")",
          "update the agent, or set --kubelet-rules " + newest + " to judge by the rules of " + newest};
}

// Judges for a kubelet that is newer than the rules (K51). An image that is not verified at all, or is
// recorded for the whole node, starts by every plausible rule; the record even with the gate off. All else
// may have changed.
Finding VerifyNewerThanRules(const VerdictFacts& facts, const image::Reference& image,
                             const KubeletSettings& settings) {
  const bool readable = facts.record.reading != Reading::kUndecodable &&
                        (facts.record.reading == Reading::kFound || facts.intent != Reading::kUndecodable);
  if (!readable) return NewerThanRules(settings.version);
  Finding finding = Verify(facts, image, {}, settings);
  const bool by_gate = settings.gate && (finding.reason == Reason::kVerificationNever ||
                                         finding.reason == Reason::kRecordUnreadable);
  return by_gate || finding.reason == Reason::kOpenToNode ? finding : NewerThanRules(settings.version);
}

// Judges from step 1 on, and chooses which rules hold for the rest.
Finding Find(const VerdictFacts& facts, const image::Reference& image, const PodIdentity& pod,
             const KubeletSettings& settings) {
  if (facts.image_id.empty()) {
    return {Outcome::kMustPull, Reason::kImageAbsent, "1: image present",
            "The runtime does not have " + Printable(image.written()) + " under this name", ""};
  }
  // After the absent image, on which all rules agree, and before the gate, whose meaning a newer kubelet may
  // change.
  if (image::IsNewerThanKnown(settings.version)) return VerifyNewerThanRules(facts, image, settings);
  if (!settings.gate) {
    return {Outcome::kUse, Reason::kGateOff, "0: feature gate",
            "this kubelet does not verify images (KubeletEnsureSecretPulledImages is off)", ""};
  }
  return Verify(facts, image, pod, settings);
}

// All three policies get the same verdict: kubelet refuses such a name whatever the policy.
Verdicts InvalidName(const std::string& complaint) {
  Verdict refused{VerdictResult::kRefused, Reason::kInvalidImageName, "0: image name",
                  "kubelet refuses the name (InvalidImageName): " + Printable(complaint) + "."};
  return {refused, refused, refused};
}

}  // namespace

PodIdentity IdentityOf(const image::PodCredentialRefs& pod) {
  PodIdentity identity{.service_account = pod.service_account};
  for (const Coordinates& secret : pod.secrets) identity.secrets.push_back({secret, base::Secret()});
  return identity;
}

Verdicts DecideVerdicts(const VerdictFacts& facts, const PodIdentity& pod, const KubeletSettings& settings) {
  auto image = image::Reference::Parse(facts.image);
  if (!image) return InvalidName(image.error().message());
  Finding finding = Find(facts, *image, pod, settings);
  Verdict always{VerdictResult::kPulls, Reason::kPolicyAlways, "0: policy Always",
                 "imagePullPolicy Always asks the registry at every start, whatever is on the node."};
  return {ToVerdict(finding, PullPolicy::kNever), ToVerdict(finding, PullPolicy::kIfNotPresent), always};
}

// A file that this process may not read is no absent file: kubelet may read it.
RecordReading ReadRecord(const VerdictQuestion& question, image::KubeletVersion version) {
  if (question.record.state != Reading::kFound) return {question.record.state, {}};
  return DecodeRecord(question.record.content, question.image_id, version);
}

Reading ReadIntent(const VerdictQuestion& question, image::KubeletVersion version) {
  if (question.intent.state != Reading::kFound) return question.intent.state;
  return DecodeIntent(question.intent.content, question.image, version);
}

namespace {

// Returns the settings whose declaration would make the verdict firm. `possible` is in the order of versions.
std::string MissingDeclarations(const std::vector<KubeletSettings>& possible) {
  std::vector<std::string> open;
  if (possible.front().version != possible.back().version) {
    open.emplace_back("its version (--kubelet-version)");
  }
  bool configuration_open =  // two of one version
      std::adjacent_find(possible.begin(), possible.end(), [](const auto& a, const auto& b) {
        return a.version == b.version;
      }) != possible.end();
  if (configuration_open) open.emplace_back("its configuration (--kubelet-config)");
  return base::Join(open, " and ");
}

Verdict Unknown(const std::vector<KubeletSettings>& possible) {
  return {VerdictResult::kUnknown, VerdictReason::kFactsUnknown, "facts",
          "It depends on unknown settings of kubelet; declare " + MissingDeclarations(possible) + "."};
}

// Returns the kubelet whose words are shown: the newest one whose rules are known, or the newest if none is.
std::size_t DecisiveKubelet(const std::vector<KubeletSettings>& possible) {
  std::size_t newest = possible.size() - 1;
  while (newest > 0 && image::IsNewerThanKnown(possible[newest].version)) newest--;
  return image::IsNewerThanKnown(possible[newest].version) ? possible.size() - 1 : newest;
}

// Returns the verdict that all possible kubelets share, in the words of one of them. Only results are
// compared: they may have different reasons for the same result.
Verdict AgreedVerdict(const std::vector<Verdicts>& all, image::PullPolicy policy,
                      const std::vector<KubeletSettings>& possible) {
  const Verdict& decisive = all[DecisiveKubelet(possible)].For(policy);
  bool agree = std::all_of(all.begin(), all.end(),
                           [&](const Verdicts& each) { return each.For(policy).result == decisive.result; });
  return agree ? decisive : Unknown(possible);
}

}  // namespace

Verdicts VerdictsFor(const VerdictQuestion& question, const std::vector<KubeletSettings>& possible) {
  std::vector<Verdicts> all;
  VerdictFacts facts{.image = question.image, .image_id = question.image_id};
  facts.in_unknown_folder = question.in_unknown_folder;
  std::optional<image::KubeletVersion> decoded_for;
  for (const KubeletSettings& settings : possible) {
    // `possible` is in the order of versions, so each file is decoded once a version and not for each
    // setting.
    if (decoded_for != settings.version) {
      facts.record = ReadRecord(question, settings.version);
      facts.intent = ReadIntent(question, settings.version);
      decoded_for = settings.version;
    }
    all.push_back(DecideVerdicts(facts, question.pod, settings));
  }
  using image::PullPolicy;
  return {AgreedVerdict(all, PullPolicy::kNever, possible),
          AgreedVerdict(all, PullPolicy::kIfNotPresent, possible),
          AgreedVerdict(all, PullPolicy::kAlways, possible)};
}

}  // namespace prefetch::kubelet
