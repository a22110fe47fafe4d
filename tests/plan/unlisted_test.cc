#include "plan/unlisted.h"

#include <gtest/gtest.h>

namespace prefetch::plan::unlisted_test {
namespace {

base::WallTime At(int seconds) {
  return base::WallTime(std::chrono::seconds(1'785'578'400 + seconds));
}

image::LocalImage Image(const std::string& id, std::vector<std::string> tags,
                        std::vector<std::string> digests = {}) {
  return {.id = id, .repo_tags = std::move(tags), .repo_digests = std::move(digests), .size_bytes = 7};
}

ImageList List(const std::vector<std::string>& names) {
  ImageList list;
  for (const std::string& name : names) {
    DesiredImage desired;
    desired.reference = *image::Reference::Parse(name);
    list.images.push_back(std::move(desired));
  }
  return list;
}

using Images = std::vector<image::LocalImage>;

std::vector<std::string> NamesIn(const Arrivals& arrivals) {
  std::vector<std::string> names;
  for (const UnlistedImage& image : arrivals.unlisted->images) names.push_back(image.image);
  return names;
}

// What is there at the first look, then what is there later and on the list; what has come unlisted.
struct ComesCase {
  std::string name;
  Images first, then;
  std::vector<std::string> list;
  std::vector<std::string> ignore;
  std::vector<std::string> unlisted;
};
class ComesTest : public testing::TestWithParam<ComesCase> {};
TEST_P(ComesTest, AfterTheFirstLook) {
  const ComesCase& row = GetParam();
  Arrivals arrivals = AfterPoll({}, row.first, List(row.list), row.ignore, At(0));
  EXPECT_EQ(NamesIn(arrivals), std::vector<std::string>{});
  EXPECT_EQ(arrivals.unlisted->since, At(0));
  arrivals = AfterPoll(std::move(arrivals), row.then, List(row.list), row.ignore, At(8));
  EXPECT_EQ(NamesIn(arrivals), row.unlisted);
  for (const UnlistedImage& image : arrivals.unlisted->images) {
    EXPECT_EQ(image.first_seen, At(8));
    EXPECT_TRUE(image.present);
    EXPECT_EQ(image.size_bytes, 7U);
  }
}

image::LocalImage Pinned(image::LocalImage image) {
  image.pinned = true;
  return image;
}

const std::string kA = "r.io/a:v1", kADigest = "r.io/a@sha256:" + std::string(64, 'a');
const std::string kB = "r.io/b:v1", kBDigest = "r.io/b@sha256:" + std::string(64, 'b');

INSTANTIATE_TEST_SUITE_P(
    Rows, ComesTest,
    testing::Values(
        ComesCase{"WasThereAtTheStart", {Image("1", {kA})}, {Image("1", {kA})}, {}, {}, {}},
        ComesCase{"Comes", {}, {Image("1", {kA}, {kADigest})}, {}, {}, {kA}},
        ComesCase{"ComesListed", {}, {Image("1", {kA}, {kADigest})}, {kA}, {}, {}},
        ComesCase{"ComesByDigest", {}, {Image("1", {}, {kADigest})}, {}, {}, {kADigest}},
        ComesCase{"ComesByAListedDigest", {}, {Image("1", {}, {kADigest})}, {kADigest}, {}, {}},
        ComesCase{"ListedByTagAndDigest",
                  {},
                  {Image("1", {}, {kADigest})},
                  {"r.io/a:v1@sha256:" + std::string(64, 'a')},
                  {},
                  {}},
        ComesCase{"AnotherNameOfAListedImage",
                  {Image("1", {kA}, {kADigest})},
                  {Image("1", {kA, kB}, {kADigest, kBDigest})},
                  {kA},
                  {},
                  {kB}},
        ComesCase{"TheTagOfAnotherRepositoryIsNoneOfThisOne",
                  {},
                  {Image("1", {kA}, {kADigest, kBDigest})},
                  {kA},
                  {},
                  {kBDigest}},
        // A tag moved: the old content stays behind under its digest, which was there before.
        ComesCase{"AMovedTag",
                  {Image("1", {kA}, {kADigest})},
                  {Image("1", {}, {kADigest}), Image("2", {kA}, {"r.io/a@sha256:" + std::string(64, 'c')})},
                  {kA},
                  {},
                  {}},
        // CRI-O's name for it, where the registry has a port.
        ComesCase{"AMovedTagOfARegistryWithAPort",
                  {Image("1", {"r.io:5000/a:v1"}, {"r.io:5000/a@sha256:" + std::string(64, 'a')})},
                  {Image("1", {}, {"r.io@sha256:" + std::string(64, 'a')})},
                  {},
                  {},
                  {}},
        ComesCase{"ATagOfARepositoryWhoseNameIsLonger",
                  {},
                  {Image("1", {"r.io/ab:v1"}, {kADigest})},
                  {},
                  {},
                  {"r.io/ab:v1", kADigest}},
        ComesCase{"Pinned", {}, {Pinned(Image("1", {"registry.k8s.io/pause:3.10"}))}, {}, {}, {}},
        ComesCase{"Ignored", {}, {Image("1", {kA}), Image("2", {kB})}, {}, {"r.io/a"}, {kB}},
        ComesCase{
            "NamesAreNormalised", {}, {Image("1", {"docker.io/library/nginx:latest"})}, {"nginx"}, {}, {}}),
    [](const auto& row) { return row.param.name; });

TEST(Unlisted, WhatGoesIsKeptAndSaidToBeGone) {
  Arrivals arrivals = AfterPoll({}, {}, {}, {}, At(0));
  arrivals = AfterPoll(std::move(arrivals), {Image("1", {kA})}, {}, {}, At(8));
  arrivals = AfterPoll(std::move(arrivals), {}, {}, {}, At(16));
  ASSERT_EQ(NamesIn(arrivals), std::vector<std::string>{kA});
  EXPECT_FALSE(arrivals.unlisted->images[0].present);
  image::LocalImage larger = Image("2", {kA});
  larger.size_bytes = 8;
  arrivals = AfterPoll(std::move(arrivals), {larger}, {}, {}, At(24));
  ASSERT_EQ(NamesIn(arrivals), std::vector<std::string>{kA});
  const UnlistedImage& again = arrivals.unlisted->images[0];
  EXPECT_TRUE(again.present);
  EXPECT_EQ(again.first_seen, At(8));
  EXPECT_EQ(again.arrived_at, At(24));
  EXPECT_EQ(again.image_id, "2");
  EXPECT_EQ(again.size_bytes, 8U);
}

TEST(Unlisted, WhatIsListedLaterIsForgotten) {
  Arrivals arrivals = AfterPoll({}, {}, {}, {}, At(0));
  arrivals = AfterPoll(std::move(arrivals), {Image("1", {kA})}, {}, {}, At(8));
  arrivals = AfterPoll(std::move(arrivals), {Image("1", {kA})}, List({kA}), {}, At(16));
  EXPECT_TRUE(arrivals.unlisted->images.empty());
}

TEST(Unlisted, WhatCameListedIsNoFindingWhenTheListDropsIt) {
  Arrivals arrivals = AfterPoll({}, {}, List({kA, kB}), {}, At(0));
  arrivals = AfterPoll(std::move(arrivals), {Image("1", {kA})}, List({kA, kB}), {}, At(8));
  // B's pull ended between the looks, and the list is another one by now.
  arrivals = AfterPoll(std::move(arrivals), {Image("1", {kA}), Image("2", {kB})}, List({}), {}, At(16));
  EXPECT_TRUE(arrivals.unlisted->images.empty());
}

TEST(Unlisted, IsBounded) {
  Arrivals arrivals = AfterPoll({}, {}, {}, {}, At(0));
  Images images;
  for (std::size_t i = 0; i < kMostUnlisted + 5; i++)
    images.push_back(Image(std::to_string(i), {"r.io/" + std::to_string(i) + ":v1"}));
  arrivals = AfterPoll(std::move(arrivals), images, {}, {}, At(8));
  EXPECT_EQ(arrivals.unlisted->images.size(), kMostUnlisted);
  EXPECT_EQ(arrivals.unlisted->left_out, 5U);
  EXPECT_EQ(arrivals.known.size(), kMostUnlisted + 5);
  Arrivals same = AfterPoll(arrivals, images, {}, {}, At(16));
  EXPECT_EQ(same.unlisted, arrivals.unlisted);
}

}  // namespace
}  // namespace prefetch::plan::unlisted_test
