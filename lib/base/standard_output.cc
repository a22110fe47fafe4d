#include "base/standard_output.h"

#include <poll.h>
#include <unistd.h>

#include <iostream>

namespace prefetch::base {

bool StdoutReaderIsGone() {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  // For a pipe without a reader, poll(2) reports POLLERR.
  return ::poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0;
}

Status StdoutDelivered() {
  std::cout.flush();
  if (std::cout.good() || StdoutReaderIsGone()) return {};
  return Unavailable("standard output cannot be written to: is the disk full?");
}

}  // namespace prefetch::base
