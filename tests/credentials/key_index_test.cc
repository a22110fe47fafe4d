#include "credentials/match.h"

#include <gtest/gtest.h>

#include <string>

namespace prefetch::credentials::key_index_test {
namespace {

struct Row {
  std::string name;
  std::vector<std::string> keys;  // the credential under each has its key for a user name
  std::string repository;
  std::vector<std::string> found;
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}

std::vector<KeyedAuth> Auths(const std::vector<std::string>& keys) {
  std::vector<KeyedAuth> auths;
  for (const std::string& key : keys) auths.push_back({key, {key, base::Secret("p")}});
  return auths;
}

std::vector<std::string> Names(const std::vector<KeyedMatch>& matches) {
  std::vector<std::string> names;
  for (const KeyedMatch& match : matches) names.push_back(match.entry->auth.username);
  return names;
}

class LookUpTest : public testing::TestWithParam<Row> {};

TEST_P(LookUpTest, Finds) {
  KeyIndex index(Auths(GetParam().keys));
  EXPECT_EQ(Names(MatchAll({&index}, Target(GetParam().repository))), GetParam().found);
}

// A16 and A17.
INSTANTIATE_TEST_SUITE_P(
    Spec, LookUpTest,
    testing::Values(Row{"LongerFirst",
                        {"bar.example.com", "bar.example.com/pong"},
                        "bar.example.com/pongz",
                        {"bar.example.com/pong", "bar.example.com"}},
                    Row{"VersionPath", {"https://quay.io/v1/"}, "quay.io/foo/bar", {"https://quay.io/v1/"}},
                    Row{"DefaultRegistry",
                        {"https://index.docker.io/v1/"},
                        "docker.io/library/nginx",
                        {"https://index.docker.io/v1/"}},
                    Row{"FallbackOnlyIfNothingMatched",
                        {"docker.io", "index.docker.io"},
                        "docker.io/library/nginx",
                        {"docker.io"}},
                    Row{"Registry1IsNotFolded", {"registry-1.docker.io"}, "docker.io/library/nginx", {}},
                    Row{"ColonInThePath",
                        {"https://*.docker.io/path:1111"},
                        "prefix.docker.io/path:1111/x",
                        {"https://*.docker.io/path:1111"}}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Text, LookUpTest,
    testing::Values(
        Row{"LiteralBeforeWildcard", {"*.foo.io", "a.foo.io"}, "a.foo.io/x", {"a.foo.io", "*.foo.io"}},
        Row{"V2", {"quay.io/v2/team"}, "quay.io/team/x", {"quay.io/v2/team"}},
        Row{"V2OfAnother", {"quay.io/v2/team"}, "quay.io/other", {}},
        Row{"V1WithoutSlashStays", {"quay.io/v1"}, "quay.io/foo", {}},
        Row{"Http", {"http://reg:5000"}, "reg:5000/x", {"http://reg:5000"}},
        Row{"PortStays", {"reg.io"}, "reg.io:5000/x", {}},
        Row{"EqualKeysKeepOrder",
            {"reg.io", "https://reg.io", "http://reg.io/"},
            "reg.io/x",
            {"reg.io", "https://reg.io", "http://reg.io/"}},
        Row{"UnusableKeyIsSkipped", {"reg io", "reg.io"}, "reg.io/x", {"reg.io"}},
        Row{"FallbackForLocalhost", {"index.docker.io"}, "localhost/x", {"index.docker.io"}},
        Row{"NoFallbackForOthers", {"index.docker.io"}, "quay.io/x", {}},
        Row{"FallbackNeedsExactlyTheKey", {"index.docker.io/library"}, "docker.io/library/nginx", {}}),
    [](const auto& row) { return row.param.name; });

TEST(LookUp, SeveralIndexesAreOneKeyring) {
  KeyIndex first(Auths({"*.foo.io", "a.foo.io"}));
  KeyIndex second(Auths({"a.foo.io/x", "a.foo.io"}));
  std::vector<KeyedMatch> matches = MatchAll({&first, &second}, Target("a.foo.io/x"));
  EXPECT_EQ(Names(matches), (std::vector<std::string>{"a.foo.io/x", "a.foo.io", "a.foo.io", "*.foo.io"}));
  EXPECT_EQ(matches[1].from, 0U);
  EXPECT_EQ(matches[2].from, 1U);
}

TEST(KeyIndex, SaysWhichKeysAreUnusable) {
  EXPECT_EQ(KeyIndex(Auths({"reg io", "reg.io", "[x"})).unusable_keys(),
            (std::vector<std::string>{"reg io", "[x"}));
}

TEST(IsDefaultRegistry, AsKubelet) {
  for (const char* name : {"docker.io/library/x", "index.docker.io/x", "localhost/x", "team/x", "x"}) {
    EXPECT_TRUE(IsDefaultRegistry(name)) << name;
  }
  for (const char* name : {"", "/x", "quay.io/x", "reg:5000/x", "registry-1.docker.io/x"}) {
    EXPECT_FALSE(IsDefaultRegistry(name)) << name;
  }
}

}  // namespace
}  // namespace prefetch::credentials::key_index_test
