#include "credentials/docker_config.h"

#include <gtest/gtest.h>

namespace prefetch::credentials::containers_auth_test {
namespace {

std::string Show(const ContainersLogin& login) {
  if (login.broken) return "broken";
  if (login.empty()) return "none";
  return login.auth.username + "/" + std::string(login.auth.password.Reveal()) +
         (login.identity_token ? "+token" : "");
}

std::string LoginOf(const std::string& entry) {
  auto auth = DecodeContainersAuth(R"({"auths":{"quay.io":)" + entry + "}}");
  if (!auth) return "error";
  return auth->logins.size() == 1 ? Show(auth->logins.front()) : "several";
}

// containers/image pkg/docker/config/config.go (decodeDockerAuth).
TEST(DecodeContainersAuth, OnlyThePaddedAuthCounts) {
  EXPECT_EQ(LoginOf(R"({"auth":"dXNlcjpodXNoLTE="})"), "user/hush-1");
  EXPECT_EQ(LoginOf(R"({"AUTH":"dXNlcjpodXNoLTE=","email":5})"), "user/hush-1");
  EXPECT_EQ(LoginOf(R"({"username":"u","password":"p"})"), "none") << "kubelet takes it";
  EXPECT_EQ(LoginOf(R"({"auth":"dXNlcjo"})"), "broken") << "kubelet takes it";
  EXPECT_EQ(LoginOf(R"({"auth":"dXNlcg=="})"), "none") << "without a colon";
  EXPECT_EQ(LoginOf(R"({"auth":"dXNlcjpodXNoLTEAAA=="})"), "user/hush-1") << "zero bytes behind the password";
  EXPECT_EQ(LoginOf(R"({"auth":"Og==","identitytoken":"t"})"), "/+token");
  EXPECT_EQ(LoginOf(R"({"identitytoken":"t"})"), "none");
  EXPECT_EQ(LoginOf("{}"), "none");
  EXPECT_EQ(LoginOf("null"), "none");
  EXPECT_EQ(LoginOf(R"("x")"), "error");
  EXPECT_EQ(LoginOf(R"({"auth":5})"), "error");
}

TEST(DecodeContainersAuth, HelpersAndRepeatedMembers) {
  auto auth = DecodeContainersAuth(
      R"({"auths":{"a":{}},"credHelpers":{"a":"x","b":null},"auths":{"b":{"auth":"%"}},"more":1})");
  ASSERT_TRUE(auth) << auth.error().message();
  ASSERT_EQ(auth->logins.size(), 2u);
  EXPECT_EQ(Show(auth->logins.back()), "broken") << "an entry alone, not the file";
  EXPECT_EQ(auth->helpers, (CredHelpers{{"a", "x"}, {"b", ""}}));
  EXPECT_FALSE(DecodeContainersAuth(R"({"credHelpers":{"a":5}})"));
  EXPECT_FALSE(DecodeContainersAuth(""));
}

}  // namespace
}  // namespace prefetch::credentials::containers_auth_test
