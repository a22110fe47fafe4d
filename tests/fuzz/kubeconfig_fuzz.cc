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
  // A token goes over plain http to this machine only.
  if (cluster && !cluster->token.empty() && cluster->server.rfind("http://", 0) == 0 &&
      cluster->server.find("localhost") == std::string::npos &&
      cluster->server.find("127.") == std::string::npos &&
      cluster->server.find("[::1]") == std::string::npos) {
    __builtin_trap();
  }
  return 0;
}
