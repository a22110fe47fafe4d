#include "kubelet/settings.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"

namespace prefetch::kubelet {

namespace {

using image::KubeletVersion;

// Stands for every kubelet that is newer than the rules.
constexpr KubeletVersion kNewerThanRules{1, image::kNewestKnownKubelet.minor + 1};

// A version without the gate would not start with a policy or a gate that was stated, so it is left out if
// one was.
std::vector<KubeletVersion> PossibleVersions(const SettingsFacts& facts) {
  if (auto rules = RulesFor(facts)) return {*rules};
  std::vector<KubeletVersion> versions;
  for (unsigned minor = image::kOldestKnownKubelet.minor; minor <= image::kNewestKnownKubelet.minor;
       minor++) {
    bool has_declared_settings = KubeletVersion{1, minor} >= kFirstWithGate ||
                                 (!facts.policy && !facts.gates.ensure_secret_pulled_images);
    if (has_declared_settings) versions.push_back({1, minor});
  }
  return versions;
}

std::vector<bool> PossibleGates(const SettingsFacts& facts, KubeletVersion version) {
  if (version < kFirstWithGate) return {false};
  if (facts.gates.ensure_secret_pulled_images || facts.configuration_known)
    return {VerifiesImages(facts.gates, version)};
  // A policy without known configuration was declared. It has an effect only with the gate on, so the
  // operator means that.
  if (facts.policy) return {true};
  return {false, true};
}

// Returns the policies that kubelet may have. NeverVerifyAllowlistedImages is left out if nothing is known:
// for each image, it decides as NeverVerify or as AlwaysVerify.
std::vector<VerificationPolicy> PossiblePolicies(const SettingsFacts& facts) {
  if (facts.policy) return {*facts.policy};
  if (facts.configuration_known) return {VerificationPolicy::kNeverVerifyPreloadedImages};
  return {VerificationPolicy::kNeverVerify, VerificationPolicy::kNeverVerifyPreloadedImages,
          VerificationPolicy::kAlwaysVerify};
}

base::Status CheckGate(const SettingsFacts& facts, KubeletVersion version, bool gate) {
  if (image::IsNewerThanKnown(version)) return {};
  if (version < kFirstWithGate) {
    if (!facts.gates.ensure_secret_pulled_images) return {};
    return base::InvalidArgument("kubelet " + version.ToString() +
                                 " has no feature gate KubeletEnsureSecretPulledImages");
  }
  // K8: with the gate off, kubelet does not start with a policy or an allowlist.
  if (gate || (!facts.policy && facts.allowlist.empty())) return {};
  return base::InvalidArgument("kubelet " + version.ToString() +
                               " does not start with a verification policy or allowlist while its feature "
                               "gate KubeletEnsureSecretPulledImages is off");
}

base::Result<KubeletSettings> SettingsWithGateOn(const SettingsFacts& facts, KubeletVersion version,
                                                 VerificationPolicy policy) {
  if (image::IsNewerThanKnown(version)) return KubeletSettings{version, true, policy, {}};
  if (policy != VerificationPolicy::kNeverVerifyAllowlistedImages && !facts.allowlist.empty()) {
    return base::InvalidArgument("an allowlist is allowed only with NeverVerifyAllowlistedImages");
  }
  auto allowlist = Allowlist::Parse(facts.allowlist, version);
  if (!allowlist) return allowlist.error();
  return KubeletSettings{version, true, policy, *std::move(allowlist)};
}

// Adds the settings that a kubelet of this version may have. `refused` becomes the reason for which it would
// not start with others; it is reported only if no settings are left at all.
void AddSettings(const SettingsFacts& facts, KubeletVersion version, std::vector<KubeletSettings>& possible,
                 base::Status& refused) {
  for (bool gate : PossibleGates(facts, version)) {
    if (base::Status checked = CheckGate(facts, version, gate); !checked) {
      refused = checked;
      continue;
    }
    if (!gate) possible.push_back({.version = version, .gate = false});
    if (!gate) continue;
    for (VerificationPolicy policy : PossiblePolicies(facts)) {
      auto settings = SettingsWithGateOn(facts, version, policy);
      if (!settings) refused = settings.status();
      if (settings) possible.push_back(*std::move(settings));
    }
  }
}

}  // namespace

std::optional<KubeletVersion> RulesFor(const SettingsFacts& facts) {
  bool newer = facts.version && image::IsNewerThanKnown(*facts.version);
  return newer && facts.rules ? facts.rules : facts.version;
}

std::string UnknownRulesReason(const SettingsFacts& facts) {
  const std::optional<KubeletVersion> rules = RulesFor(facts);
  if (!rules || !image::IsNewerThanKnown(*rules)) return "";
  const std::string newest = image::kNewestKnownKubelet.ToString();
  return "kubelet " + rules->ToString() + " is newer than the rules that this agent knows (" +
         std::string(image::kKnownKubelets) +
         "): its verdicts are Unknown unless every plausible rule agrees; update prefetchd, or set "
         "--kubelet-rules " +
         newest + " to judge by the rules of " + newest;
}

base::Result<std::vector<KubeletSettings>> PossibleSettings(const SettingsFacts& facts) {
  std::vector<KubeletSettings> possible;
  base::Status refused;
  for (KubeletVersion version : PossibleVersions(facts)) AddSettings(facts, version, possible, refused);
  if (possible.empty()) return refused.error();
  // This comes last: values that every known kubelet rejects are mistakes, though a newer kubelet may accept
  // them.
  if (!facts.version && !facts.rules) AddSettings(facts, kNewerThanRules, possible, refused);
  return possible;
}

FeatureGates MergeGates(const FeatureGates& weaker, const FeatureGates& stronger) {
  FeatureGates merged = stronger;
  for (const GateName& known : kGateNames) {
    if (!(merged.*known.gate)) merged.*known.gate = weaker.*known.gate;
  }
  return merged;
}

bool VerifiesImages(const FeatureGates& gates, KubeletVersion version) {
  if (version < kFirstWithGate) return false;
  // A gate that is named wins over AllAlpha and AllBeta, which decide for unnamed gates of their stage (K7).
  if (gates.ensure_secret_pulled_images) return *gates.ensure_secret_pulled_images;
  return version < kFirstWithGateOn ? gates.all_alpha.value_or(false) : gates.all_beta.value_or(true);
}

std::string TrimmedImage(const image::Reference& image, image::KubeletVersion version) {
  return version >= kFirstWithNamesAsWritten ? std::string(image::WrittenName(image.written()))
                                             : image.Repository();
}

namespace {

bool IsPrefixPattern(std::string_view pattern) {
  return pattern.ends_with("/*");
}

std::string ExactPatternError(const std::string& pattern, image::KubeletVersion version) {
  auto reference = image::Reference::Parse(pattern);
  if (!reference) return reference.error().message();
  if (reference->has_tag_or_digest()) return "must have no tag and no digest";
  // Versions before 1.36 accept a repository in its full form only (K12).
  if (version < kFirstWithNamesAsWritten && reference->Repository() != pattern) {
    return "must be written in full for kubelet " + version.ToString() + ": " + reference->Repository();
  }
  return "";
}

// The reason for which kubelet rejects a pattern; empty if it does not.
std::string PatternError(const std::string& pattern, image::KubeletVersion version) {
  if (pattern.empty()) return "must not be empty";
  if (base::TrimSpace(pattern) != pattern) return "must not begin or end with white space";
  std::string_view body = pattern;
  if (IsPrefixPattern(pattern)) body.remove_suffix(1);
  if (body.find('*') != std::string_view::npos) return "a * is allowed only as the last part, after a /";
  if (!IsPrefixPattern(pattern)) return ExactPatternError(pattern, version);
  return body == "/" ? "must have a name before the /*" : "";
}

}  // namespace

base::Result<Allowlist> Allowlist::Parse(const std::vector<std::string>& patterns,
                                         image::KubeletVersion version) {
  Allowlist list;
  list.version_ = version;
  std::vector<std::string> refused;
  for (const std::string& pattern : patterns) {
    std::string why = PatternError(pattern, version);
    // All wrong patterns are reported at once, so that the operator corrects them in one step.
    if (!why.empty()) {
      refused.push_back("allowlist pattern \"" + base::Truncate(base::ToUtf8(pattern), 200) + "\": " + why);
    } else if (IsPrefixPattern(pattern)) {
      list.prefixes_.push_back(pattern.substr(0, pattern.size() - 1));
    } else {
      list.exact_.push_back(pattern);
    }
  }
  if (!refused.empty()) return base::InvalidArgument(base::Join(refused, "\n"));
  return list;
}

bool Allowlist::Matches(const image::Reference& image) const {
  // The pod's own spelling is compared in both cases: `docker.io/library/*` does not match `ubuntu` (K13).
  std::string_view compared = image.written();
  if (version_ >= kFirstWithNamesAsWritten) compared = image::WrittenName(compared);
  return std::find(exact_.begin(), exact_.end(), compared) != exact_.end() ||
         std::any_of(prefixes_.begin(), prefixes_.end(),
                     [&](const std::string& prefix) { return compared.starts_with(prefix); });
}

namespace {

using image::Reference;

// The export asks the same code that judges pods, so that each proposed pattern has the promised effect.
bool Exempts(const std::string& pattern, const Reference& image, KubeletVersion version) {
  auto list = Allowlist::Parse({pattern}, version);
  return list && list->Matches(image);
}

// "reg.io/team/*" for "reg.io/team/app:v1"; empty if the name has no folder.
std::string FolderPattern(const std::string& repository) {
  std::size_t slash = repository.rfind('/');
  return slash == std::string::npos ? "" : repository.substr(0, slash + 1) + "*";
}

// Returns the narrowest pattern that exempts the name; empty if there is none. A folder pattern exempts
// images that the list does not name, so it comes second.
std::string PatternFor(const Reference& image, KubeletVersion version) {
  std::string repository(image::WrittenName(image.written()));
  for (const std::string& pattern : {repository, FolderPattern(repository)}) {
    if (Exempts(pattern, image, version)) return pattern;
  }
  return "";
}

UnmatchedName WithoutPattern(const Reference& image, KubeletVersion version) {
  std::string in_full =
      image.Repository() + image.written().substr(image::WrittenName(image.written()).size());
  return {image.written(), "no pattern of kubelet " + version.ToString() + " matches \"" + image.written() +
                               "\"; write \"" + in_full + "\" in the list and in the pods"};
}

}  // namespace

base::Result<AllowlistExport> ExportAllowlist(const std::vector<Reference>& images, KubeletVersion version) {
  if (version < kFirstWithGate) {
    return base::InvalidArgument(
        "kubelet " + version.ToString() +
        " has no allowlist and needs none: it lets every pod use every image that is "
        "on the node; the first that has one is " +
        kFirstWithGate.ToString());
  }
  AllowlistExport out;
  std::set<std::string> patterns;
  for (const Reference& image : images) {
    std::string pattern = PatternFor(image, version);
    if (pattern.empty()) {
      out.unmatched.push_back(WithoutPattern(image, version));
    } else {
      patterns.insert(std::move(pattern));
    }
  }
  out.patterns.assign(patterns.begin(), patterns.end());
  return out;
}

bool NeedsFeatureGate(KubeletVersion version) {
  return version < kFirstWithGateOn;
}

}  // namespace prefetch::kubelet
