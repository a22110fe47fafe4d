// Authenticator: what a server of images is sent to be let in: its memory of that server, challenges,
// passwords and tokens (R14 to R21).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "image/auth_config.h"
#include "registry/challenge.h"
#include "registry/session.h"

namespace prefetch::registry {

// Those of `credentials` that this server may get, in order; one nullptr, which is anonymous, if it may get
// none.
std::vector<const image::AuthConfig*> IdentitiesFor(const ClientOptions& options, const ChainedHost& host,
                                                    const std::vector<image::AuthConfig>& credentials);

// For one repository of one server. One thread; what it is given outlives it.
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

  // The authorization that this host demanded last, if no request is needed for it.
  Authorization Remembered(const image::AuthConfig* credential);
  // A request was refused: is there something else to send? nullopt: the refusal stands.
  std::optional<Authorized> AfterRefusal(const Reply& reply, const Authorization& used,
                                         const image::AuthConfig* credential);
  // Was any credential asked for until now?
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
