// CurlAnswer: collects an answer from libcurl as it arrives, within bounds, and rejects forbidden peers
// before anything is sent.
// EndOf: converts a failure of libcurl.
// Internal to http/: included by .cc files only.
#pragma once

#include <curl/curl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/client.h"

namespace prefetch::http {

struct CurlAnswer {
  const Request& request;  // its limits hold
  CURL* easy = nullptr;
  Response response = {};
  std::size_t body_bytes = 0;    // that came
  bool aborted_by_sink = false;  // the sink said so
  std::size_t header_bytes = 0;
  int status = 0;                 // of the header block under way
  bool http_1_0 = false;          // the same
  bool headers_complete = false;  // the blank line at their end came
  Fault too_long = Fault::kNone;  // or kLongHeaders, or kTooLong
  bool malformed = false;         // a field is one that Go's client refuses
  bool request_sent = false;      // the request goes out; headers before it are a proxy's, for CONNECT
  bool error_body_cut = false;    // enough of an error's body was read
  bool checks_addresses = false;
  bool address_refused = false;
  bool no_subject_alt_name = false;  // the peer's certificate has no name where names belong
};

// `easy` puts headers and body into `answer`, which outlives the exchange.
void Receive(CURL* easy, CurlAnswer& answer);
// The exchange ends before anything is sent if the peer's certificate has no name where names belong.
void RequireSubjectAltName(CURL* easy);
// The exchange ends before anything is sent if the request's policy does not allow the address of its
// connection, whether that is new or reused.
void CheckAddresses(CURL* easy, CurlAnswer& answer);

// An IPv6 address that stands for an IPv4 address (mapped, NAT64, 6to4) counts as that. A family that is not
// IP's is allowed.
bool IsAllowed(AddressPolicy address_policy, const sockaddr& address,
               const std::vector<std::string>& excluded_addresses = {});
bool IsAllowed(AddressPolicy address_policy, const in6_addr& address,
               const std::vector<std::string>& excluded_addresses);

// A failed exchange, which EndOf converts. No other code knows libcurl's failures.
struct CurlFailure {
  int code = 0;               // a CURLcode; not CURLE_OK
  long os_error = 0;          // errno of the failed connect, or 0
  std::string_view tls_text;  // libcurl's own words; used for TLS failures only
  std::string_view peer;      // "registry.example:443" or the socket's path; holds no secret
  bool connected = false;     // did this attempt get a connection?
  bool own_trust = false;     // were certificates given with the request (Request::tls)?
  // Set if the last address looked at did not suit it.
  std::optional<AddressPolicy> refused_by = {};
  long proxy_status = 0;  // of a proxy's answer to CONNECT, or 0
};

// How an exchange ended: in success, or where it broke and in which words.
struct CurlEnd {
  base::Status status;
  Fault fault = Fault::kNone;
};

// Returns the failure in one sentence, what can be done about it, and its place. The URL is not in it: the
// caller wraps it.
CurlEnd EndOf(const CurlFailure& failure);

}  // namespace prefetch::http
