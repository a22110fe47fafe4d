#include "credentials/docker_config.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <optional>
#include <string>

#include "base/redactor.h"
#include "base/text.h"
#include "rows.h"
#include "temp_dir.h"

namespace prefetch::credentials::docker_config_test {
namespace {

struct AuthRow {
  std::string name;
  std::string text;
  std::optional<std::pair<std::string, std::string>> expect;
};

TEST_TABLE(AuthFieldTest, Decodes, AuthRow) {
  std::optional<image::AuthConfig> auth = DecodeAuthField(row.text);
  ASSERT_EQ(auth.has_value(), row.expect.has_value());
  if (!auth) return;
  EXPECT_EQ(auth->username, row.expect->first);
  EXPECT_EQ(auth->password.Reveal(), row.expect->second);
}

const std::pair<std::string, std::string> kFooBar = {"foo", "bar"};

// A22 and A23, held against Go.
TEST_ROWS(Spec, AuthFieldTest, {"Padded", "Zm9vOmJhcg==", kFooBar}, {"Unpadded", "Zm9vOmJhcg", kFooBar},
          {"LineBreakInside", "Zm9vOm\nJhcg==\n", kFooBar}, {"CarriageReturn", "Zm9vOmJhcg==\r\n", kFooBar},
          {"TrailingBits", "Zm9vOmJhcj==", kFooBar},
          {"NewlineInThePasswordStays", "Zm9vOmJhcgo=", {{"foo", "bar\n"}}},
          {"FirstColonSplits", "YTpiOmM=", {{"a", "b:c"}}}, {"EmptyUser", "OnB3", {{"", "pw"}}},
          {"EmptyPassword", "dTo=", {{"u", ""}}}, {"TrailingSpace", "Zm9vOmJhcg== ", {}},
          {"LeadingSpace", " Zm9vOmJhcg", {}}, {"WrongLength", "pants", {}}, {"NoColon", "cGFudHM=", {}},
          {"UrlAlphabet", "_-_-", {}}, {"TabInside", "Zm9v\tOmJhcg==", {}},
          {"TooMuchPadding", "Zm9vOmJhcg===", {}}, {"TooLittlePadding", "Zm9vOmJhcg=", {}},
          {"PaddingOnFullGroups", "OnB3====", {}}, {"OnlyPadding", "==", {}},
          {"PaddingInside", "Zm9v=OmJhcg==", {}}, {"UnpaddedWithLineBreak", "Zm9vOmJhcg\n", kFooBar},
          {"Empty", "", {}});

struct DocumentRow {
  std::string name;
  std::string text;
  DockerConfigFormat shape;
  std::string expect;  // "key=user:password;" for each; "error"
};

TEST_TABLE(DocumentTest, Decodes, DocumentRow) {
  base::Result<std::vector<KeyedAuth>> auths = DecodeDockerConfig(row.text, row.shape);
  if (!auths) {
    EXPECT_EQ(row.expect, "error") << auths.error().message();
    EXPECT_EQ(auths.error().message().find("hunter2"), std::string::npos) << auths.error().message();
    return;
  }
  std::string seen;
  for (const KeyedAuth& auth : *auths) {
    seen += auth.key + "=" + auth.auth.username + ":" + std::string(auth.auth.password.Reveal()) + ";";
  }
  EXPECT_EQ(seen, row.expect);
}

constexpr DockerConfigFormat kAuths = DockerConfigFormat::kAuths;
constexpr DockerConfigFormat kLegacy = DockerConfigFormat::kLegacy;

TEST_ROWS(Spec, DocumentTest,
          {"Plain", R"({"auths":{"r.io":{"username":"u","password":"p"}}})", kAuths, "r.io=u:p;"},
          {"AuthOverrides", R"({"auths":{"r.io":{"username":"u","password":"p","auth":"Zm9vOmJhcg=="}}})",
           kAuths, "r.io=foo:bar;"},
          {"EmptyAuthDoesNot", R"({"auths":{"r.io":{"username":"u","password":"p","auth":""}}})", kAuths,
           "r.io=u:p;"},
          {"CaseOfKeys", R"({"AUTHS":{"r.io":{"UserName":"u","PASSWORD":"p"}}})", kAuths, "r.io=u:p;"},
          {"LastDuplicate", R"({"auths":{"r.io":{"username":"a","Username":"b","password":"p"}}})", kAuths,
           "r.io=b:p;"},
          {"LastDuplicateEntry", R"({"auths":{"r.io":{"username":"a"},"r.io":{"username":"b"}}})", kAuths,
           "r.io=b:;"},
          {"AuthsTwiceAreMerged",
           R"({"auths":{"a":{"username":"u"},"b":{"username":"v"}},"auths":{"b":{"username":"w"}}})", kAuths,
           "a=u:;b=w:;"},
          {"AuthsThenNull", R"({"auths":{"a":{"username":"u"}},"Auths":null})", kAuths, ""},
          {"AnEarlierDuplicateOfAWrongType", R"({"auths":{"r.io":{"username":5,"username":"u"}}})", kAuths,
           "error"},
          {"AListInHttpHeaders", R"({"auths":{},"HttpHeaders":{"X":["a"]}})", kAuths, "error"},
          {"Deep", R"({"auths":{},"x":)" + std::string(40, '[') + std::string(40, ']') + "}", kAuths, ""},
          {"UnknownFields", R"({"credsStore":"x","credHelpers":{"a":"b"},"HttpHeaders":{},"auths":{}})",
           kAuths, ""},
          {"NoAuths", "{}", kAuths, ""}, {"NullAuths", R"({"auths":null})", kAuths, ""},
          {"IdentityTokenOnly", R"({"auths":{"r.io":{"identitytoken":"t"}}})", kAuths, "r.io=:;"},
          {"NullEntry", R"({"auths":{"r.io":null}})", kAuths, "r.io=:;"},
          {"NumberForUser", R"({"auths":{"r.io":{"username":5}}})", kAuths, "error"},
          {"NumberForPassword", R"({"auths":{"r.io":{"password":5}}})", kAuths, "error"},
          {"NumberForEmail", R"({"auths":{"r.io":{"email":5}}})", kAuths, "error"},
          {"NumberForAuth", R"({"auths":{"r.io":{"auth":5}}})", kAuths, "error"},
          {"OneBadEntrySpoilsAll", R"({"auths":{"a":{"username":"u"},"b":{"auth":"hunter2"}}})", kAuths,
           "error"},
          {"EntryIsNoObject", R"({"auths":{"r.io":"hunter2"}})", kAuths, "error"},
          {"Garbage", "hunter2", kAuths, "error"}, {"Empty", "", kAuths, "error"},
          {"NotAnObject", "[]", kAuths, "error"},
          {"Bare", R"({"r.io":{"username":"u","password":"p"}})", kLegacy, "r.io=u:p;"},
          {"BareWithAuths", R"({"auths":{"r.io":{"username":"u"}}})", kLegacy, "auths=:;"});

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
TEST(DockerConfig, APasswordThatWasReadIsNeverRepeated) {
  const std::string encoded = base::Base64Encode("bob:n0t-yet-s3nt-encoded");
  ASSERT_TRUE(DecodeDockerConfig(
      R"({"auths":{"a.test":{"username":"ann","password":"n0t-yet-s3nt-plain"},"b.test":{"auth":")" +
          encoded + "\"}}}",
      DockerConfigFormat::kAuths));
  for (const std::string& text : {std::string("you have n0t-yet-s3nt-plain"),
                                  std::string("you have n0t-yet-s3nt-encoded"), "you have " + encoded}) {
    EXPECT_EQ(base::Redact(text).find("s3nt"), std::string::npos) << base::Redact(text);
    EXPECT_NE(base::Redact(text), text);
  }
}

TEST(DockerConfig, AFileThatIsNoneDoesNotBlock) {
  tests::TempDir dir;
  ASSERT_EQ(mkfifo((dir / "fifo").c_str(), 0600), 0);
  NodeDockerConfig config = ReadFirstDockerConfig({dir / "fifo"});
  EXPECT_EQ(config.path, "");
  EXPECT_EQ(config.problems.size(), 1U);
}

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
}  // namespace prefetch::credentials::docker_config_test
