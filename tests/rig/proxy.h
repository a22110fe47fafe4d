// A TCP proxy on loopback that stands in front of a registry: the place where tests count what was asked
// and served, and where the network is slow, frozen or broken.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "rig/link.h"

namespace prefetch::rig {

// One HTTP request that passed, with what has been answered to it so far.
struct Passed {
  std::string method;
  std::string path;           // with the query
  std::string authorization;  // the header's value; "Basic …" shows which user it was
  std::string range;          // the Range header's value: "bytes=1000-"
  int status = 0;             // 0 while there is no answer
  std::uint64_t bytes = 0;    // sent to the client so far, headers too
};

// Forwards from its own port to 127.0.0.1:`upstream`. It works at TCP level and looks into the stream only to
// count; it expects HTTP/1.1 without pipelining, which is what container runtimes and registries speak. Any
// thread may call; the work is done by one thread of its own, which the destructor joins.
class Proxy {
 public:
  explicit Proxy(int upstream);
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;
  ~Proxy();

  base::Status Start();
  int port() const;
  std::string address() const { return "127.0.0.1:" + std::to_string(port()); }

  // Bytes a second to all clients together; 0: as fast as it goes.
  void LimitBandwidth(std::uint64_t bytes_per_second);
  // Added to every chunk in each direction, so a round trip costs twice as much.
  void Delay(std::chrono::milliseconds one_way);
  // All of the above and more at once; open connections keep their windows.
  void Shape(const Link& link);
  // While frozen nothing is forwarded in either direction; connections stay and new ones are accepted.
  void Freeze(bool frozen);
  // Resets all connections.
  void CutAll();
  // While refusing, new connections get "connection refused"; those that are open stay.
  base::Status Refuse(bool refuse);
  // Requests whose path contains `part` get `response` (a whole HTTP response, sent as it is), and the
  // registry does not see them. An empty `response` takes that back. A `part` that ends with '$' is the
  // path's end.
  void Answer(const std::string& part, const std::string& response);

  // Sent to clients since the start, or since the last Forget().
  std::uint64_t BytesToClients() const;
  // In the order in which they came.
  std::vector<Passed> Requests() const;
  // How many requests have this method ("" any) and `part` in their path.
  std::size_t Count(const std::string& method, const std::string& part) const;
  // Clears both counts.
  void Forget();

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace prefetch::rig
