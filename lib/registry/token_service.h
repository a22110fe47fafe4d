// Asks a token service for a token (R16).
#pragma once

#include <string>
#include <vector>

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

}  // namespace prefetch::registry
