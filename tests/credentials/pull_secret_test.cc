#include "credentials/docker_config.h"

#include <gtest/gtest.h>

#include "temp_dir.h"

namespace prefetch::credentials::pull_secret_test {
namespace {

constexpr char kWrapped[] = R"({"auths":{"r.io":{"username":"u","password":"p"}}})";
constexpr char kLegacy[] = R"({"r.io":{"username":"u","password":"p"}})";

PullSecret Declared(const std::string& path) {
  return {.name = "team", .path = path, .allow_repositories = {"r.io/team", "*.r.io"}, .sources = {"a.yaml"}};
}

TEST(PullSecret, FoldersAndFiles) {
  tests::TempDir dir;
  dir.Write("new/.dockerconfigjson", kWrapped);
  dir.Write("old/.dockercfg", kLegacy);
  dir.Write("file.json", kWrapped);
  for (const char* path : {"new", "old", "file.json"}) {
    LoadedPullSecret secret = LoadPullSecret(Declared(dir / path));
    EXPECT_TRUE(secret.problems.empty()) << secret.problems[0];
    EXPECT_FALSE(secret.index.empty()) << path;
  }
}

TEST(PullSecret, WhatIsWrongIsSaidAndGivesNothing) {
  tests::TempDir dir;
  dir.Write("bad/.dockerconfigjson", "{");
  dir.Write("bad/.dockercfg", kLegacy);
  dir.Write("crossed/.dockerconfigjson", R"({"auths":{"r.io":{"auth":"hunter2"}}})");
  dir.Write("empty/.other", "");
  dir.Write("good/.dockerconfigjson", kWrapped);
  for (const char* path : {"bad", "crossed", "empty", "absent"}) {
    LoadedPullSecret secret = LoadPullSecret(Declared(dir / path));
    ASSERT_EQ(secret.problems.size(), 1U) << path;
    EXPECT_NE(secret.problems[0].find("pull secret \"team\""), std::string::npos);
    EXPECT_EQ(secret.problems[0].find("hunter2"), std::string::npos);
    EXPECT_TRUE(secret.index.empty());
  }
  PullSecret pattern = Declared(dir / "good");
  pattern.allow_repositories.push_back("r.io:x");
  EXPECT_EQ(LoadPullSecret(pattern).problems.size(), 1U);
}

TEST(PullSecret, ServesOnlyWhatItIsDeclaredFor) {
  tests::TempDir dir;
  dir.Write("s/.dockerconfigjson", kWrapped);
  LoadedPullSecret secret = LoadPullSecret(Declared(dir / "s"));
  EXPECT_TRUE(secret.Serves(Target("r.io/team/app"), {"a.yaml"}));
  EXPECT_TRUE(secret.Serves(Target("x.r.io/app"), {"b.yaml", "a.yaml"}));
  EXPECT_FALSE(secret.Serves(Target("r.io/other"), {"a.yaml"}));
  EXPECT_FALSE(secret.Serves(Target("r.io/team/app"), {"b.yaml"}));
  EXPECT_FALSE(secret.Serves(Target("r.io/team/app"), {}));
  secret.declared.sources.clear();
  EXPECT_FALSE(secret.Serves(Target("r.io/team/app"), {"a.yaml"}));
}

}  // namespace
}  // namespace prefetch::credentials::pull_secret_test
