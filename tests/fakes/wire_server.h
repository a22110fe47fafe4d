// WireServer: HTTP/1.1 by hand on loopback, for servers of tests that do what no library would: it gives its
// handler the bytes to write, HEAD apart from GET, and a thread to each connection, which stays open.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/fs.h"
#include "base/mutex.h"
#include "http/headers.h"
#include "loopback.h"

namespace prefetch::tests {

struct WireRequest {
  std::string method;
  std::string target;  // path and query, as it came
  http::Headers headers;
  std::string body;

  std::string path() const { return target.substr(0, target.find('?')); }
  std::string query() const {
    return target.find('?') == std::string::npos ? "" : target.substr(target.find('?') + 1);
  }
};

// Any thread may call.
class WireServer {
 public:
  // Gets the request and the open socket, to which it writes; false closes it. Runs on the connection's
  // thread.
  using Handler = std::function<bool(const WireRequest&, int fd)>;

  explicit WireServer(Handler handler);
  // Cuts what is open. Not from a handler.
  ~WireServer();
  WireServer(const WireServer&) = delete;
  WireServer& operator=(const WireServer&) = delete;

  std::uint16_t port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  int accepted() const { return accepted_; }

  static bool Write(int fd, std::string_view text) { return SendAll(fd, text); }
  // Waits until the client goes; for handlers that never answer.
  static void WaitForClose(int fd) { AwaitClose(fd); }

 private:
  void Accept();
  void Serve(base::Fd client);

  const Handler handler_;
  base::Fd listener_;
  std::uint16_t port_ = 0;
  std::atomic<int> accepted_{0};
  base::Mutex mutex_;
  std::set<int> open_ PREFETCH_GUARDED_BY(mutex_);
  bool ending_ PREFETCH_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> serving_;  // the accepting thread's, then the destructor's
  std::thread accepting_;
};

}  // namespace prefetch::tests
