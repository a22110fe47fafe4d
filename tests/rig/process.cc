#include "rig/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <map>
#include <string_view>

namespace prefetch::rig {
namespace {

std::vector<std::string> EnvironmentOf(const Command& command) {
  std::map<std::string, std::string, std::less<>> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view text = *entry;
    std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) all[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  for (const auto& [name, value] : command.env) all[name] = value;
  std::vector<std::string> result;
  result.reserve(all.size());
  for (const auto& [name, value] : all) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (std::string& s : strings) result.push_back(s.data());
  result.push_back(nullptr);
  return result;
}

// Runs between fork and exec: system calls only, since the test has threads.
[[noreturn]] void Become(char* const* argv, char* const* env, int out, int err, int report) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  int in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (::dup2(in, 0) == 0 && ::dup2(out, 1) == 1 && ::dup2(err, 2) == 2 &&
      ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == 0) {
    ::execvpe(argv[0], argv, env);
  }
  int why = errno;
  (void)!::write(report, &why, sizeof(why));
  ::_exit(127);
}

std::string Drain(int fd) {
  std::string text;
  char buffer[1 << 16];
  ::lseek(fd, 0, SEEK_SET);
  for (ssize_t n; (n = ::read(fd, buffer, sizeof(buffer))) > 0;) text.append(buffer, static_cast<size_t>(n));
  return text;
}

}  // namespace

base::Status Process::Start(const Command& command, const std::string& log) {
  base::Fd file(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file.valid()) return base::FromErrno(errno, "open " + log);
  return Start(command, file.get(), file.get());
}

base::Status Process::Start(const Command& command, int out, int err) {
  if (Running()) return base::InvalidArgument(command.argv[0] + " is running already");
  std::vector<std::string> words = command.argv;
  std::vector<std::string> environment = EnvironmentOf(command);
  std::vector<char*> argv = Pointers(words);
  std::vector<char*> env = Pointers(environment);
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) return base::FromErrno(errno, "pipe");
  base::Fd report_in(pipe[0]);
  base::Fd report_out(pipe[1]);
  pid_t pid = ::fork();
  if (pid < 0) return base::FromErrno(errno, "fork");
  if (pid == 0) Become(argv.data(), env.data(), out, err, report_out.get());
  ::setpgid(pid, pid);
  report_out.Close();
  pid_ = pid;
  exit_.reset();
  pidfd_ = base::Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  int why = 0;
  if (::read(report_in.get(), &why, sizeof(why)) == static_cast<ssize_t>(sizeof(why))) {
    Kill();
    return base::FromErrno(why, "execute " + command.argv[0]);
  }
  return {};
}

bool Process::Running() {
  return pid_ > 0 && !Wait(std::chrono::milliseconds(0));
}

std::uint64_t Process::PeakBytes() const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string word; status >> word;) {
    std::uint64_t kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

std::optional<Exit> Process::Wait(std::chrono::milliseconds limit) {
  if (pid_ <= 0) return exit_;
  auto deadline = std::chrono::steady_clock::now() + limit;
  pollfd ended{pidfd_.get(), POLLIN, 0};
  for (;;) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    int n = ::poll(&ended, 1, left.count() > 0 ? static_cast<int>(left.count()) : 0);
    if (n == 0) return std::nullopt;
    if (n > 0) break;
    if (errno != EINTR) return std::nullopt;
  }
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  exit_ = WIFEXITED(status) ? Exit{WEXITSTATUS(status), 0} : Exit{0, WTERMSIG(status)};
  pid_ = -1;
  pidfd_.Close();
  return exit_;
}

void Process::Signal(int signal) const {
  if (pid_ > 0) ::kill(pid_, signal);
}

void Process::Kill() {
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);  // before it is reaped, so that the group's id cannot be somebody else's
  (void)Wait(std::chrono::hours(1));
}

std::optional<Exit> Process::Stop(std::chrono::milliseconds grace) {
  Signal(SIGTERM);
  std::optional<Exit> exit = Wait(grace);
  if (!exit) Kill();
  return exit;
}

base::Result<Ran> RunProgram(const Command& command, std::chrono::milliseconds limit) {
  base::Fd out(::memfd_create("out", MFD_CLOEXEC));
  base::Fd err(::memfd_create("err", MFD_CLOEXEC));
  Process process;
  if (auto started = process.Start(command, out.get(), err.get()); !started)
    return std::move(started).error();
  std::optional<Exit> exit = process.Wait(limit);
  if (!exit) {
    process.Kill();
    return base::DeadlineExceeded(command.argv[0] + " did not end in time: " + Drain(err.get()));
  }
  return Ran{*exit, Drain(out.get()), Drain(err.get())};
}

void Pause(std::chrono::milliseconds time) {
  ::poll(nullptr, 0, static_cast<int>(time.count()));
}

}  // namespace prefetch::rig
