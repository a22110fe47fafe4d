#include "credentials/docker_config.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "temp_dir.h"

namespace prefetch::credentials::docker_config_test {
namespace {

constexpr DockerConfigFormat kAuths = DockerConfigFormat::kAuths;
constexpr DockerConfigFormat kLegacy = DockerConfigFormat::kLegacy;

// The judge of the family "docker" (tests/judges) has what is accepted and what is not.
TEST(DockerConfig, AMistakeIsToldWithoutThePassword) {
  for (const char* text : {R"({"auths":{"a":{"username":"u"},"b":{"auth":"hunter2"}}})",
                           R"({"auths":{"r.io":"hunter2"}})", "hunter2"}) {
    auto auths = DecodeDockerConfig(text, kAuths);
    ASSERT_FALSE(auths) << text;
    EXPECT_EQ(auths.error().message().find("hunter2"), std::string::npos) << auths.error().message();
  }
}

TEST(DockerConfig, TheOldFileIsTheAuthsAlone) {
  const struct {
    std::string text, key, user;
  } rows[] = {{R"({"r.io":{"username":"u","password":"p"}})", "r.io", "u"},
              {R"({"auths":{"r.io":{"username":"u"}}})", "auths", ""}};
  for (const auto& row : rows) {
    auto auths = DecodeDockerConfig(row.text, kLegacy);
    ASSERT_TRUE(auths) << auths.error().message();
    ASSERT_EQ(auths->size(), 1U);
    EXPECT_EQ(auths->front().key, row.key);
    EXPECT_EQ(auths->front().auth.username, row.user);
  }
}

TEST(DockerConfig, TheErrorNamesTheMember) {
  auto auths = DecodeDockerConfig(R"({"auths":{"r.io":{"auth":"hunter2"}}})", kAuths);
  ASSERT_FALSE(auths);
  EXPECT_NE(auths.error().message().find("auth: must be base64 of user:password"), std::string::npos)
      << auths.error().message();
}

TEST(DockerConfig, KubeletsPlacesInOrder) {
  EXPECT_EQ(DockerConfigCandidates({.kubelet_root = "/k", .working_directory = "/w", .home = "/h"}),
            (std::vector<std::string>{"/k/config.json", "/w/config.json", "/h/.docker/config.json",
                                      "/.docker/config.json", "/k/.dockercfg", "/w/.dockercfg",
                                      "/h/.dockercfg", "/.dockercfg"}));
  EXPECT_EQ(DockerConfigCandidates({.kubelet_root = "/k", .working_directory = "/", .home = ""})[2],
            "/.docker/config.json");
  EXPECT_EQ(FormatOf("/a/.dockercfg"), kLegacy);
  EXPECT_EQ(FormatOf("/a/.dockerconfigjson"), kAuths);
  EXPECT_EQ(FormatOf("config.json"), kAuths);
}

TEST(DockerConfig, FirstThatExistsAndParsesWins) {
  tests::TempDir dir;
  std::vector<std::string> paths = {dir / "none", dir / "bad", dir / "empty.json", dir / "good.json"};
  EXPECT_EQ(ReadFirstDockerConfig(paths).path, "");
  dir.Write("good.json", R"({"auths":{"r.io":{"username":"u"}}})");
  EXPECT_EQ(ReadFirstDockerConfig(paths).path, dir / "good.json");
  dir.Write("bad", "{");
  NodeDockerConfig config = ReadFirstDockerConfig(paths);
  EXPECT_EQ(config.path, dir / "good.json");
  ASSERT_EQ(config.problems.size(), 1U);
  EXPECT_NE(config.problems[0].find(dir / "bad"), std::string::npos);
  dir.Write("empty.json", "{}");  // parses, so it wins, with no credentials
  config = ReadFirstDockerConfig(paths);
  EXPECT_EQ(config.path, dir / "empty.json");
  EXPECT_TRUE(config.index.empty());
}

// A stranger may repeat it before it was ever sent from here.
TEST(DockerConfig, AFileThatIsNoneDoesNotBlock) {
  tests::TempDir dir;
  ASSERT_EQ(mkfifo((dir / "fifo").c_str(), 0600), 0);
  NodeDockerConfig config = ReadFirstDockerConfig({dir / "fifo"});
  EXPECT_EQ(config.path, "");
  EXPECT_EQ(config.problems.size(), 1U);
}

}  // namespace
}  // namespace prefetch::credentials::docker_config_test
