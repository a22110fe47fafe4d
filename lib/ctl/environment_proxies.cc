#include "ctl/environment_proxies.h"

#include <string>

namespace prefetch::ctl {

http::CurlOptions EnvironmentProxies(const config::GetEnv& get_env) {
  auto first = [&](const char* one, const char* other) {
    const char* value = get_env(one);
    if (value == nullptr || *value == '\0') value = get_env(other);
    return std::string(value == nullptr ? "" : value);
  };
  http::CurlOptions options;
  options.http_proxy = first("HTTP_PROXY", "http_proxy");
  options.https_proxy = first("HTTPS_PROXY", "https_proxy");
  options.no_proxy = first("NO_PROXY", "no_proxy");
  return options;
}

}  // namespace prefetch::ctl
