#include "http/curl_client.h"

#include <curl/curl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <system_error>

#include "base/redactor.h"
#include "base/text.h"
#include "http/addresses.h"
#include "http/curl_request.h"
#include "http/url.h"

namespace prefetch::http {
namespace {

// The number of handles that are in use at the same time at most: 16 streams that fetch content, pulls and
// lookups. A connection that is closed costs the next request three round trips and a small window.
constexpr std::size_t kMaxIdleHandles = 24;
// Handles that a client keeps while it rests. Each has two descriptors, and one for each of its connections.
constexpr std::size_t kMinIdleHandles = 2;
constexpr long kMaxIdleConnections = 4;           // of one handle
constexpr long kStalledBelow = 64;                // bytes a second (registry rule R39)
constexpr std::chrono::seconds kLongestPoll{60};  // only so that it fits libcurl's int

// An answer of libcurl's as it arrives.
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

// Collects the answer within its bounds, and rejects forbidden peers before anything is sent.

constexpr std::size_t kMaxHeaderBytes = 64 * 1024;
constexpr std::size_t kMaxHeaderFields = 100;

// "HTTP/1.1 404 Not Found" -> 404
int StatusOf(std::string_view status_line) {
  std::size_t space = status_line.find(' ');
  if (space == std::string_view::npos) return 0;
  return static_cast<int>(base::ParseUint(status_line.substr(space + 1, 3)).value_or(0));
}

bool IsContentLength(std::string_view value) {
  const std::optional<std::uint64_t> length = base::ParseUint(value);
  return length && *length <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

bool IsLengthHeader(std::string_view name) {
  return base::EqualsIgnoreCase(name, "Content-Length") || base::EqualsIgnoreCase(name, "Transfer-Encoding");
}

// Returns whether Go's client takes the field after those before it. It refuses the answer otherwise, and
// libcurl passes over much of it. A runtime would fail where we would go on.
bool IsAcceptedByGo(const CurlAnswer& answer, std::string_view name, std::string_view value) {
  const Headers& before = answer.response.headers;
  std::string without_blanks(name);
  std::erase(without_blanks, ' ');  // which names the field otherwise, and is no mistake
  if (!IsFieldName(without_blanks) || !IsFieldValue(value)) return false;
  if (base::EqualsIgnoreCase(name, "Transfer-Encoding")) {
    return answer.http_1_0 || (base::EqualsIgnoreCase(value, "chunked") && !before.Has(name));
  }
  if (!base::EqualsIgnoreCase(name, "Content-Length")) return true;
  return IsContentLength(value) && before.Get(name).value_or(value) == value;
}

// libcurl calls this for each header line, also for those of a 1xx answer, a proxy's answer and a trailer.
// Only the fields of the final answer are kept.
std::size_t OnHeader(char* data, std::size_t, std::size_t size, void* self) {
  CurlAnswer& answer = *static_cast<CurlAnswer*>(self);
  const std::string_view raw(data, size);
  std::string_view line = base::TrimSpace(raw);
  answer.header_bytes += size;
  if (line.starts_with("HTTP/")) {  // one more block, after a 1xx
    answer.response.headers = {};
    answer.status = StatusOf(line);
    answer.headers_complete = false;
    answer.http_1_0 = line.starts_with("HTTP/1.0");
  }
  std::size_t colon = line.find(':');
  const bool folded = raw.starts_with(' ') || raw.starts_with('\t');
  // A field behind the blank line is a trailer. No request asks for one.
  const bool head = !line.starts_with("HTTP/") && !line.empty() && !answer.headers_complete;
  if (line.empty() && !folded) answer.headers_complete = true;
  const bool field = head && !folded && colon != std::string_view::npos;
  if (answer.header_bytes > kMaxHeaderBytes ||
      (field && answer.response.headers.fields().size() == kMaxHeaderFields)) {
    answer.too_long = Fault::kLongHeaders;
    return 0;
  }
  if (!head) return size;
  Headers& headers = answer.response.headers;
  if (folded && !headers.fields().empty() && IsFieldValue(line) &&
      !IsLengthHeader(headers.fields().back().first)) {
    headers.ContinueLast(line);
    return size;
  }
  const std::string_view name = line.substr(0, colon), value = base::TrimSpace(line.substr(colon + 1));
  answer.malformed = answer.request.headers_as_go && (!field || !IsAcceptedByGo(answer, name, value));
  if (answer.malformed) return 0;
  if (field && IsFieldName(name) && IsFieldValue(value)) headers.Add(std::string(name), std::string(value));
  return size;
}

// A return value other than `size` ends the transfer.
std::size_t OnBody(char* data, std::size_t, std::size_t size, void* self) {
  CurlAnswer& answer = *static_cast<CurlAnswer*>(self);
  // A sink gets content only: the body of any other status is a text about a failure.
  const bool is_content = answer.status == 200 || answer.status == 206;
  // Only the beginning of an error's body is of use. The exchange ends there, and that is no failure
  // (`error_body_cut`). A body for a sink may be as large as a layer, so none is kept here.
  const bool is_error = answer.status >= 300 || (answer.request.sink && !is_content);
  if (is_error && answer.request.max_error_body_bytes > 0) {
    const std::size_t room = answer.request.max_error_body_bytes - answer.response.body.size();
    answer.response.body.append(data, std::min(size, room));
    answer.body_bytes += std::min(size, room);
    answer.error_body_cut = size > room;
    return answer.error_body_cut ? 0 : size;
  }
  // A body that is too long fails, since half a document must not be taken for one.
  if (size > answer.request.max_body_bytes - answer.body_bytes) {
    answer.too_long = Fault::kTooLong;
    return 0;
  }
  answer.body_bytes += size;
  if (answer.request.sink && is_content) {
    answer.response.status = answer.status;
    answer.aborted_by_sink = !answer.request.sink(answer.response, {data, size});
    return answer.aborted_by_sink ? 0 : size;
  }
  answer.response.body.append(data, size);
  return size;
}

curl_socket_t OnSocket(void* self, curlsocktype, curl_sockaddr* address) {
  CurlAnswer& answer = *static_cast<CurlAnswer*>(self);
  // R41: the address is checked here, after the name was resolved, for each connection. A check of the name
  // before would not see what DNS answers this time.
  const std::optional<in6_addr> ip = ToIpv6(address->addr);  // none: not a family of IP's
  answer.address_refused =
      ip && !IsAllowed(answer.request.address_policy, *ip, answer.request.excluded_addresses);
  if (answer.address_refused) return CURL_SOCKET_BAD;
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

// Called when the connection stands and nothing has been sent, also if it was made for an earlier request,
// which may go where this one may not. Go programs, runtimes included, reject certificates with their name in
// the subject alone (R42); OpenSSL accepts them. A connection that is used again has no chain to look at: it
// has passed before.
int OnConnected(void* self, char* peer, char*, int, int) {
  CurlAnswer& answer = *static_cast<CurlAnswer*>(self);
  // A proxy has answered CONNECT by now, and libcurl passes its headers on like the server's.
  answer.request_sent = true;
  answer.header_bytes = 0;
  answer.headers_complete = false;
  const std::optional<in6_addr> address = ToIpv6(std::string_view(peer));
  if (answer.checks_addresses &&
      !(address && IsAllowed(answer.request.address_policy, *address, answer.request.excluded_addresses))) {
    answer.address_refused = true;
    return CURL_PREREQFUNC_ABORT;
  }
  curl_certinfo* chain = nullptr;
  curl_easy_getinfo(answer.easy, CURLINFO_CERTINFO, &chain);
  if (chain == nullptr || chain->num_of_certs == 0) return CURL_PREREQFUNC_OK;
  for (const curl_slist* line = chain->certinfo[0]; line != nullptr; line = line->next) {
    if (std::string_view(line->data).starts_with("X509v3 Subject Alternative Name:"))
      return CURL_PREREQFUNC_OK;
  }
  answer.no_subject_alt_name = true;
  return CURL_PREREQFUNC_ABORT;
}

// Puts headers and body into `answer`, which outlives the exchange.
void Receive(CURL* easy, CurlAnswer& answer) {
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &OnHeader);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &answer);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &OnBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &answer);
  curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, &OnConnected);
  curl_easy_setopt(easy, CURLOPT_PREREQDATA, &answer);
}

