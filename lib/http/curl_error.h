// A CURLcode as an Error of ours: the one place that knows libcurl's failures.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "http/client.h"

namespace prefetch::http {

struct CurlFailure {
  int code = 0;                  // a CURLcode; not CURLE_OK
  long os_error = 0;             // errno of the failed connect, or 0
  std::string_view tls_text;     // libcurl's own words; used for TLS failures only
  std::string_view peer;         // "registry.example:443" or the socket's path; holds no secret
  bool connected = false;        // did this attempt get a connection?
  bool own_trust = false;        // were certificates given with the request (Request::tls)?
  bool address_refused = false;  // did the last address looked at not suit Request::peers?
  long proxy_status = 0;         // of a proxy's answer to CONNECT, or 0
};

// One sentence and what can be done about it. Says nothing about the URL: the caller wraps it.
base::Error CurlError(const CurlFailure& failure);
Fault CurlFault(const CurlFailure& failure);

}  // namespace prefetch::http
