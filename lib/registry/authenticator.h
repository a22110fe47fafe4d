// Authenticator: answers the challenges of a registry with passwords and tokens, and remembers what the
// server asked for (R14 to R21).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "image/auth_config.h"
#include "registry/challenge.h"
#include "registry/session.h"

namespace prefetch::registry {

// Returns those of `credentials` that this server may get, in order; one nullptr (anonymous) if it may get
// none.
std::vector<const image::AuthConfig*> IdentitiesFor(const ClientOptions& options, const ChainedHost& host,
                                                    const std::vector<image::AuthConfig>& credentials);

// Returns whether this host may get none of `credentials`, though containerd would show it one (R38).
bool Withholds(const ClientOptions& options, const ChainedHost& host,
               const std::vector<image::AuthConfig>& credentials);

// Serves one repository of one server. Not thread-safe. Its arguments must outlive it.
class Authenticator {
 public:
  Authenticator(Parts parts, const base::Call& call, const ChainedHost& host, Session& session,
                std::string repository);

  // A request's authorization: none, a password, a token.
  struct Authorization {
    base::Secret value;
    std::string token_key;  // of the token cache; empty: this is no token
    base::Secret token;
    bool from_cache = false;
    bool remembered = false;  // a password that this host asked for last time, sent before it asks again
    base::Duration age{0};    // of a token from the cache
    bool sent() const { return !value.empty(); }
  };
  struct Authorized {
    std::optional<Authorization> authorization;
    image::RegistryAnswer refusal;
  };

  // Returns the authorization that this host demanded last, if no request is needed for it.
  Authorization Remembered(const image::AuthConfig* credential);
  // Called when a request was rejected. Returns the next authorization to try; nullopt: the refusal stands.
  std::optional<Authorized> AfterRefusal(const Reply& reply, const Authorization& used,
                                         const image::AuthConfig* credential);
  // Returns whether any credential was sent so far.
  bool sent_credential() const { return sent_credential_; }

 private:
  Authorized Answer(const Challenge& challenge, const image::AuthConfig* credential);
  Authorized AnswerBearer(const Challenge& challenge, const image::AuthConfig* credential);
  std::string TokenKey(const Challenge& challenge, const image::AuthConfig* credential) const;

  Parts parts_;
  const base::Call& call_;
  const ChainedHost& host_;
  Session& session_;
  const std::string repository_;
  const std::string origin_;  // how the host is called in the book
  bool sent_credential_ = false;
};

}  // namespace prefetch::registry
