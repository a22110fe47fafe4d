// The JSON texts that a runtime hands out: its configuration, details of images, manifests of registries.
#include <cstdint>
#include <cstdlib>

#include "cri/runtime_json.h"
#include "doc/image_manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace prefetch;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  image::RuntimeRegistries told = cri::ParseRuntimeRegistries(text);
  if (told.hosts_in_tables.size() > 257 || (!told.config_path.empty() && told.config_path[0] != '/'))
    std::abort();
  for (const std::string& host : told.hosts_in_tables) {
    if (host.empty() || host.size() > 255) std::abort();
  }
  (void)cri::ParseVerboseInfo(text);
  (void)doc::ParseImageManifest(text);
  return 0;
}
