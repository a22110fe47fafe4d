#include "base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <functional>
#include <optional>
#include <set>

#include "base/fs.h"
#include "base/mutex.h"
#include "base/on_exit.h"
#include "base/text.h"

namespace prefetch::base {

namespace {

using std::chrono::steady_clock;

// Time for which a grandchild may hold the pipes after the child has ended.
constexpr std::chrono::milliseconds kPipeGrace{1000};
// Time limit for a killed child to go. One that hangs in the kernel (a dead NFS server) may never go, and is
// then left behind.
constexpr std::chrono::seconds kKillGrace{5};
constexpr std::size_t kChunk = 16384;

struct Pipe {
  Fd read, write;
};

// Moves the descriptor above stdin, stdout and stderr, so that wiring the child's cannot overwrite one that
// is still needed.
Status MoveUp(Fd& fd) {
  if (fd.get() > STDERR_FILENO) return {};
  Fd moved(::fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!moved.valid()) return FromErrno(errno, "duplicate a pipe");
  fd = std::move(moved);
  return {};
}

Status Open(Pipe& pipe) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return FromErrno(errno, "pipe");
  pipe.read = Fd(ends[0]);
  pipe.write = Fd(ends[1]);
  if (Status moved = MoveUp(pipe.read); !moved) return moved;
  return MoveUp(pipe.write);
}

Status MakeNonBlocking(const Fd& fd) {
  if (::fcntl(fd.get(), F_SETFL, O_NONBLOCK) != 0) return FromErrno(errno, "set a pipe to non-blocking");
  return {};
}

// write(2) to a pipe whose reader may be gone. It gives EPIPE without SIGPIPE, whatever this process does
// with that signal: it is blocked for this thread, and taken back if this write caused it.
ssize_t WriteQuietly(int fd, std::string_view bytes) {
  sigset_t pipe_signal, pending, old_mask;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  sigpending(&pending);
  bool was_pending = sigismember(&pending, SIGPIPE) == 1;
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &old_mask);
  ssize_t n = ::write(fd, bytes.data(), bytes.size());
  int error = errno;
  if (n < 0 && error == EPIPE && !was_pending) {
    timespec at_once{};
    while (sigtimedwait(&pipe_signal, nullptr, &at_once) < 0 && errno == EINTR) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &old_mask, nullptr);
  errno = error;
  return n;
}

// Appends without leaving a copy of the old content in freed memory.
void AppendSecretly(std::string& text, std::string_view bytes) {
  // std::string would free its old memory without overwriting it.
  if (text.size() + bytes.size() > text.capacity()) {
    std::string grown;
    grown.reserve(2 * (text.size() + bytes.size()));
    grown = text;
    WipeString(text);
    text.swap(grown);
  }
  text += bytes;
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Starts the command with these as its stdin, stdout and stderr. Returns an errno.
int Spawn(const Command& command, int in, int out, int err, pid_t& pid) {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_init(&actions);
  const OnExit release([&] {
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
  });
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  // A process group of its own lets one kill reach the child's children as well.
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  int error = 0;
  auto then = [&](int next) { error = error != 0 ? error : next; };
  then(posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO));
  then(posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO));
  then(posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO));
  // Other threads may open descriptors without O_CLOEXEC, and a plugin must not inherit them.
  then(posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1));
  if (!command.directory.empty())
    then(posix_spawn_file_actions_addchdir_np(&actions, command.directory.c_str()));
  if (error != 0) return error;
  std::vector<char*> argv = Pointers(command.argv), environment = Pointers(command.environment);
  return posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), environment.data());
}

// Rounded up, since a poll(2) of 0 ms before the deadline would spin. An hour at most: poll(2) takes an int.
int MillisecondsUntil(TimePoint deadline) {
  if (deadline == TimePoint::max()) return -1;
  auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
  return static_cast<int>(std::clamp<decltype(left)>(left, 0, 3'600'000));
}

constexpr std::size_t kMostThreads = 4096;
constexpr std::size_t kLongestFile = 1 << 20;
constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 2'000'000};

// Two threads can wait for a child: the one that started it, and the one that reaps orphans. So that the
// second never takes the first one's, this table has every child with a waiter. Any thread.
Mutex mutex;
std::set<pid_t> waited_children PREFETCH_GUARDED_BY(mutex);
// Starts under way. The ids of their children are not in the table yet, so meanwhile the owner of a child is
// unknown, and nothing is reaped.
int starting PREFETCH_GUARDED_BY(mutex) = 0;
// Children from before the first start: of a shell that became this process by `exec`. nullopt: none started.
std::optional<std::set<pid_t>> earlier_children PREFETCH_GUARDED_BY(mutex);

