#include "cluster/world.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "rig/process.h"
#include "rig/scratch.h"

namespace prefetch::cluster {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWorldPrefix = "prefetch-cluster-";
constexpr int kCannotStart = 2;

// kubelet sets these to its taste and refuses to start where it cannot; they are the machine's, not the
// world's.
constexpr const char* kSysctls[] = {
    "vm/overcommit_memory", "vm/panic_on_oom",          "kernel/panic",
    "kernel/panic_on_oops", "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes"};

[[noreturn]] void GiveUp(const std::string& what) {
  std::fprintf(stderr, "cluster: %s: %s\n", what.c_str(), std::strerror(errno));
  ::_exit(kCannotStart);
}

void MustMount(const char* source, const char* target, const char* type, unsigned long flags) {
  if (::mount(source, target, type, flags, nullptr) != 0) GiveUp(std::string("cannot mount ") + target);
}

// --- sysctls ---

class Sysctls {
 public:
  Sysctls() {
    for (const char* name : kSysctls) {
      std::ifstream file(Path(name));
      if (std::string value; std::getline(file, value)) before_[name] = value;
    }
  }
  void Restore() const {
    for (const auto& [name, value] : before_) {
      std::string now;
      std::ifstream(Path(name)) >> now;
      if (now != value) std::ofstream(Path(name)) << value;
    }
  }

 private:
  static std::string Path(const std::string& name) { return "/proc/sys/" + name; }
  std::map<std::string, std::string> before_;
};

// --- cgroups ---

// The folders of a cgroup in all hierarchies, of version 1 and 2.
std::vector<fs::path> FoldersOfCgroup(const std::string& name) {
  std::vector<fs::path> found;
  std::error_code ignored;
  const fs::path root = "/sys/fs/cgroup";
  if (fs::is_directory(root / name, ignored)) found.push_back(root / name);
  for (const auto& hierarchy : fs::directory_iterator(root, ignored)) {
    if (fs::is_directory(hierarchy.path() / name, ignored)) found.push_back(hierarchy.path() / name);
  }
  return found;
}

// Its processes are dead or dying: a cgroup is busy until the last has gone.
void RemoveCgroup(const std::string& name) {
  for (const fs::path& top : FoldersOfCgroup(name)) {
    rig::Eventually(std::chrono::seconds(5), [&] {
      std::error_code ignored;
      std::vector<fs::path> folders{top};
      for (const auto& entry : fs::recursive_directory_iterator(top, ignored)) {
        if (entry.is_directory(ignored)) folders.push_back(entry.path());
      }
      for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder) ::rmdir(folder->c_str());
      return !fs::exists(top, ignored);
    });
  }
}

// --- the world's folder ---

base::Fd TakeLockOf(const std::string& folder) {
  base::Fd lock(::open((folder + "/guardian").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (lock.valid() && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) lock.Close();
  return lock;
}

bool IsOld(const std::string& folder) {
  struct stat info;
  return ::stat(folder.c_str(), &info) == 0 && ::time(nullptr) - info.st_mtime > 10;
}

void RemoveWorld(const std::string& folder) {
  RemoveCgroup(fs::path(folder).filename());
  rig::RemoveTree(folder);
}

void RemoveOldWorlds() {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fs::temp_directory_path(), ignored)) {
    if (!entry.path().filename().string().starts_with(kWorldPrefix) || !IsOld(entry.path())) continue;
    if (base::Fd lock = TakeLockOf(entry.path()); lock.valid()) RemoveWorld(entry.path());
  }
}

// A process beside the guardian, in a session of its own, that takes away what is left when the guardian has
// ended, by whatever signal: meson, for one, kills a test that takes more than half a second to end.
class Cleaner {
 public:
  explicit Cleaner(const std::string& folder) {
    const Sysctls sysctls;
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) GiveUp("cannot make a pipe");
    base::Fd told(ends[0]);
    guardian_ = base::Fd(ends[1]);
    pid_ = ::fork();
    if (pid_ < 0) GiveUp("cannot fork");
    if (pid_ > 0) return;
    guardian_.Close();
    ::setsid();
    // meson reads the test's output to its end: this process must not hold it open.
    base::Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing.get(), fd);
    char byte = 0;
    while (::read(told.get(), &byte, 1) < 0 && errno == EINTR) {
    }
    sysctls.Restore();
    // The last processes of a killed world are dying, and may still write.
    rig::Eventually(std::chrono::seconds(20), [&] {
      RemoveWorld(folder);
      return !fs::exists(folder);
    });
    ::_exit(0);
  }
  Cleaner(const Cleaner&) = delete;
  Cleaner& operator=(const Cleaner&) = delete;
  // Returns when all is clean.
  ~Cleaner() {
    guardian_.Close();
    ::waitpid(pid_, nullptr, 0);
  }
  // In a child of the guardian: its end is not the guardian's.
  void Leave() { guardian_.Close(); }

 private:
  base::Fd guardian_;  // open as long as the guardian lives
  pid_t pid_ = -1;
};

// --- inside ---

