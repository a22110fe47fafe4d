// Decodes the output of a credential plugin, and redacts its stderr.

#include "base/redactor.h"
#include "credentials/plugin.h"
#include "fuzz/target.h"

FUZZ_TARGET(text) {
  namespace credentials = prefetch::credentials;
  for (unsigned minor : {31U, 36U}) {
    (void)credentials::DecodeResponse(text, "credentialprovider.kubelet.k8s.io/v1",
                                      prefetch::image::KubeletVersion{1, minor});
  }
  (void)prefetch::base::PluginText(text, 1024);
}
