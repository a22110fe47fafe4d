// PluginIdentity: the service account that a plugin with tokenAttributes is asked for (A24, A26, A27).
// kubelet speaks for a pod's account; a node agent has no pod, so it speaks for the one account that its
// configuration names, and for none where a plugin can do without. Pure.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/call.h"
#include "base/result.h"
#include "base/secret.h"
#include "credentials/plugin_protocol.h"
#include "credentials/token_attributes.h"

namespace prefetch::credentials {

struct ServiceAccountName {
  std::string name_space, name;

  std::string ToString() const { return name_space + "/" + name; }
  friend bool operator==(const ServiceAccountName&, const ServiceAccountName&) = default;
};

// The account as the API server has it, and its token for one audience.
struct ServiceAccountGrant {
  std::string uid;
  std::map<std::string, std::string> annotations;
  base::Secret token;
};

// Asks for one, or gives one that still holds. Any thread; blocks until `call` ends it. An Error: none now,
// with a sentence that names the missing part.
using GrantSource =
    std::function<base::Result<ServiceAccountGrant>(const base::Call& call, const std::string& audience)>;

// A value. Without a token: the plugin is asked as one that knows no accounts.
struct PluginIdentity {
  base::Secret token;
  std::map<std::string, std::string> annotations;  // those that the provider names, as far as they are there
  // The cache key of answers: account, annotations and, if the provider's cacheType is Token, the token's
  // hash. Empty: no account.
  std::string cache_key;
};

// NotFound if the account lacks an annotation that the provider requires: it then has nothing for it.
base::Result<PluginIdentity> IdentityFor(const TokenAttributes& attributes, const ServiceAccountName& account,
                                         const ServiceAccountGrant& grant);

// A plugin may return the token itself as a password only with `cacheType: Token`. With any other type, its
// answer would outlive the token.
bool EchoesToken(const PluginResponse& response, const TokenAttributes& attributes,
                 const PluginIdentity& identity);

}  // namespace prefetch::credentials
