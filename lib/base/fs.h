// Files, bounded and careful: no input can block us (a FIFO), exhaust us (a huge file) or be half written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
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
  int Release();
  void Close();

 private:
  int fd_ = -1;
};

// The whole of a regular file (through symbolic links). Blocks only as a disk does.
// NotFound, PermissionDenied; InvalidArgument if it is a directory, FIFO, device or socket;
// ResourceExhausted if it is longer than `max_bytes`.
Result<std::string> ReadFile(const std::string& path, std::size_t max_bytes);

// Replaces `path` by a file with `content` as one step: a reader sees the old or the new one, whole.
Status WriteFileAtomically(const std::string& path, std::string_view content, unsigned mode = 0644);

// Names in a directory, without "." and "..", sorted by bytes. ResourceExhausted beyond `max_entries`.
Result<std::vector<std::string>> ListDirectory(const std::string& path, std::size_t max_entries);

// "/a//" is "/a"; "/" stays.
std::string WithoutEndSlashes(std::string path);

enum class FileKind { kRegular, kDirectory, kOther };
// The kind of file at `path`, through symbolic links. NotFound if it does not exist (a dangling link too).
Result<FileKind> KindOf(const std::string& path);

}  // namespace prefetch::base
