#include "registry/session.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/redactor.h"
#include "base/text.h"
#include "http/addresses.h"
#include "registry/response.h"

namespace prefetch::registry {
namespace {

using image::RegistryDetail;
using Fact = HostState::Fact;
using Kind = image::RegistryAnswerKind;

// Error bodies are only read for a code and a message.
constexpr std::size_t kErrorBodyBytes = 16 * 1024;

http::AbsoluteUrl OverHttps(const Host& host, http::AbsoluteUrl url) {
  url.scheme = "https";
  if (host.https_port != 0) url.port = host.https_port;
  return url;
}

// A server that answers a TLS hello with something else speaks plain http, or an unknown protocol.
bool MaySpeakPlainHttp(const Host& host, http::Fault fault) {
  bool nobody = fault == http::Fault::kConnect || fault == http::Fault::kTimeout;
  if (host.http_fallback && nobody) return true;
  return fault == http::Fault::kTls || fault == http::Fault::kReset || fault == http::Fault::kNotHttp;
}

// Returns true if the URL belongs to this host, which may have different ports for https and http. Other URLs
// do not get the host's own TLS configuration, which may skip verification.
bool IsOfHost(const Host& host, const http::AbsoluteUrl& url) {
  bool port = url.port == host.server.port || (url.scheme == "https" && url.port == host.https_port);
  return port && url.host == host.server.host;
}

// Every spelling of an IP address ends in a number ("10.0.0.1", "167772161", "0xa000001", "[::1]"), and no
// DNS name does.
bool EndsInNumber(const std::string& host) {
  const std::string last = host.substr(host.rfind('.') + 1);
  return http::IsAddress(host) || (!last.empty() && base::IsDigit(last.front()));
}

Reply RefusedRedirect(const base::Error& error, const http::AbsoluteUrl& from) {
  // The runtime follows redirects that the agent refuses, so only a pull can tell.
  bool ours = error.code() == base::Code::kPermissionDenied;
  return {.refusal = {.kind = ours ? Kind::kIndeterminate : Kind::kServerError,
                      .detail = ours ? RegistryDetail::kInsecureRedirect : RegistryDetail::kBadRedirect,
                      .only_by_pull = ours,
                      .message = base::Redact(from.Authority()) + " cannot be asked: " + error.message()}};
}

// Returns the request that follows a POST which is redirected by 301, 302 or 303.
SessionRequest WithoutForm(const SessionRequest& post) {
  return {.url = post.url,
          .http = {.headers = {{"Accept", std::string(post.http.headers.Get("Accept").value_or(""))}},
                   .max_body_bytes = post.http.max_body_bytes,
                   .gzip = post.http.gzip}};
}

}  // namespace

Session::Session(ClientState& state, const base::Call& call, const ChainedHost& host,
                 const image::RegistryQuestion& question)
    : state_(state),
      call_(call),
      host_(host),
      question_(question),
      repository_(question.reference.path()),
      origin_(host.host.server.Origin()) {}

http::AbsoluteUrl Session::Server() const {
  const http::AbsoluteUrl& server = host_.host.server;
  const bool secure = state_.host_states.Knows(Fact::kSpeaksHttps, origin_) ||
                      !state_.host_states.Knows(Fact::kSpeaksHttp, origin_);
  return host_.host.https_first && secure ? OverHttps(host_.host, server) : server;
}

// Limits the addresses to which a request may go (R41). A registry that the operator wrote may have any
// address except link-local ones, and even these if the operator wrote the address itself. Servers that a
// registry names must not be on this machine.
http::AddressPolicy Session::AddressPolicyFor(const http::AbsoluteUrl& url) const {
  const std::string& own = host_.host.server.host;
  if (untrusted_name())
    return EndsInNumber(url.host) ? http::AddressPolicy::kPublic : http::AddressPolicy::kOtherHosts;
  if (url.host == own)
    return http::IsAddress(own) ? http::AddressPolicy::kAny : http::AddressPolicy::kAllowLoopback;
  return IsLocalhost(own) ? http::AddressPolicy::kAllowLoopback : http::AddressPolicy::kNoLoopback;
}

http::ExchangeResult Session::Send(const SessionRequest& request, const http::AbsoluteUrl& url,
                                   bool is_target_host, OwnHeaders own_headers) {
  http::Request http_request = request.http;
  http_request.url = url.ToString();
  // Credentials and headers go to the intended server only, and not to the target of a redirect (R40).
  if (!is_target_host) http_request.authorization = base::Secret();
  if (is_target_host && own_headers == OwnHeaders::kSend) {
    for (const auto& header : host_.host.headers) {
      http_request.headers.Add(header.first, std::string(header.second.Reveal()));
    }
  }
  http_request.tls = IsOfHost(host_.host, url) ? host_.tls : host_.redirect_tls;
  http_request.connect_timeout =
      std::min(state_.options.times.connect, host_.host.dial_timeout.value_or(state_.options.times.connect));
  http_request.stall_timeout = state_.options.times.stall;
  http_request.max_error_body_bytes = kErrorBodyBytes;
  http_request.address_policy = AddressPolicyFor(url);
  if (untrusted_name())
    http_request.excluded_addresses = question_.excluded_addresses.value_or(std::vector<std::string>());
  http_request.http2 = true;
  http_request.headers_as_go = true;  // the runtimes' client refuses the same answers
  const auto limit = is_download_ ? state_.options.times.content : state_.options.times.request;
  http::ExchangeResult exchanged = state_.http.Exchange(call_.Within(limit), http_request);
  base::WipeString(http_request.body);
  // Requests that never reached a server do not count against its limits.
  if (WasSent(exchanged.fault)) requests_++;
  return exchanged;
}

// Follows redirects by hand and not in the HTTP client, because each step needs a decision: whether the
// target may be asked, and whether it gets credentials.
Reply Session::Follow(const SessionRequest& request, OwnHeaders own_headers) {
  std::vector<http::AbsoluteUrl> visited = {request.url};
  std::optional<SessionRequest> bare;  // is sent instead behind some redirects
  while (true) {
    bool same_server = SameServer(visited.front(), visited.back());
    const base::TimePoint sent = std::chrono::steady_clock::now();
    http::ExchangeResult got = Send(bare ? *bare : request, visited.back(), same_server, own_headers);
    if (!got.response) {
      Reply reply{.fault = got.fault,
                  .broke_in_body = got.broken_status / 100 == 2,
                  .refusal = AnswerToFault(got.fault, got.response.error())};
      // The registry sent us to an address that the agent does not follow (R41). The runtime does.
      if (got.fault == http::Fault::kExcludedAddress && !same_server && !untrusted_name()) {
        reply.refusal.kind = Kind::kIndeterminate;
        reply.refusal.only_by_pull = true;
      }
      return reply;
    }
    const std::string_view location = got.response->headers.Get("Location").value_or("");
    if (!IsRedirect(got.response->status) || location.empty()) {
      return {.response = std::move(*got.response),
              .redirected = !same_server,
              .final_url = visited.back(),
              .asked_origin = origin_,
              .took = std::chrono::steady_clock::now() - sent,
              .round_trip = got.round_trip};
    }
    auto next = FollowRedirect(visited, location);
    if (!next) return RefusedRedirect(next.error(), visited.back());
    // A form contains a login, which must not go to another server.
    if (!request.http.body.empty() && !SameServer(visited.front(), *next)) {
      return RefusedRedirect(base::PermissionDenied("it redirects a login to another server"),
                             visited.back());
    }
    // Go's client sends the same request again only at 307 and 308.
    if (!request.http.body.empty() && got.response->status < 307) bare = WithoutForm(request);
    visited.push_back(std::move(*next));
  }
}

// Asks by https first where the host has it so (R33). Servers that do not speak it are asked by plain http.
// The result is remembered for an hour, so that later requests do not begin with a TLS handshake that fails,
// and a server that has spoken https is not asked by plain http.
Reply Session::RequestWithSchemeFallback(const SessionRequest& request) {
  if (!host_.host.https_first) return Follow(request, OwnHeaders::kSend);
  const bool is_https = state_.host_states.Knows(Fact::kSpeaksHttps, origin_);
  if (is_https || !state_.host_states.Knows(Fact::kSpeaksHttp, origin_)) {
    SessionRequest secure = request;
    secure.url = OverHttps(host_.host, request.url);
    int before = requests_;
    Reply reply = Follow(secure, OwnHeaders::kSend);
    if (reply.response) state_.host_states.Learn(Fact::kSpeaksHttps, origin_);
    if (is_https || !MaySpeakPlainHttp(host_.host, reply.fault)) return reply;
    requests_ = before;  // The server has not received a request yet.
  }
  Reply reply = Follow(request, OwnHeaders::kSend);
  if (reply.response) state_.host_states.Learn(Fact::kSpeaksHttp, origin_);
  return reply;
}

// The pass limits the node's own requests to this server. It is taken here and not in Send, so that a
// request with redirects takes one.
Reply Session::AskHost(SessionRequest request) {
  request.http.authorization = authorization_.value;
  auto permit = state_.throttle.AcquireHost(call_, origin_);
  if (permit == nullptr) {
    return {
        .refusal = {
            .kind = call_.Stopped() ? Kind::kUnreachable : Kind::kRateLimited,
            .detail = call_.Stopped() ? RegistryDetail::kStopped : RegistryDetail::kOwnLimit,
            .message = host_.host.server.Authority() +
                       " was not asked: this node already sends it as many requests as its limit allows"}};
  }
  return RequestWithSchemeFallback(request);
}

// A download has no pass of the throttle: plan::FetchOrder limits the streams, and a blob may take minutes.
Reply Session::Fetch(SessionRequest request) {
  request.http.authorization = authorization_.value;
  is_download_ = true;
  Reply reply = RequestWithSchemeFallback(request);
  is_download_ = false;
  return reply;
}

Reply Session::RequestCachedRedirect(const SessionRequest& request, const http::AbsoluteUrl& url) {
  is_download_ = true;
  // The URL is signed, and its object store gets neither credentials nor headers (R51).
  http::ExchangeResult got = Send(request, url, false, OwnHeaders::kLeaveOut);
  is_download_ = false;
  Reply reply{.redirected = true, .final_url = url, .fault = got.fault};
  if (got.response) reply.response = std::move(*got.response);
  return reply;
}

Reply Session::AskTokenService(const SessionRequest& request, bool trusted) {
  return Follow(request, trusted ? OwnHeaders::kSend : OwnHeaders::kLeaveOut);
}

}  // namespace prefetch::registry
