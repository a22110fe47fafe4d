// CredentialProviderConfig, JSON or YAML, strict and not.

#include "credentials/provider_config.h"
#include "fuzz/target.h"

FUZZ_TARGET(text) {
  namespace credentials = prefetch::credentials;
  for (unsigned minor : {31U, 33U, 36U}) {
    prefetch::doc::Problems problems("fuzz.yaml");
    auto providers =
        credentials::DecodeProviderConfig(text, prefetch::image::KubeletVersion{1, minor}, problems);
    for (const auto& provider : providers) {
      for (const auto& pattern : provider.match_images)
        (void)pattern.Matches(credentials::Target("a.foo.io/b"));
    }
  }
}
