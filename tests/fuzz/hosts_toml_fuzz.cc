// hosts.toml: whatever it says, there is a last host, and nothing in it can break a request.
#include <cstdint>
#include <cstdlib>

#include "http/headers.h"
#include "registry/hosts_toml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace prefetch;
  std::string_view text(reinterpret_cast<const char*>(data), size);
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
  return 0;
}