// How an exchange ended: in success, or where it broke and in which words.
struct CurlEnd {
  base::Status status;
  Fault fault = Fault::kNone;
};

constexpr std::size_t kMaxTlsText = 200;

const char* RefusedBy(AddressPolicy policy) {
  return base::EnumWord(policy, {"none", "link-local, multicast", "link-local, loopback, multicast",
                                 "link-local, loopback, multicast, of this node",
                                 "link-local, loopback, multicast, private, of this node"});
}

// An exchange that libcurl could not complete.
struct CurlFailure {
  CURLcode code = CURLE_OK;  // another one
  const CurlAnswer& answer;
  std::string_view tls_text;  // libcurl's own words; used for TLS failures only
  std::string peer;           // "registry.example:443" or the socket's path; holds no secret

  // Certificates were given with the request.
  bool HasOwnTrust() const { return answer.request.tls != nullptr; }
  template <typename T>
  T Info(CURLINFO info) const {
    T value = 0;
    curl_easy_getinfo(answer.easy, info, &value);
    return value;
  }
  // The status of a proxy's answer to CONNECT, or 0.
  long ProxyStatus() const { return Info<long>(CURLINFO_HTTP_CONNECTCODE); }
};

base::Error ConnectFailed(const CurlFailure& failure) {
  if (failure.answer.address_refused) {
    return base::Unavailable(failure.peer + " has an address that is not connected to (" +
                             RefusedBy(failure.answer.request.address_policy) + ")");
  }
  std::string message = "cannot connect to " + failure.peer;
  const int error = static_cast<int>(failure.Info<long>(CURLINFO_OS_ERRNO));
  if (error == 0) return base::Unavailable(std::move(message));
  message += ": " + std::generic_category().message(error);
  if (error == ENOENT) return base::NotFound(std::move(message));
  if (error == EACCES || error == EPERM) return base::PermissionDenied(std::move(message));
  return base::Unavailable(std::move(message));
}

