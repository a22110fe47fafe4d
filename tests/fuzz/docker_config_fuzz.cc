// Docker configuration files in both shapes, and their auth fields.

#include "credentials/docker_config.h"
#include "fuzz/target.h"

FUZZ_TARGET(text) {
  namespace credentials = prefetch::credentials;
  for (auto shape : {credentials::DockerConfigFormat::kAuths, credentials::DockerConfigFormat::kLegacy}) {
    auto auths = credentials::DecodeDockerConfig(text, shape);
    if (!auths) continue;
    const credentials::KeyIndex index(*auths);
    (void)credentials::MatchAll({&index}, credentials::Target("a.foo.io/b"));
  }
  (void)credentials::DecodeAuthField(text);
}
