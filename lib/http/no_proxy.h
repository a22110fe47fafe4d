// NO_PROXY as Go programs read it, which kubelet and the runtimes are (golang.org/x/net/http/httpproxy):
// libcurl's own reading knows no "host:port" and takes ".host" for the host itself too. Pure.
#pragma once

#include <string_view>

#include "http/absolute_url.h"

namespace prefetch::http {

// Is `url` reached without a proxy? "localhost" and loopback addresses always are. `no_proxy` is a list with
// commas of: "*"; an address, a CIDR; "host" (itself and what is below it), ".host" and "*.host" (what is
// below it); each but the CIDR with or without ":port".
bool BypassesProxy(std::string_view no_proxy, const AbsoluteUrl& url);

}  // namespace prefetch::http
