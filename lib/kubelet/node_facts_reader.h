// NodeFactsReader: reads the node's facts about its kubelet: the command line, the configuration file, the
// drop-ins (K46 to K50). It writes nothing, and opens nothing that kubelet does not name. Its parts, internal
// to kubelet/:
//   ListDropIns      the files in kubelet's --config-dir
//   ConfigFiles      kubelet's configuration file and its drop-ins, read again when they change
//   StartFile        a file that shows a start of kubelet
//   KubeletProcess   the running kubelet and its flags
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/fs.h"
#include "base/result.h"
#include "kubelet/command_line.h"
#include "kubelet/node_facts.h"

namespace prefetch::kubelet {

struct DropIn {
  std::string path;
  base::FileStamp stamp;

  friend bool operator==(const DropIn&, const DropIn&) = default;
};

// Returns the files in kubelet's --config-dir, in kubelet's order (K48): every file below `folder` whose name
// ends in .conf. Each directory is sorted by name, and the files of a subdirectory stand at the place of its
// name. Links to files are followed; links to directories are not, as in kubelet, so that there is no loop.
// If `folder` itself is such a link, nothing is found. Returns NotFound and PermissionDenied as the system
// reports them, and ResourceExhausted beyond 1000 entries or 16 levels.
base::Result<std::vector<DropIn>> ListDropIns(const std::string& folder);

// kubelet's main configuration file and its drop-ins, read again only when they changed. Part of one
// NodeFactsReader. Blocks only as a disk does. Only regular files of at most 1 MiB are read.
class ConfigFiles {
 public:
  // Either path may be empty. A configured file must exist and be valid; a usual one may be absent or no
  // KubeletConfiguration, and is then kNone.
  ConfigFiles(std::string file, std::string drop_ins, ConfigReading::Origin origin);

  const ConfigReading& Read();
  // Returns whether Read() would read anything again. Only calls stat and lists the drop-in folder.
  bool HasChanged() const { return !seen_ || *seen_ != ReadStamps(); }
  const ConfigReading& reading() const { return reading_; }  // of the last Read()

 private:
  // The state of the folder and the stamps, which shows whether anything must be read.
  struct Stamps {
    base::FileStamp main;
    std::optional<base::Error> folder_error;
    std::vector<DropIn> drop_ins;

    friend bool operator==(const Stamps&, const Stamps&) = default;
  };

  Stamps ReadStamps() const;
  // Returns true if the files are so old that a change from now on shows in their stamps.
  static bool IsStable(const Stamps& stamps);
  ConfigReading ReadAll(const Stamps& stamps) const;
  ConfigReading InvalidReading(const std::string& lines) const;
  bool IsWellKnown() const { return origin_ == ConfigReading::Origin::kWellKnown; }

  std::string file_;
  std::string folder_;
  ConfigReading::Origin origin_;
  std::optional<Stamps> seen_;  // what reading_ was made of; nullopt: read again in any case
  ConfigReading reading_;
};

// The socket of K3s' own containerd: K3s ends with it, and it with K3s (k3s-io/k3s
// pkg/agent/containerd/containerd.go), which is kubelet too. Empty: none for this runtime. Pure.
std::string StartFileOf(const std::string& runtime_socket);

// A file that is created anew whenever kubelet starts. If kubelet is a part of another program, it shows a
// start as kubelet's own process would. Part of one NodeFactsReader. Blocks as a disk does.
class StartFile {
 public:
  explicit StartFile(std::string path) : path_(std::move(path)) {}  // empty: there is none

  // Calls stat once. Returns true if it is another file than before; a file that is missing for a while is
  // not another one.
  bool Poll();
  // Returns a text that changes with the file; empty if none was seen.
  const std::string& seen() const { return seen_; }
  // Returns the time at which it was created; nullopt if none was seen.
  std::optional<base::WallTime> CreatedAt() const;

 private:
  const std::string path_;
  std::string seen_;
  std::int64_t created_ns_ = 0;
};

// Finds the kubelet that runs here, and its flags (K46). Part of one NodeFactsReader. Reads a process' stat
// and status, and its cmdline and cwd only if its name is kubelet's.
//
// A process counts only if it belongs to root (or to the agent's own user) and is in no container: anybody
// can name a process "kubelet", and a pod must not choose the files that the agent reads. Embedded kubelets
// (k3s, microshift) are not found. A child of kubelet looks like kubelet until it executes another program,
// and during a restart there are two for a moment.
class KubeletProcess {
 public:
  // `proc_dir` is /proc of the host's processes; empty: do not look. `root`, with the host's own path, is the
  // --root-dir of the kubelet that is meant; empty: none is declared. One kubelet alone counts whatever its
  // root.
  KubeletProcess(std::string proc_dir, std::string root);

