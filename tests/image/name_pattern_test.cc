#include "image/reference.h"

#include <gtest/gtest.h>

namespace prefetch::image::name_pattern_test {
namespace {

struct PatternCase {
  std::string name;
  std::string pattern, image;
  bool matches;
};
class PatternTest : public testing::TestWithParam<PatternCase> {};
TEST_P(PatternTest, Matches) {
  EXPECT_EQ(MatchesPattern(GetParam().pattern, GetParam().image), GetParam().matches);
}

const std::string kNginx = "docker.io/library/nginx:1.27";
const std::string kByDigest = "reg:5000/a/b@sha256:1111";

INSTANTIATE_TEST_SUITE_P(
    Rows, PatternTest,
    testing::Values(
        PatternCase{"Whole", kNginx, kNginx, true},
        PatternCase{"Repository", "docker.io/library/nginx", kNginx, true},
        PatternCase{"RepositoryOfADigest", "reg:5000/a/b", kByDigest, true},
        PatternCase{"APortIsNoTag", "reg", "reg:5000/a/b", false},
        PatternCase{"Registry", "docker.io/*", kNginx, true},
        PatternCase{"OtherRegistry", "quay.io/*", kNginx, false},
        PatternCase{"AnyTag", "docker.io/library/nginx:*", kNginx, true},
        PatternCase{"OtherTag", "docker.io/library/nginx:1.28", kNginx, false},
        PatternCase{"LastPart", "*/nginx", kNginx, true}, PatternCase{"PartOfAName", "*/ngin", kNginx, false},
        PatternCase{"Beginning", "docker.io", kNginx, false}, PatternCase{"All", "*", kNginx, true},
        PatternCase{"StarForNothing", "docker.io/library/nginx*:1.27*", kNginx, true},
        PatternCase{"SeveralStars", "*dock*/*x:*7", kNginx, true},
        PatternCase{"GoesBack", "*aab", "aaaaab", true}, PatternCase{"TooMuch", "*aab*c", "aaaaab", false},
        PatternCase{"CaseMatters", "Docker.io/*", kNginx, false}, PatternCase{"Nothing", "", kNginx, false}),
    [](const auto& row) { return row.param.name; });

TEST(CheckPattern, Refuses) {
  EXPECT_TRUE(CheckPattern("registry.k8s.io/*"));
  EXPECT_TRUE(CheckPattern(std::string(20, '*')));
  for (const std::string& bad :
       {std::string(), std::string("a b"), std::string("a\n"), std::string(501, 'a'), std::string(21, '*')}) {
    EXPECT_FALSE(CheckPattern(bad)) << bad;
  }
}

TEST(MatchesPattern, AStrangersPatternTakesNoTime) {
  std::string pattern;
  for (int i = 0; i < 20; i++) pattern += "a*";
  EXPECT_FALSE(MatchesPattern(pattern + "b", std::string(10'000, 'a')));
}

}  // namespace
}  // namespace prefetch::image::name_pattern_test
