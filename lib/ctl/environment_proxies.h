// The proxies that the environment names, as other command-line tools use them.
#pragma once

#include "config/raw_config.h"
#include "http/curl_client.h"

namespace prefetch::ctl {

// HTTP_PROXY, HTTPS_PROXY and NO_PROXY, which count before http_proxy, https_proxy and no_proxy, as in Go.
http::CurlOptions EnvironmentProxies(const config::GetEnv& get_env);

}  // namespace prefetch::ctl
