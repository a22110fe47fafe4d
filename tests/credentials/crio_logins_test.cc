#include "credentials/crio_logins.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace prefetch::credentials::crio_logins_test {
namespace {

struct KeyCase {
  std::string name;
  std::vector<std::string> keys;
  std::string image, expect;  // empty: none
};

class CrioLoginTest : public testing::TestWithParam<KeyCase> {};

// containers/image pkg/docker/config/config_test.go: the order of its look-ups.
TEST_P(CrioLoginTest, IsTheLibrarys) {
  std::vector<ContainersLogin> logins;
  for (const std::string& key : GetParam().keys) logins.push_back({.key = key, .auth = {}});
  const auto found = CrioLoginsFor(logins, *image::Reference::Parse(GetParam().image));
  EXPECT_EQ(found.empty() ? "" : found.front()->key, GetParam().expect);
}

INSTANTIATE_TEST_SUITE_P(
    , CrioLoginTest,
    testing::Values(
        KeyCase{"Registry", {"quay.io"}, "quay.io/acme/app:v1", "quay.io"},
        KeyCase{"LongestFolder",
                {"quay.io", "quay.io/acme", "quay.io/other"},
                "quay.io/acme/app",
                "quay.io/acme"},
        KeyCase{"Repository", {"quay.io/acme", "quay.io/acme/app"}, "quay.io/acme/app", "quay.io/acme/app"},
        KeyCase{"WholePartsAlone", {"quay.io/acme/ap"}, "quay.io/acme/app", ""},
        KeyCase{"NoGlobs", {"*.io"}, "quay.io/acme/app", ""},
        KeyCase{"OfAUrlTheRegistry", {"https://quay.io/v1/"}, "quay.io/acme/app", "https://quay.io/v1/"},
        KeyCase{"AFolderOfAnotherIsNoRegistry", {"quay.io/other"}, "quay.io/acme/app", ""},
        KeyCase{"PortsCount", {"reg.io"}, "reg.io:5000/app", ""},
        KeyCase{"DockerHub", {"https://index.docker.io/v1/"}, "busybox", "https://index.docker.io/v1/"},
        KeyCase{"DockerHubByItsFolder", {"docker.io/library"}, "busybox", "docker.io/library"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace prefetch::credentials::crio_logins_test
