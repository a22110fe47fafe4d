// What a credential plugin says on stdout, and what is scrubbed from its stderr.
#include <cstdint>

#include "credentials/plugin_protocol.h"
#include "credentials/scrub.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace credentials = prefetch::credentials;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  for (unsigned minor : {31U, 36U}) {
    (void)credentials::DecodeResponse(text, "credentialprovider.kubelet.k8s.io/v1",
                                      prefetch::image::KubeletVersion{1, minor});
  }
  (void)credentials::ScrubPluginErrors(text, credentials::SecretsIn(text));
  return 0;
}
