#include "list/piped_list.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace prefetch::list {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

bool IsOwnDescriptor(const std::string& path) {
  return path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

base::Status PipedList::ReadOn(const std::string& path, std::size_t most_bytes, milliseconds timeout) {
  // O_NONBLOCK is this descriptor's own: opening a pipe by its name makes a new one.
  if (!pipe_.valid()) pipe_ = base::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!pipe_.valid()) return base::Unavailable("open " + path + ": " + std::strerror(errno));
  const auto until = steady_clock::now() + timeout;
  std::array<char, 1 << 16> buffer;
  while (true) {
    ssize_t n = ::read(pipe_.get(), buffer.data(), buffer.size());
    if (n == 0) {
      ended_ = true;
      pipe_ = base::Fd();
      return {};
    }
    if (n > 0) {
      text_.append(buffer.data(), static_cast<std::size_t>(n));
      // The text is kept beyond the limit, so that the next Read rejects it as well instead of continuing in
      // the middle.
      if (text_.size() <= most_bytes) continue;
      return base::ResourceExhausted(path + " is longer than " + std::to_string(most_bytes) + " bytes");
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return base::Unavailable("read " + path + ": " + std::strerror(errno));
    auto left = std::chrono::duration_cast<milliseconds>(until - steady_clock::now());
    pollfd ready{.fd = pipe_.get(), .events = POLLIN, .revents = 0};
    // The caller holds up other sources meanwhile, so the wait is short. The next Read continues where this
    // one stopped.
    if (left <= milliseconds::zero() || ::poll(&ready, 1, static_cast<int>(left.count())) == 0) {
      return base::Unavailable(path + " is still open for writing: a list is read when it has ended");
    }
  }
}

base::Result<std::string> PipedList::Read(const std::string& path, std::size_t most_bytes,
                                          milliseconds timeout) {
  if (ended_) return text_;
  // A list that is too long is rejected as a whole, at every Read.
  if (text_.size() > most_bytes) {
    return base::ResourceExhausted(path + " is longer than " + std::to_string(most_bytes) + " bytes");
  }
  if (auto read = ReadOn(path, most_bytes, timeout); !read) return read.error();
  return text_;
}

}  // namespace prefetch::list
