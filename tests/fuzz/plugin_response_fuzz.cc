// Decodes the output of a credential plugin, and redacts its stderr.
#include <cstdint>

#include "base/redactor.h"
#include "credentials/plugin.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace credentials = prefetch::credentials;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  for (unsigned minor : {31U, 36U}) {
    (void)credentials::DecodeResponse(text, "credentialprovider.kubelet.k8s.io/v1",
                                      prefetch::image::KubeletVersion{1, minor});
  }
  (void)prefetch::base::PluginText(text, 1024);
  return 0;
}
