// Parts of NodeFacts, and descriptions of them in a few words, for tests.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "kubelet/node_facts.h"

namespace prefetch::kubelet::facts_words {

using State = ConfigReading::State;
using Origin = ConfigReading::Origin;
using Policy = VerificationPolicy;

inline const std::string kHead = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";

constexpr image::KubeletVersion V(unsigned minor) {
  return {1, minor};
}

// A main file "/c" with these fields.
inline ConfigReading Read(const std::string& main, Origin origin = Origin::kWellKnown) {
  auto config = MergeKubeletConfigs({.main = ConfigDocument{"/c", kHead + main}});
  if (!config) return {.state = State::kInvalid, .origin = origin, .problems = {config.error().message()}};
  return {.state = State::kRead, .origin = origin, .config = *config};
}

// With a drop-in "/d/1.conf".
inline ConfigReading Read(const std::string& main, const std::string& drop_in) {
  auto config =
      MergeKubeletConfigs({.main = ConfigDocument{"/c", kHead + main},
                           .drop_ins = std::vector<ConfigDocument>{{"/d/1.conf", kHead + drop_in}}});
  if (!config) return {.state = State::kInvalid, .problems = {config.error().message()}};
  return {.state = State::kRead, .config = *config};
}

inline const ConfigReading kNoFiles;

inline std::optional<CommandLine> Line(const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = {"kubelet"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return ParseCommandLine(arguments);
}

inline const std::optional<CommandLine> kUnseen;

inline std::string PolicyLine(Policy policy) {
  return "imagePullCredentialsVerificationPolicy: " + std::string(base::EnumName(policy)) + "\n";
}

inline const std::string kAllowed = PolicyLine(Policy::kNeverVerifyAllowlistedImages) +
                                    "preloadedImagesVerificationAllowlist: [reg.io/a/*]\n";

// "known gate:on policy allowlist", what is not known left out.
inline std::string Show(const SettingsFacts& settings) {
  std::vector<std::string> words;
  if (settings.configuration_known) words.emplace_back("known");
  const auto& [gate, all_alpha, all_beta] = settings.gates;
  if (gate) words.emplace_back(*gate ? "gate:on" : "gate:off");
  if (all_alpha) words.emplace_back(*all_alpha ? "alpha:on" : "alpha:off");
  if (all_beta) words.emplace_back(*all_beta ? "beta:on" : "beta:off");
  if (settings.policy) words.emplace_back(base::EnumName(*settings.policy));
  words.insert(words.end(), settings.allowlist.begin(), settings.allowlist.end());
  return base::Join(words, " ");
}

inline std::string Show(const std::optional<GcRules>& gc) {
  if (!gc) return "unknown";
  auto seconds = [](std::chrono::nanoseconds age) {
    return std::to_string(std::chrono::ceil<std::chrono::seconds>(age).count());
  };
  return std::to_string(gc->high_percent) + " " + std::to_string(gc->low_percent) + " " +
         seconds(gc->minimum_age) + " " + seconds(gc->maximum_age);
}

inline std::string Source(const NodeFacts& facts, const std::string& fact) {
  for (const auto& [name, source] : facts.sources) {
    if (name == fact) return source;
  }
  return "";
}

}  // namespace prefetch::kubelet::facts_words
