#include "credentials/match.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace prefetch::credentials::match_test {
namespace {

enum class Expect { kMatch, kNegative, kError };

struct Row {
  std::string name;
  std::string pattern;
  std::string target;
  Expect expect;
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name << ": " << row.pattern << " on " << row.target;
}

class MatchTest : public testing::TestWithParam<Row> {};

TEST_P(MatchTest, AsKubelet) {
  const Row& row = GetParam();
  std::optional<Pattern> pattern = Pattern::Parse(row.pattern);
  ASSERT_EQ(pattern.has_value(), row.expect != Expect::kError);
  if (!pattern) return;
  EXPECT_EQ(pattern->Matches(Target(row.target)), row.expect == Expect::kMatch);
  EXPECT_EQ(pattern->text(), row.pattern);
}

constexpr Expect kMatch = Expect::kMatch;
constexpr Expect kNegative = Expect::kNegative;
constexpr Expect kError = Expect::kError;

// A14 and A15, held against Go.
INSTANTIATE_TEST_SUITE_P(Spec, MatchTest,
                         testing::Values(Row{"Label", "*.kubernetes.io", "prefix.kubernetes.io", kMatch},
                                         Row{"FewerLabels", "*.kubernetes.io", "kubernetes.io", kNegative},
                                         Row{"EmptyRun", "*kubernetes.io", "kubernetes.io", kMatch},
                                         Row{"Suffix", "*-good.k8s.io", "x-good.k8s.io", kMatch},
                                         Row{"StarLocalhost", "*", "localhost", kMatch},
                                         Row{"StarOneLabelOnly", "*", "foo.io", kNegative},
                                         Row{"Port", "prefix.*.io/foo", "prefix.k8s.io:1111/foo/bar",
                                             kNegative},
                                         Row{"PortLetters", "foo.io:abc", "foo.io", kError},
                                         Row{"PortGlob", "*.foo.io:*", "x.foo.io", kError},
                                         Row{"Space", "foo bar.io", "foo.io", kError},
                                         Row{"Backslash", "foo\\.io", "foo.io", kError},
                                         Row{"BadEscape", "%invalid%", "foo.io", kError},
                                         Row{"CharacterClass", "[a-c].foo.io", "a.foo.io", kError},
                                         Row{"QuestionMark", "reg?stry.io", "registry.io", kNegative},
                                         Row{"Scheme", "https://foo.io", "foo.io", kNegative},
                                         Row{"UserInformation", "user@foo.io", "foo.io", kMatch},
                                         Row{"UpperCase", "FOO.io", "foo.io", kNegative},
                                         Row{"Ipv6WithPort", "[::1]:5000", "[::1]:5000/x", kMatch},
                                         Row{"Ipv6WithoutPort", "[::1]", "[::1]/x", kNegative}),
                         [](const auto& row) { return row.param.name; });

// The words of A14 and A15, and corner cases.
INSTANTIATE_TEST_SUITE_P(
    Text, MatchTest,
    testing::Values(
        Row{"NoDefaultPort", "foo.io:443", "foo.io/a", kNegative},
        Row{"SamePort", "foo.io:443", "foo.io:443/a", kMatch},
        Row{"TrailingColon", "foo.io:", "foo.io/a", kMatch},
        Row{"PathIsNotSegmentAware", "foo.io/a", "foo.io/ab", kMatch},
        Row{"PathIsAPrefix", "foo.io/a/b", "foo.io/a", kNegative},
        Row{"SlashNeedsAPath", "foo.io/", "foo.io/a", kMatch},
        Row{"SlashWithoutPath", "foo.io/", "foo.io", kNegative},
        Row{"GlobInPathIsLiteral", "foo.io/*", "foo.io/a", kNegative},
        Row{"EscapedPath", "foo.io/%61b", "foo.io/abc", kMatch},
        Row{"BadEscapedPath", "foo.io/%6", "foo.io/a", kError},
        Row{"Query", "foo.io?x=y", "foo.io/a", kMatch}, Row{"Fragment", "foo.io#x", "foo.io/a", kMatch},
        Row{"ControlCharacter", "foo.io\n", "foo.io/a", kError},
        Row{"Ecr", "*.dkr.ecr.*.amazonaws.com", "123.dkr.ecr.eu-west-1.amazonaws.com/app", kMatch},
        Row{"EcrChina", "*.dkr.ecr.*.amazonaws.com", "123.dkr.ecr.cn-north-1.amazonaws.com.cn/app",
            kNegative},
        Row{"ManyStars", "*a*b*.io", "xaxbx.io/y", kMatch},
        Row{"ManyStarsNo", "*a*b*.io", "xbxax.io/y", kNegative},
        Row{"StarsMayNotOverlap", "ab*ba.io", "aba.io/y", kNegative},
        Row{"StarAtTheEnd", "foo*.io", "foo.io/y", kMatch},
        Row{"HubIsDockerIo", "docker.io", "docker.io/library/nginx", kMatch},
        Row{"NoFallbackInPatterns", "index.docker.io", "docker.io/library/nginx", kNegative},
        Row{"EscapeBeyondAscii", "foo%a0.io", "foo%a0.io/x", kMatch},
        Row{"EscapeOfPercent", "foo%25.io", "foo%25.io/x", kMatch},
        Row{"ZoneWithoutName", "[fe80::1%25]:5000", "[fe80::1%25]:5000/x", kError},
        Row{"ZoneOfAddress", "[fe80::1%25en0]:5000", "[fe80::1%25en0]:5000/x", kMatch},
        Row{"EscapeOfAscii", "foo%30.io", "foo.io", kError},
        Row{"BadUserInformation", "<a@foo.io", "foo.io/a", kError},
        Row{"BadIpv6", "[::g]:5000", "foo.io", kError}, Row{"BareIpv6", "::1", "foo.io", kError},
        Row{"Empty", "", "foo.io/a", kNegative}, Row{"Address", "10.0.0.1:5000", "10.0.0.1:5000/a", kMatch}),
    [](const auto& row) { return row.param.name; });

bool Covers(const std::string& wider, const std::string& narrower) {
  return Pattern::Parse(wider)->Covers(*Pattern::Parse(narrower));
}

TEST(Covers, Examples) {
  EXPECT_TRUE(Covers("*.dkr.ecr*.*.amazon*.com", "*.dkr.ecr.*.amazonaws.com"));
  EXPECT_FALSE(Covers("*.dkr.ecr.*.amazonaws.com", "*.dkr.ecr*.*.amazonaws.com"));
  EXPECT_FALSE(Covers("*.io", "*.*.io")) << "a star stays in its label";
  EXPECT_TRUE(Covers("*.io/a", "b.io/ab")) << "a path is a prefix";
  EXPECT_FALSE(Covers("*.io/ab", "b.io/a"));
  EXPECT_FALSE(Covers("*.io", "b.io:5000"));
  EXPECT_TRUE(Covers("*.io:5000", "b.io:5000"));
  EXPECT_TRUE(Covers("a.io", "[::1]")) << "what matches nothing";
  EXPECT_FALSE(Covers("[::1]", "a.io"));
}

// All words of these letters, up to that length.
std::vector<std::string> Words(const std::string& letters, std::size_t longest) {
  std::vector<std::string> all = {""};
  for (std::size_t i = 0; i < all.size(); i++) {
    if (all[i].size() == longest) continue;
    for (char letter : letters) all.push_back(all[i] + letter);
  }
  return all;
}

TEST(Covers, WhatMatchesEverythingThatTheOtherMatches) {
  const std::vector<std::string> hosts = Words("abx", 5);
  const std::vector<std::string> globs = Words("ab*", 3);
  auto matches = [&](const std::string& glob) {
    const Pattern pattern = *Pattern::Parse("r" + glob);
    std::vector<bool> found;
    for (const std::string& host : hosts) found.push_back(pattern.Matches(Target("r" + host)));
    return found;
  };
  std::vector<std::vector<bool>> matched;
  for (const std::string& glob : globs) matched.push_back(matches(glob));
  for (std::size_t wide = 0; wide < globs.size(); wide++) {
    for (std::size_t narrow = 0; narrow < globs.size(); narrow++) {
      bool all = true;
      for (std::size_t i = 0; i < hosts.size(); i++) all = all && (matched[wide][i] || !matched[narrow][i]);
      EXPECT_EQ(Covers("r" + globs[wide], "r" + globs[narrow]), all) << globs[wide] << " " << globs[narrow];
    }
  }
}

}  // namespace
}  // namespace prefetch::credentials::match_test
