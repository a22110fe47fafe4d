// The verdict: what kubelet would do with a container that starts now on this node with this image (RULES.md:
// K3 to K5, and K19 to K27 by steps). VerdictsFor: verdicts if not all settings of kubelet are known. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_name.h"
#include "image/reference.h"
#include "kubelet/records.h"
#include "kubelet/settings.h"

namespace prefetch::kubelet {

enum class VerdictResult {
  kStarts,   // with the image that is here; the registry is not asked
  kPulls,    // kubelet turns to the registry, with the pod's credentials and the node's
  kRefused,  // the container does not start: ErrImageNeverPull, or InvalidImageName
  kUnknown,
};

// Why. A closed list: it is a field of JSON, and scripts decide by it.
enum class VerdictReason {
  kInvalidImageName,   // kubelet refuses the name itself
  kPolicyAlways,       // the registry is asked whatever is here
  kImageAbsent,        // the runtime does not have it under this name
  kGateOff,            // this kubelet does not verify
  kVerificationNever,  // policy NeverVerify
  kPreloaded,          // kubelet has not pulled it; open until it does, with a pod's credentials
  kAllowlisted,        // the name is on the allowlist
  kOpenToNode,         // recorded for every pod of the node
  kRecordedForPod,     // recorded for a secret or the service account that the pod has
  // Recorded for one secret, or service account, of the namespace and name that the pod names without a UID.
  kAssumedForPod,
  kRecordedForOthers,       // recorded for credentials that the pod does not have
  kSecretAmbiguous,         // recorded for several of the namespace and name that the pod names without a UID
  kRecordedForNobody,       // recorded under this name, for nobody
  kRecordedUnderOtherName,  // recorded, but not for the repository that the pod names
  kPullInterrupted,         // a pull by kubelet began and its end was not recorded
  kVerificationAlways,      // policy AlwaysVerify and no record
  kNotAllowlisted,          // policy NeverVerifyAllowlistedImages, the name is not on it, and no record
  kRecordUnreadable,        // kubelet cannot decode its own file, or we cannot read it
  kKubeletNewer,            // kubelet is newer than the rules that are known here
  kFactsUnknown,            // it depends on unknown facts about kubelet
};

struct Verdict {
  VerdictResult result = VerdictResult::kUnknown;
  VerdictReason reason = VerdictReason::kFactsUnknown;
  // The step of kubelet's procedure that decided: "7: open to the node".
  std::string rule;
  // One sentence for operators. It names repositories, and the number of credentials of each class, but never
  // a hash, nor the name of a secret or service account.
  std::string message;

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

using Verdicts = image::PerPolicy<Verdict>;

// Whose pod it is. The default has no secret and no service account that a provider would use. A secret or
// service account without UID is one that a manifest or a list names: kubelet compares UIDs, so what the
// record has under that name is assumed.
struct PodIdentity {
  std::vector<HashedSecret> secrets;
  std::optional<Coordinates> service_account;
};
// The identity of a pod that only a list or a manifest describes, so that hashes are not known.
PodIdentity IdentityOf(const image::PodCredentialRefs& pod);

// The node's facts, as one kubelet reads them.
struct VerdictFacts {
  std::string image;     // the pod's literal text
  std::string image_id;  // as the runtime gives it for this name, opaque; empty: the runtime does not have it
  RecordReading record;  // of image_id
  Reading intent = Reading::kAbsent;  // of image
  // A folder of image_manager whose meaning is not known here has a file about this image.
  bool in_unknown_folder = false;
};

// Returns kubelet's verdict about this pod under each pull policy.
Verdicts DecideVerdicts(const VerdictFacts& facts, const PodIdentity& pod, const KubeletSettings& settings);

// Verdicts if not all settings of kubelet are known: certain only if all possible settings give the same
// verdict, else kUnknown.

// One file of kubelet's as it was found, before anybody decodes it: versions decode differently.
struct FileContent {
  Reading state = Reading::kAbsent;  // or kUnreadable, or kFound
  std::string content;               // if kFound
};

struct VerdictQuestion {
  std::string image;     // the pod's literal text
  std::string image_id;  // empty: the runtime does not have it
  FileContent record;    // named by image_id
  FileContent intent;    // named by image
  // A folder of image_manager that is neither `pulled` nor `pulling` has a file about this image: what a
  // kubelet keeps there, only newer rules tell (K52).
  bool in_unknown_folder = false;
  PodIdentity pod;
};

// The question's files as a kubelet of `version` reads them: versions differ in what they can read (K15).
RecordReading ReadRecord(const VerdictQuestion& question, image::KubeletVersion version);
Reading ReadIntent(const VerdictQuestion& question, image::KubeletVersion version);

// `possible` is not empty (see PossibleSettings). Where its members disagree the result is kUnknown with
// kFactsUnknown, and the message says what to declare.
Verdicts VerdictsFor(const VerdictQuestion& question, const std::vector<KubeletSettings>& possible);

}  // namespace prefetch::kubelet
