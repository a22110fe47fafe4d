// A request before libcurl sees it: may it be sent, under which name, with which headers, by which proxy.
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "http/absolute_url.h"
#include "http/client.h"
#include "http/curl_client.h"
#include "http/header_lines.h"

namespace prefetch::http {

// Nothing goes out that could mean something else on the wire than here.
base::Status Check(const Request& request);

// Returns the peer's name for error messages.
std::string PeerOf(const Request& request);

// Another server name: libcurl verifies the URL's host and nothing else, so the name becomes the URL's host,
// and the connection goes to the host that stood there. Empty where there is no such name.
struct Renamed {
  std::string url;
  std::string host_header;  // the host that stood there, with its port: what the request is still meant for
  std::string connect_to;   // "HOST:PORT:CONNECT-HOST:CONNECT-PORT" with the first two left out: any
};

Renamed Rename(const Request& request);

void AddHeaders(const Request& request, const Renamed& renamed, HeaderLines& lines);

// A proxy's URL for libcurl, so that it means what Go's net/http reads in it: without a scheme it is http;
// without a port it has the scheme's (libcurl takes 1080); a socks5 proxy resolves the names, which libcurl
// calls socks5h. Empty stays empty.
std::string ProxyAsGoReads(std::string_view text);

// Adds the passwords of proxies to the secrets that no foreign text may repeat (base/redactor.h).
void RememberProxyPasswords(const CurlOptions& options);

// The proxy for a URL; "" is none, and keeps libcurl from the environment. Lives as long as `options`.
const char* ProxyFor(const CurlOptions& options, const std::string& url);

// Returns true if `url` is reached without a proxy. "localhost" and loopback addresses always are. `no_proxy`
// is a list with commas of: "*"; an address, a CIDR; "host" (itself and subdomains), ".host" and "*.host"
// (the names below it); each but the CIDR with or without ":port".
bool BypassesProxy(std::string_view no_proxy, const AbsoluteUrl& url);

}  // namespace prefetch::http
