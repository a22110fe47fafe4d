#include "base/fs.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>

#include "base/secret.h"

namespace prefetch::base {

namespace {

Error Failed(std::string_view what, const std::string& path) {
  return FromErrno(errno, std::string(what) + " " + path);
}

Status WriteAll(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failed("write", path);
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    Close();
    fd_ = other.Release();
  }
  return *this;
}

int Fd::Release() {
  int fd = fd_;
  fd_ = -1;
  return fd;
}

void Fd::Close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<std::string> ReadFile(const std::string& path, std::size_t max_bytes) {
  // O_NONBLOCK: opening a FIFO must not wait for its writer.
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.valid()) return Failed("open", path);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return Failed("stat", path);
  // fstat of the open descriptor: between a stat by name and the open, the file could be replaced by a FIFO.
  if (!S_ISREG(info.st_mode)) return InvalidArgument(path + " is not a regular file");
  std::string content;
  // One byte more than allowed tells "too long", also for a file that grows while it is read.
  std::size_t want = std::min<std::size_t>(static_cast<std::size_t>(info.st_size), max_bytes) + 1;
  while (true) {
    std::size_t had = content.size();
    // The size is only a first guess: files of /proc have size 0, and a file may grow.
    content.resize(std::min(std::max(had + 4096, want), max_bytes + 1));
    ssize_t n = ::read(file.get(), content.data() + had, content.size() - had);
    if (n < 0 && errno != EINTR) return Failed("read", path);
    content.resize(had + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    if (content.size() > max_bytes) {
      return ResourceExhausted(path + " is longer than " + std::to_string(max_bytes) + " bytes");
    }
    if (n == 0) return content;
  }
}

bool IsOwnDescriptor(const std::string& path) {
  return path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

PipedFile::~PipedFile() {
  WipeString(text_);
}

Result<std::string> PipedFile::Read(const std::string& path, std::size_t max_bytes,
                                    std::chrono::milliseconds timeout) {
  using std::chrono::milliseconds;
  constexpr std::size_t kPiece = 64U << 10;
  // O_NONBLOCK is this descriptor's own: opening a pipe by its name makes a new one.
  if (!ended_ && !pipe_.valid())
    pipe_ = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!ended_ && !pipe_.valid()) return Failed("open", path);
  text_.reserve(max_bytes + 1);  // growing would leave copies of secrets behind
  const auto until = std::chrono::steady_clock::now() + timeout;
  // A FIFO that nobody has opened for writing yet reads like one at its end. A descriptor of this process has
  // had its writer, and poll(2) does not report the end of one whose writer had closed it before our open.
  bool had_writer = IsOwnDescriptor(path) || !text_.empty();
  while (!ended_ && text_.size() <= max_bytes) {
    const std::size_t had = text_.size();
    text_.resize(std::min(had + kPiece, max_bytes + 1));
    const ssize_t n = ::read(pipe_.get(), text_.data() + had, text_.size() - had);
    const int error = errno;
    text_.resize(had + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    if (n < 0 && error != EAGAIN && error != EINTR) return FromErrno(error, "read " + path);
    had_writer = had_writer || n > 0;
    ended_ = n == 0 && had_writer;
    if (n > 0 || ended_) continue;
    const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
    pollfd ready{.fd = pipe_.get(), .events = POLLIN, .revents = 0};
    const int reported = ::poll(&ready, 1, static_cast<int>(std::max(left, milliseconds(0)).count()));
    if (reported == 0) return Unavailable(path + " has not ended: it is read when its writer has closed it");
    had_writer = had_writer || reported > 0;
  }
  if (ended_) pipe_.Close();
  // A text that is too long is rejected as a whole, and not read on from its middle.
  if (text_.size() > max_bytes)
    return ResourceExhausted(path + " is longer than " + std::to_string(max_bytes) + " bytes");
  return text_;
}

namespace {

// Follows the symbolic links to the file, so that they stay. Returns nullopt if one of them is a descriptor
// of a process: /dev/stdout is a link to whatever the output is.
std::optional<std::string> FileBehind(std::string path) {
  constexpr int kMostLinks = 40;  // as many as the kernel follows
  for (int links = 0; links < kMostLinks; links++) {
    std::error_code error;
    const std::filesystem::path link = std::filesystem::read_symlink(path, error);
    if (error) break;
    const std::filesystem::path folder =
        std::filesystem::canonical("." / std::filesystem::path(path).parent_path(), error);
    if (folder.native().starts_with("/proc/")) return std::nullopt;
    path = folder / link;
  }
  return path;
}

Status WriteInPlace(const std::string& path, std::string_view content, int flag) {
  Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | flag));
  return file.valid() ? WriteAll(file.get(), content, path) : Status(Failed("open", path));
}

}  // namespace

