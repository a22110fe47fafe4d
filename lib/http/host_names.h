// Host names of requests, against DNS rebinding: a page in a browser makes its own name stand for this
// server's address, and then reads answers as its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/handler.h"

namespace prefetch::http {

// Can no stranger own this name? `host` is a Host header's value: an address, a name without a dot, a name
// that no public registry gives out (localhost, .svc, .local, .internal), or one of `own`; each with or
// without a port. True for an empty one: browsers always send it.
bool IsHostOfOurs(std::string_view host, const std::vector<std::string_view>& own);

// Whether the request may come from a page of a stranger's name. Pages cannot set Sec- headers, nor
// Accept-Encoding, for which browsers send more than Go programs (kubectl, through the API server's proxy)
// do.
bool MayBeOfAPage(const ServerRequest& request, const std::vector<std::string_view>& own);

// Sent by prefetchctl, since the API server's proxy passes on the name by which the API server was asked.
inline constexpr std::string_view kNoPageHeader = "Sec-Prefetchd";

}  // namespace prefetch::http
