// The list of hosts without a proxy, and a URL that it is asked about: two lines. More entries never send
// more requests to the proxy, and each URL's own host in the list keeps it from the proxy.

#include "fuzz/target.h"
#include "http/curl_request.h"

FUZZ_TARGET(text) {
  using namespace prefetch;
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return;
  const std::string list(text.substr(0, end));
  const auto url = http::ParseAbsoluteUrl(text.substr(end + 1));
  if (!url) return;
  const bool bypasses = http::BypassesProxy(list, *url);
  if (bypasses && !http::BypassesProxy(list + ",other.example", *url)) std::abort();
  if (bypasses && !http::BypassesProxy("other.example," + list, *url)) std::abort();
  if (!bypasses && http::BypassesProxy(" ,," + list + ", ", *url)) std::abort();
  if (!http::BypassesProxy(list + ",*", *url)) std::abort();
  // An IPv6 address with a port stands in brackets there. Hosts in the URL's brackets need not be addresses.
  const bool name = url->host.find(':') == std::string::npos && url->host.find_first_not_of('.') == 0;
  if (name && !http::BypassesProxy(list + "," + url->host, *url)) std::abort();
  if (name && !http::BypassesProxy(list + "," + url->HostPort(), *url)) std::abort();
  if (name && !bypasses &&
      http::BypassesProxy(list + "," + url->host + ":" + std::to_string(url->port ^ 1), *url))
    std::abort();
  // Its port, path and query have no say where the list names no port.
  http::AbsoluteUrl other = *url;
  other.target = "/";
  if (http::BypassesProxy(list, other) != bypasses) std::abort();
  other.port = 1;
  if (list.find(':') == std::string::npos && http::BypassesProxy(list, other) != bypasses) std::abort();
}
