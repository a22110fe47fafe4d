// NodeFactsReader: reads the node's facts about its kubelet: the command line, the configuration file, the
// drop-ins (K46 to K50). It writes nothing, and opens nothing that kubelet does not name.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "kubelet/config_files.h"
#include "kubelet/kubelet_process.h"
#include "kubelet/node_facts.h"
#include "kubelet/start_file.h"

namespace prefetch::kubelet {

// Where distributions put kubelet's configuration (K50).
struct UsualConfig {
  std::string file;      // empty: this distribution has drop-ins only
  std::string drop_ins;  // empty: no such folder

  friend bool operator==(const UsualConfig&, const UsualConfig&) = default;
};

// In the order in which they are tried. A file found there is a guess: flags may say more, and a file of
// such a name may be something else.
std::vector<UsualConfig> UsualConfigs();

// No lock: several threads may use it, one after the other. Blocks only as a disk does.
class NodeFactsReader {
 public:
  // `proc_dir`: /proc if the host's processes can be seen there; empty: do not look. `usual` (UsualConfigs())
  // are tried in turn if neither `declared` nor a command line names a file: the first that is there counts.
  // `host_prefix` is put before every path that the command line or `usual` names, for a host's filesystem
  // that is mounted at a place of its own; absolute links on it then lead astray.
  NodeFactsReader(Declared declared, std::string proc_dir, std::vector<UsualConfig> usual,
                  std::string host_prefix = "");

  // Fresh each time, and cheap while nothing changes: a read of kubelet's stat, a stat of each file, and a
  // listing of the drop-in folder.
  // `reported` by the kubelet that runs, if it was asked: the same pointer means the same.
  NodeFacts Read(const std::shared_ptr<const ReportedByKubelet>& reported = nullptr);
  // Would Read() see another kubelet, or other files, than the last one did? By the same stats, and nothing
  // is made of them. Counts as a look for a kubelet that is away.
  bool Moved();

  // The command line of the kubelet that was seen, with the host's own paths, as of the last Read(); nullopt
  // if none was seen.
  const std::optional<CommandLine>& command_line() const { return process_.command_line(); }
  // Its --image-credential-provider-config and --image-credential-provider-bin-dir, as we reach them; empty:
  // it has none, or none was seen.
  std::string provider_config() const;
  std::string provider_bin_dir() const;
  // Another text, another process of kubelet's, or another start file where processes are not looked for;
  // empty: none was seen. As of the last Read().
  const std::string& process() const { return polls_process_ ? process_.process() : start_.seen(); }
  // When that process began; nullopt: it cannot be told.
  std::optional<base::WallTime> process_began_at() const {
    return polls_process_ ? process_.BeganAt() : start_.MadeAt();
  }

 private:
  bool IsDeclared() const { return !declared_.config_file.empty() || !declared_.config_dir.empty(); }
  void ChooseFiles();
  // Is kubelet another process than at the last poll?
  bool PollProcess();
  std::string OnHost(const std::string& path) const { return path.empty() ? "" : host_prefix_ + path; }

  const Declared declared_;
  const std::vector<UsualConfig> usual_;
  const std::string host_prefix_;
  const bool polls_process_;
  KubeletProcess process_;
  StartFile start_;
  bool process_changed_ = false;  // since the last Read()
  std::vector<ConfigFiles> candidates_;
  bool chosen_ = false;
  ConfigReading reading_;                              // what facts_ was made of
  std::shared_ptr<const ReportedByKubelet> reported_;  // likewise
  std::optional<NodeFacts> facts_;                     // nullopt: to be made
};

}  // namespace prefetch::kubelet
