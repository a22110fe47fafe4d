// Session: the requests of one check or download to one server, each with its redirects followed by hand
// (R39 to R42).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/call.h"
#include "http/client.h"
#include "image/registry_answer.h"
#include "image/registry_question.h"
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

// Not thread-safe. Its arguments must outlive it.
class Session {
 public:
  Session(ClientState& state, const base::Call& call, const ChainedHost& host,
          const image::RegistryQuestion& question)
      : state_(state), call_(call), host_(host), question_(question) {}

  // Asks the host itself: with its headers, in its turn.
  Reply AskHost(const SessionRequest& request);
  // Gets content of an image: as AskHost, but not in turn with checks, and for as long as bytes come.
  Reply Fetch(const SessionRequest& request);
  // Gets content as Fetch does, from a URL to which this host has redirected: that server gets neither
  // credentials nor the host's headers (R51).
  Reply RequestCachedRedirect(const SessionRequest& request, const http::AbsoluteUrl& url);
  // Asks a token service. `trusted`: it belongs to the registry, and gets the host's headers too.
  Reply AskTokenService(const SessionRequest& request, bool trusted);

  // Returns the URL under which the host is asked: plain http if it does not speak https.
  http::AbsoluteUrl Server() const;
  int requests() const { return requests_; }
  // The server's name is untrusted input. Neither it nor its redirects may lead to this node or its own
  // network.
  bool untrusted_name() const { return question_.untrusted_name; }

 private:
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
  int requests_ = 0;
  bool is_download_ = false;
};

}  // namespace prefetch::registry
