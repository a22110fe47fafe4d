#include "http/curl_answer.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <system_error>

#include "base/redactor.h"
#include "base/text.h"
#include "http/addresses.h"

namespace prefetch::http {

namespace {

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
  answer.address_refused =
      !IsAllowed(answer.request.address_policy, address->addr, answer.request.excluded_addresses);
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

}  // namespace

void Receive(CURL* easy, CurlAnswer& answer) {
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &OnHeader);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &answer);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &OnBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &answer);
  curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, &OnConnected);
  curl_easy_setopt(easy, CURLOPT_PREREQDATA, &answer);
}

void RequireSubjectAltName(CURL* easy) {
  curl_easy_setopt(easy, CURLOPT_CERTINFO, 1L);
}

void CheckAddresses(CURL* easy, CurlAnswer& answer) {
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, &OnSocket);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, &answer);
  answer.checks_addresses = true;
}

namespace {

enum class Kind { kPlain, kPrivate, kLoopback, kSpecial };

// At these addresses, clouds give machines their credentials, beside the usual link-local one: Azure's wire
// server, Alibaba Cloud's metadata, and those of AWS and Google Cloud over IPv6.
constexpr std::array<std::array<unsigned char, 4>, 2> kMetadataV4 = {
    {{168, 63, 129, 16}, {100, 100, 100, 200}}};
constexpr std::array<in6_addr, 2> kMetadataV6 = {{
    {{{0xfd, 0x00, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54}}},
    {{{0xfd, 0x20, 0x00, 0xce, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54}}},
}};

// The order matters: metadata addresses lie within ranges that would otherwise be plain or private.
Kind KindOfV4(const unsigned char* bytes) {
  for (const auto& metadata : kMetadataV4) {
    if (std::memcmp(bytes, metadata.data(), metadata.size()) == 0) return Kind::kSpecial;
  }
  if (bytes[0] == 127) return Kind::kLoopback;
  // 0.0.0.0 reaches the machine itself on Linux, so it is no better than loopback.
  bool unspecified = bytes[0] == 0;
  bool link_local = bytes[0] == 169 && bytes[1] == 254;
  bool multicast_or_above = bytes[0] >= 224;
  if (unspecified || link_local || multicast_or_above) return Kind::kSpecial;
  const bool private_use = bytes[0] == 10 || (bytes[0] == 172 && (bytes[1] & 0xf0) == 16) ||
                           (bytes[0] == 192 && bytes[1] == 168) ||
                           (bytes[0] == 100 && (bytes[1] & 0xc0) == 64);
  return private_use ? Kind::kPrivate : Kind::kPlain;
}

bool IsLocalNat64(const in6_addr& address) {
  constexpr unsigned char kPrefix[6] = {0x00, 0x64, 0xff, 0x9b, 0, 1};
  return std::memcmp(address.s6_addr, kPrefix, sizeof kPrefix) == 0;
}

// Returns the IPv4 address that the IPv6 one stands for; nullptr if it stands for none. The machine itself
// connects to mapped ones as to IPv4. Gateways forward the others to the address inside: NAT64 (RFC 6052, and
// RFC 8215 with a prefix of 96 bits), 6to4 (RFC 3056).
const unsigned char* InnerV4(const in6_addr& address) {
  const unsigned char* bytes = address.s6_addr;
  constexpr unsigned char kNat64[12] = {0x00, 0x64, 0xff, 0x9b};
  // RFC 8215 reserves 48 bits. If these bytes are 0, the prefix may be shorter than 96 bits.
  const bool local = IsLocalNat64(address) && (bytes[13] | bytes[14] | bytes[15]) != 0;
  if (IN6_IS_ADDR_V4MAPPED(&address) || std::memcmp(bytes, kNat64, sizeof kNat64) == 0 || local)
    return bytes + 12;
  return bytes[0] == 0x20 && bytes[1] == 0x02 ? bytes + 2 : nullptr;
}

Kind KindOf(const in6_addr& address) {
  // Addresses inside come first: "::ffff:127.0.0.1" is loopback, and no IPv6 rule finds it.
  if (const unsigned char* v4 = InnerV4(address)) return KindOfV4(v4);
  if (IN6_IS_ADDR_LOOPBACK(&address)) return Kind::kLoopback;
  for (const in6_addr& metadata : kMetadataV6) {
    if (IN6_ARE_ADDR_EQUAL(&address, &metadata)) return Kind::kSpecial;
  }
  bool special =
      IN6_IS_ADDR_UNSPECIFIED(&address) || IN6_IS_ADDR_LINKLOCAL(&address) || IN6_IS_ADDR_MULTICAST(&address);
  if (special) return Kind::kSpecial;
  return (address.s6_addr[0] & 0xfe) == 0xfc || IN6_IS_ADDR_SITELOCAL(&address) ? Kind::kPrivate
                                                                                : Kind::kPlain;
}

// Returns true if both are one address, each in any of the spellings of an IPv4 address.
bool IsSameAddress(const std::string& text, const in6_addr& address) {
  const std::optional<in6_addr> other = ToIpv6(text);
  if (!other) return false;
  const unsigned char* one = InnerV4(address);
  const unsigned char* two = InnerV4(*other);
  if (one != nullptr && two != nullptr) return std::memcmp(one, two, 4) == 0;
  return IN6_ARE_ADDR_EQUAL(&*other, &address);
}

bool IsOtherHost(const in6_addr& address, const std::vector<std::string>& excluded_addresses) {
  // A network chooses the length of a prefix of its own (RFC 6052), so where the IPv4 address stands is
  // unknown.
  if (IsLocalNat64(address)) return false;
  const auto is_it = [&](const std::string& text) { return IsSameAddress(text, address); };
  const std::vector<std::string> here = InterfaceAddresses();
  // Without interfaces, nothing proves that the address is another machine's.
  return !here.empty() && std::none_of(here.begin(), here.end(), is_it) &&
         std::none_of(excluded_addresses.begin(), excluded_addresses.end(), is_it);
}

bool IsRemote(Kind kind) {
  return kind == Kind::kPlain || kind == Kind::kPrivate;
}

}  // namespace