// Owners of certificates get a code of their own for these: new files may have replaced the ones that were
// sent.
bool IsCertificateError(CURLcode code) {
  return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CERTPROBLEM;
}

// With TLS 1.3, a server refuses a client's certificate only after the handshake, when the client begins to
// read.
bool IsTlsAlert(const CurlFailure& failure) {
  return (failure.code == CURLE_RECV_ERROR || failure.code == CURLE_SEND_ERROR) &&
         base::ContainsIgnoreCase(failure.tls_text, "alert");
}

base::Error TlsFailed(const CurlFailure& failure) {
  std::string message = "TLS with " + failure.peer + " failed";
  if (!failure.tls_text.empty())
    message += ": " + base::SanitizedText(failure.tls_text, kMaxTlsText);  // quotes certificates
  // The request brought its own certificates, so their owner can read newer ones and try again.
  if (failure.HasOwnTrust() && IsCertificateError(failure.code))
    return base::PermissionDenied(std::move(message));
  return base::Unavailable(std::move(message));
}

Fault ProxyFault(const CurlFailure& failure) {
  return failure.ProxyStatus() == 407 ? Fault::kProxyAuth : Fault::kProxy;
}

CurlEnd ProxyRefused(const CurlFailure& failure) {
  std::string message = "the proxy refused to connect to " + failure.peer;
  const long status = failure.ProxyStatus();
  if (status != 0) message += " (status " + std::to_string(status) + ")";
  return {base::Unavailable(std::move(message)), ProxyFault(failure)};
}

