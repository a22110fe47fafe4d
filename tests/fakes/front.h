// Front: stands before a server on loopback, forwards bytes, speaks TLS if it is told to, and cuts.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/fs.h"
#include "base/mutex.h"

namespace prefetch::tests {

struct FrontOptions {
  std::string certificate_file, key_file;  // PEM; empty: plain TCP
  std::string client_ca_file;              // demands a client certificate of that authority; empty: asks none
};

// Any thread may call. A thread for each connection: this is for tests. The process ignores SIGPIPE from then
// on.
class Front {
 public:
  explicit Front(FrontOptions options);
  ~Front();
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

  // Where it listens, on 127.0.0.1, as long as it lives.
  std::uint16_t port() const { return port_; }
  int accepted() const { return accepted_; }

  // New connections are forwarded to this port; 0: are closed at once.
  void ForwardTo(std::uint16_t port) { upstream_ = port; }
  // New connections get this certificate.
  void SetCertificate(const std::string& certificate_file, const std::string& key_file)
      PREFETCH_EXCLUDES(mutex_);
  // The connection that brings the next answer is cut in the midst of it.
  void CutNextAnswer() { cut_next_ = true; }
  // Cuts what is open.
  void CutAll() PREFETCH_EXCLUDES(mutex_);

 private:
  struct TlsContext;
  class Pipe;
  void Accept();
  void Serve(base::Fd client);
  bool Register(int fd) PREFETCH_EXCLUDES(mutex_);
  void Unregister(int fd) PREFETCH_EXCLUDES(mutex_);

  const std::string client_ca_file_;
  base::Fd listener_;
  std::uint16_t port_ = 0;
  std::atomic<std::uint16_t> upstream_{0};
  std::atomic<bool> cut_next_{false};
  std::atomic<int> accepted_{0};

  base::Mutex mutex_;
  std::shared_ptr<const TlsContext> tls_ PREFETCH_GUARDED_BY(mutex_);
  std::set<int> open_ PREFETCH_GUARDED_BY(mutex_);
  bool ending_ PREFETCH_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> serving_;  // the accepting thread's, then the destructor's
  std::thread accepting_;
};

}  // namespace prefetch::tests