bool IsAllowed(AddressPolicy address_policy, const sockaddr& address,
               const std::vector<std::string>& excluded_addresses) {
  const std::optional<in6_addr> v6 = ToIpv6(address);
  return !v6 || IsAllowed(address_policy, *v6, excluded_addresses);
}

bool IsAllowed(AddressPolicy address_policy, const in6_addr& address,
               const std::vector<std::string>& excluded_addresses) {
  const Kind kind = KindOf(address);
  switch (address_policy) {
    case AddressPolicy::kAny:
      return true;
    case AddressPolicy::kAllowLoopback:
      return kind != Kind::kSpecial;
    case AddressPolicy::kNoLoopback:
      return IsRemote(kind);
    case AddressPolicy::kOtherHosts:
      return IsRemote(kind) && IsOtherHost(address, excluded_addresses);
    case AddressPolicy::kPublic:
      return kind == Kind::kPlain && IsOtherHost(address, excluded_addresses);
  }
  return false;
}

namespace {

constexpr std::size_t kMaxTlsText = 200;

const char* RefusedBy(AddressPolicy policy) {
  return base::EnumWord(policy, {"none", "link-local, multicast", "link-local, loopback, multicast",
                                 "link-local, loopback, multicast, of this node",
                                 "link-local, loopback, multicast, private, of this node"});
}

base::Error ConnectFailed(const CurlFailure& failure) {
  if (failure.refused_by) {
    return base::Unavailable(std::string(failure.peer) + " has an address that is not connected to (" +
                             RefusedBy(*failure.refused_by) + ")");
  }
  std::string message = "cannot connect to " + std::string(failure.peer);
  int error = static_cast<int>(failure.os_error);
  if (error == 0) return base::Unavailable(std::move(message));
  message += ": " + std::generic_category().message(error);
  if (error == ENOENT) return base::NotFound(std::move(message));
  if (error == EACCES || error == EPERM) return base::PermissionDenied(std::move(message));
  return base::Unavailable(std::move(message));
}

// Owners of certificates get a code of their own for these: new files may have replaced the ones that were
// sent.
bool IsCertificateError(int code) {
  return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CERTPROBLEM ||
         code == CURLE_SSL_CACERT_BADFILE;
}

// With TLS 1.3, a server refuses a client's certificate only after the handshake, when the client begins to
// read.
bool IsTlsAlert(const CurlFailure& failure) {
  return (failure.code == CURLE_RECV_ERROR || failure.code == CURLE_SEND_ERROR) &&
         base::ContainsIgnoreCase(failure.tls_text, "alert");
}

base::Error TlsFailed(const CurlFailure& failure) {
  std::string message = "TLS with " + std::string(failure.peer) + " failed";
  if (!failure.tls_text.empty())
    message += ": " + base::SanitizedText(failure.tls_text, kMaxTlsText);  // quotes certificates
  // The request brought its own certificates, so their owner can read newer ones and try again.
  if (failure.own_trust && IsCertificateError(failure.code))
    return base::PermissionDenied(std::move(message));
  return base::Unavailable(std::move(message));
}

base::Error ProxyRefused(const CurlFailure& failure) {
  std::string message = "the proxy refused to connect to " + std::string(failure.peer);
  if (failure.proxy_status != 0) message += " (status " + std::to_string(failure.proxy_status) + ")";
  return base::Unavailable(std::move(message));
}

Fault ProxyFault(const CurlFailure& failure) {
  return failure.proxy_status == 407 ? Fault::kProxyAuth : Fault::kProxy;
}

}  // namespace

