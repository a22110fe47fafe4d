#include "credentials/match.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rows.h"

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

TEST_TABLE(MatchTest, AsKubelet, Row) {
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
TEST_ROWS(Spec, MatchTest, {"Label", "*.kubernetes.io", "prefix.kubernetes.io", kMatch},
          {"FewerLabels", "*.kubernetes.io", "kubernetes.io", kNegative},
          {"EmptyRun", "*kubernetes.io", "kubernetes.io", kMatch},
          {"Suffix", "*-good.k8s.io", "x-good.k8s.io", kMatch}, {"StarLocalhost", "*", "localhost", kMatch},
          {"StarOneLabelOnly", "*", "foo.io", kNegative},
          {"Port", "prefix.*.io/foo", "prefix.k8s.io:1111/foo/bar", kNegative},
          {"PortLetters", "foo.io:abc", "foo.io", kError}, {"PortGlob", "*.foo.io:*", "x.foo.io", kError},
          {"Space", "foo bar.io", "foo.io", kError}, {"Backslash", "foo\\.io", "foo.io", kError},
          {"BadEscape", "%invalid%", "foo.io", kError},
          {"CharacterClass", "[a-c].foo.io", "a.foo.io", kError},
          {"QuestionMark", "reg?stry.io", "registry.io", kNegative},
          {"Scheme", "https://foo.io", "foo.io", kNegative},
          {"UserInformation", "user@foo.io", "foo.io", kMatch}, {"UpperCase", "FOO.io", "foo.io", kNegative},
          {"Ipv6WithPort", "[::1]:5000", "[::1]:5000/x", kMatch},
          {"Ipv6WithoutPort", "[::1]", "[::1]/x", kNegative});

// The words of A14 and A15, and corner cases.
TEST_ROWS(
    Text, MatchTest, {"NoDefaultPort", "foo.io:443", "foo.io/a", kNegative},
    {"SamePort", "foo.io:443", "foo.io:443/a", kMatch}, {"TrailingColon", "foo.io:", "foo.io/a", kMatch},
    {"PathIsNotSegmentAware", "foo.io/a", "foo.io/ab", kMatch},
    {"PathIsAPrefix", "foo.io/a/b", "foo.io/a", kNegative},
    {"SlashNeedsAPath", "foo.io/", "foo.io/a", kMatch}, {"SlashWithoutPath", "foo.io/", "foo.io", kNegative},
    {"GlobInPathIsLiteral", "foo.io/*", "foo.io/a", kNegative},
    {"EscapedPath", "foo.io/%61b", "foo.io/abc", kMatch}, {"BadEscapedPath", "foo.io/%6", "foo.io/a", kError},
    {"Query", "foo.io?x=y", "foo.io/a", kMatch}, {"Fragment", "foo.io#x", "foo.io/a", kMatch},
    {"ControlCharacter", "foo.io\n", "foo.io/a", kError},
    {"Ecr", "*.dkr.ecr.*.amazonaws.com", "123.dkr.ecr.eu-west-1.amazonaws.com/app", kMatch},
    {"EcrChina", "*.dkr.ecr.*.amazonaws.com", "123.dkr.ecr.cn-north-1.amazonaws.com.cn/app", kNegative},
    {"ManyStars", "*a*b*.io", "xaxbx.io/y", kMatch}, {"ManyStarsNo", "*a*b*.io", "xbxax.io/y", kNegative},
    {"StarsMayNotOverlap", "ab*ba.io", "aba.io/y", kNegative},
    {"StarAtTheEnd", "foo*.io", "foo.io/y", kMatch},
    {"HubIsDockerIo", "docker.io", "docker.io/library/nginx", kMatch},
    {"NoFallbackInPatterns", "index.docker.io", "docker.io/library/nginx", kNegative},
    {"EscapeBeyondAscii", "foo%a0.io", "foo%a0.io/x", kMatch},
    {"EscapeOfPercent", "foo%25.io", "foo%25.io/x", kMatch},
    {"ZoneWithoutName", "[fe80::1%25]:5000", "[fe80::1%25]:5000/x", kError},
    {"ZoneOfAddress", "[fe80::1%25en0]:5000", "[fe80::1%25en0]:5000/x", kMatch},
    {"EscapeOfAscii", "foo%30.io", "foo.io", kError}, {"BadUserInformation", "<a@foo.io", "foo.io/a", kError},
    {"BadIpv6", "[::g]:5000", "foo.io", kError}, {"BareIpv6", "::1", "foo.io", kError},
    {"Empty", "", "foo.io/a", kNegative}, {"Address", "10.0.0.1:5000", "10.0.0.1:5000/a", kMatch});

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