bool IsReaper() {
  int is_subreaper = 0;
  return ::getpid() == 1 || (::prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper) == 0 && is_subreaper != 0);
}

// waitid(2) that never blocks. `si_pid` is 0 if none has ended, or there is none.
siginfo_t PollChild(idtype_t type, pid_t id, int options) {
  siginfo_t info{};
  while (::waitid(type, static_cast<id_t>(id), &info, options | WEXITED | WNOHANG) != 0) {
    if (errno != EINTR) return {};
  }
  return info;
}

// Returns the children of every thread, since any thread may have inherited some.
std::set<pid_t> Children() {
  std::set<pid_t> children;
  const std::string tasks = "/proc/self/task";
  auto threads = ListDirectory(tasks, kMostThreads);
  if (!threads) return children;
  for (const std::string& thread : *threads) {
    auto text = ReadFile(tasks + "/" + thread + "/children", kLongestFile);
    if (!text) continue;
    for (std::string_view word : Split(*text, ' ')) {
      if (auto pid = ParseUint(word)) children.insert(static_cast<pid_t>(*pid));
    }
  }
  return children;
}

// Reaps the orphans that have ended. A child with a waiter may hide the others, since waitid(2) always shows
// the same one first. ReapChild calls Reap again once that child is gone.
void Reap() PREFETCH_REQUIRES(mutex) {
  while (starting == 0) {
    // WNOWAIT: the child is only looked at, and reaped if it has no waiter.
    const pid_t first = PollChild(P_ALL, 0, WNOWAIT).si_pid;
    if (first == 0 || waited_children.count(first) != 0) return;
    PollChild(P_PID, first, 0);
    if (earlier_children) earlier_children->erase(first);
  }
}

bool IsGroupReaped(pid_t group) PREFETCH_REQUIRES(mutex) {
  // The group's number may be that of a child that is just starting.
  if (starting != 0) return false;
  // The number is free only once the last member is reaped. Then it may be a new child's.
  if (waited_children.count(group) != 0) return true;
  while (true) {
    siginfo_t info{};
    if (::waitid(P_PGID, static_cast<id_t>(group), &info, WEXITED | WNOHANG) != 0) return errno == ECHILD;
    if (info.si_pid == 0) return false;
  }
}

// Kills every orphan if no child has a waiter: while one has, an orphan may be its helper. Children without a
// waiter keep their ids until this process reaps them, which the lock prevents, so no other process can be
// hit. Returns true if some were left.
bool KillOrphans() PREFETCH_REQUIRES(mutex) {
  if (starting != 0 || !waited_children.empty() || !earlier_children) return false;
  bool left = false;
  for (pid_t orphan : Children()) {
    if (!earlier_children->contains(orphan)) left = ::kill(orphan, SIGKILL) == 0 || left;
  }
  return left;
}

// Runs `spawn`, which starts one child, puts its id into `child` and returns an errno. On success the child
// is reaped by ReapChild alone. Spawns without the lock, since a start waits for the disk that has the
// program.
int StartChild(const std::function<int(pid_t& child)>& spawn, pid_t& child) {
  {
    Lock lock(mutex);
    if (!earlier_children) earlier_children = Children();
    starting++;
  }
  const int error = spawn(child);
  {
    Lock lock(mutex);
    starting--;
    if (error == 0) waited_children.insert(child);
  }
  ReapOrphans();  // those that ended meanwhile
  return error;
}

// Reaps a child of StartChild that has ended, and says how; then does the same as ReapOrphans. One that still
// runs (a kernel that waits for a dead disk) is an orphan from now on; `si_pid` is then 0.
siginfo_t ReapChild(pid_t child) {
  siginfo_t info{};
  {
    // Together: a reaped child's id may be the next one's.
    Lock lock(mutex);
    info = PollChild(P_PID, child, 0);
    waited_children.erase(child);
  }
  ReapOrphans();
  return info;
}

// After a SIGKILL to a child's process group, and ReapChild: waits until the last inherited member of it is
// reaped, and, while no child runs, every other orphan, until `limit` at most.
void ReapKilledGroup(pid_t group, TimePoint limit) {
  if (!IsReaper()) return;
  while (std::chrono::steady_clock::now() < limit) {
    {
      Lock lock(mutex);
      Reap();
      if (IsGroupReaped(group) && !KillOrphans()) return;
    }
    ::nanosleep(&kPause, nullptr);
  }
}

