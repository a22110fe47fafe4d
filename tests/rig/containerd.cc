#include "rig/containerd.h"

#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/text.h"

namespace prefetch::rig {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kBootLimit{20};
constexpr std::chrono::seconds kStopLimit{10};
constexpr std::chrono::seconds kCtrLimit{120};

// containerd says this when CRI has recovered its state, just before it lets requests through.
constexpr std::string_view kCriIsUp = "Start streaming server";

bool Accepts(const std::string& socket) {
  base::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.size() >= sizeof(address.sun_path)) return false;
  std::memcpy(address.sun_path, socket.data(), socket.size());
  return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

std::string From(const std::string& path, std::size_t offset) {
  std::ifstream in(path, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(offset));
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::size_t SizeOf(const std::string& path) {
  std::error_code absent;
  auto size = fs::file_size(path, absent);
  return absent ? 0 : size;
}

// Returns a program of Debian's package, or of the release in $PREFETCH_CONTAINERD.
std::string Program(const std::string& name) {
  const char* folder = std::getenv("PREFETCH_CONTAINERD");
  return folder == nullptr ? name : std::string(folder) + "/" + name;
}

std::string LastLines(const std::string& text) {
  constexpr std::size_t kEnough = 2000;
  return text.size() <= kEnough ? text : text.substr(text.size() - kEnough);
}

// Not every file system can carry overlayfs (another overlayfs cannot).
bool OverlayWorks(const std::string& folder) {
  std::error_code ignored;
  std::string base = folder + "/overlay-probe";
  for (const char* name : {"lower", "upper", "work", "merged"})
    fs::create_directories(base + "/" + name, ignored);
  std::string options = "lowerdir=" + base + "/lower,upperdir=" + base + "/upper,workdir=" + base + "/work";
  std::string merged = base + "/merged";
  bool works = ::mount("overlay", merged.c_str(), "overlay", 0, options.c_str()) == 0;
  if (works) ::umount2(merged.c_str(), MNT_DETACH);
  fs::remove_all(base, ignored);
  return works;
}

}  // namespace

Containerd::Containerd(const Scratch& scratch, const std::string& name, std::string root)
    : folder_(scratch / name),
      root_(root.empty() ? folder_ + "/root" : std::move(root)),
      socket_(folder_ + "/containerd.sock"),
      hosts_(folder_ + "/certs.d"),
      log_(folder_ + "/containerd.log") {
  std::error_code ignored;
  fs::create_directories(hosts_, ignored);
  fs::create_directories(root_, ignored);
}

std::string Containerd::Config() const {
  const char* snapshotter = OverlayWorks(root_) ? "overlayfs" : "native";
  return "version = 2\nroot = \"" + root_ + "\"\nstate = \"" + folder_ + "/state\"\n" +
         "[grpc]\n  address = \"" + socket_ + "\"\n" +
         "[plugins.\"io.containerd.internal.v1.opt\"]\n  path = \"" + folder_ + "/opt\"\n" +
         // Its socket is one for the whole machine: of two that start at once, one would fail.
         "[plugins.\"io.containerd.nri.v1.nri\"]\n  disable = true\n" + collector_ +
         "[plugins.\"io.containerd.grpc.v1.cri\"]\n" +
         "  restrict_oom_score_adj = true\n  stream_server_port = \"0\"\n" + pods_ +
         "  [plugins.\"io.containerd.grpc.v1.cri\".containerd]\n    snapshotter = \"" + snapshotter + "\"\n" +
         "  [plugins.\"io.containerd.grpc.v1.cri\".registry]\n    " +
         (tables_.empty() ? "config_path = \"" + hosts_ + "\"" : tables_) + "\n" + cni_;
}

void Containerd::CollectRarely() {
  // A run counts as at least 5 ms.
  collector_ = "[plugins.\"io.containerd.gc.v1.scheduler\"]\n  pause_threshold = 0.0005\n";
}

base::Status Containerd::Start() {
  std::string config = config_file();
  if (auto written = base::WriteFileAtomically(config, Config()); !written) return written;
  std::size_t before = SizeOf(log_);
  if (auto started = process_.Start({{Program("containerd"), "--config", config}, {}}, log_); !started)
    return started;
  bool up = Eventually(kBootLimit, [&] {
    if (!process_.Running()) return true;
    return Accepts(socket_) && From(log_, before).find(kCriIsUp) != std::string::npos;
  });
  if (up && process_.Running()) return {};
  process_.Kill();
  return base::Unavailable("containerd did not start (" + log_ + "): " + LastLines(From(log_, before)));
}

base::Status Containerd::Stop() {
  if (!process_.Running()) return {};
  if (process_.Stop(kStopLimit)) return {};
  return base::DeadlineExceeded("containerd did not stop on SIGTERM (" + log_ + ")");
}

void Containerd::Kill() {
  process_.Kill();
}

base::Status Containerd::Route(const std::string& host, int port) const {
  // containerd 1.6 refuses a file without a [host] table. The registry itself is the only server: a mirror
  // beside it would be a second one to ask after each failure.
  return WriteHosts(host, "server = \"http://127.0.0.1:" + std::to_string(port) + "\"\n[host]\n");
}

base::Status Containerd::RouteByMirror(const std::string& host, int mirror_port, int port) const {
  return WriteHosts(host, "server = \"http://127.0.0.1:" + std::to_string(port) +
                              "\"\n[host.\"http://127.0.0.1:" + std::to_string(mirror_port) +
                              "\"]\n  capabilities = [\"pull\", \"resolve\"]\n");
}

void Containerd::RouteByTables(const std::string& host, int port) {
  tables_ = "[plugins.\"io.containerd.grpc.v1.cri\".registry.mirrors.\"" + host +
            "\"]\n      endpoint = [\"http://127.0.0.1:" + std::to_string(port) + "\"]";
}

void Containerd::LookInTwoFolders() {
  tables_ = "config_path = \"" + hosts_ + ":" + folder_ + "/more-certs.d\"\n";
  tables_ += "[plugins.\"io.containerd.grpc.v1.cri\".registry.configs.\"unused.example.test\"]";
}

void Containerd::RunPods(const std::string& sandbox_image, const std::string& cni_bin,
                         const std::string& cni_conf) {
  pods_ = "  sandbox_image = \"" + sandbox_image + "\"\n  netns_mounts_under_state_dir = true\n";
  cni_ = "[plugins.\"io.containerd.grpc.v1.cri\".cni]\n  bin_dir = \"" + cni_bin + "\"\n  conf_dir = \"" +
         cni_conf + "\"\n";
}

base::Status Containerd::WriteHosts(const std::string& host, const std::string& toml) const {
  std::string folder = hosts_ + "/" + host;
  std::error_code failed;
  fs::create_directories(folder, failed);
  return base::WriteFileAtomically(folder + "/hosts.toml", toml);
}

base::Result<std::string> Containerd::AddRegistry(const std::string& host, int port) {
  if (auto routed = Route(host, port); !routed) return std::move(routed).error();
  return host;
}

std::set<std::string> Containerd::Names() const {
  std::set<std::string> names;
  auto listed = Ctr({"images", "ls", "-q"});
  if (!listed) return names;
  for (std::string_view name : base::Split(*listed, '\n')) names.emplace(name);
  return names;
}

bool Containerd::Has(const std::string& image) const {
  return Names().contains(image);
}

base::Status Containerd::Remove(const std::string& image) const {
  if (auto removed = Ctr({"images", "rm", "--sync", image}); !removed) return std::move(removed).error();
  return {};
}

base::Status Containerd::RemoveAll() const {
  // Digests and ids are names of their own, which hold the content.
  auto names = Ctr({"images", "ls", "-q"});
  if (!names) return std::move(names).error();
  std::vector<std::string> words = {"images", "rm", "--sync"};
  for (std::string_view name : base::Split(*names, '\n')) {
    if (!name.empty()) words.emplace_back(name);
  }
  if (auto removed = Ctr(std::move(words)); !removed) return std::move(removed).error();
  return {};
}

Command Containerd::CtrCommand() const {
  return {{Program("ctr"), "--address", socket_, "--namespace", "k8s.io"}, {}};
}

base::Result<std::string> Containerd::Ctr(std::vector<std::string> args) const {
  Command command = CtrCommand();
  command.argv.insert(command.argv.end(), args.begin(), args.end());
  auto ran = RunProgram(command, kCtrLimit);
  if (!ran) return std::move(ran).error();
  if (ran->exit != Exit{}) return base::Internal("ctr " + args[0] + ": " + ran->err);
  return ran->out;
}

}  // namespace prefetch::rig
