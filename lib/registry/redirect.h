// Decides which redirects are followed, and what is sent along (R40). Pure; a Location is untrusted input.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/absolute_url.h"

namespace prefetch::registry {

bool IsRedirect(int status);  // 301, 302, 303, 307, 308

// Returns the URL to ask next. `passed` are the URLs asked so far: first the original one, last the newest.
// InvalidArgument: no readable Location, or more than nine redirects, which end a circle as well.
// PermissionDenied: the runtimes follow it, and the agent does not: from https to plain http, or a URL with
// user information.
base::Result<http::AbsoluteUrl> FollowRedirect(const std::vector<http::AbsoluteUrl>& passed,
                                               std::string_view location);

// Authorization and the headers of hosts.toml are for the server of the first URL only.
bool SameServer(const http::AbsoluteUrl& a, const http::AbsoluteUrl& b);

}  // namespace prefetch::registry
