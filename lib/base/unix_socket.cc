#include "base/unix_socket.h"

#include <string>

namespace prefetch::base {

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
