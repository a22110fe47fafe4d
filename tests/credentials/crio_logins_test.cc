#include "credentials/crio_logins.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rows.h"

namespace prefetch::credentials::crio_logins_test {
namespace {

struct KeyCase {
  std::string name;
  std::vector<std::string> keys;
  std::string image, expect;  // empty: none
};

// containers/image pkg/docker/config/config_test.go: the order of its look-ups.
TEST_TABLE(CrioLoginTest, IsTheLibrarys, KeyCase) {
  std::vector<ContainersLogin> logins;
  for (const std::string& key : row.keys) logins.push_back({.key = key, .auth = {}});
  const auto found = CrioLoginsFor(logins, *image::Reference::Parse(row.image));
  EXPECT_EQ(found.empty() ? "" : found.front()->key, row.expect);
}

TEST_ROWS(, CrioLoginTest, {"Registry", {"quay.io"}, "quay.io/acme/app:v1", "quay.io"},
          {"LongestFolder", {"quay.io", "quay.io/acme", "quay.io/other"}, "quay.io/acme/app", "quay.io/acme"},
          {"Repository", {"quay.io/acme", "quay.io/acme/app"}, "quay.io/acme/app", "quay.io/acme/app"},
          {"WholePartsAlone", {"quay.io/acme/ap"}, "quay.io/acme/app", ""},
          {"NoGlobs", {"*.io"}, "quay.io/acme/app", ""},
          {"OfAUrlTheRegistry", {"https://quay.io/v1/"}, "quay.io/acme/app", "https://quay.io/v1/"},
          {"AFolderOfAnotherIsNoRegistry", {"quay.io/other"}, "quay.io/acme/app", ""},
          {"PortsCount", {"reg.io"}, "reg.io:5000/app", ""},
          {"DockerHub", {"https://index.docker.io/v1/"}, "busybox", "https://index.docker.io/v1/"},
          {"DockerHubByItsFolder", {"docker.io/library"}, "busybox", "docker.io/library"});

}  // namespace
}  // namespace prefetch::credentials::crio_logins_test
