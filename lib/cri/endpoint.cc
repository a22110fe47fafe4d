#include "cri/endpoint.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/fs.h"
#include "base/text.h"

namespace prefetch::cri {
namespace {

static_assert(base::kLongestSocketPath == sizeof(sockaddr_un{}.sun_path) - 1);

// Returns 0 if a server accepts, else an errno. A full backlog (EAGAIN) counts as a busy server. The socket
// does not block, so a server that hangs cannot hold up the search.
int TryConnect(const std::string& path) {
  int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return 0;  // out of descriptors says nothing about the runtime
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), base::kLongestSocketPath));
  int error = 0;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) error = errno;
  ::close(fd);
  return error == EAGAIN || error == EINPROGRESS || error == EINTR ? 0 : error;
}

}  // namespace

base::Result<Endpoint> ParseEndpoint(std::string_view text) {
  auto path = base::ParseUnixSocket(text);
  if (!path) {
    return base::InvalidArgument("runtime endpoint \"" + std::string(text) + "\" " + path.error().message());
  }
  return Endpoint{*std::move(path)};
}

std::optional<std::string> UnreachableReason(const Endpoint& endpoint) {
  switch (int error = TryConnect(endpoint.socket_path); error) {
    case 0:
      return std::nullopt;
    case ENOENT:
    case ENOTDIR:
      return "absent";
    case EACCES:
    case EPERM:
      return kPermissionDenied;
    case ECONNREFUSED:
      return "nobody listens";
    default:
      return base::ToLower(base::FromErrno(error, "").message().substr(2));
  }
}

// The order decides if several runtimes run on a node.
const std::vector<Endpoint>& WellKnownEndpoints() {
  static const auto* const kUsual = new std::vector<Endpoint>{
      {"/run/containerd/containerd.sock"},
      {"/run/crio/crio.sock"},
      {"/var/run/cri-dockerd.sock"},
      {"/run/k3s/containerd/containerd.sock"},
      {"/var/snap/microk8s/common/run/containerd.sock"},
  };
  return *kUsual;
}

// Takes the first socket that accepts a connection. The error names each socket with its own reason, since
// operators have to choose one of them.
base::Result<Endpoint> DiscoverEndpoint(const std::vector<Endpoint>& candidates) {
  std::vector<std::string> tried;
  bool denied = false;
  for (const Endpoint& candidate : candidates) {
    std::optional<std::string> why = UnreachableReason(candidate);
    if (!why) return candidate;
    // A socket that exists and denies access is most likely the right one, so the advice is about rights.
    denied = denied || *why == kPermissionDenied;
    tried.push_back(candidate.socket_path + " (" + *why + ")");
  }
  std::string advice = denied ? "Run as root, or name the socket with --runtime-endpoint."
                              : "Name the socket with --runtime-endpoint.";
  return base::Unavailable("cannot reach a container runtime: tried " + base::Join(tried, ", ") + ". " +
                           advice);
}

}  // namespace prefetch::cri