CurlEnd ToEnd(const CurlFailure& failure) {
  const std::string& peer = failure.peer;
  switch (failure.code) {
    case CURLE_URL_MALFORMAT:
      return {base::InvalidArgument("this is no http or https URL"), Fault::kRequest};
    case CURLE_COULDNT_RESOLVE_HOST:
      return {base::Unavailable("the name of " + peer + " cannot be resolved"), Fault::kDns};
    case CURLE_COULDNT_RESOLVE_PROXY:
      return {base::Unavailable("the name of the proxy cannot be resolved"), ProxyFault(failure)};
    case CURLE_COULDNT_CONNECT:
      return {ConnectFailed(failure),
              failure.answer.address_refused ? Fault::kExcludedAddress : Fault::kConnect};
    case CURLE_OPERATION_TIMEDOUT:
      // Without a connection, another try may help. A server that took the request and is silent is another
      // failure.
      return {failure.Info<curl_off_t>(CURLINFO_PRETRANSFER_TIME_T) > 0
                  ? base::DeadlineExceeded(peer + " did not answer in time")
                  : base::Unavailable("no connection to " + peer + " in time"),
              Fault::kTimeout};
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
      return {TlsFailed(failure), Fault::kTls};
    case CURLE_PEER_FAILED_VERIFICATION:
      return {TlsFailed(failure), Fault::kUntrustedCertificate};
    case CURLE_SSL_CACERT_BADFILE:
      return {failure.HasOwnTrust() && !failure.answer.request.tls->ca_pem.empty()
                  ? base::PermissionDenied("TLS with " + peer +
                                           " failed: the certificate authorities that were given for it "
                                           "hold no certificate; put them there in PEM")
                  : base::InvalidArgument("the file of certificate authorities cannot be read"),
              Fault::kUntrustedCertificate};
    case CURLE_GOT_NOTHING:
      return {base::Unavailable(peer + " closed the connection without an answer"),
              failure.ProxyStatus() >= 300 ? ProxyFault(failure) : Fault::kReset};
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      // libcurl reports a CONNECT that a proxy refused as a broken connection. The proxy's status tells the
      // two apart.
      if (failure.ProxyStatus() >= 300) return ProxyRefused(failure);
      if (IsTlsAlert(failure)) return {TlsFailed(failure), Fault::kTls};
      return {base::Unavailable("the connection to " + peer + " broke before the answer was complete"),
              Fault::kReset};
    case CURLE_UNSUPPORTED_PROTOCOL:  // of the answer ("HTTP/0.9"): the URL's was checked before
    case CURLE_WEIRD_SERVER_REPLY:
      return {base::Unavailable(peer + " answered something that is not HTTP"), Fault::kNotHttp};
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_WRITE_ERROR:  // of the decoder: gzip in several members, which Go decodes
      return {base::Unavailable(peer + " answered with a Content-Encoding that cannot be undone"),
              Fault::kEncoding};
    case CURLE_PROXY:
      return ProxyRefused(failure);
    case CURLE_OUT_OF_MEMORY:
      return {base::ResourceExhausted("out of memory"), Fault::kRequest};
    default:
      return {base::Internal("libcurl: " + std::string(curl_easy_strerror(failure.code))), Fault::kRequest};
  }
}

