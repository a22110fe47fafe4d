// The two forms of a token request (R16). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/secret.h"
#include "http/absolute_url.h"

namespace prefetch::registry {

// GET: the realm's own query stays, ours is appended. No `service` if the challenge has none.
std::string TokenUrl(const http::AbsoluteUrl& realm, std::string_view service,
                     const std::vector<std::string>& scopes);

// POST, for a credential that is a refresh token. The result holds it: wipe it after use.
std::string RefreshTokenForm(const base::Secret& refresh_token, std::string_view service,
                             const std::vector<std::string>& scopes);

}  // namespace prefetch::registry
