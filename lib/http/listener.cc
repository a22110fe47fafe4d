#include "http/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/go_url.h"
#include "base/text.h"

namespace prefetch::http {

namespace {

// Clients that connect at once wait here until the server's thread accepts them. If there is no room, the
// kernel drops the connection request, and the client sends it again after 1 s, 3 s and 7 s.
constexpr int kBacklog = 1024;

// The bytes that a client may send before they are read.
constexpr int kReceiveBuffer = 32 * 1024;

// An IPv6 address stands in brackets, and nothing else does.
base::Result<base::HostAndPort> SplitAddress(const std::string& address) {
  if (address.find(':') == std::string::npos)
    return base::InvalidArgument("listen address " + address + " has no port");
  const base::HostAndPort parts = base::SplitHostPort(address);
  // Without brackets, "::1:9477" could be an address without a port.
  if (address.starts_with('[') == (parts.host.find(':') == std::string_view::npos)) {
    return base::InvalidArgument("listen address " + address +
                                 ": an IPv6 address stands in brackets, like [::1]:9477");
  }
  const std::optional<std::uint64_t> port = base::ParseUint(parts.port);
  if (!port || *port > 65535) {
    return base::InvalidArgument("listen address " + address + ": the port is no number up to 65535");
  }
  return parts;
}

using AddressInfo = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

base::Result<AddressInfo> LookUp(const base::HostAndPort& parts, int family, const std::string& address) {
  addrinfo hints{};
  hints.ai_family = family;
  hints.ai_socktype = SOCK_STREAM;
  // Names are not looked up: a start must not depend on DNS.
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  addrinfo* found = nullptr;
  const std::string host(parts.host), port(parts.port);
  if (getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &found) != 0) {
    return base::InvalidArgument("listen address " + address + ": the host is no IP address");
  }
  return AddressInfo(found, &freeaddrinfo);
}

// Names the likely cause and the remedy, as the address is an operator's setting.
base::Error ListenFailed(int error_number, const std::string& address) {
  if (error_number == EADDRINUSE) {
    return base::Unavailable(
        "cannot listen on " + address +
        ": the address is in use; is another prefetchd running here? Choose another one");
  }
  if (error_number == EADDRNOTAVAIL) {
    return base::InvalidArgument("cannot listen on " + address + ": this machine does not have that address");
  }
  return base::FromErrno(error_number, "listen on " + address);
}

base::Result<base::Fd> ListenOn(const addrinfo& info, const std::string& address) {
  base::Fd fd(::socket(info.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return base::FromErrno(errno, "listen on " + address);
  int on = 1, off = 0;
  // Otherwise a restart would have to wait for old connections in TIME_WAIT.
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // Connections inherit this size. The kernel's own buffers grow to megabytes for each of them, and count as
  // the node's memory.
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof kReceiveBuffer);
  if (info.ai_family == AF_INET6) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (::bind(fd.get(), info.ai_addr, info.ai_addrlen) != 0 || ::listen(fd.get(), kBacklog) != 0) {
    return ListenFailed(errno, address);
  }
  return fd;
}

std::uint16_t BoundPort(int fd) {
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length) != 0) return 0;
  if (bound.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&bound)->sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
}

