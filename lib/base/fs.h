// Files, bounded and careful: no input can block us (a FIFO), exhaust us (a huge file) or be half written.
// StampedFiles and CachedFromFiles: whether files have changed since they were read.
// ParseUnixSocket: the path of a unix socket.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace prefetch::base {

// An open file descriptor that closes itself. Moved, not copied.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.Release()) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd() { Close(); }

  bool valid() const { return fd_ >= 0; }
  int get() const { return fd_; }
  // Gives the descriptor away: the caller closes it.
  int Release();
  void Close();

 private:
  int fd_ = -1;
};

// The whole of a regular file (through symbolic links). Blocks only as a disk does.
// NotFound, PermissionDenied; InvalidArgument if it is a directory, FIFO, device or socket;
// ResourceExhausted if it is longer than `max_bytes`.
Result<std::string> ReadFile(const std::string& path, std::size_t max_bytes);

// Returns whether `path` is one of this process's own open files ("/dev/stdin", "/dev/fd/63",
// "/proc/self/fd/0"). The open of another FIFO, or of a named one whose writer has gone, may wait for ever.
bool IsOwnDescriptor(const std::string& path);

// The text that comes through a pipe, such as "/dev/stdin" or a shell's <(…). It can be read only once, so
// its text is kept, and wiped in the end, because a kubeconfig has tokens. Not thread-safe.
class PipedFile {
 public:
  PipedFile() = default;
  ~PipedFile();
  PipedFile(const PipedFile&) = delete;
  PipedFile& operator=(const PipedFile&) = delete;
  // Returns the text up to the pipe's end, for which it waits at most `timeout`. Returns Unavailable while
  // the pipe is still open; another Read then continues. ResourceExhausted, then and at every later Read, if
  // it is longer than `max_bytes`.
  Result<std::string> Read(const std::string& path, std::size_t max_bytes, std::chrono::milliseconds timeout);

 private:
  Fd pipe_;
  std::string text_;
  bool ended_ = false;
};

// Replaces the file at `path` (links to it stay) as one step: a reader sees the old or the new one, whole. An
// existing file keeps its mode. A device, a descriptor, and a file that is a mount of its own or in a folder
// that is closed to this process, are written in place.
Status WriteFileAtomically(const std::string& path, std::string_view content, unsigned mode = 0644);

// Names in a directory, without "." and "..", sorted by bytes. ResourceExhausted beyond `max_entries`.
Result<std::vector<std::string>> ListDirectory(const std::string& path, std::size_t max_entries);

// "/a//" is "/a"; "/" stays.
std::string WithoutTrailingSlashes(std::string path);
// "/a/b" of "/a" or "/a/" and "b".
std::string JoinPath(std::string_view directory, std::string_view name);
// "b" of "/a/b"; empty if the path ends with a slash.
std::string_view BaseName(std::string_view path);

enum class FileKind { kRegular, kDirectory, kOther };
// The kind of file at `path`, through symbolic links. NotFound if it does not exist (a dangling link too).
Result<FileKind> KindOf(const std::string& path);
bool IsDirectory(const std::string& path);  // false also if that cannot be told

// The facts of stat(2) about a path, through symbolic links, to see whether a file has changed without
// reading it again. A value; all zero but for the errno if stat(2) failed, since the file may come.
struct FileStamp {
  int error = 0;
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t modified_ns = 0, changed_ns = 0;

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

FileStamp StampOf(const std::string& path);

// Returns false for a file that changed less than `tick` ago. The kernel stamps files with a clock that ticks
// every few milliseconds, so such a file may change once more and keep its stamp: it has to be read again.
bool IsSettled(const FileStamp& stamp, std::chrono::nanoseconds tick = std::chrono::milliseconds(50));

std::vector<FileStamp> StampsOf(const std::vector<std::string>& paths);

// The files behind a value that was read, and whether any of them has changed since. Each path is stamped
// before it is read. A change between the two is then seen the next time; with the stamp taken afterwards it
// would be lost for ever.
class StampedFiles {
 public:
  StampedFiles() = default;
  // Stamps these paths, and reads none.
  explicit StampedFiles(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) Stamp(path);
  }

  // Each does what the function of that purpose above does, and stamps the path.
  Result<std::string> Read(const std::string& path, std::size_t max_bytes);
  Result<std::vector<std::string>> List(const std::string& folder, std::size_t max_entries);
  Result<FileKind> KindOf(const std::string& path);

  // Returns true if a stamped path has changed since its read, or may have (IsSettled). Blocks as a disk
  // does.
  bool HaveChanged() const;
  // Returns false if one had changed so shortly before that equal stamps do not mean that nothing has
  // changed.
  bool settled() const { return settled_; }
  // The same paths with the same stamps.
  friend bool operator==(const StampedFiles& a, const StampedFiles& b) {
    return a.paths_ == b.paths_ && a.stamps_ == b.stamps_;
  }

 private:
  void Stamp(const std::string& path);

  std::vector<std::string> paths_;
  std::vector<FileStamp> stamps_;
  bool settled_ = true;  // at the reads
};

// A value parsed from files: the same object until one of them changes, and, for comparable values, while the
// value is the same. Not thread-safe.
template <typename Value>
class CachedFromFiles {
 public:
  // `load` is Value(StampedFiles&) and reads by its argument alone.
  template <typename Load>
  const std::shared_ptr<const Value>& Get(const Load& load) {
    if (value_ && !files_.HaveChanged()) return value_;
    StampedFiles files;
    auto value = std::make_shared<const Value>(load(files));
    files_ = std::move(files);
    if constexpr (std::equality_comparable<Value>) {
      if (value_ && *value_ == *value) return value_;
    }
    value_ = std::move(value);
    return value_;
  }

 private:
  StampedFiles files_;
  std::shared_ptr<const Value> value_;
};

// sun_path of sockaddr_un without its zero. gRPC fails on longer ones without telling why.
constexpr std::size_t kLongestSocketPath = 107;

// The path in "unix:///abs/path", "unix:/abs/path" or "/abs/path". InvalidArgument for other schemes,
// relative paths, folders, and paths that are too long: "must be …", for a sentence whose subject the caller
// knows.
Result<std::string> ParseUnixSocket(std::string_view text);

}  // namespace prefetch::base
