// crio.conf: whatever it says, it is taken or refused as a whole, twice is as once, and a refusal holds no
// value.

#include "base/text.h"
#include "fuzz/target.h"
#include "registry/registries_conf.h"

FUZZ_TARGET(text) {
  using namespace prefetch;
  const registry::CrioSettings before{
      .global_auth_file = "/a", .auth_file_source = "/b", .namespaced_auth_dir = "/c"};
  registry::CrioSettings settings = before;
  if (auto read = registry::UpdateCrioSettings(text, "/etc/crio/crio.conf", settings); !read) {
    if (settings != before || !base::IsUtf8(read.error().message())) std::abort();
    return;
  }
  registry::CrioSettings twice = settings;
  if (!registry::UpdateCrioSettings(text, "/etc/crio/crio.conf", twice) || twice != settings) std::abort();
  const bool changed = settings.global_auth_file != before.global_auth_file;
  if (changed && settings.auth_file_source != "/etc/crio/crio.conf") std::abort();
}
