#include "image/registry_access.h"

#include <gtest/gtest.h>

namespace prefetch::image::registry_access_test {
namespace {

struct ByPullRow {
  std::string name;
  std::vector<std::string> by_pull;
  std::string registry;
  bool expect;
};

class ByPullTest : public testing::TestWithParam<ByPullRow> {};

TEST_P(ByPullTest, IsByTheRegistrysHost) {
  EXPECT_EQ(IsOnlyByPull({.by_pull = GetParam().by_pull}, GetParam().registry), GetParam().expect);
}

INSTANTIATE_TEST_SUITE_P(
    Hosts, ByPullTest,
    testing::Values(ByPullRow{"Nothing", {}, "ghcr.io", false}, ByPullRow{"All", {"*"}, "ghcr.io", true},
                    ByPullRow{"Named", {"ghcr.io"}, "ghcr.io", true},
                    ByPullRow{"Another", {"ghcr.io"}, "quay.io", false},
                    ByPullRow{"WithItsPort", {"r.acme.io:5000"}, "r.acme.io:5000", true},
                    ByPullRow{"AnotherPort", {"r.acme.io"}, "r.acme.io:5000", false},
                    ByPullRow{"DockerHub", {"docker.io"}, "docker.io", true},
                    ByPullRow{"DockerHubsServer", {"registry-1.docker.io"}, "docker.io", true},
                    ByPullRow{"DockerHubsOldName", {"index.docker.io"}, "docker.io", true},
                    ByPullRow{"OnlyDockerHubHasSuch", {"registry-1.ghcr.io"}, "ghcr.io", false}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace prefetch::image::registry_access_test
