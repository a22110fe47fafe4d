#include "kubelet/node_facts_reader.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>
#include <string_view>

#include "base/find_with_default.h"
#include "base/go_url.h"
#include "base/process_stat.h"
#include "base/text.h"

namespace prefetch::kubelet {

namespace {

// A declared root is a path as this process reaches it. kubelet's own flag is a path of the host.
std::string RootOnHost(const std::string& root, const std::string& host_prefix) {
  return root.starts_with(host_prefix) ? root.substr(host_prefix.size()) : root;
}

}  // namespace

NodeFactsReader::NodeFactsReader(KubeletDeclarations declared, std::string proc_dir,
                                 std::vector<WellKnownConfig> well_known, std::string host_prefix)
    : declared_(std::move(declared)),
      well_known_(std::move(well_known)),
      host_prefix_(std::move(host_prefix)),
      polls_process_(!proc_dir.empty()),
      process_(std::move(proc_dir), RootOnHost(declared_.root, host_prefix_)),
      start_(polls_process_ ? "" : declared_.start_file) {}

bool NodeFactsReader::PollProcess() {
  const std::string before = process_.process();
  const bool changed = process_.Poll() || process_.process() != before;
  return start_.Poll() || changed;
}

void NodeFactsReader::ChooseFiles() {
  using Origin = ConfigReading::Origin;
  candidates_.clear();
  const std::optional<CommandLine>& line = process_.command_line();
  bool is_declared = IsDeclared();
  if (!is_declared && !line) {
    // If there are several kubelets, a usual path may belong to any of them.
    if (!process_.problems().empty()) return;
    for (const WellKnownConfig& usual : well_known_) {
      candidates_.emplace_back(OnHost(usual.file), OnHost(usual.drop_ins), Origin::kWellKnown);
    }
    return;
  }
  std::string file = line ? OnHost(line->config) : "";
  std::string folder = line ? OnHost(line->config_dir) : "";
  // A declared path replaces the one of the command line, file and folder each by itself.
  Origin origin = !declared_.config_file.empty() || file.empty() ? Origin::kDeclared : Origin::kCommandLine;
  if (!is_declared) origin = Origin::kCommandLine;
  if (!declared_.config_file.empty()) file = declared_.config_file;
  if (!declared_.config_dir.empty()) folder = declared_.config_dir;
  if (!file.empty() || !folder.empty()) candidates_.emplace_back(file, folder, origin);
}

bool NodeFactsReader::HasChanged() {
  if (PollProcess()) process_changed_ = true;
  if (!facts_ || process_changed_) return true;
  for (const ConfigFiles& files : candidates_) {
    if (files.HasChanged()) return true;
    // Read() stops at the first candidate with a configuration, so later ones have no say.
    if (files.reading().state != ConfigReading::State::kNone) break;
  }
  return false;
}

std::string NodeFactsReader::provider_config() const {
  const std::optional<CommandLine>& line = process_.command_line();
  return line ? OnHost(line->image_credential_provider_config) : "";
}

std::string NodeFactsReader::provider_bin_dir() const {
  const std::optional<CommandLine>& line = process_.command_line();
  return line ? OnHost(line->image_credential_provider_bin_dir) : "";
}

NodeFacts NodeFactsReader::Read(const std::shared_ptr<const KubeletReport>& reported) {
  if (PollProcess()) process_changed_ = true;
  // Another process may name other files, so the candidates are chosen anew. Their caches go with them.
  const bool chosen = std::exchange(chosen_, true);
  if (std::exchange(process_changed_, false) || !chosen) {
    ChooseFiles();
    facts_.reset();
  }
  static const ConfigReading kNothing;
  const ConfigReading* reading = &kNothing;
  for (ConfigFiles& files : candidates_) {
    reading = &files.Read();
    if (reading->state != ConfigReading::State::kNone) break;
  }
  // Combine is pure: equal inputs give the same facts.
  if (facts_ && *reading == reading_ && reported == reported_) return *facts_;
  reading_ = *reading;
  reported_ = reported;
  facts_ = MakeNodeFacts(declared_, reading_, process_.command_line(), host_prefix_, reported_.get());
  if (!IsDeclared()) {
    const std::vector<std::string>& problems = process_.problems();
    facts_->problems.insert(facts_->problems.end(), problems.begin(), problems.end());
  }
  return *facts_;
}

namespace {

constexpr std::size_t kLongestConfig = 1 << 20;
// Old network filesystems stamp files by the second.
constexpr std::chrono::seconds kTick{1};

}  // namespace

ConfigFiles::ConfigFiles(std::string file, std::string drop_ins, ConfigReading::Origin origin)
    : file_(std::move(file)), folder_(std::move(drop_ins)), origin_(origin) {}

ConfigFiles::Stamps ConfigFiles::ReadStamps() const {
  Stamps stamps;
  if (!file_.empty()) stamps.main = base::StampOf(file_);
  // A usual folder is a guess. It says nothing if the usual file beside it is not there.
  if (folder_.empty() || (IsWellKnown() && stamps.main.error != 0)) return stamps;
  auto drop_ins = ListDropIns(folder_);
  if (drop_ins) {
    stamps.drop_ins = *std::move(drop_ins);
  } else {
    stamps.folder_error = drop_ins.error();
  }
  return stamps;
}

bool ConfigFiles::IsStable(const Stamps& stamps) {
  return base::IsSettled(stamps.main, kTick) &&
         std::all_of(stamps.drop_ins.begin(), stamps.drop_ins.end(),
                     [](const DropIn& drop_in) { return base::IsSettled(drop_in.stamp, kTick); });
}

ConfigReading ConfigFiles::InvalidReading(const std::string& lines) const {
  ConfigReading reading{.state = ConfigReading::State::kInvalid, .origin = origin_};
  for (std::string_view line : base::Split(lines, '\n')) {
    reading.problems.push_back("kubelet's configuration cannot be used: " + std::string(line));
  }
  return reading;
}

ConfigReading ConfigFiles::ReadAll(const Stamps& stamps) const {
  ConfigReading none{.state = ConfigReading::State::kNone, .origin = origin_};
  ConfigDocuments documents;
  if (!file_.empty()) {
    auto text = base::ReadFile(file_, kLongestConfig);
    if (!text) {
      // A file at a usual place is a guess, so its absence is no mistake. Any other failure to read it is
      // reported.
      bool absent = text.error().code() == base::Code::kNotFound;
      return IsWellKnown() && absent ? none : InvalidReading(text.error().message());
    }
    // Some distributions keep a kubeconfig under the same name.
    if (IsWellKnown() && !IsKubeletConfig(*text)) return none;
    documents.main = ConfigDocument{file_, *std::move(text)};
  }
  bool folder_absent = stamps.folder_error && stamps.folder_error->code() == base::Code::kNotFound;
  bool has_folder = !folder_.empty() && !(IsWellKnown() && folder_absent);
  if (has_folder && stamps.folder_error) {
    return InvalidReading("drop-in folder " + folder_ + ": " + stamps.folder_error->message());
  }
  if (has_folder) documents.drop_ins.emplace();
  for (const DropIn& drop_in : stamps.drop_ins) {
    auto text = base::ReadFile(drop_in.path, kLongestConfig);
    // One file that cannot be read makes all settings unknown, since it may set any of them.
    if (!text) return InvalidReading(text.error().message());
    documents.drop_ins->push_back({drop_in.path, *std::move(text)});
  }
  if (!documents.main && stamps.drop_ins.empty() && IsWellKnown()) return none;
  auto config = MergeKubeletConfigs(documents);
  if (!config) return InvalidReading(config.error().message());
  return {.state = ConfigReading::State::kRead, .origin = origin_, .config = *std::move(config)};
}

const ConfigReading& ConfigFiles::Read() {
  Stamps stamps = ReadStamps();
  if (seen_ && *seen_ == stamps) return reading_;
  // The stamps are taken before the files are read: a change in between shows in the next poll. If the files
  // are too young, they are read again next time.
  bool settled = IsStable(stamps);
  reading_ = ReadAll(stamps);
  seen_ = settled ? std::optional<Stamps>(std::move(stamps)) : std::nullopt;
  return reading_;
}

namespace {

// Bounds of one walk. It runs at each poll of kubelet's configuration, so a path that leads to a huge folder
// must not cost more.
constexpr std::size_t kMaxEntries = 1000;
constexpr std::size_t kMaxDepth = 16;

// Adds the drop-ins at `path` and below. `entries` counts all that was seen; the depth limit bounds the
// recursion.
base::Status AddDropIns(const std::string& path, std::size_t depth, std::size_t& entries,
                        std::vector<DropIn>& found) {
  struct stat info {};
  if (++entries > kMaxEntries || depth > kMaxDepth) {
    return base::ResourceExhausted("more than " + std::to_string(kMaxEntries) + " entries or " +
                                   std::to_string(kMaxDepth) + " levels");
  }
  // lstat, so that a link to a directory is not followed, as with kubelet. A loop is impossible then.
  if (::lstat(path.c_str(), &info) != 0) return base::FromErrno(errno, "stat " + path);
  if (!S_ISDIR(info.st_mode)) {
    if (path.ends_with(".conf")) found.push_back({path, base::StampOf(path)});
    return {};
  }
  // ListDirectory sorts by name, which is kubelet's order (K48).
  auto names = base::ListDirectory(path, kMaxEntries);
  if (!names) return std::move(names).error();
  for (const std::string& name : *names) {
    base::Status added = AddDropIns(base::JoinPath(path, name), depth + 1, entries, found);
    if (!added) return added;
  }
  return {};
}

}  // namespace

base::Result<std::vector<DropIn>> ListDropIns(const std::string& folder) {
  std::vector<DropIn> found;
  std::size_t entries = 0;
  if (base::Status added = AddDropIns(folder, 0, entries, found); !added) return std::move(added).error();
  return found;
}

std::string StartFileOf(const std::string& runtime_socket) {
  return runtime_socket.find("/run/k3s/") != std::string::npos ? runtime_socket : "";
}

bool StartFile::Poll() {
  if (path_.empty()) return false;
  const base::FileStamp stamp = base::StampOf(path_);
  if (stamp.error != 0) return false;
  // ctime does not serve: a socket gets its mode and owner after it was created. The inode alone may be
  // reused.
  std::string now = std::to_string(stamp.inode) + "@" + std::to_string(stamp.modified_ns);
  if (now == seen_) return false;
  seen_ = std::move(now);
  created_ns_ = stamp.modified_ns;
  return true;
}

std::optional<base::WallTime> StartFile::CreatedAt() const {
  if (seen_.empty()) return std::nullopt;
  return base::WallTime(
      std::chrono::duration_cast<base::WallTime::duration>(std::chrono::nanoseconds(created_ns_)));
}

namespace {

constexpr std::size_t kLongestFile = 1 << 20;
constexpr std::size_t kMostProcesses = 1 << 20;
// A process may become kubelet after its start, as a script does by exec. Its first polls cover the usual
// case; the look at all processes covers the others.
constexpr unsigned kScansOfNewProcess = 3;
constexpr unsigned kScansBetweenFullScans = 16;
// A second kubelet that is younger may be about to become another program, or the first about to end.
constexpr double kTransientSeconds = 1;

// Returns the words behind "Uid:" in /proc/PID/status, say.
std::vector<std::string_view> StatusField(std::string_view status, std::string_view name) {
  for (std::string_view line : base::Split(status, '\n')) {
    if (!line.starts_with(name)) continue;
    std::vector<std::string_view> words = base::Split(base::TrimSpace(line.substr(name.size())), '\t');
    return words;
  }
  return {};
}

// Rejects processes of other users and of containers: any of them may call itself kubelet, and must not
// choose the files that the agent reads.
bool IsHostProcess(std::string_view status) {
  std::vector<std::string_view> uids = StatusField(status, "Uid:");
  if (uids.empty() || (uids[0] != "0" && uids[0] != std::to_string(::geteuid()))) return false;
  // A number for each PID namespace that the process is in, from the one of this /proc inwards.
  return StatusField(status, "NSpid:").size() == 1;
}

// kubelet resolves relative paths by its working directory. If that cannot be read, the path is dropped and
// reported: the agent's own directory would lead to another file.
void MakeAbsolute(const std::string& process, CommandLine& line) {
  for (std::string* path :
       {&line.root_dir, &line.config, &line.config_dir, &line.image_credential_provider_config,
        &line.image_credential_provider_bin_dir}) {
    if (path->empty() || path->starts_with('/')) continue;
    std::error_code error;
    std::string directory = std::filesystem::read_symlink(process + "/cwd", error).string();
    if (!error) {
      path->insert(0, directory + "/");
      continue;
    }
    line.problems.push_back("kubelet was given the relative path " + base::ToUtf8(*path) +
                            ", and its working directory cannot be read: " + error.message());
    path->clear();
  }
}

}  // namespace

KubeletProcess::KubeletProcess(std::string proc_dir, std::string root)
    : proc_dir_(std::move(proc_dir)), root_(base::CleanedPath(root)) {}

bool KubeletProcess::MatchesRoot(const CommandLine& line) const {
  return root_.empty() ||
         root_ == base::CleanedPath(line.root_dir.empty() ? image::kDefaultKubeletRoot : line.root_dir);
}

bool KubeletProcess::StillRuns() const {
  if (pid_.empty()) return false;
  auto text = base::ReadFile(proc_dir_ + "/" + pid_ + "/stat", kLongestFile);
  if (!text) return false;
  std::optional<base::ProcessStat> stat = base::ParseProcessStat(*text);
  // The kernel reuses process ids. Only id and start time together name a process.
  return stat && stat->started == started_ && !stat->HasExited();
}

std::optional<KubeletProcess::Candidate> KubeletProcess::Examine(const std::string& pid) const {
  const std::string process = proc_dir_ + "/" + pid;
  // The name first: reading a cmdline can wait for a process that hangs in the kernel, reading stat cannot.
  auto text = base::ReadFile(process + "/stat", kLongestFile);
  if (!text) return std::nullopt;
  std::optional<base::ProcessStat> stat = base::ParseProcessStat(*text);
  if (!stat || stat->HasExited() || (stat->name != "kubelet" && stat->name != "hyperkube"))
    return std::nullopt;
  auto status = base::ReadFile(process + "/status", kLongestFile);
  if (!status || !IsHostProcess(*status)) return std::nullopt;
  auto cmdline = base::ReadFile(process + "/cmdline", kLongestFile);
  if (!cmdline) return std::nullopt;
  std::vector<std::string> arguments = SplitArguments(*cmdline);
  if (!IsKubelet(arguments)) return std::nullopt;
  Candidate found{pid, std::string(stat->parent), std::string(stat->started), ParseCommandLine(arguments)};
  MakeAbsolute(process, found.command_line);
  return found;
}

// Returns all processes that look like a kubelet of this host.
std::vector<KubeletProcess::Candidate> KubeletProcess::Scan() {
  std::vector<Candidate> all;
  auto names = base::ListDirectory(proc_dir_, kMostProcesses);
  if (!names) return all;
  // Most processes stay what they are, and a node has thousands, so known ones are skipped between the full
  // scans.
  const bool examine_all = scans_++ % kScansBetweenFullScans == 0;
  std::map<std::uint64_t, unsigned> others;
  for (const std::string& name : *names) {
    const auto pid = base::ParseUint(name);
    if (!pid) continue;
    unsigned scans = base::FindWithDefault(others_, *pid);
    if (examine_all || scans < kScansOfNewProcess) {
      if (std::optional<Candidate> found = Examine(name)) {
        all.push_back(*std::move(found));
        continue;
      }
      scans++;
    }
    others[*pid] = scans;
  }
  others_ = std::move(others);
  return all;
}

// Removes candidates that are probably not the kubelet: children of another candidate, and very young
// processes. There may be several candidates left, or none; in that case the next poll decides.
void KubeletProcess::DropTransient(std::vector<Candidate>& all) const {
  std::set<std::string> pids;
  for (const Candidate& one : all) pids.insert(one.pid);
  auto uptime = base::ReadFile(proc_dir_ + "/uptime", kLongestFile);
  const double now = uptime ? std::strtod(uptime->c_str(), nullptr) : 0;
  const double ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  std::erase_if(all, [&](const Candidate& one) {
    if (pids.contains(one.parent)) return true;
    return now > 0 && now - std::strtod(one.started.c_str(), nullptr) / ticks < kTransientSeconds;
  });
}

// Removes the kubelets of other roots if the one that is meant runs here, or was seen here. While it is away,
// another kubelet must not take its place.
void KubeletProcess::DropOtherRoots(std::vector<Candidate>& all) const {
  const auto is_meant = [this](const Candidate& one) { return MatchesRoot(one.command_line); };
  const bool seen = command_line_ && MatchesRoot(*command_line_);
  if (!seen && std::none_of(all.begin(), all.end(), is_meant)) return;
  std::erase_if(all, std::not_fn(is_meant));
}

// Returns whether the command line or the problems have changed. While the meant kubelet still runs, no other
// process is examined.
bool KubeletProcess::Poll() {
  if (proc_dir_.empty()) return false;
  // A kubelet of another root counts until the one that is meant starts.
  if (StillRuns() && MatchesRoot(*command_line_)) return false;
  std::vector<Candidate> all = Scan();
  DropOtherRoots(all);
  std::optional<CommandLine> command_line = command_line_;
  std::vector<std::string> problems;
  if (all.size() > 1) DropTransient(all);
  if (all.size() == 1) {
    pid_ = all.front().pid;
    started_ = all.front().started;
    process_ = pid_ + "@" + started_;
    command_line = std::move(all.front().command_line);
    if (MatchesRoot(*command_line)) others_.clear();
  } else if (all.size() > 1) {
    // With several kubelets, the agent takes none rather than the wrong one.
    command_line.reset();
    pid_.clear();
    problems.push_back(std::to_string(all.size()) + " kubelets run here, as processes " + all[0].pid +
                       " and " + all[1].pid + (all.size() > 2 ? " and others" : "") +
                       "; set --kubelet-root to the --root-dir of the one that is meant, or declare its "
                       "configuration file");
  }
  bool changed = command_line != command_line_ || problems != problems_;
  command_line_ = std::move(command_line);
  problems_ = std::move(problems);
  return changed;
}

std::optional<base::WallTime> KubeletProcess::StartedAt() const {
  auto machine = base::ReadFile(proc_dir_ + "/stat", kLongestFile);
  if (process_.empty() || !machine) return std::nullopt;
  return base::StartOf(started_, *machine);
}

std::vector<WellKnownConfig> WellKnownConfigs() {
  return {
      {"/var/lib/kubelet/config.yaml", ""},                                              // kubeadm
      {"/home/kubernetes/kubelet-config.yaml", ""},                                      // GKE
      {"/etc/kubernetes/kubelet/config.json", "/etc/kubernetes/kubelet/config.json.d"},  // EKS
      {"/etc/kubernetes/kubelet/config", ""},                                            // Bottlerocket
      {"/etc/default/kubeletconfig.json", ""},                                           // AKS
      {"/etc/kubernetes/kubelet.yaml", ""},                                              // Talos
      {"/var/lib/microshift/resources/kubelet/config/config.yaml", ""},                  // microshift
      {"/etc/kubernetes/kubelet.conf", "/etc/openshift/kubelet.conf.d"},                 // OpenShift
      {"", "/var/lib/rancher/k3s/agent/etc/kubelet.conf.d"},                             // k3s
      {"", "/var/lib/rancher/rke2/agent/etc/kubelet.conf.d"},                            // RKE2
  };
}

}  // namespace prefetch::kubelet