Status WriteFileAtomically(const std::string& path, std::string_view content, unsigned mode) {
  auto kind = KindOf(path);
  // The kernel may refuse to follow a link: a circle, or one of another user in /tmp.
  if (!kind && kind.error().code() != Code::kNotFound) return std::move(kind).error();
  const std::optional<std::string> behind = FileBehind(path);
  // A device, a pipe or a descriptor is written to, and not replaced by a file.
  if (!behind || (kind && *kind == FileKind::kOther)) return WriteInPlace(path, content, O_APPEND);
  // The temporary file is in the same folder: rename(2) is one step only within a filesystem.
  std::string temporary = *behind + ".tmp" + std::to_string(::getpid());
  {
    Fd file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
    if (!file.valid()) {
      const bool folder_is_closed = errno == EACCES || errno == EROFS;
      Error error = Failed("create", path);
      if (folder_is_closed && kind && ::access(behind->c_str(), W_OK) == 0)
        return WriteInPlace(*behind, content, O_TRUNC);
      return error;
    }
    struct stat old {};
    // A file that its owner has closed to others stays closed, and the rights of its group are given to no
    // other group.
    if (::stat(behind->c_str(), &old) == 0) {
      const bool same = ::fchown(file.get(), old.st_uid, old.st_gid) == 0;
      ::fchmod(file.get(), old.st_mode & (same ? 0777 : 0707));
    }
    Status written = WriteAll(file.get(), content, path);
    // Without the sync, a crash after the rename could leave the new name with no content.
    if (written && ::fsync(file.get()) != 0) written = Failed("sync", path);
    if (!written) {
      ::unlink(temporary.c_str());
      return written;
    }
  }
  if (::rename(temporary.c_str(), behind->c_str()) != 0) {
    // A file that is a mount of its own, such as a container's volume, cannot be replaced.
    const bool is_mount = errno == EBUSY;
    Error error = Failed("rename", path);
    ::unlink(temporary.c_str());
    return is_mount ? WriteInPlace(*behind, content, O_TRUNC) : Status(std::move(error));
  }
  return {};
}

Result<std::vector<std::string>> ListDirectory(const std::string& path, std::size_t max_entries) {
  auto close = [](DIR* d) { ::closedir(d); };
  std::unique_ptr<DIR, decltype(close)> directory(::opendir(path.c_str()), close);
  if (!directory) return Failed("open directory", path);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(directory.get())) {
    std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == max_entries) {
      return ResourceExhausted(path + " has more than " + std::to_string(max_entries) + " entries");
    }
    names.push_back(std::move(name));
    errno = 0;
  }
  if (errno != 0) return Failed("read directory", path);
  // The kernel's order is arbitrary, and some callers depend on the order of names (K48, A2).
  std::sort(names.begin(), names.end());
  return names;
}

Result<FileKind> KindOf(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return Failed("stat", path);
  if (S_ISREG(info.st_mode)) return FileKind::kRegular;
  if (S_ISDIR(info.st_mode)) return FileKind::kDirectory;
  return FileKind::kOther;
}

bool IsDirectory(const std::string& path) {
  const Result<FileKind> kind = KindOf(path);
  return kind && *kind == FileKind::kDirectory;
}

std::string WithoutTrailingSlashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

std::string JoinPath(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!directory.ends_with('/')) path += '/';
  return path.append(name);
}

std::string_view BaseName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

void StampedFiles::Stamp(const std::string& path) {
  paths_.push_back(path);
  stamps_.push_back(StampOf(path));
  settled_ = settled_ && IsSettled(stamps_.back());
}

Result<std::string> StampedFiles::Read(const std::string& path, std::size_t max_bytes) {
  Stamp(path);
  return ReadFile(path, max_bytes);
}

Result<std::vector<std::string>> StampedFiles::List(const std::string& folder, std::size_t max_entries) {
  Stamp(folder);
  return ListDirectory(folder, max_entries);
}

Result<FileKind> StampedFiles::KindOf(const std::string& path) {
  Stamp(path);
  return base::KindOf(path);
}

bool StampedFiles::HaveChanged() const {
  // Any difference counts, an older time as well: tools that restore a file set its old time.
  return !settled_ || StampsOf(paths_) != stamps_;
}

namespace {

std::int64_t Nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

FileStamp StampOf(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {.error = errno};
  return {.device = info.st_dev,
          .inode = info.st_ino,
          .size = static_cast<std::uint64_t>(info.st_size),
          .modified_ns = Nanoseconds(info.st_mtim),
          .changed_ns = Nanoseconds(info.st_ctim)};
}

bool IsSettled(const FileStamp& stamp, std::chrono::nanoseconds tick) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto age = now - std::chrono::nanoseconds(stamp.changed_ns);
  // The clock may have been set back since: then another change gets another stamp, too.
  return age > tick || age < -tick;
}

std::vector<FileStamp> StampsOf(const std::vector<std::string>& paths) {
  std::vector<FileStamp> stamps;
  for (const std::string& path : paths) stamps.push_back(StampOf(path));
  return stamps;
}

Result<std::string> ParseUnixSocket(std::string_view text) {
  constexpr std::string_view kScheme = "unix:", kSlashes = "//";
  std::string_view path = text;
  if (path.starts_with(kScheme)) {
    path.remove_prefix(kScheme.size());
    if (path.starts_with(kSlashes)) path.remove_prefix(kSlashes.size());
  }
  // "unix://run/x" has a host, and a relative path depends on the working directory. gRPC fails on such
  // addresses without a reason (C8).
  if (!path.starts_with('/') || path.starts_with(kSlashes)) {
    return InvalidArgument("must be unix:// and the absolute path of the runtime's socket");
  }
  if (path.ends_with('/') || path.find('\0') != std::string_view::npos) {
    return InvalidArgument("must be the path of a socket, not of a folder");
  }
  // C8: gRPC fails on a longer one without a reason.
  if (path.size() > kLongestSocketPath) {
    return InvalidArgument("must have at most " + std::to_string(kLongestSocketPath) +
                           " bytes, as the path of any socket");
  }
  return std::string(path);
}

}  // namespace prefetch::base
