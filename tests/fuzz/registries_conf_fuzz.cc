// registries.conf: whatever it says, an image has places or a reason why not, and what was put together once
// says the same when it is put together again.

#include "fuzz/target.h"
#include "registry/endpoint_files.h"
#include "registry/host.h"

FUZZ_TARGET(text) {
  using namespace prefetch;
  (void)registry::ParseRegistriesConf(text, registry::ConfKind::kDropIn);
  auto conf = registry::ParseRegistriesConf(text, registry::ConfKind::kMain);
  if (!conf) return;
  registry::RegistriesConf twice = *conf;
  registry::Update(twice, *conf);
  if (twice != *conf) std::abort();
  for (const char* name :
       {"quay.io/a/b:v1", "busybox", "reg.acme.io:5000/a", "docker.io/library/busybox:1"}) {
    auto reference = image::Reference::Parse(name);
    if (!reference) std::abort();
    const registry::HostChain found = registry::PullEndpointsFor(*conf, *reference);
    if (found.hosts.empty() == found.only_by_pull_reason.empty()) std::abort();
    for (const registry::ChainedHost& place : found.hosts) {
      if (!http::ParseAbsoluteUrl(place.host.server.ToString())) std::abort();
    }
  }
}