// Returns how the exchange ended: the failure in one sentence, what can be done about it, and its place. The
// URL is not in it: the caller wraps it. `code` and `tls_text` are libcurl's. No other code knows libcurl's
// failures. `answer.easy` must still have the exchange.
//
// The order goes from the client's own verdicts to libcurl's code: when a callback ends a transfer, libcurl
// reports the same code for every reason.
CurlEnd EndOf(CURLcode code, const CurlAnswer& answer, std::string_view tls_text) {
  // Only for a failure: all secrets are searched for in it.
  const auto peer = [&] { return PeerOf(answer.request); };
  // libcurl reports a field beyond its own limit (100 kB) as a lack of memory; from 8.6 on as
  // CURLE_TOO_LARGE, which the headers of older ones do not have.
  constexpr int kTooLarge = 100;
  const bool long_field =
      (code == CURLE_OUT_OF_MEMORY || static_cast<int>(code) == kTooLarge) && !answer.headers_complete;
  const Fault too_long = long_field ? Fault::kLongHeaders : answer.too_long;
  if (too_long != Fault::kNone) {
    const char* part = too_long == Fault::kLongHeaders ? "longer headers" : "a longer body";
    return {base::ResourceExhausted(peer() + " answered with " + part + " than allowed"), too_long};
  }
  if (answer.malformed && answer.request_sent) {
    return {base::Unavailable(peer() + " answered with headers that are not HTTP"), Fault::kMalformed};
  }
  if (answer.malformed) {
    return {base::Unavailable("the proxy answered for " + peer() + " with headers that are not HTTP"),
            Fault::kProxy};
  }
  // The answer's own verdicts come before libcurl's code, which only reports that a callback has ended the
  // transfer.
  if (answer.aborted_by_sink) return {base::Cancelled(peer() + " was interrupted"), Fault::kStopped};
  // If a connection ends amid the headers of an answer to HEAD, libcurl takes that for the answer's end.
  if (code == CURLE_OK && !answer.headers_complete) code = CURLE_PARTIAL_FILE;
  if (code == CURLE_OK || answer.error_body_cut) return {};
  if (answer.no_subject_alt_name) {
    std::string message = "TLS with " + peer() + " failed: the certificate has no subject alternative name";
    return {answer.request.tls ? base::PermissionDenied(message) : base::Unavailable(message),
            Fault::kUntrustedCertificate};
  }
  if (code == CURLE_ABORTED_BY_CALLBACK && answer.address_refused) code = CURLE_COULDNT_CONNECT;
  return ToEnd({.code = code, .answer = answer, .tls_text = tls_text, .peer = peer()});
}

curl_blob Blob(std::string_view bytes) {
  return {const_cast<char*>(bytes.data()), bytes.size(), CURL_BLOB_NOCOPY};
}

// Returns the shortest round trip that the kernel has measured on this connection. It may be asked only while
// the transfer is in its multi handle: later, the connection may be another's.
std::optional<base::Duration> RoundTripOf(CURL* easy) {
  curl_socket_t connection = CURL_SOCKET_BAD;
  if (curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &connection) != CURLE_OK) return {};
  if (connection == CURL_SOCKET_BAD) return {};
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (getsockopt(connection, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {};
  constexpr std::size_t kEnd = offsetof(tcp_info, tcpi_min_rtt) + sizeof(info.tcpi_min_rtt);
  // An older kernel fills only a part of the structure.
  if (size < kEnd) return {};
  const std::uint32_t shortest = info.tcpi_min_rtt;  // microseconds; all bits set: none was measured yet
  if (shortest == 0 || shortest == std::numeric_limits<std::uint32_t>::max()) return {};
  return std::chrono::microseconds(shortest);
}

CurlOptions WithNormalizedProxies(CurlOptions options) {
  for (std::string* proxy : {&options.proxy, &options.http_proxy, &options.https_proxy}) {
    *proxy = NormalizeProxyUrl(*proxy);
  }
  return options;
}

}  // namespace