void SetUpLoopback() {
  base::Fd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (::ioctl(fd.get(), SIOCSIFFLAGS, &request) != 0) GiveUp("cannot set the loopback device up");
  for (const auto& [name, own] : {std::pair{"lo:1", kNodeAddress}, std::pair{"lo:2", kServiceAddress}}) {
    ifreq alias{};
    std::strcpy(alias.ifr_name, name);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    ::inet_pton(AF_INET, own, &address.sin_addr);
    std::memcpy(&alias.ifr_addr, &address, sizeof(address));
    if (::ioctl(fd.get(), SIOCSIFADDR, &alias) != 0) GiveUp("cannot set the node's address");
    // Without it the address would bring its whole class of them.
    address.sin_addr.s_addr = INADDR_NONE;
    std::memcpy(&alias.ifr_netmask, &address, sizeof(address));
    if (::ioctl(fd.get(), SIOCSIFNETMASK, &alias) != 0) GiveUp("cannot set the node's address");
  }
}

// The kernel of a machine with cgroup v1 may have controllers that nobody has mounted. CRI-O sets limits of
// all that /proc/cgroups names, and its containers would not start.
void HideUnmountedControllers() {
  const fs::path root = "/sys/fs/cgroup";
  if (fs::exists(root / "cgroup.controllers")) return;
  std::ifstream all("/proc/cgroups");
  const std::string mounted = "/run/world/cgroups";
  fs::create_directories("/run/world");
  std::ofstream some(mounted);
  for (std::string line; std::getline(all, line);) {
    if (line.starts_with("#") || fs::exists(root / line.substr(0, line.find('\t')))) some << line << "\n";
  }
  some.close();
  MustMount(mounted.c_str(), "/proc/cgroups", nullptr, MS_BIND);
}

void SetUpMounts() {
  MustMount("none", "/", nullptr, MS_REC | MS_PRIVATE);
  MustMount("none", "/", nullptr, MS_REC | MS_SHARED);  // "HostToContainer" needs it
  MustMount("proc", "/proc", "proc", 0);
  for (const char* folder : {"/run", "/var/log"}) MustMount("tmpfs", folder, "tmpfs", 0);
  HideUnmountedControllers();
  // They show what the machine has, and keep what is written: paths of platforms are made below them.
  for (const std::string name : {"etc", "home", "usr/libexec", "var/lib"}) {
    const std::string layer = "/run/world/" + name, target = "/" + name;
    fs::create_directories(layer + "/upper");
    fs::create_directories(layer + "/work");
    const std::string options =
        "lowerdir=" + target + ",upperdir=" + layer + "/upper,workdir=" + layer + "/work";
    if (::mount("overlay", target.c_str(), "overlay", 0, options.c_str()) != 0)
      GiveUp("cannot mount over " + target);
  }
}

// As process 1 it inherits every orphan, and when it ends all others are killed.
[[noreturn]] void BeInit(pid_t body) {
  int code = 1;
  for (;;) {
    int status = 0;
    pid_t ended = ::waitpid(-1, &status, 0);
    if (ended < 0 && errno != EINTR) break;
    if (ended != body) continue;
    code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    break;
  }
  ::_exit(code);
}

[[noreturn]] void EnterWorld(const std::string& folder, const std::function<int()>& body) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (::unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC) != 0) GiveUp("cannot make namespaces");
  SetUpMounts();
  SetUpLoopback();
  ::setenv("TMPDIR", folder.c_str(), 1);
  pid_t child = ::fork();
  if (child < 0) GiveUp("cannot fork");
  if (child > 0) BeInit(child);
  int code = body();
  std::fflush(nullptr);
  ::_exit(code);
}

// Until it ends, or a signal ends it.
int Guard(pid_t world, const sigset_t& signals) {
  for (;;) {
    int signal = 0;
    if (::sigwait(&signals, &signal) != 0) continue;
    if (signal == SIGCHLD) {
      int status = 0;
      if (::waitpid(world, &status, WNOHANG) != world) continue;
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    ::kill(world, SIGKILL);
    ::waitpid(world, nullptr, 0);
    return 128 + signal;
  }
}

}  // namespace

std::string PidOfWorld() {
  std::string pid;
  rig::Eventually(std::chrono::seconds(5), [&] {
    std::ifstream(fs::temp_directory_path() / "pid") >> pid;
    return !pid.empty();
  });
  return pid;
}

std::string PodCgroup() {
  return fs::path(fs::temp_directory_path()).filename();
}

int RunInWorld(const std::function<int()>& body) {
  RemoveOldWorlds();
  std::string folder = (fs::temp_directory_path() / (std::string(kWorldPrefix) + "XXXXXX")).string();
  if (::mkdtemp(folder.data()) == nullptr) GiveUp("cannot make " + folder);
  const base::Fd lock = TakeLockOf(folder);
  sigset_t signals;
  ::sigemptyset(&signals);
  for (int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  std::fflush(nullptr);
  Cleaner cleaner(folder);
  if (::unshare(CLONE_NEWPID) != 0) GiveUp("cannot make a namespace of processes (run as root)");
  pid_t world = ::fork();
  if (world < 0) GiveUp("cannot fork");
  if (world == 0) {
    cleaner.Leave();
    EnterWorld(folder, body);
  }
  (void)base::WriteFileAtomically(folder + "/pid", std::to_string(world));
  return Guard(world, signals);
}

}  // namespace prefetch::cluster
