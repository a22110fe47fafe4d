#include "registry/session.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/redactor.h"
#include "http/addresses.h"
#include "registry/response.h"

namespace prefetch::registry {
namespace {

using image::RegistryDetail;
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
  if (host.http_after_all && nobody) return true;
  return fault == http::Fault::kTls || fault == http::Fault::kReset || fault == http::Fault::kGarbage;
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
  return http::IsAddress(host) || (!last.empty() && last.front() >= '0' && last.front() <= '9');
}

Reply RefusedRedirect(const base::Error& error, const http::AbsoluteUrl& from) {
  // The runtime follows redirects that the agent refuses, so only a pull can tell.
  bool ours = error.code() == base::Code::kPermissionDenied;
  return {.response = std::nullopt,
          .refusal = {.kind = ours ? Kind::kIndeterminate : Kind::kServerError,
                      .detail = ours ? RegistryDetail::kInsecureRedirect : RegistryDetail::kBadRedirect,
                      .only_by_pull = ours,
                      .message = base::Redact(from.Authority()) + " cannot be asked: " + error.message()}};
}

// Returns the request that follows a POST which is redirected by 301, 302 or 303.
Question WithoutForm(const Question& post) {
  return {.method = "GET",
          .url = post.url,
          .accept = post.accept,
          .max_body_bytes = post.max_body_bytes,
          .gzip = post.gzip};
}

}  // namespace

bool WasSent(http::Fault fault) {
  switch (fault) {
    case http::Fault::kRequest:
    case http::Fault::kName:
    case http::Fault::kConnect:
    case http::Fault::kAddress:
    case http::Fault::kTls:
    case http::Fault::kUntrustedCertificate:
    case http::Fault::kProxy:
    case http::Fault::kProxyAuth:
      return false;
    case http::Fault::kNone:
    case http::Fault::kStopped:
    case http::Fault::kTimeout:
    case http::Fault::kReset:
    case http::Fault::kGarbage:
    case http::Fault::kMalformed:
    case http::Fault::kLongHeaders:
    case http::Fault::kTooLong:
    case http::Fault::kEncoding:
      return true;
  }
  return true;
}

Session::Session(const Parts& parts, const base::Call& call, const ChainedHost& host)
    : parts_(parts), call_(call), host_(host) {}

http::AbsoluteUrl Session::Server() const {
  const http::AbsoluteUrl& server = host_.host.server;
  bool plain = parts_.host_states.SchemeOf(server.Origin()) == HostState::Protocol::kHttp;
  return host_.host.https_first && !plain ? OverHttps(host_.host, server) : server;
}

// Limits the addresses to which a request may go (R41). A registry that the operator wrote may have any
// address except link-local ones, and even these if the operator wrote the address itself. Servers that a
// registry names must not be on this machine.
http::Peers Session::PeersFor(const http::AbsoluteUrl& url) const {
  const std::string& own = host_.host.server.host;
  if (parts_.untrusted_name) return EndsInNumber(url.host) ? http::Peers::kPublic : http::Peers::kOthers;
  if (url.host == own) return http::IsAddress(own) ? http::Peers::kAny : http::Peers::kLoopbackToo;
  return IsLocalhost(own) ? http::Peers::kLoopbackToo : http::Peers::kElsewhere;
}

http::Exchanged Session::Send(const Question& question, const http::AbsoluteUrl& url, bool meant,
                              OwnHeaders own_headers) {
  http::Request request{.method = question.method, .url = url.ToString()};
  request.headers.Add("Accept", question.accept);
  if (!question.form.empty()) {
    request.headers.Add("Content-Type", "application/x-www-form-urlencoded; charset=utf-8");
    request.body = question.form;
  }
  // Credentials and headers go to the intended server only, and not to the target of a redirect (R40).
  if (meant) request.authorization = question.authorization;
  if (meant && own_headers == OwnHeaders::kSend) {
    for (const auto& header : host_.host.headers) {
      request.headers.Add(header.first, std::string(header.second.Reveal()));
    }
  }
  request.tls = IsOfHost(host_.host, url) ? host_.tls : host_.tls_elsewhere;
  request.connect_timeout =
      std::min(parts_.options.times.connect, host_.host.dial_timeout.value_or(parts_.options.times.connect));
  request.stall_timeout = parts_.options.times.stall;
  request.max_body_bytes = question.max_body_bytes;
  request.max_error_body_bytes = kErrorBodyBytes;
  request.peers = PeersFor(url);
  if (parts_.untrusted_name) request.not_these = parts_.not_these;
  request.http2 = true;
  request.headers_as_go = true;  // the runtimes' client refuses the same answers
  request.gzip = question.gzip;
  if (!question.range.empty()) request.headers.Add("Range", question.range);
  request.sink = question.sink;
  const auto limit = fetches_ ? parts_.options.times.content : parts_.options.times.request;
  http::Exchanged exchanged = parts_.http.Exchange(call_.Within(limit), request);
  base::WipeString(request.body);
  // Requests that never reached a server do not count against its limits.
  if (WasSent(exchanged.fault)) requests_++;
  return exchanged;
}