// One easy handle in a multi handle of its own, which holds its connections and can be woken from outside.
class CurlClient::Handle {
 public:
  Handle() : multi_(curl_multi_init()), easy_(curl_easy_init()) {
    if (multi_ != nullptr) curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kMaxIdleConnections);
  }
  ~Handle() {
    curl_easy_cleanup(easy_);
    curl_multi_cleanup(multi_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  bool valid() const { return multi_ != nullptr && easy_ != nullptr; }
  ExchangeResult Send(const base::Call& call, const Request& request, const CurlOptions& options);

 private:
  void Prepare(const Request& request, const CurlOptions& options, curl_slist* lines, CurlAnswer& answer);
  void Trust(const Tls& tls);
  CurlEnd Transfer(const base::Call& call, const CurlAnswer& answer);
  template <typename T>
  void Set(CURLoption option, T value) {
    curl_easy_setopt(easy_, option, value);
  }

  CURLM* multi_;
  CURL* easy_;
  char tls_text_[CURL_ERROR_SIZE] = "";
  // The authorities of the last request, and those of them that are certificates: a client usually has the
  // same for all its requests.
  std::string given_authorities_, authorities_;
};

void CurlClient::Handle::Prepare(const Request& request, const CurlOptions& options, curl_slist* lines,
                                 CurlAnswer& answer) {
  curl_easy_reset(easy_);  // keeps connections, sessions and names
  tls_text_[0] = '\0';
  Set(CURLOPT_URL, request.url.c_str());
  // libcurl's other protocols (file, ftp, …) must never be reached by a URL from outside.
  Set(CURLOPT_PROTOCOLS_STR, "http,https");
  // Redirects are followed by the callers, which know where a credential may go (R40).
  Set(CURLOPT_FOLLOWLOCATION, 0L);
  Set(CURLOPT_HTTP_VERSION,
      static_cast<long>(request.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
  Set(CURLOPT_HTTP09_ALLOWED, 0L);
  // The path goes out as it was checked. By itself, libcurl would resolve its dots.
  Set(CURLOPT_PATH_AS_IS, 1L);
  if (request.gzip) Set(CURLOPT_ACCEPT_ENCODING, "gzip");
  Set(CURLOPT_NOSIGNAL, 1L);
  Set(CURLOPT_QUICK_EXIT, 1L);  // a name lookup that hangs must not hold up a stop
  Set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  Set(CURLOPT_SSL_VERIFYPEER, 1L);
  Set(CURLOPT_SSL_VERIFYHOST, 2L);
  if (request.url.starts_with("https://") && (request.tls == nullptr || request.tls->verify)) {
    Set(CURLOPT_CERTINFO, 1L);  // for OnConnected
  }
  if (!options.ca_file.empty()) {
    Set(CURLOPT_CAINFO, options.ca_file.c_str());
    Set(CURLOPT_CAPATH, static_cast<char*>(nullptr));
  }
  const char* proxy = ProxyFor(options, request.url);
  Set(CURLOPT_PROXY, proxy);
  // An empty text keeps libcurl from reading no_proxy from the environment.
  Set(CURLOPT_NOPROXY, "");
  // With a proxy, the address of the connection is the proxy's, which an operator has chosen.
  if (*proxy == '\0' && request.unix_socket.empty() && request.address_policy != AddressPolicy::kAny) {
    Set(CURLOPT_OPENSOCKETFUNCTION, &OnSocket);
    Set(CURLOPT_OPENSOCKETDATA, &answer);
    answer.checks_addresses = true;
  }
  Set(CURLOPT_USERAGENT, options.user_agent.c_str());
  Set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connect_timeout.count()));
  if (request.stall_timeout.count() > 0) {
    Set(CURLOPT_LOW_SPEED_LIMIT, kStalledBelow);
    Set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(request.stall_timeout.count()));
  }
  Set(CURLOPT_ERRORBUFFER, tls_text_);
  Set(CURLOPT_HTTPHEADER, lines);
  if (!request.unix_socket.empty()) Set(CURLOPT_UNIX_SOCKET_PATH, request.unix_socket.c_str());
  if (request.method == "HEAD") {
    Set(CURLOPT_NOBODY, 1L);
  } else if (request.method != "GET" || !request.body.empty()) {
    Set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    Set(CURLOPT_POSTFIELDS, request.body.data());
    Set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
  Receive(easy_, answer);
}

// Certificates are handed over as bytes, not as files. libcurl keeps the authorities of a file for 24 hours,
// whatever becomes of the file. It takes bytes anew for each connection, and shares none between requests
// whose bytes differ.
void CurlClient::Handle::Trust(const Tls& tls) {
  if (!tls.verify) {
    Set(CURLOPT_SSL_VERIFYPEER, 0L);
    Set(CURLOPT_SSL_VERIFYHOST, 0L);
  }
  if (!tls.ca_pem.empty()) {
    if (given_authorities_ != tls.ca_pem) {
      given_authorities_ = tls.ca_pem;
      authorities_ = UsableCertificates(tls.ca_pem);
      if (authorities_.empty()) authorities_ = tls.ca_pem;
    }
    curl_blob authorities = Blob(authorities_);
    Set(CURLOPT_CAINFO_BLOB, &authorities);
    Set(CURLOPT_CAPATH, static_cast<char*>(nullptr));
  }
  if (tls.certificate_pem.empty()) return;
  curl_blob certificate = Blob(tls.certificate_pem), key = Blob(tls.key_pem.Reveal());
  Set(CURLOPT_SSLCERT_BLOB, &certificate);
  Set(CURLOPT_SSLKEY_BLOB, &key);
}

ExchangeResult CurlClient::Handle::Send(const base::Call& call, const Request& request,
                                        const CurlOptions& options) {
  ServerNameOverride override_name = OverrideServerName(request);
  HeaderLines lines, connect_to;
  AddHeaders(request, override_name, lines);
  CurlAnswer answer{.request = request, .easy = easy_};
  Prepare(request, options, lines.get(), answer);
  if (request.tls) Trust(*request.tls);
  if (!override_name.url.empty()) {
    connect_to.AddLine(override_name.connect_to);
    Set(CURLOPT_URL, override_name.url.c_str());
    Set(CURLOPT_CONNECT_TO, connect_to.get());
  }
  if (curl_multi_add_handle(multi_, easy_) != CURLM_OK) {
    return {base::Internal("libcurl took no request"), Fault::kRequest};
  }
  CurlEnd end = Transfer(call, answer);
  // Through a proxy, the round trip is that to the proxy, and says nothing about the registry.
  const bool direct = request.unix_socket.empty() && *ProxyFor(options, request.url) == '\0';
  const std::optional<base::Duration> round_trip =
      direct && end.status ? RoundTripOf(easy_) : std::optional<base::Duration>();
  curl_multi_remove_handle(multi_, easy_);  // closes the connection of a transfer that did not end
  long status = 0;
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_reset(easy_);  // no pointer into this frame stays behind
  if (!end.status) {
    return {.response = std::move(end.status).error(),
            .fault = end.fault,
            .broken_status = answer.request_sent && answer.headers_complete ? answer.status : 0};
  }
  answer.response.status = static_cast<int>(status);
  return {.response = std::move(answer.response), .round_trip = round_trip};
}

// Drives the transfer until it ends, the deadline passes or the call is stopped. Each wait has the deadline
// as its limit, and a stop wakes it.
CurlEnd CurlClient::Handle::Transfer(const base::Call& call, const CurlAnswer& answer) {
  // A stop ends the wait at once; without it, the poll below would last up to a minute.
  std::stop_callback wake(call.stop, [this] { curl_multi_wakeup(multi_); });
  while (true) {
    if (call.Stopped())
      return {base::Cancelled("stopped while waiting for " + PeerOf(answer.request)), Fault::kStopped};
    auto now = std::chrono::steady_clock::now();
    if (now >= call.deadline) {
      return {base::DeadlineExceeded(PeerOf(answer.request) + " did not answer in time"), Fault::kTimeout};
    }
    int running = 0;
    if (curl_multi_perform(multi_, &running) != CURLM_OK) {
      return {base::Internal("libcurl could not go on"), Fault::kRequest};
    }
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg == CURLMSG_DONE) return EndOf(message->data.result, answer, tls_text_);
    }
    auto wait = std::min<base::Duration>(call.deadline - now, kLongestPoll);
    // Rounded up, so that the last wait ends behind the deadline and not a moment before.
    auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
    curl_multi_poll(multi_, nullptr, 0, static_cast<int>(milliseconds), nullptr);
  }
}

