// Which socket addresses Request::peers allows. Pure.
#pragma once

#include <sys/socket.h>

#include "http/client.h"

namespace prefetch::http {

// An IPv4-mapped IPv6 address counts as the IPv4 address. A family that is not IP's is allowed.
bool IsAllowed(Peers peers, const sockaddr& address);

}  // namespace prefetch::http