CurlEnd EndOf(const CurlFailure& failure) {
  std::string peer(failure.peer);
  switch (failure.code) {
    case CURLE_URL_MALFORMAT:
      return {base::InvalidArgument("this is no http or https URL"), Fault::kRequest};
    case CURLE_COULDNT_RESOLVE_HOST:
      return {base::Unavailable("the name of " + peer + " cannot be resolved"), Fault::kDns};
    case CURLE_COULDNT_RESOLVE_PROXY:
      return {base::Unavailable("the name of the proxy cannot be resolved"), ProxyFault(failure)};
    case CURLE_COULDNT_CONNECT:
      return {ConnectFailed(failure), failure.refused_by ? Fault::kExcludedAddress : Fault::kConnect};
    case CURLE_OPERATION_TIMEDOUT:
      // Without a connection, another try may help. A server that took the request and is silent is another
      // failure.
      return {failure.connected ? base::DeadlineExceeded(peer + " did not answer in time")
                                : base::Unavailable("no connection to " + peer + " in time"),
              Fault::kTimeout};
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
      return {TlsFailed(failure), Fault::kTls};
    case CURLE_PEER_FAILED_VERIFICATION:
      return {TlsFailed(failure), Fault::kUntrustedCertificate};
    case CURLE_SSL_CACERT_BADFILE:
      return {failure.own_trust ? TlsFailed(failure)
                                : base::InvalidArgument("the file of certificate authorities cannot be read"),
              Fault::kUntrustedCertificate};
    case CURLE_GOT_NOTHING:
      return {base::Unavailable(peer + " closed the connection without an answer"),
              failure.proxy_status >= 300 ? ProxyFault(failure) : Fault::kReset};
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      // libcurl reports a CONNECT that a proxy refused as a broken connection. The proxy's status tells the
      // two apart.
      if (failure.proxy_status >= 300) return {ProxyRefused(failure), ProxyFault(failure)};
      if (IsTlsAlert(failure)) return {TlsFailed(failure), Fault::kTls};
      return {base::Unavailable("the connection to " + peer + " broke before the answer was complete"),
              Fault::kReset};
    case CURLE_UNSUPPORTED_PROTOCOL:  // of the answer ("HTTP/0.9"): the URL's was checked before
    case CURLE_WEIRD_SERVER_REPLY:
      return {base::Unavailable(peer + " answered something that is not HTTP"), Fault::kNotHttp};
    case CURLE_BAD_CONTENT_ENCODING:
      return {base::Unavailable(peer + " answered with a Content-Encoding that cannot be undone"),
              Fault::kEncoding};
    case CURLE_PROXY:
      return {ProxyRefused(failure), ProxyFault(failure)};
    case CURLE_OUT_OF_MEMORY:
      return {base::ResourceExhausted("out of memory"), Fault::kRequest};
    default:
      return {
          base::Internal("libcurl: " + std::string(curl_easy_strerror(static_cast<CURLcode>(failure.code)))),
          Fault::kRequest};
  }
}

}  // namespace prefetch::http