CurlClient::CurlClient(CurlOptions options) : options_(WithNormalizedProxies(std::move(options))) {
  RememberProxyPasswords(options_);
  // Never undone: other parts of the process may use libcurl as well, and the process ends soon after.
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (ready != CURLE_OK) std::abort();  // out of memory at the very start
}

CurlClient::~CurlClient() {
  std::thread reaper;
  {
    base::Lock lock(mutex_);
    ending_ = true;
    reaper.swap(reaper_);
    changed_.notify_all();
  }
  if (reaper.joinable()) reaper.join();
}

// A handle belongs to one request at a time, since libcurl's easy handles are not thread-safe.
std::unique_ptr<CurlClient::Handle> CurlClient::AcquireHandle() {
  {
    base::Lock lock(mutex_);
    if (!idle_.empty()) {
      // The handle that was used last has the connections that are most likely still open.
      auto handle = std::move(idle_.back().handle);
      idle_.pop_back();
      return handle;
    }
  }
  return std::make_unique<Handle>();
}

void CurlClient::ReleaseHandle(std::unique_ptr<Handle> handle) {
  const base::TimePoint now = std::chrono::steady_clock::now();
  std::vector<Idle> unused;  // their connections are closed without the lock
  base::Lock lock(mutex_);
  idle_.push_back({std::move(handle), now});
  // Without a reaper, idle connections would stay until the next request.
  unused = TakeExpired(now, StartReaper() ? kMaxIdleHandles : kMinIdleHandles);
}

