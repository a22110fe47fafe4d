// Reads the output of a kubeconfig's credential plugin.
#include <cstdint>

#include "kube/exec_plugin.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto credential = prefetch::kube::DecodeExecCredential(text, "client.authentication.k8s.io/v1");
  // A credential is a token, or a certificate with its key.
  if (credential && credential->token.empty() &&
      (credential->certificate_pem.empty() || credential->key_pem.empty())) {
    __builtin_trap();
  }
  return 0;
}
