
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "kubelet/settings.h"

namespace prefetch::kubelet::allowlist_export_test {
namespace {

const std::string kDigest = "@sha256:" + std::string(64, 'a');
const std::string kLikeAnId(64, 'a');

std::vector<image::Reference> References(const std::vector<std::string>& written) {
  std::vector<image::Reference> out;
  for (const std::string& each : written) out.push_back(*image::Reference::Parse(each));
  return out;
}

// K12 and K13. An empty pattern: the name cannot be exempt.
struct PatternCase {
  std::string name;
  std::string image;
  std::string since_136, before;
};

class AllowlistExportTest : public testing::TestWithParam<PatternCase> {};

TEST_P(AllowlistExportTest, TakesTheNarrowestPatternThatMatches) {
  for (unsigned minor : {33U, 34U, 35U, 36U, 37U}) {
    const std::string& pattern = minor >= 36 ? GetParam().since_136 : GetParam().before;
    auto out = ExportAllowlist(References({GetParam().image}), {1, minor});
    ASSERT_TRUE(out.ok());
    EXPECT_EQ(out->patterns, pattern.empty() ? std::vector<std::string>{} : std::vector{pattern}) << minor;
    EXPECT_EQ(out->unmatched.size(), pattern.empty() ? 1U : 0U) << minor;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, AllowlistExportTest,
    testing::Values(PatternCase{"Tag", "reg.io/t/a:v1", "reg.io/t/a", "reg.io/t/*"},
                    PatternCase{"Digest", "reg.io/t/a" + kDigest, "reg.io/t/a", "reg.io/t/*"},
                    PatternCase{"TagAndDigest", "reg.io/t/a:v1" + kDigest, "reg.io/t/a", "reg.io/t/*"},
                    PatternCase{"Neither", "reg.io/t/a", "reg.io/t/a", "reg.io/t/a"},
                    PatternCase{"NeitherButNotInFull", "team/a", "team/a", "team/*"},
                    PatternCase{"LegacyHub", "index.docker.io/t/a", "index.docker.io/t/a",
                                "index.docker.io/t/*"},
                    PatternCase{"Port", "localhost:5000/a:v1", "localhost:5000/a", "localhost:5000/*"},
                    PatternCase{"PortAlone", "localhost:5000/a", "localhost:5000/a", "localhost:5000/a"},
                    PatternCase{"Short", "nginx:1.27", "nginx", ""},
                    PatternCase{"ShortAlone", "nginx", "nginx", ""},
                    PatternCase{"ShortDigest", "nginx" + kDigest, "nginx", ""},
                    PatternCase{"HubImageThatLooksLikeAHost", "foo.io:5000", "foo.io", ""},
                    PatternCase{"HubInFull", "docker.io/library/nginx:1.27", "docker.io/library/nginx",
                                "docker.io/library/*"},
                    PatternCase{"LikeAnImageId", kLikeAnId + ":v1", "", ""},
                    PatternCase{"LikeAnImageIdInAFolder", "t/" + kLikeAnId + ":v1", "t/" + kLikeAnId, "t/*"}),
    [](const auto& row) { return row.param.name; });

TEST(AllowlistExport, PatternsAreSortedAndUnique) {
  auto out = ExportAllowlist(References({"reg.io/b:v1", "reg.io/a:v1", "reg.io/b:v2", "nginx"}), {1, 36});
  EXPECT_EQ(out->patterns, (std::vector<std::string>{"nginx", "reg.io/a", "reg.io/b"}));
  out = ExportAllowlist(References({"reg.io/b:v1", "reg.io/a:v1", "reg.io/b"}), {1, 35});
  EXPECT_EQ(out->patterns, (std::vector<std::string>{"reg.io/*", "reg.io/b"}));
}

TEST(AllowlistExport, SaysWhatToWriteInstead) {
  auto out = ExportAllowlist(References({"nginx:1.27", "nginx" + kDigest, "nginx"}), {1, 34});
  ASSERT_EQ(out->unmatched.size(), 3U);
  EXPECT_EQ(out->unmatched[0],
            (UnmatchedName{"nginx:1.27",
                           "no pattern of kubelet 1.34 matches \"nginx:1.27\"; write "
                           "\"docker.io/library/nginx:1.27\" in the list and in the pods"}));
  EXPECT_NE(out->unmatched[1].why.find("\"docker.io/library/nginx" + kDigest + "\""), std::string::npos);
  EXPECT_NE(out->unmatched[2].why.find("\"docker.io/library/nginx\""), std::string::npos);
}

TEST(AllowlistExport, RefusesAKubeletWithoutAnAllowlist) {
  for (unsigned minor : {31U, 32U}) {
    auto out = ExportAllowlist(References({"reg.io/a"}), {1, minor});
    ASSERT_FALSE(out.ok());
    EXPECT_EQ(out.error().code(), base::Code::kInvalidArgument);
    EXPECT_NE(out.error().message().find("has no allowlist"), std::string::npos);
  }
}

TEST(AllowlistExport, TheGateIsOffBefore135) {
  EXPECT_TRUE(NeedsFeatureGate({1, 34}));
  EXPECT_FALSE(NeedsFeatureGate({1, 35}));
}

// Names put together from parts, with a fixed seed.
std::vector<image::Reference> RandomList(std::mt19937& random) {
  const std::vector<std::string> hosts = {"", "reg.io/", "localhost:5000/", "docker.io/", "index.docker.io/"};
  const std::vector<std::string> folders = {"", "library/", "t/", "t/u/"};
  const std::vector<std::string> names = {"a", "nginx", "b__c", kLikeAnId};
  const std::vector<std::string> ends = {"", ":v1", ":latest", kDigest, ":v1" + kDigest, ":latest" + kDigest};
  auto any = [&](const std::vector<std::string>& of) { return of[random() % of.size()]; };
  std::vector<image::Reference> list;
  for (int i = 0; i < 8; i++) {
    auto reference = image::Reference::Parse(any(hosts) + any(folders) + any(names) + any(ends));
    if (reference) list.push_back(*reference);
  }
  return list;
}

// The text between the last quotes of the sentence.
std::string WhatToWriteInstead(const UnmatchedName& each) {
  std::size_t end = each.why.rfind('"');
  std::size_t begin = each.why.rfind('"', end - 1) + 1;
  return each.why.substr(begin, end - begin);
}

void CheckExport(const std::vector<image::Reference>& list, image::KubeletVersion version) {
  auto out = ExportAllowlist(list, version);
  ASSERT_TRUE(out.ok());
  auto allowlist = Allowlist::Parse(out->patterns, version);
  ASSERT_TRUE(allowlist.ok()) << allowlist.error().message();
  EXPECT_TRUE(std::is_sorted(out->patterns.begin(), out->patterns.end()));
  for (const image::Reference& image : list) {
    bool told = std::any_of(out->unmatched.begin(), out->unmatched.end(),
                            [&](const UnmatchedName& each) { return each.image == image.written(); });
    EXPECT_NE(told, allowlist->Matches(image)) << image.written() << " " << version.ToString();
  }
  for (const UnmatchedName& each : out->unmatched) {
    auto instead = ExportAllowlist(References({WhatToWriteInstead(each)}), version);
    EXPECT_EQ(instead->unmatched.size(), 0U) << each.why;
  }
}

TEST(AllowlistExportProperties, EveryNameIsMatchedOrToldAndWhatToWriteInsteadIsMatched) {
  std::mt19937 random(36);
  for (int round = 0; round < 2000; round++) {
    std::vector<image::Reference> list = RandomList(random);
    for (unsigned minor : {33U, 34U, 35U, 36U}) CheckExport(list, {1, minor});
  }
}

}  // namespace
}  // namespace prefetch::kubelet::allowlist_export_test
