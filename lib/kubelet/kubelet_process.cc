#include "kubelet/kubelet_process.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include "base/fs.h"
#include "base/process_stat.h"
#include "base/text.h"
#include "kubelet/node_facts.h"

namespace prefetch::kubelet {
namespace {

constexpr std::size_t kLongestFile = 1 << 20;
constexpr std::size_t kMostProcesses = 1 << 20;
// A process may become kubelet after its start, as a script does by exec. Its first polls cover the usual
// case; the look at all processes covers the others.
constexpr unsigned kScansOfNewProcess = 3;
constexpr unsigned kScansBetweenFullScans = 16;
// A second kubelet that is younger may be about to become another program, or the first about to end.
constexpr double kPassingSeconds = 1;

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
bool IsTheHosts(std::string_view status) {
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

std::string Normal(const std::string& path) {
  std::string normal = std::filesystem::path(path).lexically_normal().string();
  while (normal.size() > 1 && normal.ends_with('/')) normal.pop_back();
  return normal;
}

}  // namespace

KubeletProcess::KubeletProcess(std::string proc_dir, std::string root)
    : proc_dir_(std::move(proc_dir)), root_(Normal(root)) {}

bool KubeletProcess::IsMeant(const CommandLine& line) const {
  return root_.empty() || root_ == Normal(line.root_dir.empty() ? kDefaultRoot : line.root_dir);
}

bool KubeletProcess::StillRuns() const {
  if (pid_.empty()) return false;
  auto text = base::ReadFile(proc_dir_ + "/" + pid_ + "/stat", kLongestFile);
  if (!text) return false;
  std::optional<base::ProcessStat> stat = base::ParseProcessStat(*text);
  // The kernel reuses process ids. Only id and start time together name a process.
  return stat && stat->started == started_ && !stat->IsGone();
}

std::optional<KubeletProcess::Found> KubeletProcess::Examine(const std::string& pid) const {
  const std::string process = proc_dir_ + "/" + pid;
  // The name first: reading a cmdline can wait for a process that hangs in the kernel, reading stat cannot.
  auto text = base::ReadFile(process + "/stat", kLongestFile);
  if (!text) return std::nullopt;
  std::optional<base::ProcessStat> stat = base::ParseProcessStat(*text);
  if (!stat || stat->IsGone() || (stat->name != "kubelet" && stat->name != "hyperkube")) return std::nullopt;
  auto status = base::ReadFile(process + "/status", kLongestFile);
  if (!status || !IsTheHosts(*status)) return std::nullopt;
  auto cmdline = base::ReadFile(process + "/cmdline", kLongestFile);
  if (!cmdline) return std::nullopt;
  std::vector<std::string> arguments = SplitArguments(*cmdline);
  if (!IsKubelet(arguments)) return std::nullopt;
  Found found{pid, std::string(stat->parent), std::string(stat->started), ParseCommandLine(arguments)};
  MakeAbsolute(process, found.command_line);
  return found;
}

// Returns all processes that look like a kubelet of this host.
std::vector<KubeletProcess::Found> KubeletProcess::Scan() {
  std::vector<Found> all;
  auto names = base::ListDirectory(proc_dir_, kMostProcesses);
  if (!names) return all;
  // Most processes stay what they are, and a node has thousands, so known ones are skipped between the full
  // scans.
  const bool examine_all = scans_++ % kScansBetweenFullScans == 0;
  std::map<std::uint64_t, unsigned> others;
  for (const std::string& name : *names) {
    const auto pid = base::ParseUint(name);
    if (!pid) continue;
    auto before = others_.find(*pid);
    unsigned scans = before == others_.end() ? 0 : before->second;
    if (examine_all || scans < kScansOfNewProcess) {
      if (std::optional<Found> found = Examine(name)) {
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
void KubeletProcess::LeaveOutPassing(std::vector<Found>& all) const {
  std::set<std::string> pids;
  for (const Found& one : all) pids.insert(one.pid);
  auto uptime = base::ReadFile(proc_dir_ + "/uptime", kLongestFile);
  const double now = uptime ? std::strtod(uptime->c_str(), nullptr) : 0;
  const double ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  std::erase_if(all, [&](const Found& one) {
    if (pids.contains(one.parent)) return true;
    return now > 0 && now - std::strtod(one.started.c_str(), nullptr) / ticks < kPassingSeconds;
  });
}

// Removes the kubelets of other roots if the one that is meant runs here, or was seen here. While it is away,
// another kubelet must not take its place.
void KubeletProcess::LeaveOutOthers(std::vector<Found>& all) const {
  const auto is_meant = [this](const Found& one) { return IsMeant(one.command_line); };
  const bool seen = command_line_ && IsMeant(*command_line_);
  if (!seen && std::none_of(all.begin(), all.end(), is_meant)) return;
  std::erase_if(all, std::not_fn(is_meant));
}

// Returns whether the command line or the problems have changed. While the meant kubelet still runs, no other
// process is examined.
bool KubeletProcess::Poll() {
  if (proc_dir_.empty()) return false;
  const bool runs = StillRuns();
  // A kubelet of another root counts until the one that is meant starts.
  if (runs && IsMeant(*command_line_)) return false;
  if (!runs) pid_.clear();
  std::vector<Found> all = Scan();
  LeaveOutOthers(all);
  std::optional<CommandLine> command_line = command_line_;
  std::vector<std::string> problems;
  if (all.size() > 1) LeaveOutPassing(all);
  if (all.size() == 1) {
    pid_ = all.front().pid;
    started_ = all.front().started;
    process_ = pid_ + "@" + started_;
    command_line = std::move(all.front().command_line);
    if (IsMeant(*command_line)) others_.clear();
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

std::optional<base::WallTime> KubeletProcess::BeganAt() const {
  // The kernel gives a process' start in ticks since boot, and the time of boot in whole seconds ("btime").
  auto text = base::ReadFile(proc_dir_ + "/stat", kLongestFile);
  auto ticks = base::ParseUint(started_);
  if (process_.empty() || !text || !ticks) return std::nullopt;
  for (std::string_view line : base::Split(*text, '\n')) {
    if (!line.starts_with("btime ")) continue;
    auto boot = base::ParseUint(base::TrimSpace(line.substr(6)));
    if (!boot) return std::nullopt;
    const auto a_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
    return base::WallTime(std::chrono::seconds(*boot + *ticks / a_second));
  }
  return std::nullopt;
}

}  // namespace prefetch::kubelet
