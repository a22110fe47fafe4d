// May a redirect be followed, and what goes along (R40)? Pure; a Location is a
// stranger's.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/absolute_url.h"

namespace prefetch::registry {

bool IsRedirect(int status);  // 301, 302, 303, 307, 308

// Where to ask next. `passed` are the URLs asked so far, the latest last, the first the one that was meant.
// InvalidArgument: no Location that can be read, user information, the sixth redirect, a URL that was asked
// before. PermissionDenied: from https to plain http.
base::Result<http::AbsoluteUrl> FollowRedirect(const std::vector<http::AbsoluteUrl>& passed,
                                               std::string_view location);

// Authorization and the headers of hosts.toml were meant for the first URL's server, and for no other.
bool SameServer(const http::AbsoluteUrl& a, const http::AbsoluteUrl& b);

}  // namespace prefetch::registry
