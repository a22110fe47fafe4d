// Serve: an HTTP server of a test's own.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "http/server.h"
#include "must.h"

namespace prefetch::tests {

// Answers by `handler` at an address of the machine, and on a free port unless it names one, until the server
// that is returned is gone. All objects to which `handler` refers must outlive it.
inline std::unique_ptr<http::Server> Serve(http::Handler handler, const http::ServerLimits& limits = {},
                                           const std::string& address = "127.0.0.1:0") {
  return *Must(http::Server::Start(*Must(http::Listener::Tcp(address)), limits, std::move(handler)));
}

}  // namespace prefetch::tests