// A started child and this side of its pipes.
class Child {
 public:
  explicit Child(const Command& command) : command_(command) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    WipeString(output_);
    explicit_bzero(chunk_.data(), chunk_.size());
  }

  Status Start();
  // Runs until the child has ended and its pipes are closed, or it has been killed.
  void Drive(const Call& call, std::string_view input);
  ProcessResult Finish();

 private:
  enum : std::size_t { kIn, kOut, kErr, kExit, kStop, kPollCount };

  void Handle(const std::array<pollfd, kPollCount>& polled);
  void Feed();
  void ReadOutput();
  void ReadErrors();
  // One read(2) into chunk_: bytes, nothing for "not now"; closes `fd` at its end.
  std::string_view ReadSome(Fd& fd);
  void Kill(ProcessEnd why);

  const Command& command_;
  pid_t pid_ = -1;
  Fd exit_, in_, out_, err_;
  std::string_view input_;
  std::string output_, errors_;
  std::array<char, kChunk> chunk_;
  TimePoint give_up_ = TimePoint::max();  // once the child has ended: when its pipes are no longer waited for
  bool exited_ = false;
  std::optional<ProcessEnd> killed_;
  bool group_killed_ = false;
};

Status Child::Start() {
  Pipe in, out, err;
  for (Pipe* pipe : {&in, &out, &err}) {
    if (Status opened = Open(*pipe); !opened) return opened;
  }
  // Only this side is non-blocking: a child expects ordinary pipes.
  for (const Fd* ours : {&in.write, &out.read, &err.read}) {
    if (Status set = MakeNonBlocking(*ours); !set) return set;
  }
  const int error = StartChild(
      [&](pid_t& pid) { return Spawn(command_, in.read.get(), out.write.get(), err.write.get(), pid); },
      pid_);
  if (error != 0) return FromErrno(error, "start " + command_.argv[0]);
  // A pidfd becomes readable when the child ends, so one poll(2) waits for the pipes, the child and a stop
  // alike.
  exit_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  // Without a pidfd, nothing would report the end of the child, so it is killed and reaped here (WNOWAIT
  // leaves the reaping to ReapChild, which keeps the table of waiters).
  if (!exit_.valid()) {
    Error failed = FromErrno(errno, "watch " + command_.argv[0]);
    ::kill(-pid_, SIGKILL);
    siginfo_t ended{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOWAIT);
    ReapChild(pid_);
    return failed;
  }
  in_ = std::move(in.write);
  out_ = std::move(out.read);
  err_ = std::move(err.read);
  return {};
}

void Child::Drive(const Call& call, std::string_view input) {
  input_ = input;
  // A child that reads its stdin would otherwise wait for ever.
  if (input_.empty()) in_.Close();
  Fd stopped;
  if (call.stop.stop_possible()) stopped = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  // poll(2) cannot wait for a stop_token, so a stop writes to an eventfd.
  std::stop_callback wake(call.stop, [&] {
    if (stopped.valid()) ::eventfd_write(stopped.get(), 1);
  });
  // The loop goes on after the exit until both pipes are closed: the last bytes may still be in them.
  while (!killed_ && !(exited_ && !out_.valid() && !err_.valid())) {
    TimePoint now = steady_clock::now();
    if (exited_ && now >= give_up_) {
      ::kill(-pid_, SIGKILL);  // a grandchild holds the pipes; the child itself ended well
      group_killed_ = true;
      return;
    }
    if (call.Stopped()) return Kill(ProcessEnd::kCancelled);
    if (!exited_ && now >= call.deadline) return Kill(ProcessEnd::kTimedOut);
    // poll(2) ignores negative descriptors, so that a closed pipe simply drops out.
    std::array<pollfd, kPollCount> polled{};
    polled[kIn] = {in_.get(), POLLOUT, 0};
    polled[kOut] = {out_.get(), POLLIN, 0};
    polled[kErr] = {err_.get(), POLLIN, 0};
    polled[kExit] = {exited_ ? -1 : exit_.get(), POLLIN, 0};
    polled[kStop] = {stopped.get(), POLLIN, 0};
    if (::poll(polled.data(), polled.size(), MillisecondsUntil(exited_ ? give_up_ : call.deadline)) > 0) {
      Handle(polled);
    }
  }
}

