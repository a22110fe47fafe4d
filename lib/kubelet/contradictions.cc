#include "kubelet/node_facts.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "kubelet/feature_gates.h"

namespace prefetch::kubelet {
namespace {

constexpr image::KubeletVersion kHasGate{1, 33};
constexpr std::size_t kLongestListShown = 300;

std::string OriginWords(const std::string& file) {
  return file.empty() ? "kubelet's command line" : file;
}

std::string Shown(const std::vector<std::string>& patterns) {
  if (patterns.empty()) return "none";
  return base::Truncate(base::ToUtf8(base::Join(patterns, ", ")), kLongestListShown);
}

// Returns whether the gate is on; nullopt if that depends on a version that is not known.
std::optional<bool> GateOf(const SettingsFacts& settings) {
  if (settings.gate) return settings.gate;
  auto rules = RulesFor(settings);
  if (!rules) return std::nullopt;
  return VerifiesImages({.all_alpha = settings.all_alpha, .all_beta = settings.all_beta}, *rules);
}

std::string PolicyContradiction(VerificationPolicy policy, const KubeletConfig& config,
                                const CommandLine& flags, const SettingsFacts& settings) {
  const std::string declared_words =
      "declared verification " + std::string(VerificationPolicyName(policy)) + ", but ";
  // The gate comes first: while it is off, no policy has any effect (K7).
  if (GateOf(settings) == std::optional<bool>(false)) {
    bool by_flags = flags.gates != FeatureGates{};
    return declared_words + (by_flags ? "kubelet's command line" : OriginWords(config.gates.from)) +
           " leaves the feature gate KubeletEnsureSecretPulledImages off, so that kubelet verifies nothing";
  }
  VerificationPolicy actual = settings.policy.value_or(VerificationPolicy::kNeverVerifyPreloadedImages);
  if (actual == policy) return "";
  const std::string name(VerificationPolicyName(actual));
  if (!settings.policy)
    return declared_words + OriginWords(config.policy.from) + " leaves it at kubelet's default, " + name;
  return declared_words + OriginWords(config.policy.from) + " says " + name;
}

// The order of patterns and repetitions change nothing for kubelet.
bool SamePatterns(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::set<std::string>(a.begin(), a.end()) == std::set<std::string>(b.begin(), b.end());
}

// Returns the path without slashes at its end, and with one at its beginning, so that ends of paths compare
// by whole names.
std::string Trimmed(std::string path) {
  while (path.ends_with('/')) path.pop_back();
  return path.starts_with('/') ? path : "/" + path;
}

void AddPath(const std::string& what, const std::string& declared, const std::string& actual,
             std::vector<std::string>& sentences) {
  if (declared.empty() || actual.empty() || Trimmed(declared).ends_with(Trimmed(actual))) return;
  sentences.push_back("declared " + what + " " + declared + ", but kubelet's command line says " + actual);
}

}  // namespace

std::vector<std::string> SettingsContradictions(const Declared& declared, const KubeletConfig& config,
                                                const CommandLine& flags, const SettingsFacts& settings) {
  std::vector<std::string> sentences;
  // One declaration may serve nodes of several versions. A version without the gate contradicts nothing.
  if (auto rules = RulesFor(settings); rules && *rules < kHasGate) return sentences;
  if (declared.policy) {
    std::string policy = PolicyContradiction(*declared.policy, config, flags, settings);
    if (!policy.empty()) sentences.push_back(policy);
  }
  if (!declared.allowlist.empty() && !SamePatterns(declared.allowlist, settings.allowlist)) {
    sentences.push_back("declared allowlist " + Shown(declared.allowlist) + ", but " +
                        OriginWords(config.allowlist.from) + " says " + Shown(settings.allowlist));
  }
  return sentences;
}

std::vector<std::string> PathContradictions(const Declared& declared, const CommandLine& command_line,
                                            const std::string& host_root) {
  std::vector<std::string> sentences;
  AddPath("kubelet root", declared.root, host_root, sentences);
  AddPath("kubelet configuration", declared.config_file, command_line.config, sentences);
  AddPath("kubelet drop-in folder", declared.config_dir, command_line.config_dir, sentences);
  return sentences;
}

}  // namespace prefetch::kubelet
