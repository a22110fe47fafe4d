// Reads the output of a kubeconfig's credential plugin.

#include "fuzz/target.h"
#include "kube/exec_plugin.h"

FUZZ_TARGET(text) {
  auto credential = prefetch::kube::DecodeExecCredential(text, "client.authentication.k8s.io/v1");
  // A credential is a token, or a certificate with its key.
  if (credential && credential->token.empty() &&
      (credential->certificate_pem.empty() || credential->key_pem.empty())) {
    __builtin_trap();
  }
}
