// Listener: the socket of a Server.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/fs.h"
#include "base/result.h"

namespace prefetch::http {

// A listening socket: TCP, or unix with all that a socket file needs. The destructor removes its socket file,
// unless another file has replaced that. Moved, not copied.
class Listener {
 public:
  // `address` is "127.0.0.1:9477", "[::1]:9477", or ":9477" for every address; names are not looked up.
  // Port 0 takes a free one. InvalidArgument for anything else; Unavailable if the port is taken.
  static base::Result<Listener> Tcp(const std::string& address);

  // A socket file with exactly `mode` from the first moment that one can connect. A missing parent folder is
  // made (0755: it is the socket's own mode that protects). A file left by a dead process is replaced;
  // Unavailable if a process still listens there, InvalidArgument if it is no socket or the path is longer
  // than a socket address can hold.
  static base::Result<Listener> Unix(const std::string& path, unsigned mode);

  int fd() const { return fd_.get(); }
  bool local() const { return file_ != nullptr; }
  std::uint16_t port() const { return port_; }             // 0 for a unix socket
  const std::string& address() const { return address_; }  // "127.0.0.1:34567", "unix:///run/x.sock"

 private:
  Listener() = default;

  base::Fd fd_;
  std::string address_;
  std::uint16_t port_ = 0;
  std::shared_ptr<const void> file_;  // the socket file, removed when this is destroyed; nullptr: TCP
};

}  // namespace prefetch::http
