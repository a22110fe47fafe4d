// The JSON texts that a runtime hands out: its configuration, details of images, manifests of registries.

#include "cri/runtime_json.h"
#include "doc/image_manifest.h"
#include "fuzz/target.h"

FUZZ_TARGET(text) {
  using namespace prefetch;
  image::RuntimeRegistries told = cri::ParseRuntimeRegistries(text);
  if (told.hosts_in_tables.size() > 257 || (!told.config_path.empty() && told.config_path[0] != '/'))
    std::abort();
  for (const std::string& host : told.hosts_in_tables) {
    if (host.empty() || host.size() > 255) std::abort();
  }
  (void)cri::ParseVerboseInfo(text);
  (void)doc::ParseImageManifest(text);
}