void Child::Handle(const std::array<pollfd, kPollCount>& polled) {
  // Pipes come before the exit: what the child wrote last is read even if both are reported at once.
  if (polled[kIn].revents != 0) Feed();
  if (polled[kOut].revents != 0) ReadOutput();
  if (polled[kErr].revents != 0) ReadErrors();
  if (polled[kExit].revents != 0) {
    exited_ = true;
    in_.Close();
    give_up_ = steady_clock::now() + kPipeGrace;
  }
}

void Child::Feed() {
  ssize_t n = WriteQuietly(in_.get(), input_);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n > 0) input_.remove_prefix(static_cast<std::size_t>(n));
  if (n < 0 || input_.empty()) in_.Close();  // all written, or the child does not read it: no failure of ours
}

std::string_view Child::ReadSome(Fd& fd) {
  ssize_t n = ::read(fd.get(), chunk_.data(), chunk_.size());
  if (n > 0) return {chunk_.data(), static_cast<std::size_t>(n)};
  if (n == 0 || (errno != EAGAIN && errno != EINTR)) fd.Close();
  return {};
}

void Child::ReadOutput() {
  std::string_view bytes = ReadSome(out_);
  AppendSecretly(output_, bytes);
  if (output_.size() > command_.max_output) Kill(ProcessEnd::kOutputLimit);
}

void Child::ReadErrors() {
  std::string_view bytes = ReadSome(err_);
  // The rest is read and dropped. A full pipe would stop the child.
  errors_ += bytes.substr(0, command_.max_errors - errors_.size());
}

// The child is not yet reaped, so that its id, and with it the group's, cannot have been given to another.
void Child::Kill(ProcessEnd why) {
  ::kill(-pid_, SIGKILL);
  group_killed_ = true;
  killed_ = why;
}

ProcessResult Child::Finish() {
  in_.Close();
  out_.Close();
  err_.Close();
  ProcessResult result;
  pollfd polled{exit_.get(), POLLIN, 0};
  TimePoint limit = steady_clock::now() + kKillGrace;
  while (!exited_ && MillisecondsUntil(limit) > 0 && !(polled.revents & POLLIN)) {
    ::poll(&polled, 1, MillisecondsUntil(limit));
  }
  // The child is reaped only here, after the last kill, so that its id is not free for another process
  // before.
  const siginfo_t info = ReapChild(pid_);
  // With a limit of its own, since the child may have hung in the kernel until the first limit was over.
  if (group_killed_) ReapKilledGroup(pid_, steady_clock::now() + kKillGrace);
  result.end = killed_.value_or(info.si_code == CLD_EXITED ? ProcessEnd::kExited : ProcessEnd::kSignalled);
  result.code = killed_ ? 0 : info.si_status;
  // A killed child may have been in the midst of its answer, and half an answer must not be used.
  if (!killed_) result.output = Secret(std::move(output_));
  result.errors = std::move(errors_);
  return result;
}

}  // namespace

Result<ProcessResult> RunProcess(const Call& call, const Command& command, std::string_view input) {
  if (command.argv.empty()) return InvalidArgument("a command without a path");
  if (call.Stopped()) return Cancelled("start " + command.argv[0] + ": a stop was requested");
  Child child(command);
  if (Status started = child.Start(); !started) return std::move(started).error();
  child.Drive(call, input);
  return child.Finish();
}

std::string FindProgram(std::string_view name, std::string_view path) {
  for (std::string_view folder : Split(path, ':')) {
    if (!folder.starts_with('/')) continue;
    std::string file = std::string(folder) + "/" + std::string(name);
    const auto kind = KindOf(file);
    if (kind && *kind == FileKind::kRegular && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

Error ProcessFailure(const ProcessResult& result, const std::string& timeout, const std::string& said) {
  switch (result.end) {
    case ProcessEnd::kExited:
      return Unavailable("exited " + std::to_string(result.code) + said);
    case ProcessEnd::kSignalled:
      return Unavailable("was killed by signal " + std::to_string(result.code) + said);
    case ProcessEnd::kTimedOut:
      return DeadlineExceeded(timeout + said);
    case ProcessEnd::kCancelled:
      return Cancelled("a stop was requested");
    case ProcessEnd::kOutputLimit:
      return ResourceExhausted("wrote more than 1 MiB" + said);
  }
  return Internal("ended in an unknown way");
}

void ReapOrphans() {
  if (!IsReaper()) return;
  Lock lock(mutex);
  Reap();
  KillOrphans();
}

}  // namespace prefetch::base
