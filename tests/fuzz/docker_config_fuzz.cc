// Docker configuration files in both shapes, and their auth fields.
#include <cstdint>

#include "credentials/docker_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace credentials = prefetch::credentials;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  for (auto shape : {credentials::DockerConfigFormat::kAuths, credentials::DockerConfigFormat::kLegacy}) {
    auto auths = credentials::DecodeDockerConfig(text, shape);
    if (auths) (void)credentials::KeyIndex(*auths).Match(credentials::Target("a.foo.io/b"));
  }
  (void)credentials::DecodeAuthField(text);
  return 0;
}
