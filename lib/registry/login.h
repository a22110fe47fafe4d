// Login: requests to a registry, with the authorization that it asks for. It answers challenges with
// passwords and tokens, and remembers the last challenge of each server (R14 to R21).
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

// The requests to one repository of one server, as one identity after the other. Not thread-safe. The
// arguments of the constructor must outlive it.
class Login {
 public:
  Login(ClientState& state, const base::Call& call, const ChainedHost& host,
        const image::RegistryQuestion& question);
  Login(const Login&) = delete;
  Login& operator=(const Login&) = delete;

  // The next requests are those of `credential`, which must outlive them; nullptr: anonymous. They have the
  // authorization that this host demanded last, if no request is needed for it.
  void Begin(const image::AuthConfig* credential);
  // These send a request as Session does, with the present authorization.
  Reply Ask(SessionRequest request);
  Reply Fetch(SessionRequest request);
  // `reply` has a response. Returns true if the server asks for another authorization: send the request again
  // with it. A server that refuses the answer to its own challenge would refuse the next one, too (R19), so a
  // second true needs another Begin. With false, `reply` is the answer; it may have become a refusal that
  // explains more.
  bool AnswersChallenge(Reply& reply);

  const image::AuthConfig* credential() const { return credential_; }
  // The authorization of the next request, a password or a token; empty: none.
  const base::Secret& authorization() const { return authorization_.value; }
  // Returns whether any credential was sent so far, be it that of an earlier identity.
  bool sent_credential() const { return sent_credential_; }
  int requests() const { return session_.requests(); }

 private:
  struct Authorization {
    base::Secret value;
    std::string token_key;  // of the token cache; empty: this is no token
    base::Secret token;
    bool from_cache = false;
    bool preemptive = false;  // a password that this host asked for last time, sent before it asks again
    base::Duration age{0};    // of a token from the cache
  };
  Authorization CachedAuthorization();
  Authorization PasswordAuthorization();
  // These return whether there is an answer to the challenge. If not, `reply` becomes the refusal.
  bool Answers(const Challenge& challenge, Reply& reply);
  bool AnswersBearer(const Challenge& challenge, Reply& reply);
  std::string TokenKey(const Challenge& challenge) const;

  ClientState& state_;
  const base::Call& call_;
  const ChainedHost& host_;
  Session session_;
  const std::string repository_;
  const std::string origin_;  // the host's name in HostState
  const image::AuthConfig* credential_ = nullptr;
  Authorization authorization_;
  bool sent_credential_ = false;
};

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
