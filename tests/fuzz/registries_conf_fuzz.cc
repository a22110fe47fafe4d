// registries.conf: whatever it says, an image has places or a reason why not, and what was put together once
// says the same when it is put together again.
#include <cstdint>
#include <cstdlib>

#include "registry/endpoint_files.h"
#include "registry/host.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace prefetch;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)registry::ParseRegistriesConf(text, registry::ConfKind::kDropIn);
  auto conf = registry::ParseRegistriesConf(text, registry::ConfKind::kMain);
  if (!conf) return 0;
  registry::RegistriesConf twice = *conf;
  registry::Update(twice, *conf);
  if (twice != *conf) std::abort();
  for (const char* name :
       {"quay.io/a/b:v1", "busybox", "reg.acme.io:5000/a", "docker.io/library/busybox:1"}) {
    auto reference = image::Reference::Parse(name);
    if (!reference) std::abort();
    registry::PullEndpoints found = registry::PullEndpointsFor(*conf, *reference);
    if (found.endpoints.empty() == found.only_by_pull_reason.empty()) std::abort();
    for (const registry::PullEndpoint& place : found.endpoints) {
      registry::Host host = registry::CrioHost(place.as.domain(), place.insecure);
      if (!http::ParseAbsoluteUrl(host.server.ToString())) std::abort();
    }
  }
  return 0;
}
