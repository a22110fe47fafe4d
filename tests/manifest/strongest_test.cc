#include "manifest/image_use.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "manifest/read.h"

namespace prefetch::manifest::strongest_test {
namespace {

const std::string kDigest = "sha256:" + std::string(64, 'a');

struct Asked {
  std::string image, policy;
};
struct StrongestCase {
  std::string name;
  std::vector<Asked> asked;
  std::vector<std::string> expect;  // "image policy: containers"
};

class StrongestTest : public testing::TestWithParam<StrongestCase> {};

TEST_P(StrongestTest, Is) {
  std::string text = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n";
  int n = 0;
  for (const Asked& asked : GetParam().asked) {
    text += "  - {name: c" + std::to_string(n++) + ", image: \"" + asked.image +
            "\", imagePullPolicy: " + asked.policy + "}\n";
  }
  doc::Problems problems("pod.yaml");
  Manifests manifests = ReadManifests(text, problems);
  ASSERT_TRUE(problems.empty()) << base::Join(problems.Lines(), "\n");
  std::vector<std::string> got;
  for (const UsedImage& wanted : CombineUses(manifests.uses)) {
    std::string line = wanted.image + " " + std::string(image::PullPolicyName(wanted.policy)) + ":";
    for (const ImageUse& use : wanted.uses) line += " " + use.name;
    got.push_back(line);
  }
  EXPECT_EQ(got, GetParam().expect);
}

INSTANTIATE_TEST_SUITE_P(
    Uses, StrongestTest,
    testing::Values(
        StrongestCase{"None", {}, {}},
        StrongestCase{"AlwaysBeatsIfNotPresent",
                      {{"a:1", "IfNotPresent"}, {"a:1", "Always"}, {"a:1", "IfNotPresent"}},
                      {"a:1 Always: c0 c1 c2"}},
        StrongestCase{"IfNotPresentBeatsNever",
                      {{"a:1", "Never"}, {"a:1", "IfNotPresent"}},
                      {"a:1 IfNotPresent: c0 c1"}},
        StrongestCase{"AlwaysBeatsNever", {{"a:1", "Always"}, {"a:1", "Never"}}, {"a:1 Always: c0 c1"}},
        StrongestCase{"NeverAlone", {{"a:1", "Never"}, {"a:1", "Never"}}, {"a:1 Never: c0 c1"}},
        StrongestCase{"InOrderOfFirstUse",
                      {{"b:1", "Never"}, {"a:1", "Always"}, {"b:1", "Always"}},
                      {"b:1 Always: c0 c2", "a:1 Always: c1"}},
        StrongestCase{
            "TwoSpellingsOfOneName",
            {{"nginx", "Never"}, {"docker.io/library/nginx:latest", "Always"}, {"nginx:latest", "Always"}},
            {"docker.io/library/nginx:latest Always: c0 c1 c2"}},
        StrongestCase{"ATagBesideADigestDoesNotMatter",
                      {{"a:1@" + kDigest, "Never"}, {"a@" + kDigest, "Never"}, {"a:1", "Never"}},
                      {"a:1@" + kDigest + " Never: c0 c1", "a:1 Never: c2"}},
        StrongestCase{
            "OtherTags", {{"a:1", "Never"}, {"a:2", "Always"}}, {"a:1 Never: c0", "a:2 Always: c1"}},
        StrongestCase{"WhatIsNoReferenceIsItself",
                      {{"A", "Never"}, {"A", "Always"}, {"B", "Never"}},
                      {"A Always: c0 c1", "B Never: c2"}}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace prefetch::manifest::strongest_test
