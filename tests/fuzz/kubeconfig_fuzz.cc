// A person's kubeconfig.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "kube/kubeconfig.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int file = ::memfd_create("kubeconfig", 0);
  if (file < 0 || ::ftruncate(file, 0) != 0 || ::pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) {
    __builtin_trap();
  }
  auto cluster = prefetch::kube::FromKubeconfig([](const std::string&) { return std::nullopt; },
                                                {.file = "/proc/self/fd/" + std::to_string(file)});
  // No credential goes over plain http.
  const bool credential =
      cluster && (!cluster->token.empty() || !cluster->token_file.empty() || !cluster->username.empty() ||
                  !cluster->key_pem.empty() || !cluster->key_file.empty() || cluster->exec);
  if (credential && cluster->server.rfind("https://", 0) != 0) __builtin_trap();
  return 0;
}
