// hosts.toml: whatever it says, there is a last host, and nothing in it can break a request.

#include "fuzz/target.h"
#include "http/headers.h"
#include "registry/hosts_toml.h"

FUZZ_TARGET(text) {
  using namespace prefetch;
  for (const char* release : {"1.6.20", "2.3.4"}) {
    auto hosts =
        registry::ParseHostsToml(text, "/certs/x", "reg.example:5000", registry::RuntimeRulesFor(release));
    if (!hosts) continue;
    if (hosts->empty()) std::abort();
    for (const registry::Host& host : *hosts) {
      if (!http::ParseAbsoluteUrl(host.server.ToString())) std::abort();
      if (!host.problem.empty()) continue;  // it is not asked
      for (const auto& header : host.headers) {
        if (!http::IsFieldName(header.first) || !http::IsFieldValue(header.second.Reveal())) std::abort();
      }
    }
  }
}
