// A request before libcurl sees it: whether it may be sent, its name, headers and proxy. Pure.
// HeaderLines: its header lines.
#pragma once

#include <curl/curl.h>
#include <string.h>

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/text.h"
#include "http/client.h"
#include "http/curl_client.h"
#include "http/url.h"

namespace prefetch::http {

// The header lines that libcurl sends. They may hold a secret: their bytes are wiped.
class HeaderLines {
 public:
  HeaderLines() = default;
  HeaderLines(const HeaderLines&) = delete;
  HeaderLines& operator=(const HeaderLines&) = delete;
  ~HeaderLines() {
    for (curl_slist* line = lines_; line != nullptr; line = line->next) {
      explicit_bzero(line->data, std::char_traits<char>::length(line->data));
    }
    curl_slist_free_all(lines_);
  }

  void Add(std::string_view name, std::string_view value) {
    std::string line;
    line.reserve(name.size() + 2 + value.size());
    line += name;
    // "Name;" is how libcurl is told of a field without a value; "Name:" would take the field out.
    line += value.empty() ? ";" : ": ";
    line += value;
    lines_ = Appended(line);
    base::WipeString(line);
  }
  void AddLine(const std::string& line) { lines_ = Appended(line); }
  // Keeps libcurl from adding a field by itself.
  void Suppress(const char* name) { lines_ = Appended(std::string(name) + ":"); }
  curl_slist* get() const { return lines_; }

 private:
  curl_slist* Appended(const std::string& line) {
    curl_slist* more = curl_slist_append(lines_, line.c_str());
    return more == nullptr ? lines_ : more;
  }
  curl_slist* lines_ = nullptr;
};

// Returns the URL of the request. InvalidArgument: it could mean something else on the wire than here.
base::Result<AbsoluteUrl> Check(const Request& request);

// Returns the peer's name for error messages.
std::string PeerOf(const Request& request);

// Another server name: libcurl verifies the URL's host and nothing else, so the name becomes the URL's host,
// and the connection goes to the host that stood there. Empty where there is no such name.
struct ServerNameOverride {
  std::string url;
  std::string host_header;  // the host that stood there, with its port: what the request is still meant for
  std::string connect_to;   // "HOST:PORT:CONNECT-HOST:CONNECT-PORT" with the first two left out: any
};

ServerNameOverride OverrideServerName(const Request& request);

void AddHeaders(const Request& request, const ServerNameOverride& override_name, HeaderLines& lines);

// A proxy's URL for libcurl, so that it means what Go's net/http reads in it: without a scheme it is http;
// without a port it has the scheme's (libcurl takes 1080); a socks5 proxy resolves the names, which libcurl
// calls socks5h. Empty stays empty.
std::string NormalizeProxyUrl(std::string_view text);

// Adds the passwords of proxies to the secrets that no foreign text may repeat (base/redactor.h).
void RememberProxyPasswords(const CurlOptions& options);

// The proxy for a URL; "" is none, and keeps libcurl from the environment. Lives as long as `options`.
const char* ProxyFor(const CurlOptions& options, const std::string& url);

// Returns true if `url` is reached without a proxy. "localhost" and loopback addresses always are. `no_proxy`
// is a list with commas of: "*"; an address, a CIDR; "host" (itself and subdomains), ".host" and "*.host"
// (the names below it); each but the CIDR with or without ":port".
bool BypassesProxy(std::string_view no_proxy, const AbsoluteUrl& url);

}  // namespace prefetch::http
