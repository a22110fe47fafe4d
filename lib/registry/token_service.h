// Asks a token service for a token (R16): the scopes, the two forms of a request, and the exchange.
#pragma once

#include <string>
#include <string_view>
#include <vector>

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
  const image::AuthConfig* credential = nullptr;  // with a user and a password; nullptr: anonymous
  bool post_first = false;                        // the credential is sent by POST, as containerd does
};

// One GET; or one POST, and a GET where the service does not support POST. Blocks.
TokenOutcome AskForToken(Session& session, const TokenRequest& request, base::WallTime now);

// The challenge's scopes and "repository:<path>:pull", each once, sorted, as the runtimes do it; of actions
// only "pull" is asked for, whatever the challenge suggests, and a scope that has no other is left out.
// Scopes that do not look like "type:name:actions" ("aws") stay. At most 16.
std::vector<std::string> PullScopes(std::string_view challenge_scope, std::string_view path);

// The two forms of a token request (R16). Pure.
// GET: the realm's own query stays, ours is appended. No `service` if the challenge has none.
std::string TokenUrl(const http::AbsoluteUrl& realm, std::string_view service,
                     const std::vector<std::string>& scopes);

// POST. The result holds the password: wipe it after use.
std::string PasswordForm(const image::AuthConfig& credential, std::string_view service,
                         const std::vector<std::string>& scopes);

}  // namespace prefetch::registry
