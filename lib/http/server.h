// Server: a small HTTP/1.1 server for /livez, /readyz, /metrics and /v1.
//
// It must answer above all when something is wrong, and any client may send anything. So every input is
// bounded (connections, headers, body, time), and one thread with epoll serves all of them. Slow clients cost
// a file descriptor each and delay no other client (libmicrohttpd 0.9.75: 4 ms under 200). Answers that take
// a while (Deferred in handler.h) are made by a few threads beside it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "http/handler.h"
#include "http/listener.h"

namespace prefetch::http {

// Maximum bytes of a request's body that a server reads, unless its limits say otherwise.
inline constexpr std::size_t kMostRequestBody = 64 * 1024;

struct ServerLimits {
  // Time limit from the accept, or from the end of the previous request, to the end of the answer. It also
  // ends slow clients that still send, and idle keep-alive connections. While more than half of the
  // connections are taken, or memory is short, the limit is a tenth of this, so that a flood cannot keep a
  // probe out. The clock stands still while a deferred answer is awaited, and begins anew when that answer
  // begins.
  std::chrono::milliseconds request_time{10'000};
  // The deadline of a deferred answer's Call, from the request on, the wait for a free thread included. As
  // long as a credential plugin may take (A8).
  std::chrono::milliseconds deferred_time{60'000};
  // Time that a job has beyond deferred_time to end by itself. Then it is stopped, and the client gets 504.
  std::chrono::milliseconds deferred_grace{5'000};
  // Maximum number of jobs of each kind that run at once (their threads start when they are first needed),
  // and of jobs of all kinds that wait. Further clients get 503 with Retry-After.
  unsigned deferred_threads = 4;
  unsigned deferred_queue = 16;
  // Threads of each kind that one address gets at most, and one HandlerResult::group; 0: all.
  unsigned deferred_per_client = 0;
  unsigned connections = 512;
  // Half of all connections; yet far more than a gateway or a scraper that speaks for many holds open towards
  // one node. Beyond it, the oldest one of that address is closed, so that kubelet's probes, which may share
  // it, are answered. Unix sockets have no such limit.
  unsigned connections_per_address = 256;
  // Memory for answers that clients have not read yet; servers of one process share one budget. While it is
  // crowded, clients over TCP have a tenth of `request_time`, and an answer without room is 503 with
  // Retry-After.
  std::shared_ptr<BodyBudget> budget = std::make_shared<BodyBudget>();
  std::size_t body_bytes = kMostRequestBody;  // more is answered 413
  std::size_t connection_bytes = 32 * 1024;   // request line and headers fit into this, else 431 or 414
};

// Owned by main; one object a listener. Start and destroy it on any one thread.
class Server {
 public:
  // Serves `handler` (see Handler: it must not block) from a thread of its own that blocks all signals, as
  // those that run deferred answers do. All that `handler` and its jobs refer to outlives the Server.
  static base::Result<std::unique_ptr<Server>> Start(Listener listener, const ServerLimits& limits,
                                                     Handler handler);

  // Closes all connections, waits for the thread, and removes the socket file. It waits for no client. Jobs
  // that have not begun are dropped; those that run are stopped and waited for until they have noticed.
  virtual ~Server() = default;

  virtual const Listener& listener() const = 0;
  std::uint16_t port() const { return listener().port(); }
  const std::string& address() const { return listener().address(); }
};

}  // namespace prefetch::http
