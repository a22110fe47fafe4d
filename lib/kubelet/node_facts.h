// NodeFacts: the known facts about this node's kubelet, with their sources (K45 to K50). Pure;
// node_facts_reader.h gathers the inputs.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "image/kubelet_version.h"
#include "kubelet/command_line.h"
#include "kubelet/gc_forecast.h"
#include "kubelet/kubelet_config.h"
#include "kubelet/settings.h"

namespace prefetch::kubelet {

// Default of kubelet's --root-dir (K50).

// The operator's declarations about kubelet. Empty: none.
struct KubeletDeclarations {
  std::optional<image::KubeletVersion> version;
  std::optional<image::KubeletVersion> rules;  // as SettingsFacts::rules
  std::optional<VerificationPolicy> policy;
  std::vector<std::string> allowlist;
  // Paths as we reach them, which in a container may differ from kubelet's.
  std::string root;
  std::string config_file;
  std::string config_dir;
  // The file that each start of kubelet makes anew, where kubelet has no process of its own (StartFileOf);
  // empty: none.
  std::string start_file{};

  friend bool operator==(const KubeletDeclarations&, const KubeletDeclarations&) = default;
};

// The result of reading kubelet's configuration files.
struct ConfigReading {
  enum class State {
    kNone,     // none was named, and none is where they usually are
    kRead,     // as `config` has it
    kInvalid,  // `problems` says which file cannot be read, or which kubelet would refuse
  };
  enum class Origin { kDeclared, kCommandLine, kWellKnown };  // who named the files

  State state = State::kNone;
  Origin origin = Origin::kWellKnown;
  KubeletConfig config;               // if kRead
  std::vector<std::string> problems;  // if kInvalid

  friend bool operator==(const ConfigReading&, const ConfigReading&) = default;
};

struct NodeFacts {
  SettingsFacts settings;
  std::optional<GcRules> gc;  // none: not known
  // kubelet's root directory as we reach it.
  std::string root;
  // Where each fact is from: "version", "verification", "allowlist", "gate", "imageGC", "root", "configFile"
  // -> "declared", a file's path, "command line", "default",
  // "configz" or "kubelet's metrics". Facts that are not known are left out. A
  // default of kubelet's is from the main file, which could have said otherwise.
  std::vector<std::pair<std::string, std::string>> sources;
  // Where a declaration and the node differ, one sentence each. For verification and allowlist the node
  // counts, for paths the declaration. Also where kubelet runs with something else than its files say, and
  // what keeps it from starting again.
  std::vector<std::string> contradictions;
  // Files that cannot be read, and what kubelet would not start with; one sentence each. While there are any,
  // only the version is known and, where files could not be parsed, the declared settings.
  std::vector<std::string> problems;

  friend bool operator==(const NodeFacts&, const NodeFacts&) = default;
};

// `command_line`: of the kubelet that runs here, if it could be seen; one that names no file runs on its
// defaults. Flags beat files, which beat declarations. `host_prefix` is put before a root that is not
// declared. `reported`: by the kubelet that runs; null: it was not asked, or does not answer. Its answer wins
// over flags and files.
NodeFacts MakeNodeFacts(const KubeletDeclarations& declared, const ConfigReading& reading,
                        const std::optional<CommandLine>& command_line, const std::string& host_prefix = "",
                        const KubeletReport* reported = nullptr);

// The functions below check whether a kubelet would start with these files and flags. They check across
// fields (K8, K44, K49); MergeKubeletConfigs checks single fields. Pure. Internal to kubelet/.

// Flags beat files, files beat kubelet's defaults.
GcRules GcRulesOf(const KubeletConfig& config, const CommandLine& flags);

// Returns the reasons why kubelet would not start, one sentence each; empty if there is none. Without a
// version, checks that depend on it are left out.
//
// Note that kubelet fills in its default policy before it reads drop-ins and flags. If one of these turns the
// gate off, the policy that kubelet filled in remains; if one turns it on, there is no policy. kubelet
// rejects both.
std::vector<std::string> StartupErrors(const KubeletConfig& config, const CommandLine& flags,
                                       std::optional<image::KubeletVersion> version);

}  // namespace prefetch::kubelet