// Returns the handles that were idle for too long, and those that are too many. The oldest are first in the
// list.
std::vector<CurlClient::Idle> CurlClient::TakeExpired(base::TimePoint now, std::size_t max_kept) {
  auto kept = std::find_if(idle_.begin(), idle_.end(),
                           [&](const Idle& one) { return now - one.since <= options_.idle_timeout; });
  if (const auto most = idle_.end() - std::min(idle_.size(), max_kept); kept < most) kept = most;
  std::vector<Idle> unused(std::make_move_iterator(idle_.begin()), std::make_move_iterator(kept));
  idle_.erase(idle_.begin(), kept);
  return unused;
}

bool CurlClient::StartReaper() {
  if (reaping_ || ending_ || idle_.size() <= kMinIdleHandles) return true;
  if (reaper_.joinable()) reaper_.join();  // has ended, but for its last instructions
  try {
    reaper_ = std::thread([this] { ReapIdle(); });
    reaping_ = true;
    return true;
  } catch (const std::system_error&) {
    return false;  // a container's limit of threads
  }
}

void CurlClient::ReapIdle() {
  while (true) {
    // Declared before the lock, so that connections are closed after it is released.
    std::vector<Idle> unused;
    base::Lock lock(mutex_);
    if (ending_ || idle_.size() <= kMinIdleHandles) {
      reaping_ = false;
      return;
    }
    changed_.wait_until(mutex_, idle_.front().since + options_.idle_timeout + std::chrono::milliseconds(1));
    unused = TakeExpired(std::chrono::steady_clock::now(), kMaxIdleHandles);
  }
}

ExchangeResult CurlClient::Exchange(const base::Call& call, const Request& request) {
  // Only errors need it, and to look for secrets in it takes time.
  auto what = [&] {
    return (IsFieldName(request.method) ? request.method : "?") + " " + DisplayUrl(request.url);
  };
  auto url = Check(request);
  if (!url) return {std::move(url).error().Wrap(what()), Fault::kRequest};
  // libcurl may take an unusual spelling for another server, so it gets the URL as it was understood.
  if (std::string understood = url->ToString(); understood != request.url) {
    Request same = request;
    same.url = std::move(understood);
    return Exchange(call, same);
  }
  // Before the request is sent: the server may repeat the secret in its first answer, or in an error.
  base::RememberSecret(request.authorization, base::SecretOrigin::kSent);
  if (request.secret_header) base::RememberSecret(request.secret_header->value, base::SecretOrigin::kSent);
  if (request.tls) base::RememberSecret(request.tls->key_pem);
  auto handle = AcquireHandle();
  if (!handle->valid()) return {base::ResourceExhausted(what() + ": out of memory"), Fault::kRequest};
  ExchangeResult exchanged = handle->Send(call, request, options_);
  // The handle is kept after a failure, too: Send has closed the connection of a transfer that did not end,
  // and the others are still good.
  ReleaseHandle(std::move(handle));
  if (!exchanged.response) exchanged.response = std::move(exchanged.response).error().Wrap(what());
  return exchanged;
}

}  // namespace prefetch::http