base::Result<sockaddr_un> UnixAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.front() != '/' || path.find('\0') != std::string::npos) {
    return base::InvalidArgument("socket path \"" + path + "\" is not absolute");
  }
  if (path.size() >= sizeof address.sun_path) {
    return base::InvalidArgument("socket path " + path + " is longer than " +
                                 std::to_string(sizeof address.sun_path - 1) + " bytes");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

base::Status MakeParent(const std::string& path) {
  std::filesystem::path parent = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (std::filesystem::exists(parent, error)) return {};
  std::filesystem::create_directories(parent, error);
  if (error) return base::FromErrno(error.value(), "create " + parent.string());
  // The umask does not decide here: the socket's own mode protects, and clients have to get to it.
  std::filesystem::permissions(parent, static_cast<std::filesystem::perms>(0755), error);
  return {};
}

// Removes a socket at `path` on which nobody listens. A killed process leaves its socket file behind, and
// bind(2) would fail for it. Nothing but such a file is removed.
base::Status RemoveStale(const std::string& path, const sockaddr_un& address) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? base::Status() : base::FromErrno(errno, "look at " + path);
  }
  // A regular file at this path is most likely a mistake in the configuration, and may be an operator's data.
  if (!S_ISSOCK(info.st_mode)) {
    return base::InvalidArgument("cannot listen on " + path + ": a file that is no socket is in the way");
  }
  base::Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.valid()) return base::FromErrno(errno, "look at " + path);
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
      errno == EAGAIN) {  // EAGAIN: its queue is full, so a server listens
    return base::Unavailable("cannot listen on " + path +
                             ": another process listens there; is another prefetchd running here? Choose "
                             "another path");
  }
  if (errno != ECONNREFUSED) return base::FromErrno(errno, "look at " + path);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return base::FromErrno(errno, "remove " + path);
  return {};
}

// Returns an owner that removes the socket file which `made` describes. Another process may have replaced the
// file, and then it is that process' to remove.
std::shared_ptr<const void> RemovedAtEnd(const std::string& path, const struct stat& made) {
  const auto remove = [path](const struct stat* ours) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) == 0 && info.st_dev == ours->st_dev && info.st_ino == ours->st_ino) {
      ::unlink(path.c_str());
    }
    delete ours;
  };
  return std::shared_ptr<const struct stat>(new struct stat(made), remove);
}

}  // namespace

base::Result<Listener> Listener::Tcp(const std::string& address) {
  auto parts = SplitAddress(address);
  if (!parts) return std::move(parts).error();
  // Every address is one IPv6 socket that takes IPv4 too; where the kernel has no IPv6, an IPv4 one.
  int family = parts->host.empty() ? AF_INET6 : AF_UNSPEC;
  auto info = LookUp(*parts, family, address);
  if (!info) return std::move(info).error();
  auto fd = ListenOn(**info, address);
  // A taken port (Unavailable) is a final answer: an IPv4 socket would only hide it.
  if (!fd && parts->host.empty() && fd.error().code() != base::Code::kUnavailable) {
    info = LookUp(*parts, AF_INET, address);
    if (!info) return std::move(info).error();
    fd = ListenOn(**info, address);
  }
  if (!fd) return std::move(fd).error();
  Listener listener;
  listener.fd_ = std::move(*fd);
  listener.port_ = BoundPort(listener.fd());
  listener.address_ = address.substr(0, address.rfind(':') + 1) + std::to_string(listener.port_);
  return listener;
}

base::Result<Listener> Listener::Unix(const std::string& path, unsigned mode) {
  auto address = UnixAddress(path);
  if (!address) return std::move(address).error();
  if (base::Status made = MakeParent(path); !made) return std::move(made).error();
  if (base::Status removed = RemoveStale(path, *address); !removed) return std::move(removed).error();

  Listener listener;
  listener.fd_ = base::Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.fd_.valid()) return base::FromErrno(errno, "listen on " + path);
  // The file gets the socket's mode less the umask, so it is never wider than requested. chmod then adds what
  // the umask took away, and clients can connect only after listen.
  if (::fchmod(listener.fd(), mode) != 0 ||
      ::bind(listener.fd(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    return ListenFailed(errno, path);
  }
  struct stat made {};
  if (::lstat(path.c_str(), &made) != 0) return base::FromErrno(errno, "look at " + path);
  listener.file_ = RemovedAtEnd(path, made);
  listener.address_ = "unix://" + path;
  if (::chmod(path.c_str(), mode) != 0 || ::listen(listener.fd(), kBacklog) != 0) {
    return ListenFailed(errno, path);
  }
  return listener;
}

}  // namespace prefetch::http
