// Asks a token service for a token (R16): the scopes, the two forms of a request, and the exchange.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/secret.h"
#include "http/absolute_url.h"
#include "image/auth_config.h"
#include "registry/realm.h"
#include "registry/session.h"
#include "registry/token_cache.h"

namespace prefetch::registry {

struct TokenRequest {
  Realm realm;
  std::string service;
  std::vector<std::string> scopes;
  const image::AuthConfig* credential = nullptr;  // nullptr: anonymous
};

// One GET, or a POST where the credential is a refresh token; blocks.
TokenOutcome AskForToken(Session& session, const TokenRequest& request, base::WallTime now);

// The challenge's scopes and "repository:<path>:pull", each once, sorted, as the runtimes do it; of actions
// only "pull" is asked for, whatever the challenge suggests, and a scope that has no other is left out.
// Scopes that do not look like "type:name:actions" ("aws") stay. At most 16.
std::vector<std::string> PullScopes(std::string_view challenge_scope, std::string_view path);

// The two forms of a token request (R16). Pure.
// GET: the realm's own query stays, ours is appended. No `service` if the challenge has none.
std::string TokenUrl(const http::AbsoluteUrl& realm, std::string_view service,
                     const std::vector<std::string>& scopes);

// POST, for a credential that is a refresh token. The result holds it: wipe it after use.
std::string RefreshTokenForm(const base::Secret& refresh_token, std::string_view service,
                             const std::vector<std::string>& scopes);

}  // namespace prefetch::registry
