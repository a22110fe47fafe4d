// CredentialProviderConfig, JSON or YAML, strict and not.
#include <cstdint>

#include "credentials/provider_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace credentials = prefetch::credentials;
  for (unsigned minor : {31U, 33U, 36U}) {
    prefetch::doc::Problems problems("fuzz.yaml");
    auto providers = credentials::DecodeProviderConfig({reinterpret_cast<const char*>(data), size},
                                                       prefetch::image::KubeletVersion{1, minor}, problems);
    for (const auto& provider : providers) {
      for (const auto& pattern : provider.match_images)
        (void)pattern.Matches(credentials::Target("a.foo.io/b"));
    }
  }
  return 0;
}
