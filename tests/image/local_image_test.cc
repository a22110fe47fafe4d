#include "image/local_image.h"

#include <gtest/gtest.h>

#include <string>

namespace prefetch::image::local_image_test {
namespace {

const std::string kA = "sha256:" + std::string(64, 'a');
const std::string kB = "sha256:" + std::string(64, 'b');

LocalImage Image(std::string id, std::vector<std::string> tags, std::vector<std::string> digests) {
  LocalImage image;
  image.id = std::move(id);
  image.repo_tags = std::move(tags);
  image.repo_digests = std::move(digests);
  return image;
}

const std::vector<LocalImage>& Images() {
  static const std::vector<LocalImage> kImages = {
      Image("one", {"docker.io/library/nginx:latest", "reg:5000/nginx:v1"},
            {"docker.io/library/nginx@" + kA, "reg:5000/nginx@" + kA}),
      Image("artifact", {"reg:5000/chart:v1"}, {}),
      Image("retagged", {"reg:5000/other:v1"}, {"reg:5000/origin@" + kB}),
      Image("prefix", {"reg:5000/app:v1"}, {"reg:5000/app-more@" + kB}),
      Image("untagged", {}, {"reg:5000/pinned@" + kB}),
      Image("nothing", {}, {}),
  };
  return kImages;
}

struct Row {
  std::string name;
  std::string reference;
  std::string id;  // empty: not present
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}

class FindTest : public testing::TestWithParam<Row> {};

TEST_P(FindTest, ByNameAndByIndexAlike) {
  Reference reference = *Reference::Parse(GetParam().reference);
  const LocalImage* found = FindByName(Images(), reference);
  EXPECT_EQ(found == nullptr ? "" : found->id, GetParam().id);
  LocalImageIndex index(Images());
  LocalImageIndex copy = index;  // NOLINT(performance-unnecessary-copy-initialization): a copy finds the same
  const LocalImage* indexed = copy.Find(reference);
  EXPECT_EQ(indexed == nullptr ? "" : indexed->id, GetParam().id);
}

INSTANTIATE_TEST_SUITE_P(LocalImage, FindTest,
                         testing::Values(Row{"Tag", "nginx", "one"},
                                         Row{"OtherRepository", "reg:5000/nginx:v1", "one"},
                                         Row{"OtherTag", "nginx:1", ""}, Row{"Digest", "nginx@" + kA, "one"},
                                         Row{"TagBesideDigestIsIgnored", "nginx:whatever@" + kA, "one"},
                                         Row{"OtherDigest", "nginx@" + kB, ""},
                                         Row{"DigestOfOtherRepository", "reg:5000/x@" + kA, ""},
                                         Row{"TagWithoutRepoDigest", "reg:5000/chart:v1", ""},
                                         Row{"TagWithDigestOfOtherRepository", "reg:5000/other:v1", ""},
                                         Row{"TagWithDigestOfLongerRepository", "reg:5000/app:v1", ""},
                                         Row{"DigestOnlyIsAbsentByTag", "reg:5000/pinned", ""},
                                         Row{"DigestOnly", "reg:5000/pinned@" + kB, "untagged"}),
                         [](const auto& row) { return row.param.name; });

class FindTaggedTest : public testing::TestWithParam<Row> {};

TEST_P(FindTaggedTest, WhatHasTheTagAlone) {
  LocalImageIndex index(Images());
  const LocalImage* found = index.FindTagged(*Reference::Parse(GetParam().reference));
  EXPECT_EQ(found == nullptr ? "" : found->id, GetParam().id);
}

INSTANTIATE_TEST_SUITE_P(LocalImage, FindTaggedTest,
                         testing::Values(Row{"Pulled", "nginx", ""},
                                         Row{"NoDigest", "reg:5000/chart:v1", "artifact"},
                                         Row{"DigestOfOtherRepository", "reg:5000/other:v1", "retagged"},
                                         Row{"DigestOfLongerRepository", "reg:5000/app:v1", "prefix"},
                                         Row{"OtherTag", "reg:5000/chart:v2", ""},
                                         Row{"ByDigest", "reg:5000/chart@" + kA, ""}),
                         [](const auto& row) { return row.param.name; });

TEST(LocalImageIndex, NamesThatShareAnId) {
  LocalImageIndex index(Images());
  EXPECT_EQ(index.NamesOf("one"),
            (std::vector<std::string>{"docker.io/library/nginx:latest", "docker.io/library/nginx@" + kA,
                                      "reg:5000/nginx:v1", "reg:5000/nginx@" + kA}));
  EXPECT_TRUE(index.NamesOf("nothing").empty());
  EXPECT_TRUE(index.NamesOf("unheard of").empty());
  EXPECT_EQ(index.images().size(), Images().size());
  EXPECT_EQ(LocalImageIndex().Find(*Reference::Parse("nginx")), nullptr);
}

TEST(LocalImageIndex, FindsEachOfAThousand) {
  std::vector<LocalImage> images;
  std::vector<Reference> references;
  for (int i = 0; i < 1000; i++) {
    std::string repository = "registry.example.com/team/app-" + std::to_string(i);
    images.push_back(Image(std::to_string(i), {repository + ":v1"}, {repository + "@" + kA}));
  }
  for (int i = 0; i < 5000; i++) {
    references.push_back(*Reference::Parse("registry.example.com/team/app-" + std::to_string(i) + ":v1"));
  }
  LocalImageIndex index(std::move(images));
  int found = 0;
  for (const Reference& reference : references) found += index.Find(reference) != nullptr;
  EXPECT_EQ(found, 1000);
}

}  // namespace
}  // namespace prefetch::image::local_image_test