// Follows redirects by hand and not in the HTTP client, because each step needs a decision: whether the
// target may be asked, and whether it gets credentials.
Reply Session::Follow(const Question& question, OwnHeaders own_headers) {
  std::vector<http::AbsoluteUrl> passed = {question.url};
  std::optional<Question> bare;  // is sent instead behind some redirects
  while (true) {
    bool home = SameServer(passed.front(), passed.back());
    const base::TimePoint sent = std::chrono::steady_clock::now();
    http::Exchanged got = Send(bare ? *bare : question, passed.back(), home, own_headers);
    if (!got.response) {
      Reply reply{.response = std::nullopt,
                  .fault = got.fault,
                  .broke_in_body = got.broken_status / 100 == 2,
                  .refusal = AnswerToFault(got.fault, got.response.error())};
      // The registry sent us to an address that the agent does not follow (R41). The runtime does.
      if (got.fault == http::Fault::kAddress && !home && !parts_.untrusted_name) {
        reply.refusal.kind = Kind::kIndeterminate;
        reply.refusal.only_by_pull = true;
      }
      return reply;
    }
    const std::string_view location = got.response->headers.Get("Location").value_or("");
    if (!IsRedirect(got.response->status) || location.empty()) {
      return {.response = std::move(*got.response),
              .elsewhere = !home,
              .last = passed.back(),
              .asked = host_.host.server.Origin(),
              .took = std::chrono::steady_clock::now() - sent,
              .round_trip = got.round_trip};
    }
    auto next = FollowRedirect(passed, location);
    if (!next) return RefusedRedirect(next.error(), passed.back());
    // A form contains a login, which must not go to another server.
    if (!question.form.empty() && !SameServer(passed.front(), *next)) {
      return RefusedRedirect(base::PermissionDenied("it redirects a login to another server"), passed.back());
    }
    // Go's client sends the same request again only at 307 and 308.
    if (!question.form.empty() && got.response->status < 307) bare = WithoutForm(question);
    passed.push_back(std::move(*next));
  }
}

// Asks by https first (R33). Servers that do not speak it are asked by plain http. The result is remembered
// for an hour, so that later questions do not begin with a TLS handshake that fails, and a server that has
// spoken https is not asked by plain http.
Reply Session::RequestWithSchemeFallback(const Question& question) {
  const std::string origin = host_.host.server.Origin();
  HostState::Protocol protocol = parts_.host_states.SchemeOf(origin);
  if (protocol != HostState::Protocol::kHttp) {
    Question secure = question;
    secure.url = OverHttps(host_.host, question.url);
    int before = requests_;
    Reply reply = Follow(secure, OwnHeaders::kSend);
    if (reply.response) parts_.host_states.NoteScheme(origin, HostState::Protocol::kHttps);
    if (protocol == HostState::Protocol::kHttps || !MaySpeakPlainHttp(host_.host, reply.fault)) return reply;
    requests_ = before;  // The server has not received a request yet.
  }
  Reply reply = Follow(question, OwnHeaders::kSend);
  if (reply.response) parts_.host_states.NoteScheme(origin, HostState::Protocol::kHttp);
  return reply;
}

// The pass limits the node's own requests to this server. It is taken here and not in Send, so that a
// question with redirects takes one.
Reply Session::AskHost(const Question& question) {
  auto pass = parts_.throttle.EnterHost(call_, host_.host.server.Origin());
  if (!pass.granted()) {
    return {
        .response = std::nullopt,
        .refusal = {
            .kind = call_.Stopped() ? Kind::kUnreachable : Kind::kRateLimited,
            .detail = call_.Stopped() ? RegistryDetail::kStopped : RegistryDetail::kOwnLimit,
            .message = host_.host.server.Authority() +
                       " was not asked: this node already sends it as many requests as its limit allows"}};
  }
  return host_.host.https_first ? RequestWithSchemeFallback(question) : Follow(question, OwnHeaders::kSend);
}

// A download has no pass of the throttle: plan::FetchOrder limits the streams, and a blob may take minutes.
Reply Session::Fetch(const Question& question) {
  fetches_ = true;
  Reply reply =
      host_.host.https_first ? RequestWithSchemeFallback(question) : Follow(question, OwnHeaders::kSend);
  fetches_ = false;
  return reply;
}

Reply Session::RequestCachedRedirect(const Question& question, const http::AbsoluteUrl& url) {
  fetches_ = true;
  // The URL is signed, and its object store gets neither credentials nor headers (R51).
  http::Exchanged got = Send(question, url, false, OwnHeaders::kLeaveOut);
  fetches_ = false;
  Reply reply{.response = std::nullopt, .elsewhere = true, .last = url, .fault = got.fault};
  if (got.response) reply.response = std::move(*got.response);
  return reply;
}

Reply Session::AskTokenService(const Question& question, bool trusted) {
  return Follow(question, trusted ? OwnHeaders::kSend : OwnHeaders::kLeaveOut);
}

}  // namespace prefetch::registry
