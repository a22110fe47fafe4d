#include "rig/port.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "loopback.h"

namespace prefetch::rig {
namespace {

constexpr int kFirst = 20'000;
constexpr int kCount = 10'000;

// Binds a name that stands for the port, so that no other process takes it for its own until this one ends.
bool Claim(int port) {
  static base::Mutex mutex;
  static std::vector<base::Fd> claims;
  base::Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "prefetch-rig-port-" + std::to_string(port);
  name.copy(address.sun_path + 1, name.size());  // after a NUL: an abstract name, which leaves no file
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) return false;
  base::Lock lock(mutex);
  claims.push_back(std::move(fd));
  return true;
}

}  // namespace

base::Result<base::Fd> Listen(int port) {
  base::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const sockaddr_in address = tests::Loopback(port);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(fd.get(), 512) != 0) {
    return base::FromErrno(errno, "listen on 127.0.0.1:" + std::to_string(port));
  }
  return fd;
}

base::Result<int> FreePort() {
  static std::atomic<int> next{static_cast<int>(::getpid())};
  for (int tries = 0; tries < kCount; ++tries) {
    int port = kFirst + next.fetch_add(1) % kCount;
    if (Claim(port) && Listen(port)) return port;
  }
  return base::ResourceExhausted("no free port on 127.0.0.1");
}

base::Fd Connect(int port) {
  base::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  const sockaddr_in address = tests::Loopback(port);
  (void)::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  return fd;
}

bool SomebodyListens(int port) {
  base::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = tests::Loopback(port);
  return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

}  // namespace prefetch::rig
