// KubeletSettings: a kubelet's settings for verifying images (K7 to K10), and the agent's knowledge of them.
// Allowlist and ExportAllowlist: kubelet's preloadedImagesVerificationAllowlist.
// FeatureGates: the gates that decide whether a kubelet verifies images.
// TrimmedImage: the key under which a record names a repository.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_name.h"
#include "base/result.h"
#include "image/kubelet_version.h"
#include "image/reference.h"

namespace prefetch::kubelet {

// The first releases with a rule of kubelet.
inline constexpr image::KubeletVersion kFirstWithGate{1, 33};  // its policies and allowlist, too (K7, K12)
inline constexpr image::KubeletVersion kFirstWithServiceAccounts{1, 34};  // in records (K27)
inline constexpr image::KubeletVersion kFirstWithGateOn{1, 35};           // beta, so on by default (K7)
// A name without tag and digest is the pod's text, and not the normalised repository (K12, K13, K17).
inline constexpr image::KubeletVersion kFirstWithNamesAsWritten{1, 36};

// kubelet's preloadedImagesVerificationAllowlist (K12, K13). A value: patterns that a kubelet of one version
// has accepted.
class Allowlist {
 public:
  // Parses the patterns. InvalidArgument has each pattern with which this kubelet would not start.
  static base::Result<Allowlist> Parse(const std::vector<std::string>& patterns,
                                       image::KubeletVersion version);

  // The empty list, which matches nothing.
  Allowlist() = default;

  // Returns true if pods that write `image` use it unverified. Before 1.36, an exact pattern is compared with
  // the whole text, so it never matches a name with a tag or digest.
  bool Matches(const image::Reference& image) const;

 private:
  image::KubeletVersion version_;
  std::vector<std::string> exact_;
  std::vector<std::string> prefixes_;
};

// A name that no pattern of this kubelet matches.
struct UnmatchedName {
  std::string image;  // as written
  std::string why;    // one sentence, with what to write instead

  friend bool operator==(const UnmatchedName&, const UnmatchedName&) = default;
};

// Patterns for kubelet's preloadedImagesVerificationAllowlist that exempt the names of a list (K12, K13).
struct AllowlistExport {
  // Each is accepted by Allowlist::Parse, and together they match every name that is not in `unmatched`.
  std::vector<std::string> patterns;     // sorted by bytes, each once
  std::vector<UnmatchedName> unmatched;  // in the order of the list
};

// Since 1.36, each name gets an exact pattern. Before, kubelet compares exact patterns with all that a pod
// writes, including tag and digest. Most names are then exempt only together with everything below their
// folder ("reg.io/team/*" for "reg.io/team/app:v1"), and a name without a folder ("nginx:1.27") cannot be
// exempt. kubelet compares names as they are written, so the list needs every spelling that pods use.
// Returns InvalidArgument for a kubelet without an allowlist (before 1.33).
base::Result<AllowlistExport> ExportAllowlist(const std::vector<image::Reference>& images,
                                              image::KubeletVersion version);

// Returns true if this kubelet needs the feature gate KubeletEnsureSecretPulledImages for an allowlist: the
// gate is off by default, and kubelet then does not start with an allowlist.
bool NeedsFeatureGate(image::KubeletVersion version);

// imagePullCredentialsVerificationPolicy.
enum class VerificationPolicy {
  kNeverVerify,
  kNeverVerifyPreloadedImages,
  kNeverVerifyAllowlistedImages,
  kAlwaysVerify,
};

// All that a verdict depends on but files, image and pod. A kubelet without the gate reads no record.
struct KubeletSettings {
  image::KubeletVersion version;
  bool gate = true;  // KubeletEnsureSecretPulledImages
  VerificationPolicy policy = VerificationPolicy::kNeverVerifyPreloadedImages;
  Allowlist allowlist;
};

// The feature gates of one place (a file's featureGates, the flag --feature-gates) that decide whether a
// kubelet verifies images (K7); nullopt: not set.
struct FeatureGates {
  std::optional<bool> ensure_secret_pulled_images;
  // AllAlpha and AllBeta: for each gate of that stage that is not named itself.
  std::optional<bool> all_alpha;
  std::optional<bool> all_beta;

  friend bool operator==(const FeatureGates&, const FeatureGates&) = default;
};
struct GateName {
  const char* name;  // as kubelet spells it
  std::optional<bool> FeatureGates::*gate;
};
inline constexpr GateName kGateNames[] = {
    {"KubeletEnsureSecretPulledImages", &FeatureGates::ensure_secret_pulled_images},
    {"AllAlpha", &FeatureGates::all_alpha},
    {"AllBeta", &FeatureGates::all_beta}};

// Learnt or declared settings.
struct SettingsFacts {
  std::optional<image::KubeletVersion> version;
  // The rules that the operator takes for a kubelet that is newer than the rules known here.
  std::optional<image::KubeletVersion> rules;
  // The configuration is known: what it does not say has kubelet's default. Otherwise it is not known.
  bool configuration_known = false;
  FeatureGates gates;  // as featureGates says
  std::optional<VerificationPolicy> policy;
  std::vector<std::string> allowlist;

  friend bool operator==(const SettingsFacts&, const SettingsFacts&) = default;
};

// Returns every kubelet to which these facts may apply, oldest first; never empty. A policy without a known
// configuration is a declared one, and applies only if the gate is on. Returns InvalidArgument if no kubelet
// would start with these facts, except that a kubelet newer than the known rules is never rejected. An
// unknown version is assumed to be one whose rules are known.
base::Result<std::vector<KubeletSettings>> PossibleSettings(const SettingsFacts& facts);

// Returns the version whose rules apply: `rules` for a kubelet newer than the known rules, else `version`.
std::optional<image::KubeletVersion> RulesFor(const SettingsFacts& facts);
// Returns a sentence if kubelet is newer than all rules that may be applied to it; else empty.
std::string UnknownRulesReason(const SettingsFacts& facts);

// Returns each gate as `stronger` sets it, else as `weaker` does.
FeatureGates MergeGates(const FeatureGates& weaker, const FeatureGates& stronger);

// Returns whether KubeletEnsureSecretPulledImages is on in a kubelet with these gates and no other settings.
// Kubelets before 1.33 do not have the gate: false.
bool VerifiesImages(const FeatureGates& gates, image::KubeletVersion version);

// Returns the key under which a record names a repository (K17). Since 1.36 it is the pod's own spelling,
// without digest and tag: "nginx"; before, the normalised repository: "docker.io/library/nginx". Pure.
std::string TrimmedImage(const image::Reference& image, image::KubeletVersion version);

}  // namespace prefetch::kubelet
