// Answers to the challenges of registries: who logs in where, and how tokens are asked for (R14 to R21).
// RequestToken: asks a token service for a token (R16).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/url.h"
#include "image/registry_question.h"
#include "registry/challenge.h"
#include "registry/session.h"
#include "registry/token_cache.h"

namespace prefetch::registry {

// Returns those of `credentials` that this server may get, in order; one nullptr (anonymous) if it may get
// none.
std::vector<const image::AuthConfig*> IdentitiesFor(const ClientOptions& options, const ChainedHost& host,
                                                    const std::vector<image::AuthConfig>& credentials);

// Returns whether this host has asked for a login that containerd would give it, while it may get none of the
// question's credentials (R38).
bool LoginIsWithheld(const ClientOptions& options, HostState& states, const ChainedHost& host,
                     const image::RegistryQuestion& question);
// The end of a message about such a host.
inline constexpr std::string_view kLoginWithheldMessage =
    "asks for credentials, but is not trusted with them (registryTrustedMirrors): only a pull can tell";

// A request to a token service (R16), in one of two forms: GET or POST.
struct TokenRequest {
  Realm realm;
  std::string service;
  std::vector<std::string> scopes;
  const image::AuthConfig* credential = nullptr;  // with a user and a password; nullptr: anonymous
  bool post_first = false;                        // the credential is sent by POST, as containerd does
};

// Sends one GET; with `post_first` one POST, and then a GET if the service does not support POST. Blocks.
TokenOutcome RequestToken(Session& session, const TokenRequest& request, base::WallTime now);

// Returns the challenge's scopes and "repository:<path>:pull", sorted, each once, as the runtimes do. "pull"
// is the only action that is requested, whatever the challenge suggests; scopes without it are dropped.
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
