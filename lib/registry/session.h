// Session: the requests of one check or download to one server, each with its redirects followed by hand
// (R39 to R42), and with the authorization that the server asks for. It answers challenges with passwords and
// tokens, and remembers the last challenge of each server (R14 to R21).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/call.h"
#include "base/secret.h"
#include "http/client.h"
#include "image/registry_answer.h"
#include "image/registry_question.h"
#include "registry/challenge.h"
#include "registry/host.h"
#include "registry/host_state.h"
#include "registry/options.h"
#include "registry/token_cache.h"

namespace prefetch::registry {

// The state that all checks and downloads of a client share, which never moves. Owned by Client.
struct ClientState {
  http::Client& http;
  const base::Clock& clock;
  const ClientOptions options;
  Throttle throttle{options.throttle};
  HostState host_states{clock, options.circuit};
  TokenCache tokens{clock};
};

struct SessionRequest {
  http::AbsoluteUrl url;
  // Method, headers, credential, body, and the limits of the answer's body. The rest is the Session's.
  http::Request http;
};

// A complete answer with any status, or a refusal.
struct Reply {
  std::optional<http::Response> response;
  bool redirected = false;                        // it came from another server, by a redirect
  http::AbsoluteUrl final_url;                    // the URL that gave it
  std::string asked_origin;                       // the origin of the host that was asked
  base::Duration took{0};                         // of the last exchange
  std::optional<base::Duration> round_trip = {};  // of its connection, see http::ExchangeResult
  http::Fault fault = http::Fault::kNone;
  bool broke_in_body = false;     // the connection broke within the body of a 2xx answer
  image::RegistryAnswer refusal;  // if there is no response
};

// The requests to one repository of one server, as one identity after the other. Not thread-safe. Its
// arguments must outlive it.
class Session {
 public:
  Session(ClientState& state, const base::Call& call, const ChainedHost& host,
          const image::RegistryQuestion& question);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // The next requests to the host are those of `credential`, which must outlive them; nullptr: anonymous.
  // They have the authorization that this host demanded last, if no request is needed for it.
  void Begin(const image::AuthConfig* credential);
  // Asks the host itself: with its headers, in its turn.
  Reply AskHost(SessionRequest request);
  // Gets content of an image: as AskHost, but not in turn with checks, and for as long as bytes come.
  Reply Fetch(SessionRequest request);
  // `reply` has a response. Returns true if the server asks for another authorization: send the request again
  // with it. A server that refuses the answer to its own challenge would refuse the next one, too (R19), so a
  // second true needs another Begin. With false, `reply` is the answer; it may have become a refusal that
  // explains more.
  bool AnswersChallenge(Reply& reply);
  // Gets content as Fetch does, from a URL to which this host has redirected: that server gets neither
  // credentials nor the host's headers (R51).
  Reply RequestCachedRedirect(const SessionRequest& request, const http::AbsoluteUrl& url);
  // Asks a token service. `trusted`: it belongs to the registry, and gets the host's headers too.
  Reply AskTokenService(const SessionRequest& request, bool trusted);

  const image::AuthConfig* credential() const { return credential_; }
  // The authorization of the next request, a password or a token; empty: none.
  const base::Secret& authorization() const { return authorization_.value; }
  // Returns whether any credential was sent so far, be it that of an earlier identity.
  bool sent_credential() const { return sent_credential_; }
  int requests() const { return requests_; }
  // The server's name is untrusted input. Neither it nor its redirects may lead to this node or its own
  // network.
  bool untrusted_name() const { return question_.untrusted_name; }

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

  // Returns the URL under which the host is asked: plain http if it does not speak https.
  http::AbsoluteUrl Server() const;
  // kSend: the request has the headers that hosts.toml names for this host.
  enum class OwnHeaders { kSend, kLeaveOut };
  Reply Follow(const SessionRequest& request, OwnHeaders own_headers);
  // `is_target_host`: this URL is the server that the request is for, and not the target of a redirect.
  http::ExchangeResult Send(const SessionRequest& request, const http::AbsoluteUrl& url, bool is_target_host,
                            OwnHeaders own_headers);
  Reply RequestWithSchemeFallback(const SessionRequest& request);
  http::AddressPolicy AddressPolicyFor(const http::AbsoluteUrl& url) const;

  ClientState& state_;
  const base::Call& call_;
  const ChainedHost& host_;
  const image::RegistryQuestion& question_;
  const std::string repository_;
  const std::string origin_;  // the host's name in HostState
  const image::AuthConfig* credential_ = nullptr;
  Authorization authorization_;
  bool sent_credential_ = false;
  int requests_ = 0;
  bool is_download_ = false;
};

}  // namespace prefetch::registry
