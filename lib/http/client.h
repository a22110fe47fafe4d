// Client: how the rest of the program speaks HTTP to a registry, the API server, or an agent.
//
// CurlClient (curl_client.h) is the real one; tests have a fake one. Callers interpret the HTTP status: every
// complete answer is a Response, a 500 as well as a 200.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/call.h"
#include "base/result.h"
#include "base/secret.h"
#include "http/headers.h"

namespace prefetch::http {

// Trust and identity of an https request, if they differ from the client's own settings: one client can then
// serve several clusters, and certificates can change under it. A value.
struct Tls {
  std::string ca_pem;           // certificate authorities, instead of the client's; empty: the client's
  std::string server_name;      // is asked for and verified instead of the URL's host; empty: the URL's host
  bool verify = true;           // false: accepts any certificate; set only at the operator's explicit request
  std::string certificate_pem;  // ours, with its chain; empty: none
  base::Secret key_pem;         // of that certificate, not encrypted
};

// Returns the certificates of a text, without the blocks that have not the outer form of one. OpenSSL rejects
// the whole text for such a block, and Go's AppendCertsFromPEM passes over it. Empty: there is none.
std::string UsableCertificates(std::string_view pem);

// Addresses to which a request may connect. They are checked when the connection is made, so a DNS name that
// changes its address (rebinding) gains nothing. Link-local addresses are where clouds keep a machine's
// credentials.
enum class AddressPolicy {
  kAny,
  kAllowLoopback,  // not link-local, not multicast, not unspecified
  kNoLoopback,     // nor loopback
  kOtherHosts,     // nor this machine's own, nor one of Request::excluded_addresses
  kPublic,         // nor private (RFC 1918, RFC 4193, RFC 6598)
};

struct SecretHeader {
  std::string name;
  base::Secret value;
};

struct Response;

// Gets a piece of a body. `head` has status and headers, and no body. It may block, which slows the sender;
// while it does, neither a stop nor the deadline ends the exchange. False ends it.
using BodySink = std::function<bool(const Response& head, std::string_view piece)>;

struct Request {
  std::string method = "GET";
  std::string url;  // http:// or https://, without userinfo; how to encode a part: base::PercentEncode
  Headers headers;
  base::Secret authorization;  // the value of the Authorization header, whole; empty: none is sent
  std::optional<SecretHeader> secret_header;  // a further credential
  std::string body;
  // Connects to this socket file instead of the URL's host, which then only names the Host header.
  std::string unix_socket;
  std::shared_ptr<const Tls> tls;  // for https; nullptr: as the client does it
  std::chrono::milliseconds connect_timeout{10'000};
  // Ends an exchange that moves less than 64 bytes a second for this long, the wait for the first byte
  // included, well before call.deadline. 0: never.
  std::chrono::seconds stall_timeout{0};
  std::size_t max_body_bytes = 4 * 1024 * 1024;  // of the answer
  // The limit for the body of a 3xx, 4xx or 5xx, instead of max_body_bytes; the client closes the connection
  // after it. 0: no such cut, and a body longer than max_body_bytes is a failure, as for any answer.
  std::size_t max_error_body_bytes = 0;
  // Limits direct connections. A proxy is the operator's, and may have any address.
  AddressPolicy address_policy = AddressPolicy::kAny;
  std::vector<std::string> excluded_addresses;  // addresses that kOtherHosts and kPublic exclude, too
  bool http2 = false;                           // where a TLS server offers it
  bool gzip = false;  // accepts a compressed answer; its body and limits are the text's
  // Header fields that Go's net/http refuses make the answer Fault::kMalformed, as for a program in Go, and
  // those of a proxy's answer to CONNECT Fault::kProxy. Without it, they are passed over.
  bool headers_as_go = false;
  BodySink sink;  // gets the body of a 200 or 206 as it comes, instead of Response::body
};

struct Response {
  int status = 0;
  Headers headers;  // of the last header block; at most 100 fields and 64 KiB
  std::string body;
};

// The place where an exchange broke, for a registry's client, which must distinguish them. An Error's code
// says what a caller can do about it, which is less.
enum class Fault {
  kNone,
  kRequest,               // was not sent: it is wrong, or this process is out of memory
  kStopped,               // call.stop, or Request::sink
  kDns,                   // DNS
  kConnect,               // refused, no route, no such socket file
  kExcludedAddress,       // the name resolves only to addresses that Request::address_policy excludes
  kTls,                   // the other side speaks no TLS, or none that we do, or refused our certificate
  kUntrustedCertificate,  // its certificate is not one to trust, or was made for another name
  kProxy,                 // the proxy did not connect us
  kProxyAuth,             // it wants to know who we are (407)
  kTimeout,               // connecting, waiting or reading took too long
  kReset,                 // the connection ended before the answer did
  kNotHttp,               // what came is not HTTP
  kMalformed,             // it is HTTP, with fields that Go's client refuses (Request::headers_as_go)
  kLongHeaders,           // longer ones than allowed
  kTooLong,               // a longer body than allowed
  kEncoding,              // the body is compressed in a way that was not accepted, or broken
};

struct ExchangeResult {
  base::Result<Response> response;
  Fault fault = Fault::kNone;  // kNone if and only if there is a response
  // The shortest that the kernel has seen on this connection, however busy both sides were: how far the
  // server is. Nothing by a proxy or a socket file, or where the kernel does not know.
  std::optional<base::Duration> round_trip = {};
  int broken_status = 0;  // of an answer whose headers came and whose body did not; 0: there is none
};

class Client {
 public:
  virtual ~Client() = default;

  // Makes one exchange. Redirects are not followed and nothing is retried: both would carry credentials where
  // the caller did not mean them to go. Any thread may call, also several at once.
  //   InvalidArgument    the request itself: URL, header, socket path
  //   NotFound, PermissionDenied   the unix socket: no such file, not for us
  //   PermissionDenied   with Request::tls: the peer's certificate is not one to trust, or ours is unusable
  //   Unavailable        no connection (name, address, TLS), or it broke before the answer was complete
  //   DeadlineExceeded   call.deadline passed; Cancelled: call.stop was requested
  //   ResourceExhausted  the answer is longer than allowed
  // Messages begin with the request ("GET https://host/path") without userinfo, query or header.
  base::Result<Response> Send(const base::Call& call, const Request& request) {
    return Exchange(call, request).response;
  }
  // Makes the exchange as Send does, and reports where it broke.
  virtual ExchangeResult Exchange(const base::Call& call, const Request& request) = 0;
};

// Values for Request::authorization.
base::Secret BasicAuthorization(const std::string& username, const base::Secret& password);
base::Secret BearerAuthorization(const base::Secret& token);

}  // namespace prefetch::http
