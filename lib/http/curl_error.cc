#include "http/curl_error.h"

#include <curl/curl.h>

#include <cerrno>
#include <system_error>

#include "base/foreign_text.h"
#include "base/text.h"

namespace prefetch::http {
namespace {

constexpr std::size_t kMaxTlsText = 200;

base::Error ConnectFailed(const CurlFailure& failure) {
  if (failure.address_refused) {
    return base::Unavailable(std::string(failure.peer) +
                             " has an address that is not connected to (link-local, loopback, multicast)");
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
bool IsMistrust(int code) {
  return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_ISSUER_ERROR ||
         code == CURLE_SSL_CERTPROBLEM || code == CURLE_SSL_CACERT_BADFILE;
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
    message += ": " + base::ForeignText(failure.tls_text, kMaxTlsText);  // quotes certificates
  // The request brought its own certificates, so their owner can read newer ones and try again.
  if (failure.own_trust && IsMistrust(failure.code)) return base::PermissionDenied(std::move(message));
  return base::Unavailable(std::move(message));
}

base::Error ProxyRefused(const CurlFailure& failure) {
  std::string message = "the proxy refused to connect to " + std::string(failure.peer);
  if (failure.proxy_status != 0) message += " (status " + std::to_string(failure.proxy_status) + ")";
  return base::Unavailable(std::move(message));
}

}  // namespace

base::Error CurlError(const CurlFailure& failure) {
  std::string peer(failure.peer);
  switch (failure.code) {
    case CURLE_URL_MALFORMAT:
      return base::InvalidArgument("this is no http or https URL");
    case CURLE_COULDNT_RESOLVE_HOST:
      return base::Unavailable("the name of " + peer + " cannot be resolved");
    case CURLE_COULDNT_RESOLVE_PROXY:
      return base::Unavailable("the name of the proxy cannot be resolved");
    case CURLE_COULDNT_CONNECT:
      return ConnectFailed(failure);
    case CURLE_OPERATION_TIMEDOUT:
      // Without a connection, another try may help. A server that took the request and is silent is another
      // failure.
      if (!failure.connected) return base::Unavailable("no connection to " + peer + " in time");
      return base::DeadlineExceeded(peer + " did not answer in time");
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
      return TlsFailed(failure);
    case CURLE_SSL_CACERT_BADFILE:
      if (failure.own_trust) return TlsFailed(failure);
      return base::InvalidArgument("the file of certificate authorities cannot be read");
    case CURLE_GOT_NOTHING:
      return base::Unavailable(peer + " closed the connection without an answer");
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      // libcurl reports a CONNECT that a proxy refused as a broken connection. The proxy's status tells the
      // two apart.
      if (failure.proxy_status >= 300) return ProxyRefused(failure);
      if (IsTlsAlert(failure)) return TlsFailed(failure);
      return base::Unavailable("the connection to " + peer + " broke before the answer was complete");
    case CURLE_UNSUPPORTED_PROTOCOL:  // of the answer ("HTTP/0.9"): the URL's was checked before
    case CURLE_WEIRD_SERVER_REPLY:
      return base::Unavailable(peer + " answered something that is not HTTP");
    case CURLE_BAD_CONTENT_ENCODING:
      return base::Unavailable(peer + " answered with a Content-Encoding that cannot be undone");
    case CURLE_PROXY:
      return ProxyRefused(failure);
    case CURLE_OUT_OF_MEMORY:
      return base::ResourceExhausted("out of memory");
    default:
      return base::Internal("libcurl: " +
                            std::string(curl_easy_strerror(static_cast<CURLcode>(failure.code))));
  }
}

Fault CurlFault(const CurlFailure& failure) {
  switch (failure.code) {
    case CURLE_OK:
      return Fault::kNone;
    case CURLE_COULDNT_RESOLVE_HOST:
      return Fault::kName;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_PROXY:
      return failure.proxy_status == 407 ? Fault::kProxyAuth : Fault::kProxy;
    case CURLE_COULDNT_CONNECT:
      return failure.address_refused ? Fault::kAddress : Fault::kConnect;
    case CURLE_OPERATION_TIMEDOUT:
      return Fault::kTimeout;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_CACERT_BADFILE:
      return Fault::kUntrustedCertificate;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
      return Fault::kTls;
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      if (failure.proxy_status == 407) return Fault::kProxyAuth;
      if (failure.proxy_status >= 300) return Fault::kProxy;
      return IsTlsAlert(failure) ? Fault::kTls : Fault::kReset;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
      return Fault::kGarbage;
    case CURLE_BAD_CONTENT_ENCODING:
      return Fault::kEncoding;
    default:
      return Fault::kRequest;
  }
}

}  // namespace prefetch::http
