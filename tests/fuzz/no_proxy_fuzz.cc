// The list of hosts without a proxy, and a URL that it is asked about: two lines. More entries never send
// more requests to the proxy, and each URL's own host in the list keeps it from the proxy.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "http/curl_request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace prefetch;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return 0;
  const std::string list(text.substr(0, end));
  const auto url = http::ParseAbsoluteUrl(text.substr(end + 1));
  if (!url) return 0;
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
  return 0;
}