  // Reads one file while the kubelet that was found runs. Otherwise lists the processes, and examines the new
  // ones and, at each 16th call, all. Returns true if a member below changed.
  bool Poll();

  // Identifies the process that runs, and differs for the next one; empty: none was seen yet. Kept, like the
  // command line, while kubelet is away.
  const std::string& process() const { return process_; }
  // When it began, to the second; nullopt: none was seen, or the host's boot time cannot be read.
  std::optional<base::WallTime> StartedAt() const;
  // Its paths are absolute. Returns nullopt if no kubelet was ever seen, or if there are several. While
  // kubelet is away, returns the flags with which it ran last.
  const std::optional<CommandLine>& command_line() const { return command_line_; }
  // Returns a sentence for each problem.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  struct Candidate {
    std::string pid;
    std::string parent;   // the pid
    std::string started;  // in the kernel's ticks, as it was written
    CommandLine command_line;
  };

  bool StillRuns() const;
  bool MatchesRoot(const CommandLine& line) const;
  void DropOtherRoots(std::vector<Candidate>& all) const;
  std::vector<Candidate> Scan();
  void DropTransient(std::vector<Candidate>& all) const;
  std::optional<Candidate> Examine(const std::string& pid) const;

  const std::string proc_dir_;
  const std::string root_;
  std::string pid_;  // empty: not found
  std::string started_;
  std::string process_;
  unsigned scans_ = 0;
  std::map<std::uint64_t, unsigned> others_;  // how often each process was no kubelet
  std::optional<CommandLine> command_line_;
  std::vector<std::string> problems_;
};

// A place where distributions put kubelet's configuration (K50).
struct WellKnownConfig {
  std::string file;      // empty: this distribution has drop-ins only
  std::string drop_ins;  // empty: no such folder

  friend bool operator==(const WellKnownConfig&, const WellKnownConfig&) = default;
};

// In the order in which they are tried. A file found there is a guess: flags may say more, and a file of
// such a name may be something else.
std::vector<WellKnownConfig> WellKnownConfigs();

// No lock: several threads may use it, one after the other. Blocks only as a disk does.
class NodeFactsReader {
 public:
  // `proc_dir`: /proc if the host's processes can be seen there; empty: do not look. `well_known`
  // (WellKnownConfigs()) are tried in turn if neither `declared` nor a command line names a file: the first
  // that is there counts. `host_prefix` is put before every path that the command line or `well_known` names,
  // for a host's filesystem that is mounted at a place of its own; absolute links on it then lead astray.
  NodeFactsReader(KubeletDeclarations declared, std::string proc_dir, std::vector<WellKnownConfig> well_known,
                  std::string host_prefix = "");

  // Fresh each time, and cheap while nothing changes: a read of kubelet's stat, a stat of each file, and a
  // listing of the drop-in folder.
  // `reported` by the kubelet that runs, if it was asked: the same pointer means the same.
  NodeFacts Read(const std::shared_ptr<const KubeletReport>& reported = nullptr);
  // Returns whether the kubelet process or the files have changed since the last Read(). Makes the same
  // system calls, and parses nothing. Also polls for a kubelet that is away.
  bool HasChanged();

  // The command line of the kubelet that was seen, with the host's own paths, as of the last Read(); nullopt
  // if none was seen.
  const std::optional<CommandLine>& command_line() const { return process_.command_line(); }
  // Its --image-credential-provider-config and --image-credential-provider-bin-dir, as we reach them; empty:
  // it has none, or none was seen.
  std::string provider_config() const;
  std::string provider_bin_dir() const;
  // Returns a text that changes with kubelet's process, or with its start file if processes are not looked
  // for; empty if none was seen. It is as of the last Read().
  const std::string& process() const { return polls_process_ ? process_.process() : start_.seen(); }
  // Returns the start of that process; nullopt if it is unknown.
  std::optional<base::WallTime> process_started_at() const {
    return polls_process_ ? process_.StartedAt() : start_.CreatedAt();
  }

 private:
  bool IsDeclared() const { return !declared_.config_file.empty() || !declared_.config_dir.empty(); }
  void ChooseFiles();
  // Returns true if kubelet is another process than at the last poll.
  bool PollProcess();
  std::string OnHost(const std::string& path) const { return path.empty() ? "" : host_prefix_ + path; }

  const KubeletDeclarations declared_;
  const std::vector<WellKnownConfig> well_known_;
  const std::string host_prefix_;
  const bool polls_process_;
  KubeletProcess process_;
  StartFile start_;
  bool process_changed_ = false;  // since the last Read()
  std::vector<ConfigFiles> candidates_;
  bool chosen_ = false;
  ConfigReading reading_;                          // what facts_ was made of
  std::shared_ptr<const KubeletReport> reported_;  // likewise
  std::optional<NodeFacts> facts_;                 // nullopt: to be made
};

}  // namespace prefetch::kubelet
