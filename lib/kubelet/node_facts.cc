#include "kubelet/node_facts.h"

#include <set>

#include "base/text.h"
#include "doc/duration.h"

namespace prefetch::kubelet {

namespace {

const char kDeclaredSource[] = "declared";
const char kCommandLineSource[] = "command line";
const char kDefaultSource[] = "default";

// Returns the configuration that counts, before flags; nullopt if it is not known. A kubelet that names no
// file runs on its defaults.
std::optional<KubeletConfig> KnownConfig(const ConfigReading& reading,
                                         const std::optional<CommandLine>& command_line) {
  // A flag that could not be read may override any file.
  if (command_line && !command_line->problems.empty()) return std::nullopt;
  if (reading.state == ConfigReading::State::kRead) return reading.config;
  bool names_none = command_line && command_line->config.empty() && command_line->config_dir.empty();
  if (reading.state == ConfigReading::State::kNone && names_none) return KubeletConfig{};
  return std::nullopt;
}

SettingsFacts SettingsOf(const std::optional<KubeletConfig>& config, const CommandLine& flags,
                         const KubeletDeclarations& declared) {
  SettingsFacts facts;
  if (config) {
    facts = ToSettingsFacts(*config);
  } else {
    // Declarations count only while the node's own files are unknown: the files decide what kubelet does.
    facts.policy = declared.policy;
    facts.allowlist = declared.allowlist;
  }
  // K47: flags win over files, and gates merge one by one.
  facts.gates = MergeGates(facts.gates, flags.gates);
  facts.version = declared.version;
  facts.rules = declared.rules;
  return facts;
}

void Append(std::vector<std::string>& all, const std::vector<std::string>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

void AppendRefusals(const std::string& subject, const std::vector<std::string>& reasons,
                    std::vector<std::string>& sentences) {
  for (const std::string& reason : reasons) {
    sentences.push_back((subject.empty() ? "kubelet's command line" : subject) +
                        ": kubelet would not start: " + reason);
  }
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::string_view line : base::Split(text, '\n')) lines.emplace_back(line);
  return lines;
}

// Returns why no kubelet would start with these settings; empty if one may. A kubelet that runs all the same
// has other settings than these, so none of them may be used.
std::vector<std::string> Refusals(const std::optional<KubeletConfig>& config, const CommandLine& flags,
                                  const SettingsFacts& settings) {
  std::vector<std::string> sentences;
  if (config) {
    std::optional<image::KubeletVersion> rules = RulesFor(settings);
    // K51: a newer kubelet may accept what all known ones reject.
    if (rules && image::IsNewerThanKnown(*rules)) rules.reset();
    AppendRefusals(config->main_file, StartupErrors(*config, flags, rules), sentences);
  }
  if (auto possible = PossibleSettings(settings); !possible) {
    std::string subject = config ? config->policy.from : "what was declared";
    AppendRefusals(subject, Lines(possible.error().message()), sentences);
  }
  return sentences;
}

std::string SourceOrDefault(const std::string& file) {
  return file.empty() ? kDefaultSource : file;
}

// Returns the last source that sets image garbage collection: drop-ins come after the main file, which is the
// answer if none does.
std::string GcSource(const KubeletConfig& config, const CommandLine& flags) {
  if (flags.gc_high_percent || flags.gc_low_percent || flags.gc_minimum_age) return kCommandLineSource;
  for (const std::string* from : {&config.gc_low_percent.from, &config.gc_high_percent.from,
                                  &config.gc_maximum_age.from, &config.gc_minimum_age.from}) {
    if (*from != config.main_file) return *from;
  }
  return SourceOrDefault(config.main_file);
}

std::string OriginName(ConfigReading::Origin origin) {
  return base::EnumWord(origin, {kDeclaredSource, kCommandLineSource, kDefaultSource});
}

std::string FileOf(const ConfigReading& reading) {
  const std::string& file = reading.config.policy.from;
  return file.empty() ? "its command line" : file;
}

// Returns the changes that a restart of kubelet would bring, where its files differ from its running
// settings.
std::vector<std::string> PendingChanges(const SettingsFacts& in_force, const SettingsFacts& written,
                                        const std::string& file) {
  std::vector<std::string> sentences;
  auto add = [&](const std::string& field, const std::string& runs_with, const std::string& says) {
    sentences.push_back("kubelet runs with " + field + " " + runs_with + ", but " + file + " says " + says +
                        ", effective after kubelet restarts");
  };
  auto policy = [](const SettingsFacts& facts) {
    return std::string(
        base::EnumName(facts.policy.value_or(VerificationPolicy::kNeverVerifyPreloadedImages)));
  };
  if (policy(in_force) != policy(written)) add("verification", policy(in_force), policy(written));
  if (in_force.allowlist != written.allowlist) {
    add("an allowlist of", std::to_string(in_force.allowlist.size()) + " patterns",
        "another one, of " + std::to_string(written.allowlist.size()));
  }
  return sentences;
}

constexpr std::size_t kLongestListShown = 300;

std::string SourceText(const std::string& file) {
  return file.empty() ? "kubelet's command line" : file;
}

std::string Shown(const std::vector<std::string>& patterns) {
  if (patterns.empty()) return "none";
  return base::Truncate(base::ToUtf8(base::Join(patterns, ", ")), kLongestListShown);
}

// Returns whether the gate is on; nullopt if that depends on a version that is not known.
std::optional<bool> GateOf(const SettingsFacts& settings) {
  if (settings.gates.ensure_secret_pulled_images) return settings.gates.ensure_secret_pulled_images;
  auto rules = RulesFor(settings);
  if (!rules) return std::nullopt;
  return VerifiesImages(settings.gates, *rules);
}

std::string PolicyContradiction(VerificationPolicy policy, const KubeletConfig& config,
                                const CommandLine& flags, const SettingsFacts& settings) {
  const std::string declared_words =
      "declared verification " + std::string(base::EnumName(policy)) + ", but ";
  // The gate comes first: while it is off, no policy has any effect (K7).
  if (GateOf(settings) == std::optional<bool>(false)) {
    bool by_flags = flags.gates != FeatureGates{};
    return declared_words + (by_flags ? "kubelet's command line" : SourceText(config.gates.from)) +
           " leaves the feature gate KubeletEnsureSecretPulledImages off, so that kubelet verifies nothing";
  }
  VerificationPolicy actual = settings.policy.value_or(VerificationPolicy::kNeverVerifyPreloadedImages);
  if (actual == policy) return "";
  const std::string name(base::EnumName(actual));
  if (!settings.policy)
    return declared_words + SourceText(config.policy.from) + " leaves it at kubelet's default, " + name;
  return declared_words + SourceText(config.policy.from) + " says " + name;
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

// Each of these returns the contradictions between declarations and the node, one sentence each: "declared
// verification AlwaysVerify, but FILE says NeverVerify". `settings` are the node's.
std::vector<std::string> SettingsContradictions(const KubeletDeclarations& declared,
                                                const KubeletConfig& config, const CommandLine& flags,
                                                const SettingsFacts& settings) {
  std::vector<std::string> sentences;
  // One declaration may serve nodes of several versions. A version without the gate contradicts nothing.
  if (auto rules = RulesFor(settings); rules && *rules < kFirstWithGate) return sentences;
  if (declared.policy) {
    std::string policy = PolicyContradiction(*declared.policy, config, flags, settings);
    if (!policy.empty()) sentences.push_back(policy);
  }
  if (!declared.allowlist.empty() && !SamePatterns(declared.allowlist, settings.allowlist)) {
    sentences.push_back("declared allowlist " + Shown(declared.allowlist) + ", but " +
                        SourceText(config.allowlist.from) + " says " + Shown(settings.allowlist));
  }
  return sentences;
}

// Paths that were declared may lie below a mount of ours; they differ if they do not even end as kubelet's
// do.
std::vector<std::string> PathContradictions(const KubeletDeclarations& declared,
                                            const CommandLine& command_line, const std::string& host_root) {
  std::vector<std::string> sentences;
  AddPath("kubelet root", declared.root, host_root, sentences);
  AddPath("kubelet configuration", declared.config_file, command_line.config, sentences);
  AddPath("kubelet drop-in folder", declared.config_dir, command_line.config_dir, sentences);
  return sentences;
}

// Adds the sources of settings, in the order of NodeFacts.
void AddSettingsSources(const std::optional<KubeletConfig>& config, const CommandLine& flags,
                        bool gate_is_reported, NodeFacts& facts) {
  auto& sources = facts.sources;
  if (config) {
    sources.emplace_back("verification", SourceOrDefault(config->policy.from));
    sources.emplace_back("allowlist", SourceOrDefault(config->allowlist.from));
  } else {
    if (facts.settings.policy) sources.emplace_back("verification", kDeclaredSource);
    if (!facts.settings.allowlist.empty()) sources.emplace_back("allowlist", kDeclaredSource);
  }
  if (gate_is_reported) {
    sources.emplace_back("gate", kMetricsSource);
  } else if (flags.gates != FeatureGates{}) {
    sources.emplace_back("gate", kCommandLineSource);
  } else if (config) {
    sources.emplace_back("gate", SourceOrDefault(config->gates.from));
  }
  if (config) sources.emplace_back("imageGC", GcSource(*config, flags));
}

// The settings of the running kubelet, as far as any source has them.
struct InForce {
  std::optional<KubeletConfig> config;   // nullopt: not known
  CommandLine flags;                     // those that come on top of it
  std::optional<SettingsFacts> written;  // what files and flags say, where kubelet itself says what counts
};

InForce SettingsInForce(const KubeletDeclarations& declared, const ConfigReading& reading,
                        const std::optional<CommandLine>& command_line, const KubeletReport* reported) {
  InForce in_force{.config = KnownConfig(reading, command_line),
                   .flags = command_line.value_or(CommandLine{})};
  if (!in_force.flags.problems.empty()) in_force.flags.gates = {};  // only some of them could be read
  // K45: /configz has what is in force, whatever the files say by now. The files are kept for PendingChanges.
  if (reported == nullptr || !reported->config) return in_force;
  if (in_force.config) in_force.written = SettingsOf(in_force.config, in_force.flags, declared);
  in_force.config = reported->config;
  in_force.flags = {};  // they are in it
  return in_force;
}

}  // namespace

NodeFacts MakeNodeFacts(const KubeletDeclarations& declared, const ConfigReading& reading,
                        const std::optional<CommandLine>& command_line, const std::string& host_prefix,
                        const KubeletReport* reported) {
  const auto [config, flags, written] = SettingsInForce(declared, reading, command_line, reported);
  const std::string root_flag = command_line ? command_line->root_dir : "";
  const std::string host_root = root_flag.empty() ? image::kDefaultKubeletRoot : root_flag;
  const bool is_reported = reported != nullptr && reported->config;
  const bool gate_is_reported = reported != nullptr && reported->gate;

  NodeFacts facts;
  facts.root = declared.root.empty() ? host_prefix + host_root : declared.root;
  std::vector<std::string> unreadable = reading.problems;
  if (command_line) Append(unreadable, command_line->problems);
  // If kubelet itself reports its settings, a file that cannot be read takes nothing away. It is only a
  // warning then.
  Append(is_reported ? facts.contradictions : facts.problems, unreadable);
  facts.settings = SettingsOf(config, flags, declared);
  // /configz does not show gates that nobody set (K45), so the metric wins.
  if (gate_is_reported) facts.settings.gates.ensure_secret_pulled_images = reported->gate;
  if (reported != nullptr) Append(facts.contradictions, reported->remarks);
  std::vector<std::string> refusals = Refusals(config, flags, facts.settings);
  Append(facts.problems, refusals);

  if (declared.version) facts.sources.emplace_back("version", kDeclaredSource);
  if (refusals.empty()) {
    if (config) facts.gc = GcRulesOf(*config, flags);
    if (config) {
      Append(facts.contradictions, SettingsContradictions(declared, *config, flags, facts.settings));
    }
    if (written) Append(facts.contradictions, PendingChanges(facts.settings, *written, FileOf(reading)));
    AddSettingsSources(config, flags, gate_is_reported, facts);
  } else {
    // Settings with which no kubelet starts are not those of the kubelet that runs: nothing is known but the
    // version.
    facts.settings = {.version = declared.version, .rules = declared.rules};
  }
  if (command_line) Append(facts.contradictions, PathContradictions(declared, *command_line, host_root));
  facts.sources.emplace_back("root", !declared.root.empty() ? kDeclaredSource
                                     : root_flag.empty()    ? kDefaultSource
                                                            : kCommandLineSource);
  if (reading.state != ConfigReading::State::kNone)
    facts.sources.emplace_back("configFile", OriginName(reading.origin));
  return facts;
}

namespace {

using image::KubeletVersion;

// Returns true if kubelet fills in a policy that is not configured (K49).
bool HasFilledInPolicy(const KubeletConfig& config, const FeatureGates& flags, KubeletVersion version) {
  // Without a main file the defaults are filled in before even the flags are read.
  bool main = !config.main_file.empty();
  FeatureGates first = main ? MergeGates(flags, config.main_gates) : FeatureGates{};
  bool filled = VerifiesImages(first, version) && !config.policy_cleared;
  if (!config.drop_ins) return filled;
  FeatureGates files = config.gates.value.value_or(FeatureGates{});
  return filled || VerifiesImages(MergeGates(flags, files), version);
}

std::string PolicyStartupError(const KubeletConfig& config, const FeatureGates& flags,
                               KubeletVersion version) {
  if (config.policy.value) return "";  // PossibleSettings looks at those
  FeatureGates files = config.gates.value.value_or(FeatureGates{});
  bool gate = VerifiesImages(MergeGates(files, flags), version);
  bool policy = HasFilledInPolicy(config, flags, version);
  if (gate == policy) return "";
  const std::string gate_name = "the feature gate KubeletEnsureSecretPulledImages";
  if (policy) {
    return "kubelet " + version.ToString() + " fills in its verification policy before " + gate_name +
           " is turned off by a drop-in or flag, and then does not start; turn it off in the main file, or "
           "have the drop-in set imagePullCredentialsVerificationPolicy to null";
  }
  return "kubelet " + version.ToString() + " has no verification policy when " + gate_name +
         " is turned on by a flag against its files, and then does not start; set "
         "imagePullCredentialsVerificationPolicy";
}

}  // namespace

GcRules GcRulesOf(const KubeletConfig& config, const CommandLine& flags) {
  GcRules limits;
  limits.high_percent =
      flags.gc_high_percent.value_or(config.gc_high_percent.value.value_or(limits.high_percent));
  limits.low_percent =
      flags.gc_low_percent.value_or(config.gc_low_percent.value.value_or(limits.low_percent));
  limits.minimum_age =
      flags.gc_minimum_age.value_or(config.gc_minimum_age.value.value_or(limits.minimum_age));
  limits.maximum_age = config.gc_maximum_age.value.value_or(limits.maximum_age);
  return limits;
}

std::vector<std::string> StartupErrors(const KubeletConfig& config, const CommandLine& flags,
                                       std::optional<KubeletVersion> version) {
  std::vector<std::string> reasons;
  GcRules limits = GcRulesOf(config, flags);
  if (limits.low_percent >= limits.high_percent) {
    reasons.push_back("imageGCLowThresholdPercent (" + std::to_string(limits.low_percent) +
                      ") must be lower than imageGCHighThresholdPercent (" +
                      std::to_string(limits.high_percent) + ")");
  }
  if (limits.maximum_age.count() > 0 && limits.maximum_age <= limits.minimum_age) {
    reasons.push_back("imageMaximumGCAge (" + doc::FormatDuration(limits.maximum_age) +
                      ") must be longer than imageMinimumGCAge (" + doc::FormatDuration(limits.minimum_age) +
                      ")");
  }
  if (version) {
    if (std::string why = PolicyStartupError(config, flags.gates, *version); !why.empty())
      reasons.push_back(why);
  }
  return reasons;
}

}  // namespace prefetch::kubelet
